import { decideCall } from '../decide/call.ts'
import { decideSwap } from '../decide/decide.ts'
import { type Decision, type MarketView, type Skip, skip } from '../decide/decision.ts'
import { drawdownOf } from '../decide/drawdown.ts'
import type { DecisionInputs, EventOf } from '../domain/book/journal.ts'
import { limitHit, limitText } from '../domain/book/limits.ts'
import type { StrategyMemory } from '../domain/book/memory.ts'
import { bookOf } from '../domain/book/venues.ts'
import type { IntentId } from '../domain/intent.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { readsMarket, type Strategy, type SwapStrategy } from '../domain/strategy.ts'
import { type Address, baseUnits } from '../domain/units.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { barredFrom } from './barred.ts'
import { inputsOf, type ViewContext, viewOf } from './view.ts'

export type SlotInput = {
  readonly context: OrderContext
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  /** The market at the tick; calls need none. */
  readonly view: ChainView | undefined
  readonly nowMs: number
}

/** A decision with what it was made from, and what else is to be journaled with it. */
export type Considered = {
  readonly decision: Decision
  readonly inputs?: DecisionInputs
  readonly alongside: readonly EventOf<'strategy-paused'>[]
}

/** What a decision is made from, all of it known before: whoever only wants to know what would be done needs no more. */
export type ConsiderInput = ViewContext & {
  /** Account of the aggregation service that calls are made from. */
  readonly caller: Address
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  readonly view: ChainView | undefined
  readonly nowMs: number
}

/**
 * Decides one slot and journals what came of it: opened with its intents, or closed as skipped. Resolves, once that
 * is on disk, with the intents to execute.
 */
export async function takeSlot(input: SlotInput): Promise<readonly IntentId[]> {
  const { context, ...slot } = input
  const { mode, pricePath, account, ports, aggregator, wallet } = context
  const considered = consider({
    ...slot,
    mode,
    pricePath,
    account,
    state: ports.journal.state,
    owner: ports.signer.address,
    caller: aggregator?.wallet.signer.address ?? wallet.signer.address,
  })
  const { decision } = considered
  return decision.tag === 'trade'
    ? openSlot(input, considered, decision)
    : skipSlot(input, considered, decision)
}

/** The whole decision of a slot, with limits applied and without any effect. */
export function consider(input: ConsiderInput): Considered {
  const { state, strategy, slotSeconds, view, nowMs, account } = input
  const barred = barredFrom({ state, strategy, account, nowMs })
  if (barred !== undefined) return { decision: barred, alongside: [] }
  if (!readsMarket(strategy)) {
    const decision = decideCall(strategy, { slotSeconds, caller: input.caller })
    return { decision: admitted(input, decision), alongside: [] }
  }
  if (view === undefined)
    return { decision: skip('price-missing', 'no market was read'), alongside: [] }
  const market = viewOf(input, view, { strategy, slotSeconds })
  return { inputs: inputsOf(strategy, market, view), ...considerSwap(input, strategy, market) }
}

function considerSwap(
  input: ConsiderInput,
  strategy: SwapStrategy,
  market: MarketView,
): Omit<Considered, 'inputs'> {
  const record = input.state.strategies.get(strategy.name)
  const drawdown = drawdownOf(strategy, market, record?.resumedAtMs)
  if (drawdown.tag === 'tripped') {
    const { detail } = drawdown
    const paused = {
      type: 'strategy-paused',
      strategy: strategy.name,
      cause: 'drawdown',
      detail,
    } as const
    return { decision: skip('drawdown', detail), alongside: [paused] }
  }
  const decision = admitted(input, decideSwap(strategy, market))
  return { decision: remembering(decision, market.memory, drawdown.memory), alongside: [] }
}

/** Keeps the drawdown's own entries in whatever the strategy remembers. */
function remembering(decision: Decision, before: StrategyMemory, also: StrategyMemory): Decision {
  const memory = { ...(decision.memory ?? before), ...also }
  if (decision.tag === 'skip' || decision.memoryOnFill === undefined) return { ...decision, memory }
  return { ...decision, memory, memoryOnFill: { ...decision.memoryOnFill, ...also } }
}

async function openSlot(
  input: SlotInput,
  { inputs }: Considered,
  { intents, memory, memoryOnFill }: Extract<Decision, { tag: 'trade' }>,
): Promise<readonly IntentId[]> {
  const { context, strategy, slotSeconds } = input
  await context.ports.journal.append({
    type: 'slot-opened',
    strategy: strategy.name,
    slotSeconds,
    intents,
    inputs,
    memory: changed(input, memory),
    memoryOnFill,
  })
  return intents.map((intent) => intent.id)
}

async function skipSlot(
  input: SlotInput,
  { inputs, alongside }: Considered,
  { reason, detail, memory }: Skip,
): Promise<readonly IntentId[]> {
  const { context, strategy, slotSeconds } = input
  await context.ports.journal.append(
    {
      type: 'slot-closed',
      strategy: strategy.name,
      slotSeconds,
      outcome: 'skipped',
      reason,
      detail,
      inputs,
      memory: changed(input, memory),
    },
    ...alongside,
  )
  return []
}

/** Memory that is the same as before is not written again. */
function changed(
  { context, strategy }: SlotInput,
  memory: StrategyMemory | undefined,
): StrategyMemory | undefined {
  if (memory === undefined) return undefined
  const before = context.ports.journal.state.strategies.get(strategy.name)?.memory ?? {}
  const names = Object.keys(memory)
  const same =
    names.length === Object.keys(before).length &&
    names.every((name) => memory[name] === before[name])
  return same ? undefined : memory
}

/** Applies the caps to what a strategy wants. The same caps are applied again when a permit is about to be signed. */
function admitted(input: ConsiderInput, decision: Decision): Decision {
  if (decision.tag === 'skip') return decision
  const { state, strategy, nowMs, account } = input
  const asked = new Map<string, bigint>()
  for (const intent of decision.intents) {
    const { token, amount } = bookOf(intent).mostOf(intent)
    const together = baseUnits((asked.get(token.address) ?? 0n) + amount)
    asked.set(token.address, together)
    const { name, limits } = strategy
    const hit = limitHit(state, { strategy: name, token, amount, together, nowMs, limits, account })
    if (hit !== undefined) return skip(hit.reason, limitText(hit, nowMs), decision.memory)
  }
  return decision
}
