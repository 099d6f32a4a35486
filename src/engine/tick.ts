import type { IntentId } from '../domain/intent.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import { CHAIN_LAG_MS_MAX } from '../domain/policy.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import { attendedAtMs, type Due, dueSlots, type MissedRun } from '../domain/schedule/due.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { Strategy } from '../domain/strategy.ts'
import { askChain, type OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { takeSlot } from './slot.ts'
import { balancesOf, marketOf, scheduleOf } from './view.ts'

/** Pause before slots are tried again whose market could not be read; they stay owed meanwhile. */
const VIEW_RETRY_MS = 2_000
/** Even without slots the wallet is read this often, for its metrics. */
const WALLET_READ_MS = 60_000

export type Agenda = {
  /** Attends to everything that is due. Resolves with the intents to execute. */
  tick(): Promise<readonly IntentId[]>
  /** When the next slot is due, epoch ms. */
  nextDueMs(): number
  nextSlotOf(strategy: string): SlotSeconds | undefined
  /** Attends these strategies from now on. Never during a tick. */
  replace(strategies: readonly Strategy[]): void
  /**
   * Opens a slot of a strategy now, outside its schedule, after what is due of it. Limits and pauses hold for it as for
   * any other. Never during a tick. Gives the slot and its intents, or why there is none.
   */
  trigger(strategy: string): Promise<Triggered>
}

export type Triggered =
  | { readonly ok: true; readonly slotSeconds: SlotSeconds; readonly intents: readonly IntentId[] }
  | { readonly ok: false; readonly detail: string }

export type AgendaInput = {
  readonly context: OrderContext
  readonly strategies: readonly Strategy[]
  readonly startedAtMs: number
  readonly wallet: string
}

/** The calendar of all strategies over the journal's record of what is accounted for. */
export function createAgenda(input: AgendaInput): Agenda {
  const { context } = input
  let { strategies } = input
  const { clock, journal, observe } = context.ports
  const next = new Map<string, SlotSeconds>()
  let retryAtMs = 0
  let walletReadAtMs = Number.NEGATIVE_INFINITY

  const refresh = (strategy: Strategy): void => {
    const record = journal.state.strategies.get(strategy.name)
    const after = record?.lastSlotSeconds ?? Math.floor(input.startedAtMs / 1000)
    const slot = nextSlot(scheduleOf(journal.state, strategy), after)
    if (slot === undefined) next.delete(strategy.name)
    else next.set(strategy.name, slot)
    observe({
      type: 'strategy-scheduled',
      strategy: strategy.name,
      nextSlotSeconds: slot,
      lastFillAtMs: record?.lastFillAtMs,
      paused: record?.paused !== undefined,
    })
  }
  for (const strategy of strategies) refresh(strategy)

  const dueAt = (nowMs: number): readonly Owed[] => {
    const owed: Owed[] = []
    for (const strategy of strategies) {
      const slot = next.get(strategy.name)
      if (slot === undefined || dueMsOf(strategy, slot) > nowMs) continue
      const record = journal.state.strategies.get(strategy.name)
      const lastSlotSeconds = record?.lastSlotSeconds ?? slot - 1
      const { startedAtMs } = input
      const schedule = scheduleOf(journal.state, strategy)
      const due = dueSlots({
        strategy: strategy.name,
        schedule,
        lastSlotSeconds,
        nowMs,
        startedAtMs,
      })
      owed.push({ strategy, due })
    }
    return owed
  }

  const read = async (owed: readonly Owed[], nowMs: number): Promise<ChainView | undefined> => {
    const view = await readMarket(
      context,
      owed.length === 0 ? strategies : owed.map(({ strategy }) => strategy),
    )
    if (view === undefined) retryAtMs = clock.now() + VIEW_RETRY_MS
    else {
      walletReadAtMs = nowMs
      reportBalances(input, strategies, view)
    }
    return view
  }

  /**
   * A clock that runs ahead must not use up slots whose time has not come: nothing is accounted for that the newest
   * block does not nearly know of. What is left is owed, and looked at again soon.
   */
  const believed = (owed: readonly Owed[], view: ChainView, nowMs: number): readonly Owed[] => {
    const blockTimeMs = view.blockTimeSeconds * 1000
    if (nowMs <= blockTimeMs + CHAIN_LAG_MS_MAX) return owed
    retryAtMs = clock.now() + VIEW_RETRY_MS
    const seconds = Math.round((nowMs - blockTimeMs) / 1000)
    observe({ type: 'clock-trouble', detail: `the newest block is ${seconds} s old` })
    return dueAt(blockTimeMs + CHAIN_LAG_MS_MAX)
  }

  const attend = async (nowMs: number): Promise<readonly IntentId[]> => {
    const due = dueAt(nowMs)
    const idle = due.length === 0 && Math.abs(nowMs - walletReadAtMs) < WALLET_READ_MS
    // Set by a clock that has since been set back, a retry may seem far ahead.
    const waiting = nowMs < retryAtMs && retryAtMs - nowMs <= VIEW_RETRY_MS
    if (idle || waiting) return []
    retryAtMs = 0
    const view = await read(due, nowMs)
    const owed =
      view === undefined
        ? due.filter(({ strategy }) => strategy.kind === 'call')
        : believed(due, view, nowMs)
    await Promise.all(owed.map((each) => recordMissed(context, each)))
    const taken = owed.flatMap(({ strategy, due: { attend } }) =>
      attend.map((slotSeconds) => takeSlot({ context, strategy, slotSeconds, view, nowMs })),
    )
    const started = (await Promise.all(taken)).flat()
    for (const { strategy } of owed) refresh(strategy)
    return started
  }

  return {
    tick() {
      reportOpen(context)
      return attend(clock.now())
    },
    replace(others) {
      strategies = others
      next.clear()
      for (const strategy of strategies) refresh(strategy)
    },
    async trigger(name) {
      const strategy = strategies.find((each) => each.name === name)
      if (strategy === undefined)
        return { ok: false, detail: `no enabled strategy is named ${name}` }
      const nowMs = clock.now()
      const last = journal.state.strategies.get(name)?.lastSlotSeconds ?? 0
      // The second after one that is accounted for, where both are this one.
      const slotSeconds = Math.max(Math.floor(nowMs / 1000), last + 1)
      const owedSlot = next.get(name)
      const isAhead = slotSeconds * 1000 - nowMs > 1_000
      if (isAhead || (owedSlot !== undefined && owedSlot <= slotSeconds))
        return { ok: false, detail: `${name} has a slot of its own at this very moment` }
      const view = await readMarket(context, [strategy])
      if (view === undefined && strategy.kind !== 'call')
        return { ok: false, detail: 'the market could not be read' }
      const intents = await takeSlot({ context, strategy, slotSeconds, view, nowMs })
      refresh(strategy)
      return { ok: true, slotSeconds, intents }
    },
    nextDueMs() {
      let soonest = Number.POSITIVE_INFINITY
      for (const strategy of strategies) {
        const slot = next.get(strategy.name)
        if (slot !== undefined) soonest = Math.min(soonest, dueMsOf(strategy, slot))
      }
      return Math.max(soonest, retryAtMs)
    },
    nextSlotOf: (strategy) => next.get(strategy),
  }
}

function dueMsOf({ name, schedule }: Strategy, slot: SlotSeconds): number {
  return attendedAtMs(name, schedule, slot)
}

type Owed = { readonly strategy: Strategy; readonly due: Due }

async function recordMissed(context: OrderContext, { strategy, due }: Owed): Promise<void> {
  const run: MissedRun | undefined = due.missed
  if (run === undefined) return
  await context.ports.journal.append({ type: 'slots-missed', strategy: strategy.name, ...run })
  context.ports.observe({
    type: 'slot-closed',
    strategy: strategy.name,
    slotSeconds: run.lastSeconds,
    outcome: 'missed',
    reason: 'missed',
    count: run.count ?? 1,
  })
}

/** One batched read for all strategies that are due. */
async function readMarket(
  context: OrderContext,
  strategies: readonly Strategy[],
): Promise<ChainView | undefined> {
  const reply = await askChain(context, 'reading the market', () =>
    context.ports.chain.view({
      owner: context.ports.signer.address,
      ...marketOf(strategies, context.pricePath),
    }),
  )
  return reply.ok ? reply.value : undefined
}

function reportBalances(
  { context, wallet }: AgendaInput,
  strategies: readonly Strategy[],
  view: ChainView,
): void {
  const { tokens } = marketOf(strategies, context.pricePath)
  for (const { symbol: token, amount, decimals } of balancesOf(tokens, view))
    context.ports.observe({ type: 'wallet-balance', wallet, token, amount, decimals })
}

function reportOpen(context: OrderContext): void {
  let openPermits = 0
  const { intents } = context.ports.journal.state
  for (const open of intents.values()) if (hasLiveAuthorization(open.state)) openPermits += 1
  context.ports.observe({ type: 'open-orders', openPermits, unresolvedIntents: intents.size })
}
