import { decideCall } from '../decide/call.ts'
import { decideDca } from '../decide/dca.ts'
import type { Decision, MarketView } from '../decide/decision.ts'
import type { Intent, IntentId } from '../domain/intent.ts'
import { limitHit, livePermits } from '../domain/limits.ts'
import { acceptPrice } from '../domain/price.ts'
import type { SkipReason } from '../domain/reason.ts'
import type { SlotSeconds } from '../domain/schedule.ts'
import type { DaemonState } from '../domain/state.ts'
import type { DcaStrategy, Strategy } from '../domain/strategy.ts'
import { type Asset, nativeOf, type Token } from '../domain/token.ts'
import type { BaseUnits } from '../domain/units.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'

/** ETH that a strategy selling ETH leaves in the wallet for gas, in wei. */
export const GAS_RESERVE_WEI = 10n ** 15n

export type SlotInput = {
  readonly context: OrderContext
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  /** The market at the tick; calls need none. */
  readonly view: ChainView | undefined
  readonly nowMs: number
}

type Skip = { readonly reason: SkipReason; readonly detail: string }

/**
 * Decides one slot and journals what came of it: opened with its intents, or closed as skipped. Resolves, once that
 * is on disk, with the intents to execute.
 */
export async function takeSlot(input: SlotInput): Promise<readonly IntentId[]> {
  const decision = admitted(input, openCountSkip(input) ?? decide(input))
  return decision.tag === 'trade' ? openSlot(input, decision.intents) : skipSlot(input, decision)
}

function decide(input: SlotInput): Decision {
  const { context, strategy, slotSeconds, view } = input
  switch (strategy.kind) {
    case 'dca':
      return view === undefined ? NO_MARKET : decideDca(strategy, viewOf(input, strategy, view))
    case 'call': {
      const caller = context.aggregator?.wallet.signer.address ?? context.wallet.signer.address
      return decideCall(strategy, { slotSeconds, caller })
    }
  }
}

const NO_MARKET: Decision = { tag: 'skip', reason: 'price-missing', detail: 'no market was read' }

async function openSlot(
  input: SlotInput,
  intents: readonly Intent[],
): Promise<readonly IntentId[]> {
  const { context, strategy, slotSeconds, nowMs } = input
  await context.ports.journal.append({
    type: 'slot-opened',
    strategy: strategy.name,
    slotSeconds,
    intents,
  })
  context.ports.observe({
    type: 'slot-opened',
    strategy: strategy.name,
    slotSeconds,
    latenessMs: nowMs - slotSeconds * 1000,
    intents: intents.length,
  })
  return intents.map((intent) => intent.id)
}

async function skipSlot(input: SlotInput, skip: Skip): Promise<readonly IntentId[]> {
  const { context, strategy, slotSeconds } = input
  const closed = {
    type: 'slot-closed',
    strategy: strategy.name,
    slotSeconds,
    outcome: 'skipped',
    reason: skip.reason,
  } as const
  await context.ports.journal.append(closed)
  context.ports.observe({ ...closed, detail: skip.detail, count: 1 })
  return []
}

/** What bars a slot before its strategy is even asked. */
function openCountSkip(input: SlotInput): Decision | undefined {
  const { strategy, nowMs } = input
  const { state } = input.context.ports.journal
  const record = state.strategies.get(strategy.name)
  const open = record?.openSlots.length ?? 0
  if (open >= strategy.limits.maxOpenIntents)
    return { tag: 'skip', reason: 'too-many-open', detail: `${open} slots are still in flight` }
  if (strategy.limits.cooldownMs === 0) return undefined
  const last = lastStartMs(state, strategy.name)
  if (last !== undefined && nowMs - last < strategy.limits.cooldownMs)
    return {
      tag: 'skip',
      reason: 'cooldown',
      detail: `free again in ${Math.ceil((strategy.limits.cooldownMs - (nowMs - last)) / 1000)} s`,
    }
  return undefined
}

/** When the strategy last began an order or opened a slot whose order is still to come. */
function lastStartMs(state: DaemonState, strategy: string): number | undefined {
  let last = state.strategies.get(strategy)?.lastOrderAtMs
  for (const open of state.intents.values()) {
    if (open.intent.strategy === strategy) last = Math.max(last ?? 0, open.openedAtMs)
  }
  return last
}

/** Applies the caps to what a strategy wants. The same caps are applied again when a permit is about to be signed. */
function admitted(input: SlotInput, decision: Decision): Decision {
  if (decision.tag === 'skip') return decision
  const { context, strategy, nowMs } = input
  for (const intent of decision.intents) {
    const hit = limitHit(context.ports.journal.state, {
      strategy: strategy.name,
      ...spendOf(intent, context.chainId),
      nowMs,
      limits: strategy.limits,
      account: context.account,
    })
    if (hit !== undefined)
      return { tag: 'skip', reason: hit.reason, detail: `${hit.used} of ${hit.cap} is used` }
  }
  return decision
}

function spendOf(intent: Intent, chainId: number): { token: Token; amount: BaseUnits } {
  return intent.venue === 'gasless'
    ? { token: intent.sell.token, amount: intent.maxSell }
    : { token: nativeOf(chainId), amount: intent.value }
}

function viewOf(
  { context, slotSeconds }: SlotInput,
  strategy: DcaStrategy,
  view: ChainView,
): MarketView {
  const feed = context.feedFor(strategy.sell.token, strategy.buy.token)
  const accepted =
    feed === undefined
      ? ({ ok: false, reason: 'price-missing' } as const)
      : acceptPrice(feed, view.readings.get(feed.pair), view.blockTimeSeconds)
  return {
    slotSeconds,
    owner: context.ports.signer.address,
    available: availableOf(context, strategy.sell, view),
    price: accepted.ok && feed !== undefined ? { ...accepted, feed } : notOk(accepted),
    maxDeviationBps: context.account.maxDeviationBps,
  }
}

function notOk(accepted: ReturnType<typeof acceptPrice>): MarketView['price'] {
  return accepted.ok ? { ok: false, reason: 'price-missing' } : accepted
}

/** What is in the wallet and promised to nobody: less live permits, less intents that are still to be signed. */
function availableOf(context: OrderContext, sell: Asset, view: ChainView): bigint {
  const { state } = context.ports.journal
  let planned = 0n
  for (const open of state.intents.values()) {
    if (open.venue !== 'gasless' || open.state !== 'planned') continue
    if (open.intent.sell.token.address !== sell.token.address) continue
    if (open.intent.sell.native === sell.native) planned += open.intent.maxSell
  }
  if (sell.native) return view.nativeBalance - GAS_RESERVE_WEI - planned
  const balance = view.balances.get(sell.token.address) ?? 0n
  return balance - livePermits(state, sell.token) - planned - heldForEth(state, sell.token)
}

/** WETH that belongs to orders of strategies that name ETH: wrapped and not sold yet, or bought and not unwrapped yet. */
function heldForEth(state: DaemonState, token: Token): bigint {
  let held = 0n
  for (const open of state.intents.values()) {
    if (open.venue !== 'gasless') continue
    const { intent, state: at, fill } = open
    const { sell, buy } = intent
    if (buy.native && buy.token.address === token.address) held += fill?.received ?? 0n
    const wrapped = state.endedTransactions.get(`${intent.id}:wrap`) === 'mined'
    if (at === 'planned' && sell.native && sell.token.address === token.address && wrapped)
      held += intent.maxSell
  }
  return held
}
