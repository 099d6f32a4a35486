import type { IncomingMessage, ServerResponse } from 'node:http'

/** The streamed source. It is read only while a client listens. */
export type EventSource = {
  /** Brings what is sent up to date, and gives its revision. */
  refresh(): Promise<number>
  /** JSON of what changed after a revision, as of the last refresh; see `Change` of the page's model. */
  changeSince(revision: number | undefined): { readonly revision: number; readonly text: string }
}

export type EventStreamsOptions = {
  /** Those that listen at once; the one that has listened longest gives way. */
  readonly streamsMax?: number
  readonly everyMs?: number
  readonly commentEveryMs?: number
  /** How long one may take to read what it was sent. */
  readonly stuckMsMax?: number
}

const RETRY_MS = 3_000

type Stream = {
  readonly response: ServerResponse
  revision: number | undefined
  sentAtMs: number
}

type MadeEvent = { readonly revision: number; readonly bytes: Buffer }

/** What is sent to those who have seen the same, by what that is. */
type Events = Map<number | undefined, MadeEvent>

/**
 * Server-sent events: at most one a second to each listener, made once for all that have seen the same. Who does not read is sent
 * nothing more and is cut off after a while; a browser comes again by itself and says what it has seen.
 */
export class EventStreams {
  readonly #source: EventSource
  readonly #streamsMax: number
  readonly #everyMs: number
  readonly #commentEveryMs: number
  readonly #stuckMsMax: number
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined
  #isTicking = false
  #isClosed = false

  constructor(source: EventSource, options: EventStreamsOptions = {}) {
    this.#source = source
    this.#streamsMax = options.streamsMax ?? 16
    this.#everyMs = options.everyMs ?? 1_000
    this.#commentEveryMs = options.commentEveryMs ?? 15_000
    this.#stuckMsMax = options.stuckMsMax ?? 10_000
  }

  /** How many listen. */
  get size(): number {
    return this.#streams.size
  }

  /** Answers a request with a stream, whose first event holds what changed after `since`. Never rejects. */
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
      // A proxy that gathers an answer before it passes it on would pass on nothing.
      'x-accel-buffering': 'no',
    })
    const stream: Stream = { response, revision: since, sentAtMs: performance.now() }
    if (this.#isClosed || request.method === 'HEAD') return void response.end()
    this.#streams.add(stream)
    response.on('error', () => undefined)
    response.on('close', () => this.#forget(stream))
    this.#boundStreams()
    response.write(`retry: ${RETRY_MS}\n\n`)
    this.#timer ??= setInterval(() => void this.#tick(), this.#everyMs).unref()
    try {
      await this.#source.refresh()
      if (this.#streams.has(stream)) this.#sendTo(stream, new Map())
    } catch {
      this.#end(stream)
    }
  }

  /** Ends all of them at once. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#streams]) this.#end(stream)
  }

  #boundStreams(): void {
    // A set is in the order of arrival.
    const [oldest] = this.#streams
    if (this.#streams.size > this.#streamsMax && oldest !== undefined) this.#end(oldest)
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

  /** Never rejects. What cannot be made now is made in the next turn, or never: the listeners are no worse off than without. */
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
      if (silentMs >= this.#stuckMsMax) this.#end(stream)
    } else if (stream.revision !== revision) this.#sendTo(stream, events)
    else if (silentMs >= this.#commentEveryMs) this.#comment(stream)
  }

  #sendTo(stream: Stream, events: Events): void {
    const { revision: since } = stream
    const event = events.get(since) ?? this.#eventSince(since)
    events.set(since, event)
    stream.revision = event.revision
    stream.sentAtMs = performance.now()
    stream.response.write(event.bytes)
  }

  /** One line of data: JSON has no line breaks of its own. */
  #eventSince(since: number | undefined): MadeEvent {
    const { revision, text } = this.#source.changeSince(since)
    return { revision, bytes: Buffer.from(`id: ${revision}\nevent: change\ndata: ${text}\n\n`) }
  }

  #comment(stream: Stream): void {
    if (stream.response.writableLength > 0) return
    stream.sentAtMs = performance.now()
    stream.response.write(': nothing new\n\n')
  }
}
