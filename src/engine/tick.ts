import type { IntentId } from '../domain/intent.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import { CHAIN_LAG_MS_MAX } from '../domain/policy.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { readsMarket, type Strategy } from '../domain/strategy.ts'
import { askChain } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { Asking } from './asking.ts'
import { type SlotInput, takeSlot } from './slot.ts'
import { type Owed, Upcoming } from './upcoming.ts'
import { balancesOf, marketOf, type Wanted, wantedBy } from './view.ts'

/** Pause before slots are tried again whose market could not be read; they stay owed meanwhile. */
const VIEW_RETRY_MS = 2_000
/** Even without slots the wallet is read this often, for its metrics. */
const WALLET_READ_MS = 60_000

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
  /**
   * Opens a slot of a strategy now, outside its schedule, after what is due of it. Limits and pauses hold for it as for
   * any other. Never during a tick. Begins it; `done` gives the slot and its intents, or why there is none.
   */
  trigger(strategy: string): Promise<Triggering>
}

export type Triggering = { readonly done: Promise<Triggered> }

export type Triggered =
  | { readonly ok: true; readonly slotSeconds: SlotSeconds; readonly intents: readonly IntentId[] }
  | { readonly ok: false; readonly detail: string }

export type AgendaInput = {
  readonly context: OrderContext
  readonly strategies: readonly Strategy[]
  readonly startedAtMs: number
  readonly wallet: string
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
  return {
    tick() {
      reportOpen(context)
      return attendant.attend(ports.clock.now())
    },
    settled: () => asking.settled(),
    replace: (others) => upcoming.replace(others),
    trigger: (name) => trigger({ context, upcoming, asking }, name),
    nextDueMs: () => Math.max(upcoming.soonestMs(), attendant.retryAtMs),
    nextSlotOf: (strategy) => upcoming.nextOf(strategy),
  }
}

/** Attends what is due with one read of the market, and keeps what could not be attended for later. */
class Attendant {
  /** When slots whose market could not be read, or that no block knows of yet, are looked at again. */
  retryAtMs = 0
  #walletReadAtMs = Number.NEGATIVE_INFINITY
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
    const due = this.#upcoming.dueAt(nowMs)
    if (this.#mayWait(due, nowMs)) return []
    this.retryAtMs = 0
    const view = await this.#read(due, nowMs)
    // What is due by now stays owed: nobody would wait for it.
    if (context.closing.aborted) return []
    const owed =
      view === undefined
        ? due.filter(({ strategy }) => !readsMarket(strategy))
        : this.#believed(due, view, nowMs)
    await Promise.all(owed.map((each) => recordMissed(context, each)))
    const own = owed.filter(({ strategy }) => strategy.kind !== 'custom')
    const taken = own.flatMap(({ strategy, due: { attend } }) =>
      attend.map((slotSeconds) => takeSlot({ context, strategy, slotSeconds, view, nowMs })),
    )
    for (const each of owed) if (each.strategy.kind === 'custom') this.#ask(each, { view, nowMs })
    const started = (await Promise.all(taken)).flat()
    for (const { strategy } of own) this.#upcoming.refresh(strategy)
    return started
  }

