import type { IntentId } from '../domain/intent.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import type { PriceFeed } from '../domain/price.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { makesCalls, type Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import { hearServiceClock, trustedNow } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { Asking } from './asking.ts'
import { barredFrom } from './barred.ts'
import { type Heads, headsOf } from './enrolment.ts'
import { reportBalances, reportLook } from './look.ts'
import { comparedHead, readMarket } from './market.ts'
import { Programs } from './programs.ts'
import { considerNow, recordSlot, type Taken, waitOf } from './slot.ts'
import { type Triggering, trigger } from './trigger.ts'
import { type Owed, Upcoming } from './upcoming.ts'
import { marketOf, type Wanted, wantedBy } from './view.ts'

/** Pause before slots are tried again whose market could not be read; they stay owed meanwhile. */
const VIEW_RETRY_MS = 2_000
/** Missed slots that are counted in one turn of the event loop, for some 10 ms. */
const COUNTED_AT_ONCE = 10_000
/** Even without slots the market is looked at this often, all of it, for those who watch. */
const LOOK_EVERY_MS = 60_000

export type Agenda = {
  /**
   * Attends to everything that is due. Resolves with the intents to execute; those of modules, which take their time,
   * are launched as they come.
   */
  tick(): Promise<readonly IntentId[]>
  /** When the next slot is due, epoch ms. */
  nextDueMs(): number
  nextSlotOf(strategy: string): SlotSeconds | undefined
  /** Resolves once no module is being asked. */
  settled(): Promise<void>
  /** Attends these strategies from now on. Never during a tick, nor while a module is being asked. */
  replace(strategies: readonly Strategy[]): void
  /** An order has ended: what waits for its turn is looked at with the next tick. Gives whether anything waits. */
  orderEnded(): boolean
  /** Looks at the calendar again, after strategies were entered into the journal. Never during a tick. */
  recount(): void
  /**
   * Opens a slot of a strategy now, outside its schedule, after what is due of it. Limits and pauses hold for it as for
   * any other. Never during a tick. Begins it; `done` gives the slot and its intents, or why there is none.
   */
  trigger(strategy: string): Promise<Triggering>
}

export type AgendaInput = {
  readonly context: OrderContext
  readonly strategies: readonly Strategy[]
  /** When this process began, epoch ms; undefined until that is known. */
  readonly startedAtMs: () => number | undefined
  readonly wallet: string
  /** All of the config, of that wallet's chain: each is read once a minute, whoever trades or goes by it. */
  readonly tokens: readonly Token[]
  readonly feeds: readonly PriceFeed[]
  /** Called for each intent of a module, once it is on disk. */
  readonly launch: (id: IntentId) => void
  /** Called when a slot may be due that `nextDueMs` did not know of. */
  readonly wake: () => void
  /** Called with a bug or the failure of the journal. */
  readonly fail: (error: unknown) => void
}

/** The calendar of all strategies over the journal's record of what is accounted for. */
export function createAgenda(input: AgendaInput): Agenda {
  const { context, strategies, startedAtMs } = input
  const { ports } = context
  const upcoming = new Upcoming({ ports, strategies, startedAtMs })
  const asking = new Asking({ ...input, upcoming })
  const attendant = new Attendant(input, upcoming, asking)
  const programs = new Programs(ports, upcoming)
  return {
    async tick() {
      reportOpen(context)
      const intents = await attendant.attend(ports.clock.now())
      // After it: what was missed to a program's end is accounted for just now.
      await programs.tell()
      return intents
    },
    settled: () => asking.settled(),
    replace: (others) => upcoming.replace(others),
    orderEnded: () => upcoming.releaseAll(),
    recount() {
      // What a module is being asked for is looked at again when it has answered.
      for (const strategy of upcoming.strategies)
        if (!asking.has(strategy.name)) upcoming.refresh(strategy)
    },
    trigger: (name) => trigger({ context, upcoming, asking }, name),
    nextDueMs: () => upcoming.soonestMs(),
    nextSlotOf: (strategy) => upcoming.nextOf(strategy),
  }
}

/** What a tick has read: the market, and the newest blocks. */
type Sight = { readonly view: ChainView | undefined; readonly heads: Heads }

/** Attends what is due with one read of the market, and keeps what could not be attended for later. */
class Attendant {
  /** When the wallet is read again, after it could not be. */
  #retryAtMs = 0
  #lookedAtMs = Number.NEGATIVE_INFINITY
  readonly #input: AgendaInput
  readonly #upcoming: Upcoming
  readonly #asking: Asking

  constructor(input: AgendaInput, upcoming: Upcoming, asking: Asking) {
    this.#input = input
    this.#upcoming = upcoming
    this.#asking = asking
  }

  async attend(nowMs: number): Promise<readonly IntentId[]> {
    const { context } = this.#input
    const due = this.#upcoming.dueAt(nowMs).filter((each) => !this.#waitsForTurn(each, nowMs))
    if (this.#mayWait(due, nowMs)) return []
    const sight = await this.#read(due, nowMs)
    // What is due by now stays owed: nobody would wait for it.
    if (context.closing.aborted) return []
    const owed = await this.#believed(due, sight.heads)
    if (context.closing.aborted) return []
    await Promise.all(owed.map((each) => recordMissed(context, each)))
    const own = owed.filter(({ strategy }) => strategy.kind !== 'custom')
    const taken = own.map((each) => ({ ...each, ...this.#take(each, sight.view) }))
    for (const each of owed) if (each.strategy.kind === 'custom') this.#ask(each, sight.view)
    const started = await Promise.all(taken.flatMap(({ records }) => records))
    for (const { strategy, waitsMs } of taken) {
      this.#upcoming.refresh(strategy)
      if (waitsMs !== undefined) this.#leave(strategy, waitsMs)
    }
    return started.flatMap(({ intents }) => intents)
  }

  /** The first slot that is owed: the others are after it, by what the market is then. */
  #ask({ strategy, due, atMs: nowMs }: Believed, view: ChainView | undefined): void {
    const { context, fail } = this.#input
    const [slotSeconds] = due.attend
    if (slotSeconds === undefined) this.#upcoming.refresh(strategy)
    else this.#asking.take({ context, strategy, slotSeconds, view, nowMs }).catch(fail)
  }

  #mayWait(due: readonly Strategy[], nowMs: number): boolean {
    if (due.length > 0) return false
    // Set by a clock that has since been set back, a retry may seem far ahead.
    const isRetrying = nowMs < this.#retryAtMs && this.#retryAtMs - nowMs <= VIEW_RETRY_MS
    return isRetrying || !this.#isToLook(nowMs)
  }

  /** Whether other orders are in the way of a slot that waits for them: nothing has to be read to know that. */
  #waitsForTurn(strategy: Strategy, nowMs: number): boolean {
    const { ports, account } = this.#input.context
    const { state } = ports.journal
    const barred = barredFrom({ state, strategy, account, nowMs })
    const slotSeconds = barred && this.#upcoming.dueOf(strategy, nowMs)?.due.attend[0]
    if (slotSeconds === undefined || barred === undefined) return false
    const { context } = this.#input
    const waitsMs = waitOf({ context, strategy, slotSeconds, nowMs }, barred)
    if (waitsMs !== undefined) this.#leave(strategy, waitsMs)
    return waitsMs !== undefined
  }

  async #read(due: readonly Strategy[], nowMs: number): Promise<Sight> {
    const { context } = this.#input
    const hasCalls = due.some(makesCalls)
    const [view, calls] = await Promise.all([
      this.#readMarket(due, nowMs),
      hasCalls ? comparedHead(context) : undefined,
      due.every(makesCalls) ? undefined : hearServiceClock(context),
    ])
    return { view, heads: headsOf(context, { swaps: view?.blockTimeSeconds, calls }) }
  }

  async #readMarket(due: readonly Strategy[], nowMs: number): Promise<ChainView | undefined> {
    const { context } = this.#input
    const isLook = this.#isToLook(nowMs)
    const wanted = marketOf(wantedBy(due), context.pricePath)
    const { tokens } = wanted
    const view = await readMarket(context, isLook ? this.#input : wanted)
    if (view !== undefined) this.#report(view, { isLook, tokens, nowMs })
    else {
      this.#retryAtMs = context.ports.clock.now() + VIEW_RETRY_MS
      // A feed that nothing of what is due goes by may be why: it must not keep that waiting.
      if (isLook && due.length > 0) this.#lookedAtMs = nowMs
    }
    return view
  }

  #isToLook(nowMs: number): boolean {
    return Math.abs(nowMs - this.#lookedAtMs) >= LOOK_EVERY_MS
  }

  #report(
    view: ChainView,
    read: { readonly isLook: boolean; readonly tokens: Wanted['tokens']; readonly nowMs: number },
  ): void {
    if (!read.isLook) {
      reportBalances(this.#input, read.tokens, view)
      return
    }
    this.#lookedAtMs = read.nowMs
    const upcoming = this.#upcoming
    const strategies = upcoming.strategies.filter(({ name }) => upcoming.nextOf(name) !== undefined)
    reportBalances(this.#input, this.#input.tokens, view)
    reportLook({ ...this.#input, strategies }, view)
  }

  /**
   * What is owed by a time that is believed: this machine's, where the newest block of the strategy's own chain bears it out and,
   * for swaps, the service's clock does. By a clock that is wrong, slots would be opened, missed or skipped whose time has not
   * come. Whatever is due is left owed instead, and looked at again soon; so it is while no block can be read.
   */
  async #believed(due: readonly Strategy[], heads: Heads): Promise<readonly Believed[]> {
    const { context } = this.#input
    const { clock, observe } = context.ports
    const { swaps, calls } = comparedClocks(context, heads)
    const atMs = clock.now()
    const troubles = new Set<string>()
    const owed: Believed[] = []
    let counted = 0
    for (const strategy of due) {
      const time = makesCalls(strategy) ? calls : swaps
      if (!time?.ok) {
        if (time !== undefined) troubles.add(time.detail)
        this.#leave(strategy, VIEW_RETRY_MS)
        continue
      }
      const owing = this.#upcoming.dueOf(strategy, atMs)
      if (owing === undefined) continue
      owed.push({ ...owing, atMs })
      counted += countedOf(owing)
      if (counted < COUNTED_AT_ONCE) continue
      counted = 0
      await clock.sleep(0)
    }
    for (const detail of troubles) observe({ type: 'clock-trouble', detail })
    return owed
  }

  /** Begins to record what is owed, slot by slot, up to one that waits. */
  #take(
    { strategy, due, atMs }: Believed,
    view: ChainView | undefined,
  ): { readonly records: readonly Promise<Taken>[]; readonly waitsMs?: number } {
    const { context } = this.#input
    const records: Promise<Taken>[] = []
    for (const slotSeconds of due.attend) {
      const slot = { context, strategy, slotSeconds, view, nowMs: atMs }
      const considered = considerNow(slot)
      const waitsMs = 'asks' in considered ? undefined : waitOf(slot, considered.decision)
      if (waitsMs !== undefined) return { records, waitsMs }
      records.push(recordSlot(slot, considered))
    }
    return { records }
  }

  #leave(strategy: Strategy, ms: number): void {
    this.#upcoming.postpone(strategy, { nowMs: this.#input.context.ports.clock.now(), ms })
  }
}

/** What is owed by a time that is believed, epoch ms: the time by which it is decided. */
type Believed = Owed & { readonly atMs: number }

/** How many slots were counted for what is owed. */
function countedOf({ due: { missed } }: Owed): number {
  return missed === undefined ? 0 : (missed.count ?? COUNTED_AT_ONCE)
}

/** What the clocks of each venue agree on; undefined where its newest block could not be read. */
function comparedClocks(context: OrderContext, heads: Heads) {
  const compare = (blockTimeSeconds: number | undefined, serviceOffsetMs?: number) =>
    blockTimeSeconds === undefined
      ? undefined
      : trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  return { swaps: compare(heads.swaps, serviceOffsetMs), calls: compare(heads.calls) }
}

async function recordMissed(
  context: OrderContext,
  { strategy: { name: strategy }, due: { missed } }: Owed,
): Promise<void> {
  if (missed === undefined) return
  await context.ports.journal.append({ type: 'slots-missed', strategy, ...missed })
}

function reportOpen(context: OrderContext): void {
  let openPermits = 0
  const { intents } = context.ports.journal.state
  for (const open of intents.values()) if (hasLiveAuthorization(open.state)) openPermits += 1
  context.ports.observe({ type: 'open-orders', openPermits, unresolvedIntents: intents.size })
}
