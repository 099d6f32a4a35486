import type { IntentId } from '../domain/order/intent.ts'
import type { TrustedTime } from '../domain/policy.ts'
import { slotsMissed } from '../journal/events/strategy/slots.ts'
import type { ChainView } from '../ports.ts'
import type { ManualOrder } from '../strategies/manual/manual-kind.ts'
import { asksModule, makesCalls, type Strategy } from '../strategies/registry.ts'
import { hearServiceClock, trustedNow } from '../venues/chain-requests.ts'
import type { OrderContext } from '../venues/context.ts'
import { type FundsInspection, reportBalances, reportMarket, reportOpen } from './inspect-funds.ts'
import { blockingSkip, waitingIn } from './limits/blocked.ts'
import { prepareTerms } from './limits/hold.ts'
import { marketOf, type Wanted, wantedBy } from './market-snapshot.ts'
import { PendingRequests } from './pending-requests.ts'
import { comparedHead, readMarket } from './read-market.ts'
import { type Heads, headsOf } from './registration.ts'
import { type Decided, decideSlot, type Taken, waitOf } from './slot.ts'
import { trigger } from './trigger.ts'
import { createProgramsWatch } from './twap-schedules.ts'
import { type Owed, Upcoming } from './upcoming.ts'

const VIEW_RETRY_MS = 2_000
/** Missed slots counted per turn of the event loop, about 10 ms. */
const COUNTED_AT_ONCE = 10_000
/** Strategies decided, and skips recorded, per turn of the event loop: a few milliseconds each. */
const DECIDED_AT_ONCE = 400
const RECORDED_AT_ONCE = 50
/** Interval of the full market report, even without due slots. */
const LOOK_EVERY_MS = 60_000
/** In a daemon's first hour, a read for due slots becomes a full report if the last one is this old. It feeds the value curve. */
const FIRST_MS = 3_600_000
const FIRST_EVERY_MS = 5_000

export type Agenda = ReturnType<typeof createAgenda>

type AgendaInput = FundsInspection & {
  /** Epoch ms; undefined until known. */
  readonly startedAtMs: () => number | undefined
  /** When the state was last written before this start, epoch ms. */
  readonly lastSeenMs?: number | undefined
  /** Called for each intent of a custom module and of a large tick, once it is durable. */
  readonly launch: (id: IntentId) => void
  /** Called when a slot may be due earlier than `wakeMs` reported. */
  readonly wake: () => void
  readonly fail: (error: unknown) => void
}

/** The calendar of all strategies, combined with the journal's record of handled slots. */
export function createAgenda(input: AgendaInput) {
  const { context } = input
  const { ports } = context
  const upcoming = new Upcoming({ ...input, ports })
  const pendingRequests = new PendingRequests({ ...input, upcoming })
  const handler = new TickHandler(input, upcoming, pendingRequests)
  const watchPrograms = createProgramsWatch(ports, upcoming)
  const prepare = (strategies: readonly Strategy[]): void =>
    void prepareTerms(context, strategies).catch(input.fail)
  prepare(upcoming.strategies)
  return {
    /** Handles everything due. Resolves with the intents to execute; those of custom modules are launched as they arrive. */
    async tick(): Promise<readonly IntentId[]> {
      reportOpen(context)
      const intents = await handler.handle(ports.clock.now())
      // Runs last, because slots missed before a schedule's end are only now recorded.
      await watchPrograms()
      return intents
    },
    settled: () => pendingRequests.settled(),
    /** Replaces the strategies. Never call it during a tick or while a module request is pending. */
    replace(others: readonly Strategy[]): void {
      upcoming.replace(others)
      prepare(others)
    },
    /** An order ended: waiting slots are checked at the next tick. Returns true if any wait. */
    orderEnded: () => upcoming.releaseAll(),
    /** Re-reads the calendar after registrations. Never call it during a tick. */
    recount(): void {
      // Strategies with a pending module request are re-read after the reply.
      for (const strategy of upcoming.strategies)
        if (!pendingRequests.has(strategy.name)) upcoming.refresh(strategy)
    },
    /** Opens an unscheduled slot now, after due ones. Limits and pauses apply. Never call it during a tick. */
    trigger: (name: string, order?: ManualOrder) =>
      trigger({ context, upcoming, pendingRequests }, name, order),
    /** Time at which a timer must wake the loop for a slot, epoch ms; cron tasks may wake it earlier. */
    wakeMs: () => upcoming.wakeMs(ports.clock.now()),
    /** When the next slot opens, after its jitter, epoch seconds. */
    nextSlotOf: (strategy: string) => upcoming.opensOf(strategy),
  }
}

