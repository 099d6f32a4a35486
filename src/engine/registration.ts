import type { JournalEvent } from '../domain/book/journal.ts'
import { NOT_SCHEDULED, UNJUDGED } from '../domain/book/slots.ts'
import type { StrategyRecord } from '../domain/book/state.ts'
import { believedMs, type Sighting, sightedAtMs, trustedTime } from '../domain/policy.ts'
import { missedRun } from '../domain/schedule/due.ts'
import { scheduleKey } from '../domain/schedule/schedule.ts'
import { makesCalls, type Strategy } from '../domain/strategy.ts'
import { soon } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import type { Chain } from '../ports.ts'
import { isEntered } from './upcoming.ts'
import { scheduleOf } from './view.ts'

/** Pause before clocks that disagreed are looked at again. */
const RETRY_MS = 10_000

/** Times of the newest blocks, epoch seconds: of the chain that swaps settle on, and of the one that calls are made on. */
export type Heads = {
  readonly swaps: number | undefined
  readonly calls: number | undefined
}

/** The time of the newest block of a strategy's own chain; undefined where it could not be read. */
export function headOf(heads: Heads, strategy: Strategy): number | undefined {
  return makesCalls(strategy) ? heads.calls : heads.swaps
}

/** Reads the newest block of one chain. It is asked again later rather than long: others wait for this loop. */
async function readHead(
  { ports }: Pick<OrderContext, 'ports'>,
  chain: Pick<Chain, 'identity'>,
  doing: string,
): Promise<number | undefined> {
  const reply = await soon(ports, chain.identity())
  if (reply?.ok) return reply.value.blockTimeSeconds
  const message = reply === undefined ? 'no answer for a while' : reply.fault.message
  ports.observe({ type: 'chain-trouble', doing, message })
  return undefined
}

/** The newest block of the chain that calls are made on; undefined where it cannot be read, or the config names none. */
export async function callsHead(context: OrderContext): Promise<number | undefined> {
  const { aggregator } = context
  if (aggregator === undefined) return undefined
  return readHead(context, aggregator.chain, "reading the newest block of the calls' chain")
}

/** Calls that have no chain of their own are held against the other. */
export function headsOf(
  { aggregator }: Pick<OrderContext, 'aggregator'>,
  { swaps, calls }: Heads,
): Heads {
  return { swaps, calls: aggregator === undefined ? swaps : calls }
}

/** Nothing waits for a strategy that trades no more. Its terms are judged anew when it comes back. */
function holdOfGone(strategy: string, { held, terms }: StrategyRecord): readonly JournalEvent[] {
  if (held === undefined) return []
  const detail = 'its file is gone or disabled'
  return [{ type: 'hold-lifted', strategy, terms: terms ?? UNJUDGED, cause: 'file', detail }]
}

/**
 * Records as missed the slots that a strategy still owes when new files drop it, or give it another schedule: a slot that waits for
 * a cap is one. Nothing attends them any more, and each slot needs an outcome. `swaps` as in `replace`.
 */
export async function missDropped(
  { ports: { journal, clock }, strategies }: OrderContext,
  next: readonly Strategy[],
  swaps: number,
): Promise<void> {
  const { state } = journal
  const keys = new Map(next.map(({ name, schedule }) => [name, scheduleKey(schedule)]))
  const nowSeconds = Math.floor(believedMs(clock.now(), swaps) / 1000)
  const missed = [...strategies.values()].flatMap((strategy): readonly JournalEvent[] => {
    const { name } = strategy
    const record = state.strategies.get(name)
    if (!isEntered(record, strategy) || keys.get(name) === record.scheduleKey) return []
    const run = missedRun(scheduleOf(state, strategy), record.lastSlotSeconds, nowSeconds)
    return run === undefined ? [] : [{ type: 'slots-missed', strategy: name, ...run }]
  })
  if (missed.length > 0) await journal.append(...missed)
}

/** A strategy that is new, or whose schedule is, and when both clocks first saw it so. */
type Waiting = { readonly strategy: Strategy; readonly key: string; readonly seen: Sighting }

/**
 * Enters strategies into the journal: their slots count from when the daemon first saw them, by clocks that agree. While
 * this machine's clock and the strategy's own chain do not, a strategy waits: by a clock that is ahead its first slots
 * would be skipped, by a node that is behind it would run slots from before it existed.
 */
export class Enrolment {
  readonly #context: OrderContext
  readonly #onEntered: () => Promise<void>
  readonly #waiting = new Map<string, Waiting>()
  /** When this process began, by both clocks; by clocks that agree, once they do. */
  readonly #begun: Sighting
  #startedAtMs: number | undefined
  #isWatching = false

  /** `onEntered` is told when slots began to count that did not at once. */
  constructor(
    context: OrderContext,
    { begun, onEntered }: { readonly begun: Sighting; readonly onEntered: () => Promise<void> },
  ) {
    this.#context = context
    this.#begun = begun
    this.#onEntered = onEntered
  }

