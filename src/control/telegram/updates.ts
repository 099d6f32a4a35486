import type { RemoteLink } from '../../domain/remote.ts'
import type { Clock } from '../../ports.ts'
import type { BotApi, BotReply } from './bot-api.ts'
import type { Heard, HeardFile } from './heard-file.ts'
import { type Incoming, readUpdate } from './wire.ts'

/** Handles messages one after the other. */
export type Hearing = {
  /**
   * Never rejects. `take` records on disk that this message was handled, so that no later start handles it again; false if
   * that failed. Do what must not happen twice after it, and what must not be lost before it.
   */
  hear(incoming: Incoming, take: () => Promise<boolean>): Promise<void>
  passOver(incoming: Incoming): void
  /** Called with the connection's state when it changes or stays bad. */
  report(link: RemoteLink, detail: string): void
}

type UpdatesInput = {
  readonly api: Pick<BotApi, 'getUpdates'>
  readonly file: HeardFile
  readonly clock: Pick<Clock, 'sleep'>
  readonly hearing: Hearing
  /** How long Telegram holds a poll without updates. Default 25 s. */
  readonly pollSeconds?: number
  /** Scales every pause of this loop, for tests. Default 1. */
  readonly pace?: number
}

const POLL_SECONDS = 25
const BATCH = 100
const KINDS = ['message', 'callback_query'] as const
/** Pause after an answer with updates: a flood drains at a thousand per second, not at line speed. */
const BUSY_MS = 100
/** Pause after an empty answer, in case the server does not hold polls. */
const IDLE_MS = 1_000
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 60_000
/** Longest pause, even if Telegram asks for more: a halt may be waiting there. */
const RETRY_AFTER_MS_MAX = 300_000
/** After this many consecutive failures, asks for single messages: the answer may be too large. */
const SINGLY_AFTER = 3
/** While two clients poll, Telegram answers at most one of them in this time. */
const CONFLICT_MS = 5_000
/** Codes for an unknown bot token. */
const UNKNOWN_BOT: readonly number[] = [401, 404]
const CONFLICT = 409

/** Polls Telegram for messages until stopped; backs off while Telegram does not answer. */
export class Updates {
  readonly #input: UpdatesInput
  readonly #stop = new AbortController()
  /** Next update to request. Telegram forgets all earlier ones. */
  #offset: number | undefined
  #heard: Heard | undefined
  #failures = 0
  #isListening = false

  constructor(input: UpdatesInput) {
    this.#input = input
  }

  /** Handles no more messages. The pending request ends with the client. */
  stop(): void {
    this.#stop.abort()
  }

  /** Resolves once stopped, or if Telegram does not know the bot. Never rejects unless `hearing` throws. */
  async run(): Promise<void> {
    const { heard, fault } = await this.#input.file.read()
    this.#heard = heard
    this.#offset = heard?.next
    if (fault !== undefined)
      this.#input.hearing.report('silent', `${fault}: what waits at Telegram may be heard again`)
    while (!this.#stop.signal.aborted) {
      const startedMs = performance.now()
      const reply = await this.#poll()
      if (this.#stop.signal.aborted) return
      const restMs = reply.ok ? await this.#take(reply.value) : this.#fail(reply)
      if (restMs === undefined) return
      // An empty long poll has already waited.
      const spentMs = restMs === IDLE_MS ? performance.now() - startedMs : 0
      await this.#pause(restMs - spentMs)
    }
  }

  #poll(): Promise<BotReply<readonly unknown[]>> {
    const { api, pollSeconds = POLL_SECONDS } = this.#input
    return api.getUpdates({
      ...(this.#offset === undefined ? {} : { offset: this.#offset }),
      limit: this.#failures >= SINGLY_AFTER ? 1 : BATCH,
      // The first poll returns at once, to show whether Telegram answers.
      timeout: this.#isListening ? pollSeconds : 0,
      allowed_updates: KINDS,
    })
  }

  /** Returns the pause before the next poll, ms. */
  async #take(updates: readonly unknown[]): Promise<number> {
    if (!this.#isListening) {
      this.#isListening = true
      this.#input.hearing.report('listening', 'listening for messages to the Telegram bot')
    }
    this.#failures = 0
    let numbered = 0
    for (const raw of updates) {
      const update = readUpdate(raw)
      if (update === undefined) continue
      numbered += 1
      // Not the maximum: after a week without messages, or on another server, numbers may restart below it.
      this.#offset = update.id + 1
      await this.#hear(update.id, update.incoming)
      if (this.#stop.signal.aborted) break
    }
    if (updates.length === 0) return IDLE_MS
    // Telegram repeats updates without a usable number.
    return numbered > 0 ? BUSY_MS : RETRY_MS_MAX
  }

  async #hear(id: number, incoming: Incoming): Promise<void> {
    const { hearing } = this.#input
    const dateSeconds = incoming.tag === 'message' ? incoming.dateSeconds : undefined
    if (this.#wasHeard(id, dateSeconds)) return hearing.passOver(incoming)
    await hearing.hear(incoming, async () => {
      const heard = {
        next: id + 1,
        dateSeconds: Math.max(this.#heard?.dateSeconds ?? 0, dateSeconds ?? 0),
      }
      try {
        await this.#input.file.write(heard)
        this.#heard = heard
        return true
      } catch {
        return false
      }
    })
  }

  /** A lower number is an old message or the start of a new numbering, whose messages are later than all handled ones. */
  #wasHeard(id: number, dateSeconds: number | undefined): boolean {
    if (this.#heard === undefined || id >= this.#heard.next) return false
    return dateSeconds === undefined || dateSeconds <= this.#heard.dateSeconds
  }

  /** Returns the pause before the next poll, ms; undefined if retrying is pointless. */
  #fail(reply: Extract<BotReply<unknown>, { ok: false }>): number | undefined {
    const { hearing } = this.#input
    const { code, fault, retryAfterMs } = reply
    this.#isListening = false
    if (code !== undefined && UNKNOWN_BOT.includes(code)) {
      hearing.report(
        'refused',
        `Telegram does not accept the token of control.telegram (${fault}): the daemon ignores Telegram until a restart; everything else continues`,
      )
      return undefined
    }
    if (code === CONFLICT) {
      hearing.report(
        'conflict',
        `another client polls the bot of control.telegram, such as a second daemon: messages may not arrive here (${fault})`,
      )
      return CONFLICT_MS
    }
    this.#failures += 1
    const growing = Math.min(RETRY_MS_MIN * 2 ** (this.#failures - 1), RETRY_MS_MAX)
    hearing.report('silent', `messages cannot be fetched from Telegram: ${fault}`)
    return Math.max(growing, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX))
  }

  async #pause(ms: number): Promise<void> {
    const { clock, pace = 1 } = this.#input
    if (ms > 0) await clock.sleep(ms * pace, this.#stop.signal)
  }
}