/** `report`: of a large tick, whose decisions come first. */
type MarketRead = { readonly view: ChainView | undefined; readonly report?: () => void }
type MarketSnapshot = MarketRead & { readonly heads: Heads }

/**
 * Handles due slots with one market read, and keeps failed ones for later. Works in slices, so that thousands of slots do not
 * keep orders from their turn. All slots are decided first, because recording takes longer: only skips that change nothing
 * are recorded after the other decisions. Each slice of a large tick leaves out its waiting slots just before it decides.
 */
class TickHandler {
  #retryAtMs = 0
  readonly #startedAtMs: number
  #reportedAtMs = Number.NEGATIVE_INFINITY
  /** True in the first hour, until a full report fails. */
  #isFirst = true
  readonly #input: AgendaInput
  readonly #upcoming: Upcoming
  readonly #pendingRequests: PendingRequests

  constructor(input: AgendaInput, upcoming: Upcoming, pendingRequests: PendingRequests) {
    this.#input = input
    this.#startedAtMs = input.context.ports.clock.now()
    this.#upcoming = upcoming
    this.#pendingRequests = pendingRequests
  }

  async handle(nowMs: number): Promise<readonly IntentId[]> {
    const { context, launch } = this.#input
    const { closing, ports } = context
    const all = this.#upcoming.dueAt(nowMs)
    const isLarge = all.length > DECIDED_AT_ONCE
    const due = isLarge ? all : this.#withoutWaiting(all, nowMs)
    if (this.#mayWait(due, nowMs)) return []
    const snapshot = await this.#read(due, nowMs)
    const skips: Skipped[] = []
    const finishing: Promise<readonly IntentId[]>[] = []
    const finish = (handled: readonly Handled[]): void => {
      const intents = this.#finish(handled)
      // Orders do not wait for the end of a large tick. Failures are thrown at its end.
      if (isLarge) intents.then((ids) => closing.aborted || ids.forEach(launch)).catch(() => {})
      finishing.push(intents)
    }
    for (let from = 0; from < due.length; from += DECIDED_AT_ONCE) {
      if (from > 0) await ports.clock.sleep(0)
      if (closing.aborted) break
      const part = due.slice(from, from + DECIDED_AT_ONCE)
      const taken = await this.#takeAll(part, snapshot, isLarge ? skips : undefined)
      finish(taken)
    }
    snapshot.report?.()
    for (let from = 0; from < skips.length; from += RECORDED_AT_ONCE) {
      // A stop records what is decided without a pause.
      if (from > 0 && !closing.aborted) await ports.clock.sleep(0)
      const part = skips.slice(from, from + RECORDED_AT_ONCE)
      finish(part.map(({ strategy, skip }) => ({ strategy, records: [skip.record()] })))
    }
    const intents = (await Promise.all(finishing)).flat()
    return isLarge ? [] : intents
  }

  async #takeAll(
    due: readonly Strategy[],
    { view, heads }: MarketSnapshot,
    skips: Skipped[] | undefined,
  ): Promise<readonly Handled[]> {
    const { context } = this.#input
    const ready = skips === undefined ? due : this.#withoutWaiting(due, context.ports.clock.now())
    const owed = await this.#believed(ready, heads)
    if (context.closing.aborted) return []
    const missed = owed.flatMap(({ strategy: { name: strategy }, due: { missed } }) =>
      missed ? context.ports.journal.append(slotsMissed({ strategy, ...missed })) : [],
    )
    await Promise.all(missed)
    const own = owed.filter(({ strategy }) => !asksModule(strategy))
    const taken = own.flatMap((each) => this.#take(each, view, skips))
    for (const each of owed) if (asksModule(each.strategy)) this.#ask(each, view)
    return taken
  }

  /** Decides only the first owed slot, because the market read after it decides the next. */
  #ask({ strategy, due, atMs: nowMs }: Owed, view: ChainView | undefined): void {
    const { context, fail } = this.#input
    const [slotSeconds] = due.open
    if (slotSeconds === undefined) this.#upcoming.refresh(strategy)
    else this.#pendingRequests.take({ context, strategy, slotSeconds, view, nowMs }).catch(fail)
  }

