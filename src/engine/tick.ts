import type { IntentId } from '../domain/intent.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import { CHAIN_LAG_MS_MAX } from '../domain/policy.ts'
import type { PriceFeed } from '../domain/price.ts'
import type { SlotSeconds } from '../domain/schedule.ts'
import type { DcaStrategy, Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import { askChain, type OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { nextSlot } from './calendar.ts'
import { type Due, dueSlots, type MissedRun } from './due.ts'
import { takeSlot } from './slot.ts'

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
}

export type AgendaInput = {
  readonly context: OrderContext
  readonly strategies: readonly Strategy[]
  readonly startedAtMs: number
  readonly wallet: string
}

/** The calendar of all strategies over the journal's record of what is accounted for. */
export function createAgenda(input: AgendaInput): Agenda {
  const { context, strategies } = input
  const { clock, journal, observe } = context.ports
  const next = new Map<string, SlotSeconds>()
  let retryAtMs = 0
  let walletReadAtMs = Number.NEGATIVE_INFINITY

  const refresh = (strategy: Strategy): void => {
    const record = journal.state.strategies.get(strategy.name)
    const after = record?.lastSlotSeconds ?? Math.floor(input.startedAtMs / 1000)
    const slot = nextSlot(strategy.schedule, after)
    if (slot === undefined) next.delete(strategy.name)
    else next.set(strategy.name, slot)
    observe({
      type: 'strategy-scheduled',
      strategy: strategy.name,
      nextSlotSeconds: slot,
      lastFillAtMs: record?.lastFillAtMs,
    })
  }
  for (const strategy of strategies) refresh(strategy)

  const dueAt = (nowMs: number): readonly Owed[] => {
    const owed: Owed[] = []
    for (const strategy of strategies) {
      const slot = next.get(strategy.name)
      if (slot === undefined || slot * 1000 > nowMs) continue
      const record = journal.state.strategies.get(strategy.name)
      const lastSlotSeconds = record?.lastSlotSeconds ?? slot - 1
      const { startedAtMs } = input
      const due = dueSlots({ schedule: strategy.schedule, lastSlotSeconds, nowMs, startedAtMs })
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
      reportBalances(input, view)
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

  return {
    async tick() {
      const nowMs = clock.now()
      reportOpen(context)
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
    },
    nextDueMs() {
      let soonest = Number.POSITIVE_INFINITY
      for (const slot of next.values()) soonest = Math.min(soonest, slot * 1000)
      return Math.max(soonest, retryAtMs)
    },
    nextSlotOf: (strategy) => next.get(strategy),
  }
}

function swapsOf(strategies: readonly Strategy[]): readonly DcaStrategy[] {
  return strategies.filter((strategy) => strategy.kind !== 'call')
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
  const tokens = new Map<string, Token>()
  const feeds = new Map<string, PriceFeed>()
  for (const { sell, buy } of swapsOf(strategies)) {
    tokens.set(sell.token.address, sell.token)
    tokens.set(buy.token.address, buy.token)
    const feed = context.feedFor(sell.token, buy.token)
    if (feed !== undefined) feeds.set(feed.pair, feed)
  }
  const reply = await askChain(context, 'reading the market', () =>
    context.ports.chain.view({
      owner: context.ports.signer.address,
      tokens: [...tokens.values()],
      feeds: [...feeds.values()],
    }),
  )
  return reply.ok ? reply.value : undefined
}

function reportBalances({ context, strategies, wallet }: AgendaInput, view: ChainView): void {
  const { observe } = context.ports
  observe({
    type: 'wallet-balance',
    wallet,
    token: 'ETH',
    amount: view.nativeBalance,
    decimals: 18,
  })
  const tokens = new Set(swapsOf(strategies).flatMap(({ sell, buy }) => [sell.token, buy.token]))
  for (const { address, symbol, decimals } of tokens) {
    const amount = view.balances.get(address)
    if (amount !== undefined)
      observe({ type: 'wallet-balance', wallet, token: symbol, amount, decimals })
  }
}

function reportOpen(context: OrderContext): void {
  let openPermits = 0
  const { intents } = context.ports.journal.state
  for (const open of intents.values()) if (hasLiveAuthorization(open.state)) openPermits += 1
  context.ports.observe({ type: 'open-orders', openPermits, unresolvedIntents: intents.size })
}