  /** When this process began, epoch ms; undefined until the clocks agree. */
  startedAtMs(): number | undefined {
    return this.#startedAtMs
  }

  /** Attends these strategies from now on. `swaps` is the time of the newest block, read just now. */
  async replace(strategies: Iterable<Strategy>, swaps: number): Promise<void> {
    const { journal, clock } = this.#context.ports
    const known = journal.state.strategies
    const named = new Map([...strategies].map((strategy) => [strategy.name, strategy]))
    const fresh = (): readonly Strategy[] =>
      [...named.values()].filter(
        ({ name, schedule }) => known.get(name)?.scheduleKey !== scheduleKey(schedule),
      )
    this.#forgetOthers(fresh())
    const heads = await this.#headsFor(fresh(), swaps)
    // While the heads were read, `watch` may have entered some.
    for (const strategy of fresh()) {
      const key = scheduleKey(strategy.schedule)
      const head = headOf(heads, strategy)
      const now = { clockMs: clock.now(), chainMs: head === undefined ? undefined : head * 1000 }
      const seen = this.#waiting.get(strategy.name)?.seen ?? now
      this.#waiting.set(strategy.name, { strategy, key, seen })
    }
    const gone = [...known].filter(
      ([name, record]) => !named.has(name) && record.scheduleKey !== NOT_SCHEDULED,
    )
    const nowSeconds = Math.floor(believedMs(clock.now(), swaps) / 1000)
    await this.#enter(
      heads,
      gone.flatMap(([strategy, record]) => [
        {
          type: 'strategy-scheduled',
          strategy,
          scheduleKey: NOT_SCHEDULED,
          fromSeconds: Math.max(nowSeconds, record.lastSlotSeconds),
        },
        ...holdOfGone(strategy, record),
      ]),
    )
  }

  /** Looks again and again until nothing waits any more. Resolves then, or when the daemon closes. */
  async watch(): Promise<void> {
    if (this.#isWatching) return
    this.#isWatching = true
    const { ports, closing } = this.#context
    while (!this.#isSettled && !closing.aborted) {
      await ports.clock.sleep(RETRY_MS, closing)
      if (closing.aborted) break
      const swaps = await readHead(this.#context, ports.chain, 'reading the newest block')
      const waiting = [...this.#waiting.values()].map(({ strategy }) => strategy)
      const entered = await this.#enter(await this.#headsFor(waiting, swaps), [])
      if (entered > 0) await this.#onEntered()
    }
    this.#isWatching = false
  }

  get #isSettled(): boolean {
    return this.#waiting.size === 0 && this.#startedAtMs !== undefined
  }

  /** What is gone, or has yet another schedule, is not waited for. */
  #forgetOthers(fresh: readonly Strategy[]): void {
    const keys = new Map(fresh.map(({ name, schedule }) => [name, scheduleKey(schedule)]))
    for (const [name, { key }] of this.#waiting)
      if (keys.get(name) !== key) this.#waiting.delete(name)
  }

  async #headsFor(strategies: readonly Strategy[], swaps: number | undefined): Promise<Heads> {
    const calls = strategies.some(makesCalls) ? await callsHead(this.#context) : undefined
    return headsOf(this.#context, { swaps, calls })
  }

  /** Enters what is seen by clocks that agree, and tells of the rest. Gives how many were entered. */
  async #enter(heads: Heads, alongside: readonly JournalEvent[]): Promise<number> {
    const { journal, clock, observe } = this.#context.ports
    const localMs = clock.now()
    const agreed = (head: number | undefined) =>
      head === undefined
        ? ({ ok: false, detail: 'its newest block could not be read' } as const)
        : trustedTime({ localMs, serviceOffsetMs: undefined, blockTimeSeconds: head })
    const now = agreed(heads.swaps)
    if (now.ok) this.#startedAtMs ??= sightedAtMs(this.#begun, now.nowMs)
    const entered: JournalEvent[] = [...alongside]
    const left: string[] = []
    let why = now.ok ? undefined : now.detail
    for (const [name, { strategy, key, seen }] of this.#waiting) {
      const time = agreed(headOf(heads, strategy))
      if (!time.ok) {
        left.push(name)
        why = time.detail
        continue
      }
      this.#waiting.delete(name)
      const record = journal.state.strategies.get(name)
      const last = record?.lastSlotSeconds ?? 0
      const fromSeconds = Math.max(last, Math.floor(sightedAtMs(seen, time.nowMs) / 1000))
      const event = { type: 'strategy-scheduled', strategy: name, scheduleKey: key } as const
      const first = record === undefined ? { isFirst: true } : {}
      entered.push({ ...event, fromSeconds, ...first })
    }
    const waits = `the slots of ${left.join(', ')} do not count before clocks agree`
    if (why !== undefined)
      observe({ type: 'clock-trouble', detail: left.length > 0 ? `${waits}: ${why}` : why })
    if (entered.length > 0) await journal.append(...entered)
    return entered.length - alongside.length
  }
}
