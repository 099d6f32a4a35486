import type { IncomingMessage, ServerResponse } from 'node:http'

/** The streamed source. It is read only while a client listens. */
export type EventSource = {
  /** Updates the source and returns its revision. */
  refresh(): Promise<number>
  /** JSON of the changes after a revision, as of the last refresh; see `Change` of the page's model. */
  changeSince(revision: number | undefined): { readonly revision: number; readonly text: string }
}

const DEFAULTS = {
  /** Concurrent streams; a new one ends the oldest. */
  streamsMax: 16,
  everyMs: 1_000,
  commentEveryMs: 15_000,
  /** How long a client may leave data unread. */
  stuckMsMax: 10_000,
}
export type EventStreamsOptions = Partial<typeof DEFAULTS>

const RETRY_MS = 3_000

type Stream = {
  readonly response: ServerResponse
  revision: number | undefined
  sentAtMs: number
}

/** Events of one tick, by their receivers' last revision. */
type Events = Map<number | undefined, ReturnType<EventSource['changeSince']>>

/**
 * Server-sent events: at most one per second per client. A client that does not read gets nothing more and is cut off after
 * `stuckMsMax`; browsers reconnect on their own and send their last revision.
 */
export class EventStreams {
  readonly #source: EventSource
  readonly #options: typeof DEFAULTS
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined
  #isTicking = false
  #isClosed = false

  constructor(source: EventSource, options: EventStreamsOptions = {}) {
    this.#source = source
    this.#options = { ...DEFAULTS, ...options }
  }

  get size(): number {
    return this.#streams.size
  }

  /** Answers a request with a stream. Its first event holds the changes after `since`. Never rejects. */
  async open(
    request: IncomingMessage,
    response: ServerResponse,
    since: number | undefined,
  ): Promise<void> {
    const { socket } = request
    socket.setTimeout(0)
    socket.setNoDelay(true)
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      // A buffering proxy would hold back events.
      'x-accel-buffering': 'no',
    })
    const stream: Stream = { response, revision: since, sentAtMs: performance.now() }
    if (this.#isClosed || request.method === 'HEAD') return void response.end()
    this.#streams.add(stream)
    response.on('error', () => undefined)
    response.on('close', () => this.#forget(stream))
    // A set keeps insertion order.
    const [oldest] = this.#streams
    if (oldest !== undefined && this.#streams.size > this.#options.streamsMax) this.#end(oldest)
    response.write(`retry: ${RETRY_MS}\n\n`)
    this.#timer ??= setInterval(() => void this.#tick(), this.#options.everyMs).unref()
    try {
      await this.#source.refresh()
      if (this.#streams.has(stream)) this.#sendTo(stream, new Map())
    } catch {
      this.#end(stream)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#streams]) this.#end(stream)
  }

  #end(stream: Stream): void {
    stream.response.destroy()
    this.#forget(stream)
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Never rejects. A failed event is retried in later ticks. */
  async #tick(): Promise<void> {
    if (this.#isTicking) return
    this.#isTicking = true
    try {
      const revision = await this.#source.refresh()
      const events: Events = new Map()
      for (const stream of [...this.#streams]) this.#sendChanges(stream, { revision, events })
    } catch {
      for (const stream of [...this.#streams]) this.#comment(stream)
    } finally {
      this.#isTicking = false
    }
  }

  #sendChanges(
    stream: Stream,
    { revision, events }: { readonly revision: number; readonly events: Events },
  ): void {
    const silentMs = performance.now() - stream.sentAtMs
    if (stream.response.writableLength > 0) {
      if (silentMs >= this.#options.stuckMsMax) this.#end(stream)
    } else if (stream.revision !== revision) this.#sendTo(stream, events)
    else if (silentMs >= this.#options.commentEveryMs) this.#comment(stream)
  }

  #sendTo(stream: Stream, events: Events): void {
    const { revision: since } = stream
    const event = events.get(since) ?? this.#source.changeSince(since)
    events.set(since, event)
    stream.revision = event.revision
    stream.sentAtMs = performance.now()
    // One line of data: JSON text contains no line breaks.
    stream.response.write(`id: ${event.revision}\nevent: change\ndata: ${event.text}\n\n`)
  }

  #comment(stream: Stream): void {
    if (stream.response.writableLength > 0) return
    stream.sentAtMs = performance.now()
    stream.response.write(': nothing new\n\n')
  }
}