  async #finish(handled: readonly Handled[]): Promise<readonly IntentId[]> {
    const taken = await Promise.all(handled.flatMap(({ records }) => records))
    for (const { strategy, waitsMs } of handled) {
      this.#upcoming.refresh(strategy)
      if (waitsMs !== undefined) this.#leave(strategy, waitsMs)
    }
    return taken.flatMap(({ intents }) => intents)
  }

  #mayWait(due: readonly Strategy[], nowMs: number): boolean {
    if (due.length > 0) return false
    // After a clock was set back, the retry time may look far ahead.
    const isRetrying = nowMs < this.#retryAtMs && this.#retryAtMs - nowMs <= VIEW_RETRY_MS
    return isRetrying || !this.#isReportDue(nowMs)
  }

  #withoutWaiting(due: readonly Strategy[], nowMs: number): readonly Strategy[] {
    const { account, ports } = this.#input.context
    const mayWait = waitingIn({ state: ports.journal.state, account })
    return due.filter((each) => !(mayWait(each) && this.#waitsForTurn(each, nowMs)))
  }

  /** True if a slot waits for other orders; decided without a read. */
  #waitsForTurn(strategy: Strategy, nowMs: number): boolean {
    const { ports, account } = this.#input.context
    const { state } = ports.journal
    const blocked = blockingSkip({ state, strategy, account, nowMs })
    const slotSeconds = blocked && this.#upcoming.dueOf(strategy, nowMs)?.due.open[0]
    if (slotSeconds === undefined || blocked === undefined) return false
    const waitsMs = waitOf({ context: this.#input.context, strategy, slotSeconds, nowMs }, blocked)
    if (waitsMs !== undefined) this.#leave(strategy, waitsMs)
    return waitsMs !== undefined
  }

  async #read(due: readonly Strategy[], nowMs: number): Promise<MarketSnapshot> {
    const { context } = this.#input
    const hasCalls = due.some(makesCalls)
    const [market, calls] = await Promise.all([
      this.#readMarket(due, nowMs),
      hasCalls ? comparedHead(context) : undefined,
      due.every(makesCalls) ? undefined : hearServiceClock(context),
    ])
    const swaps = market.view?.blockTimeSeconds
    return { ...market, heads: headsOf(context, { swaps, calls }) }
  }

  async #readMarket(due: readonly Strategy[], nowMs: number): Promise<MarketRead> {
    const { context } = this.#input
    const isReport = this.#isReportDue(nowMs, due.length > 0)
    const wanted = marketOf(wantedBy(due), context.pricePath)
    const view = await readMarket(context, isReport ? this.#input : wanted)
    if (view !== undefined) {
      const report = (): void => this.#report(view, { ...wanted, isReport, nowMs })
      if (due.length > DECIDED_AT_ONCE) return { view, report }
      report()
    } else {
      this.#retryAtMs = context.ports.clock.now() + VIEW_RETRY_MS
      // A feed that no due slot uses may have failed the report; it must not delay those slots.
      if (isReport && due.length > 0) this.#reportedAtMs = nowMs
      if (isReport) this.#isFirst = false
    }
    return { view }
  }

  #isReportDue(nowMs: number, hasDue = false): boolean {
    this.#isFirst &&= Math.abs(nowMs - this.#startedAtMs) < FIRST_MS
    const everyMs = this.#isFirst && hasDue ? FIRST_EVERY_MS : LOOK_EVERY_MS
    return Math.abs(nowMs - this.#reportedAtMs) >= everyMs
  }

  #report(
    view: ChainView,
    read: { readonly isReport: boolean; readonly tokens: Wanted['tokens']; readonly nowMs: number },
  ): void {
    const { isReport, tokens, nowMs } = read
    reportBalances(this.#input, isReport ? this.#input.tokens : tokens, view)
    if (!isReport) return
    this.#reportedAtMs = nowMs
    const upcoming = this.#upcoming
    const strategies = upcoming.strategies.filter(({ name }) => upcoming.nextOf(name) !== undefined)
    reportMarket({ ...this.#input, strategies }, view)
  }

  /**
   * Keeps strategies with a trusted time: this machine's clock agrees with the newest block of the strategy's chain and, for
   * swaps, with the service's clock. A wrong clock would open, miss or skip slots too early. Without a trusted time, slots
   * stay owed and are retried soon.
   */
  async #believed(due: readonly Strategy[], heads: Heads): Promise<readonly Owed[]> {
    const { context } = this.#input
    const { clock, observe } = context.ports
    const { swaps, calls } = comparedClocks(context, heads)
    const atMs = clock.now()
    const conflicts = new Set<string>()
    const owed: Owed[] = []
    let counted = 0
    for (const strategy of due) {
      const time = makesCalls(strategy) ? calls : swaps
      if (!time?.ok) {
        if (time !== undefined) conflicts.add(time.detail)
        this.#leave(strategy, VIEW_RETRY_MS, unreadyText(context, strategy, time))
        continue
      }
      const owing = this.#upcoming.dueOf(strategy, atMs)
      if (owing === undefined) continue
      owed.push(owing)
      counted += countedOf(owing)
      if (counted < COUNTED_AT_ONCE) continue
      counted = 0
      await clock.sleep(0)
    }
    for (const detail of conflicts) observe({ type: 'clock-trouble', detail })
    return owed
  }

  /** Decides owed slots in order, up to one that waits, and records them; a lone plain skip goes to `skips`, if given. */
  #take(
    { strategy, due, atMs: nowMs }: Owed,
    view: ChainView | undefined,
    skips: Skipped[] | undefined,
  ): readonly Handled[] {
    const { context } = this.#input
    const records: Promise<Taken>[] = []
    for (const slotSeconds of due.open) {
      const decided = decideSlot({ context, strategy, slotSeconds, view, nowMs })
      if (typeof decided === 'number') return [{ strategy, records, waitsMs: decided }]
      if (skips !== undefined && decided.isPlainSkip && due.open.length === 1) {
        skips.push({ strategy, skip: decided })
        return []
      }
      records.push(decided.record())
    }
    return [{ strategy, records }]
  }

  #leave(strategy: Strategy, ms: number, unready?: string): void {
    const nowMs = this.#input.context.ports.clock.now()
    this.#upcoming.postpone(strategy, { nowMs, ms, ...(unready && { unready }) })
  }
}

/** A strategy and the records of its slots; `waitsMs` if one is left. */
type Handled = {
  readonly strategy: Strategy
  readonly records: readonly Promise<Taken>[]
  readonly waitsMs?: number
}

type Skipped = { readonly strategy: Strategy; readonly skip: Decided }

function unreadyText(
  { gasless, aggregator }: OrderContext,
  strategy: Strategy,
  time: TrustedTime | undefined,
): string {
  if (time !== undefined) return 'the clocks disagreed'
  const { chain } = (makesCalls(strategy) && aggregator?.settings) || gasless
  return `chain ${chain} could not be read`
}

function countedOf({ due: { missed } }: Owed): number {
  return missed === undefined ? 0 : (missed.count ?? COUNTED_AT_ONCE)
}

/** Clock comparison per venue; undefined if the venue's newest block is unavailable. */
function comparedClocks(context: OrderContext, heads: Heads) {
  const compare = (blockTimeSeconds: number | undefined, serviceOffsetMs?: number) =>
    blockTimeSeconds === undefined
      ? undefined
      : trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  return { swaps: compare(heads.swaps, serviceOffsetMs), calls: compare(heads.calls) }
}