  /** The first slot that is owed: the others are after it, by what the market is then. */
  #ask({ strategy, due }: Owed, at: Pick<SlotInput, 'view' | 'nowMs'>): void {
    const { context, fail } = this.#input
    const [slotSeconds] = due.attend
    if (slotSeconds === undefined) this.#upcoming.refresh(strategy)
    else this.#asking.take({ context, strategy, slotSeconds, ...at }).catch(fail)
  }

  #mayWait(due: readonly Owed[], nowMs: number): boolean {
    const isIdle = due.length === 0 && Math.abs(nowMs - this.#walletReadAtMs) < WALLET_READ_MS
    // Set by a clock that has since been set back, a retry may seem far ahead.
    const isRetrying = nowMs < this.retryAtMs && this.retryAtMs - nowMs <= VIEW_RETRY_MS
    return isIdle || isRetrying
  }

  async #read(owed: readonly Owed[], nowMs: number): Promise<ChainView | undefined> {
    const { tokens } = this.#upcoming
    // Nothing is decided when nothing is owed: only the wallet is looked at.
    const wanted =
      owed.length === 0 ? { tokens, pairs: [] } : wantedBy(owed.map(({ strategy }) => strategy))
    const view = await readMarket(this.#input.context, wanted)
    if (view === undefined) this.#retrySoon()
    else {
      this.#walletReadAtMs = nowMs
      reportBalances(this.#input, tokens, view)
    }
    return view
  }

  /**
   * A clock that runs ahead must not use up slots whose time has not come: nothing is accounted for that the newest
   * block does not nearly know of. What is left is owed, and looked at again soon.
   */
  #believed(owed: readonly Owed[], view: ChainView, nowMs: number): readonly Owed[] {
    const blockTimeMs = view.blockTimeSeconds * 1000
    if (nowMs <= blockTimeMs + CHAIN_LAG_MS_MAX) return owed
    this.#retrySoon()
    const seconds = Math.round((nowMs - blockTimeMs) / 1000)
    const { observe } = this.#input.context.ports
    observe({ type: 'clock-trouble', detail: `the newest block is ${seconds} s old` })
    return this.#upcoming.dueAt(blockTimeMs + CHAIN_LAG_MS_MAX)
  }

  #retrySoon(): void {
    this.retryAtMs = this.#input.context.ports.clock.now() + VIEW_RETRY_MS
  }
}

async function trigger(
  agenda: {
    readonly context: OrderContext
    readonly upcoming: Upcoming
    readonly asking: Asking
  },
  name: string,
): Promise<Triggering> {
  const { context, upcoming, asking } = agenda
  const refused = (detail: string): Triggering => ({ done: Promise.resolve({ ok: false, detail }) })
  const { clock, journal } = context.ports
  const strategy = upcoming.strategies.find((each) => each.name === name)
  if (strategy === undefined) return refused(`no enabled strategy is named ${name}`)
  const nowMs = clock.now()
  const last = journal.state.strategies.get(name)?.lastSlotSeconds ?? 0
  // The second after one that is accounted for, where both are this one.
  const slotSeconds = Math.max(Math.floor(nowMs / 1000), last + 1)
  const owedSlot = upcoming.nextOf(name)
  const isAhead = slotSeconds * 1000 - nowMs > 1_000
  const isOwed = owedSlot !== undefined && owedSlot <= slotSeconds
  if (isAhead || isOwed || asking.has(name))
    return refused(`${name} has a slot of its own at this very moment`)
  const view = await readMarket(context, wantedBy([strategy]))
  if (context.closing.aborted) return refused('the daemon is stopping')
  if (view === undefined && readsMarket(strategy)) return refused('the market could not be read')
  const taken = asking.take({ context, strategy, slotSeconds, view, nowMs })
  return { done: taken.then((intents) => ({ ok: true, slotSeconds, intents })) }
}

async function recordMissed(
  context: OrderContext,
  { strategy: { name: strategy }, due: { missed } }: Owed,
): Promise<void> {
  if (missed === undefined) return
  await context.ports.journal.append({ type: 'slots-missed', strategy, ...missed })
}

/** One batched read for all strategies that are due. */
async function readMarket(context: OrderContext, wanted: Wanted): Promise<ChainView | undefined> {
  const reply = await askChain(context, { route: 'view', doing: 'reading the market' }, () =>
    context.ports.chain.view({
      owner: context.ports.signer.address,
      ...marketOf(wanted, context.pricePath),
    }),
  )
  return reply.ok ? reply.value : undefined
}

function reportBalances(
  { context, wallet }: AgendaInput,
  tokens: Wanted['tokens'],
  view: ChainView,
): void {
  for (const { symbol: token, amount, decimals } of balancesOf(tokens, view))
    context.ports.observe({ type: 'wallet-balance', wallet, token, amount, decimals })
}

function reportOpen(context: OrderContext): void {
  let openPermits = 0
  const { intents } = context.ports.journal.state
  for (const open of intents.values()) if (hasLiveAuthorization(open.state)) openPermits += 1
  context.ports.observe({ type: 'open-orders', openPermits, unresolvedIntents: intents.size })
}
