import { believedMs, type Moment, momentMs, trustedTime } from '../domain/policy.ts'
import { missedRun } from '../domain/schedule/due.ts'
import { scheduleKey } from '../domain/schedule/schedule.ts'
import type { JournalEvent } from '../journal/events/registry.ts'
import { slotsMissed } from '../journal/events/strategy/slots.ts'
import { holdLifted } from '../journal/events/strategy/stops.ts'
import {
  NOT_SCHEDULED,
  strategyScheduled,
  UNJUDGED,
} from '../journal/events/strategy/strategies.ts'
import type { StrategyRecord } from '../journal/state/daemon-state.ts'
import type { Chain } from '../ports.ts'
import { makesCalls, type Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import { soon } from '../venues/chain-requests.ts'
import type { OrderContext } from '../venues/context.ts'
import { isEntered } from './upcoming.ts'

/** Pause before conflicting clocks are read again. */
const RETRY_MS = 10_000

/** Times of the newest blocks, epoch seconds, of the swap chain and the call chain. */
export type Heads = {
  readonly swaps: number | undefined
  readonly calls: number | undefined
}

/** Newest block time of a strategy's chain; undefined if unavailable. */
export function headOf(heads: Heads, strategy: Strategy): number | undefined {
  return makesCalls(strategy) ? heads.calls : heads.swaps
}

/** Waits only briefly, because the loop waits for it; callers retry later. */
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

/** Newest block time of the call chain; undefined if unavailable or not configured. */
export async function callsHead(context: OrderContext): Promise<number | undefined> {
  const { aggregator } = context
  if (aggregator === undefined) return undefined
  return readHead(context, aggregator.chain, "reading the newest block of the calls' chain")
}

/** Without a separate chain, calls use the swap chain. */
export function headsOf(
  { aggregator }: Pick<OrderContext, 'aggregator'>,
  { swaps, calls }: Heads,
): Heads {
  return { swaps, calls: aggregator === undefined ? swaps : calls }
}

/** Drops the hold of a removed strategy. Its terms are checked again if it returns. */
function holdOfGone(strategy: string, { held, terms }: StrategyRecord): readonly JournalEvent[] {
  if (held === undefined) return []
  const detail = 'its file is gone or disabled'
  return [holdLifted({ strategy, terms: terms ?? UNJUDGED, cause: 'file', detail })]
}

/** Records owed slots as missed when new files drop or reschedule their strategy, because each slot needs an outcome. */
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
    const detail = 'new files removed or rescheduled it'
    return run === undefined ? [] : [slotsMissed({ strategy: name, ...run, detail })]
  })
  if (missed.length > 0) await journal.append(...missed)
}

type Waiting = { readonly strategy: Strategy; readonly key: string; readonly seen: Moment }

/**
 * Registers strategies in the journal. Their slots count from the time the daemon first saw them, by clocks that agree. A
 * strategy waits while this machine's clock and its chain disagree: a fast clock would skip its first slots, and a lagging
 * node would run slots from before it existed.
 */
export class Registration {
  readonly #context: OrderContext
  readonly #onEntered: () => Promise<void>
  readonly #waiting = new Map<string, Waiting>()
  /** Process start by both clocks; see `momentMs`. */
  readonly #begun: Moment
  #startedAtMs: number | undefined
  #isWatching = false

  /** Calls `onEntered` when delayed registrations complete. */
  constructor(
    context: OrderContext,
    { begun, onEntered }: { readonly begun: Moment; readonly onEntered: () => Promise<void> },
  ) {
    this.#context = context
    this.#begun = begun
    this.#onEntered = onEntered
  }

  /** Process start, epoch ms; undefined until the clocks agree. */
  startedAtMs(): number | undefined {
    return this.#startedAtMs
  }

  /** Replaces the strategies. `swaps` is the newest block time, read just now. */
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
    // `watch` may have registered some while the heads were read.
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
        strategyScheduled({
          strategy,
          scheduleKey: NOT_SCHEDULED,
          fromSeconds: Math.max(nowSeconds, record.lastSlotSeconds),
        }),
        ...holdOfGone(strategy, record),
      ]),
    )
  }

  /** Retries until every strategy is registered or the daemon drains. */
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

  #forgetOthers(fresh: readonly Strategy[]): void {
    const keys = new Map(fresh.map(({ name, schedule }) => [name, scheduleKey(schedule)]))
    for (const [name, { key }] of this.#waiting)
      if (keys.get(name) !== key) this.#waiting.delete(name)
  }

  async #headsFor(strategies: readonly Strategy[], swaps: number | undefined): Promise<Heads> {
    const calls = strategies.some(makesCalls) ? await callsHead(this.#context) : undefined
    return headsOf(this.#context, { swaps, calls })
  }

  /** Registers strategies whose clocks agree, and reports the others. Returns the number registered. */
  async #enter(heads: Heads, alongside: readonly JournalEvent[]): Promise<number> {
    const { journal, clock, observe } = this.#context.ports
    const localMs = clock.now()
    const agreed = (head: number | undefined) =>
      head === undefined
        ? ({ ok: false, detail: 'its newest block could not be read' } as const)
        : trustedTime({ localMs, serviceOffsetMs: undefined, blockTimeSeconds: head })
    const now = agreed(heads.swaps)
    if (now.ok) this.#startedAtMs ??= momentMs(this.#begun, now.nowMs)
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
      const fromSeconds = Math.max(last, Math.floor(momentMs(seen, time.nowMs) / 1000))
      const first = record === undefined ? { isFirst: true } : {}
      entered.push(strategyScheduled({ strategy: name, scheduleKey: key, fromSeconds, ...first }))
    }
    const waits = `the slots of ${left.join(', ')} do not count before clocks agree`
    if (why !== undefined)
      observe({ type: 'clock-trouble', detail: left.length > 0 ? `${waits}: ${why}` : why })
    if (entered.length > 0) await journal.append(...entered)
    return entered.length - alongside.length
  }
}
