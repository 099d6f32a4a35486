import { EVENTS_USUAL, type NotifyEvent } from '../../../src/domain/notify.ts'
import type { Mode } from '../../../src/domain/settings.ts'
import type { Recorded } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Channel, Delivery } from '../../../src/observe/notify/channels/channel.ts'
import type { DeliveryResult } from '../../../src/observe/notify/delivery-worker.ts'
import type { Message } from '../../../src/observe/notify/message.ts'
import { createNotifier, type Notifier } from '../../../src/observe/notify/notifier.ts'
import type { OutboxFile, OutboxLine } from '../../../src/observe/notify/outbox-file.ts'
import type { VirtualClock } from '../../simulation/virtual-clock.ts'
import { type CapturedLog, captureLog } from '../capture-log.ts'
import { type Happened, onRecord } from '../state/happened.ts'
import { AT_MS } from './observations.ts'

/** Contents of an outbox file, across restarts. */
export class OutboxDisk {
  lines: OutboxLine[] = []
  /** Writes fail from now on. */
  isFull = false
  /** Pause after a failed write, except for a last attempt. */
  restMs = 0
  /** Duration of a write. */
  writeMs = 0
  writes = 0
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  /** The file as a process sees it while `alive` is true: a dead process writes nothing. */
  open(alive: () => boolean): OutboxFile {
    let mustRewrite = false
    let restsUntilMs = 0
    return {
      lines: this.lines.map((line) => JSON.parse(JSON.stringify(line))),
      append: async (lines, nowMs, image, last) => {
        if (!alive()) return new Promise(() => undefined)
        this.writes += 1
        const { writeMs } = this
        if (writeMs > 0) await this.#after(writeMs)
        if (!alive()) return new Promise(() => undefined)
        if (nowMs < restsUntilMs && last === undefined) return false
        if (this.isFull) {
          mustRewrite = true
          restsUntilMs = nowMs + this.restMs
          return false
        }
        this.lines = mustRewrite ? [...image()] : [...this.lines, ...lines]
        mustRewrite = false
        return true
      },
      spoil: () => {
        mustRewrite = true
      },
      close: async () => undefined,
    }
  }

  #after(ms: number): Promise<void> {
    const clock = this.#clock
    return new Promise((resolve) => clock.schedule(clock.trueMs + ms, resolve))
  }
}

export type Received = { readonly message: Message; readonly atMs: number }

/** A receiver in memory: its messages, and its answer from now on. */
export class FakeReceiver {
  readonly got: Received[] = []
  tries = 0
  answer: (message: Message) => Delivery | Promise<Delivery> = () => ({ ok: true })
  readonly name: string
  readonly #routing: Channel['routing']
  readonly #isProgram: boolean
  readonly #paceMs: number

  constructor(
    options: {
      readonly kind?: 'slack' | 'webhook'
      readonly index?: number
      readonly on?: readonly NotifyEvent[]
      readonly strategies?: readonly string[]
      readonly paceMs?: number
    } = {},
  ) {
    const { kind = 'slack', index = 0, on = EVENTS_USUAL, strategies, paceMs = 0 } = options
    this.name = `${kind}-${index + 1}`
    this.#routing = { on: [...on], strategies: strategies && [...strategies] }
    this.#isProgram = kind === 'webhook'
    this.#paceMs = paceMs
  }

  channel(clock: VirtualClock, alive: () => boolean): Channel {
    return {
      name: this.name,
      routing: this.#routing,
      isProgram: this.#isProgram,
      key: `${this.name}-key`,
      paceMs: this.#paceMs,
      deliver: async (message) => {
        if (!alive()) return new Promise(() => undefined)
        this.tries += 1
        const delivery = await this.answer(message)
        if (delivery.ok) this.got.push({ message, atMs: clock.trueMs })
        return delivery
      },
      close: async () => undefined,
    }
  }

  subjects(): readonly string[] {
    return this.got.map(({ message }) => message.subject)
  }

  events(): readonly string[] {
    return this.got.map(({ message }) => message.event)
  }
}

export const DOWN: Delivery = { ok: false, final: false, answered: false, fault: 'ECONNREFUSED' }

/** A notifier in virtual time, over one disk and one journal that outlive it. */
export class Rig {
  readonly disk: OutboxDisk
  readonly journal: Recorded[] = []
  readonly results: [string, DeliveryResult][] = []
  readonly waiting = new Map<string, number>()
  readonly receivers: readonly FakeReceiver[]
  readonly clock: VirtualClock
  readonly captured: CapturedLog
  #owner: { alive: boolean } = { alive: false }
  #notifier: Notifier | undefined
  mode: Mode = 'live'

  private constructor(
    clock: VirtualClock,
    receivers: readonly FakeReceiver[],
    captured: CapturedLog,
  ) {
    this.clock = clock
    this.disk = new OutboxDisk(clock)
    this.receivers = receivers
    this.captured = captured
  }

  static async begin(clock: VirtualClock, ...receivers: readonly FakeReceiver[]): Promise<Rig> {
    const rig = new Rig(clock, receivers, await captureLog({ level: 'debug' }))
    await rig.start()
    return rig
  }

  get notifier(): Notifier {
    if (this.#notifier === undefined) throw new Error('no daemon runs')
    return this.#notifier
  }

  /** Starts a daemon: it reads the disk, and then the later records of the journal. */
  async start(): Promise<void> {
    const owner = { alive: true }
    const alive = (): boolean => owner.alive
    this.#owner = owner
    const { log, scrubber } = this.captured
    this.#notifier = createNotifier({
      channels: this.receivers.map((each) => each.channel(this.clock, alive)),
      file: this.disk.open(alive),
      context: {
        timezone: 'UTC',
        swapChain: { name: 'base', explorer: undefined },
        callChain: undefined,
      },
      mode: this.mode,
      clock: this.clock.asPort(owner),
      jitter: () => 0.5,
      ...{ log, scrubber },
      onResult: (channel, result) => {
        if (owner.alive) this.results.push([channel, result])
      },
      onWaiting: (channel, waiting) => this.waiting.set(channel, waiting),
    })
    const { journal } = this
    await this.#notifier.begin(journal.length, async function* (after) {
      yield* journal.slice(after)
    })
  }

  /** `kill -9`: nothing of the daemon runs any more. */
  kill(): void {
    this.#owner.alive = false
    this.clock.forgetProcess(this.#owner)
    this.#notifier = undefined
  }

  /** The journal records an event; the daemon that recorded it may report it. */
  record(what: Happened, isReported = true): void {
    const record = { seq: this.journal.length + 1, atMs: this.clock.trueMs }
    const entry = onRecord(what, record)
    this.journal.push(entry)
    if (isReported) this.notifier.recorded(entry)
  }

  observe(event: RuntimeEvent): void {
    this.notifier.observe(event)
  }

  run(ms: number): Promise<void> {
    return this.clock.runUntil(this.clock.trueMs + ms)
  }
}

export const START_MS = AT_MS
