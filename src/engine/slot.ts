import { MODULE_ANSWER_MS, type ModuleReply } from '../domain/module.ts'
import type { Address } from '../domain/money/units.ts'
import type { IntentId } from '../domain/order/intent.ts'
import { CLOCK_SKEW_MS_MAX } from '../domain/policy.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { NO_MEMORY, type StrategyMemory } from '../domain/strategy-memory.ts'
import { type SlotOpened, slotClosed, slotOpened } from '../journal/events/strategy/slots.ts'
import { type StrategyPaused, strategyPaused } from '../journal/events/strategy/stops.ts'
import type { DecisionInputs } from '../journal/records.ts'
import type { ChainView, Modules } from '../ports.ts'
import { termsOf } from '../signing/terms.ts'
import {
  type Decision,
  type MarketView,
  type Skip,
  skip,
  unreadable,
} from '../strategies/decision/decision.ts'
import { drawdownOf } from '../strategies/decision/drawdown.ts'
import type { MarketDecision, ModuleDecision, ModuleQuestion } from '../strategies/kind.ts'
import { decideOrder, type ManualOrder, orderText } from '../strategies/manual/manual-kind.ts'
import { kindOf, readsMarket, type Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import type { OrderContext } from '../venues/context.ts'
import { admitted } from './limits/admitted.ts'
import { blockingSkip } from './limits/blocked.ts'
import { type FirstCheck, firstCheck, termsOfPrices } from './limits/hold.ts'
import { inputsOf, type ViewContext, viewOf } from './market-snapshot.ts'
import { waitMs } from './waiting.ts'

export type SlotInput = {
  readonly context: OrderContext
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  /** The market at the tick; undefined for calls. */
  readonly view: ChainView | undefined
  readonly nowMs: number
  /** A person's order, instead of the strategy's decision. */
  readonly order?: ManualOrder | undefined
}

/** The recorded outcome of a slot: its intents, or why there are none. */
export type Taken = {
  readonly intents: readonly IntentId[]
  /** Also undefined if the daemon drained first. */
  readonly skip?: Pick<Skip, 'reason' | 'detail'> | undefined
  /** The slot waits without a record; delay until the next check. */
  readonly waitsMs?: number
}

export type Considered = {
  readonly decision: Decision
  /** For the record. A function, because a backtest records nothing. */
  readonly inputs?: () => DecisionInputs
  /** The market that it was decided by, if any. */
  readonly market?: MarketView
  readonly alongside: readonly (StrategyPaused | FirstCheck['alongside'][number])[]
} & Pick<FirstCheck, 'terms' | 'warning'>

export type Question = ModuleQuestion & {
  readonly inputs: () => DecisionInputs
  /** Decides with the module's reply and the market at that time. */
  readonly decide: (market: MarketView, reply: ModuleReply) => Decision
}

/** All inputs of a decision. Deciding has no effects, so this suffices for previews. */
export type ConsiderInput = ViewContext & {
  readonly caller: Address
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  readonly view: ChainView | undefined
  readonly nowMs: number
  /** Without terms, no strategy is held for approval. */
  readonly terms?: string | undefined
  readonly order?: ManualOrder | undefined
  readonly tokenFault?: OrderContext['tokenFault']
}

/**
 * Decides one slot and journals the outcome: opened with intents, or skipped. A skip is durable once it resolves, intents once
 * a later append is. The state cannot change
 * between reading and appending, except while a custom module runs; everything is then checked again.
 */
export async function takeSlot(input: SlotInput): Promise<Taken> {
  const decided = decideSlot(input)
  return typeof decided === 'number' ? { intents: [], waitsMs: decided } : decided.record()
}

/** A decided slot. Once `record` resolves, the decision is durable. */
export type Decided = {
  /** Calling it later records the same: a skip that changes nothing, so it does not depend on other records. */
  readonly isPlainSkip: boolean
  record(): Promise<Taken>
}

/** Decides a slot without recording it. Returns the delay in ms if it waits. */
export function decideSlot(input: SlotInput): number | Decided {
  const considered = consider(considerInput(input))
  if ('asks' in considered)
    return { isPlainSkip: false, record: () => askAndTake(input, considered) }
  const { decision, alongside, terms, warning } = considered
  const waitsMs = waitOf(input, decision)
  if (waitsMs !== undefined) return waitsMs
  const isPlainSkip =
    decision.tag === 'skip' &&
    alongside.length === 0 &&
    terms === undefined &&
    warning === undefined &&
    changed(input, decision.memory) === undefined
  if (!isPlainSkip) return { isPlainSkip, record: () => record(input, considered) }
  // An order that ended meanwhile may have changed the memory, which a plain skip leaves alone.
  return { isPlainSkip, record: skipOf(input, considered, { ...decision, memory: undefined }) }
}

async function askAndTake(input: SlotInput, question: Question): Promise<Taken> {
  const { closing, ports } = input.context
  const reply = await ports.modules.decide(question.asks, question.view)
  if (closing.aborted) return { intents: [] }
  const nowMs = ports.clock.now()
  // The clock was set meanwhile. The slot stays owed, and the next tick compares the clocks first.
  if (Math.abs(nowMs - input.nowMs) > MODULE_ANSWER_MS + CLOCK_SKEW_MS_MAX) return { intents: [] }
  const later = { ...input, nowMs }
  const considered = considerReply(considerInput(later), question, reply)
  const waitsMs = waitOf(later, considered.decision)
  return waitsMs === undefined ? record(later, considered) : { intents: [], waitsMs }
}

/** Delay in ms until an owed slot is checked again; undefined if the decision can be recorded. */
export function waitOf(
  { context, strategy, slotSeconds, nowMs }: Omit<SlotInput, 'view'>,
  decision: Decision,
): number | undefined {
  if (decision.tag === 'trade') return undefined
  const { journal, observe } = context.ports
  const schedule = scheduleOf(journal.state, strategy)
  const ms = waitMs({ strategy, schedule, slotSeconds, nowMs, skip: decision })
  const { reason, detail } = decision
  if (ms !== undefined)
    observe({ type: 'slot-waiting', strategy: strategy.name, slotSeconds, reason, detail })
  return ms
}

function considerInput(input: SlotInput): ConsiderInput {
  const { strategy, slotSeconds, view, nowMs, order } = input
  const { mode, pricePath, account, ports, aggregator, wallet, tokenFault } = input.context
  // Spreading would take longer than the rest of most decisions.
  return {
    strategy,
    slotSeconds,
    view,
    nowMs,
    order,
    mode,
    pricePath,
    account,
    tokenFault,
    state: ports.journal.state,
    owner: ports.signer.address,
    caller: aggregator?.wallet.signer.address ?? wallet.signer.address,
    terms: termsOfPrices(strategy, ports.modules.versionOf, pricePath),
  }
}

function record(input: SlotInput, considered: Considered): Promise<Taken> {
  const { decision, warning: detail } = considered
  const { context, strategy } = input
  if (detail !== undefined)
    context.ports.observe({ type: 'implausible', strategy: strategy.name, detail })
  return decision.tag === 'trade'
    ? openSlot(input, considered, decision)
    : skipOf(input, considered, decision)()
}

/** Decides a slot within its limits and without effects, or returns its module's question (see `considerReply`). */
export function consider(input: ConsiderInput): Considered | Question {
  const { strategy, order } = input
  if (order !== undefined && !readsMarket(strategy))
    return { decision: skip('finished', 'it trades no tokens'), alongside: [] }
  const seen = inspectSlot(input)
  if ('decision' in seen) return seen
  const { deciding, market, inputs } = seen
  if (order !== undefined && readsMarket(strategy)) {
    const decision = admitted(input, decideOrder(strategy, order, market))
    return { decision, inputs, alongside: [] }
  }
  if (deciding.by === 'market') return { inputs, market, ...considerSwap(input, market, deciding) }
  const question = deciding.question(strategy, market)
  if ('tag' in question) return { decision: question, inputs, alongside: [] }
  return { ...question, inputs, decide: (now, reply) => deciding.decide(strategy, now, reply) }
}

/** The same, but runs the module at once; for previews. */
export async function considerWithModule(
  input: ConsiderInput,
  modules: Modules,
): Promise<Considered> {
  const considered = consider(input)
  if (!('asks' in considered)) return considered
  const reply = await modules.decide(considered.asks, considered.view)
  return considerReply(input, considered, reply)
}

export function considerReply(
  input: ConsiderInput,
  { inputs, decide }: Question,
  reply: ModuleReply,
): Considered {
  const seen = inspectSlot(input)
  if ('decision' in seen) return seen
  const decision = admitted(input, decide(seen.market, reply))
  return { decision, inputs, alongside: [] }
}

type Seen = {
  readonly deciding: MarketDecision<Strategy> | ModuleDecision<Strategy>
  readonly market: MarketView
  readonly inputs: () => DecisionInputs
}

/** The market of a swap strategy, or an immediate decision for a blocked slot, a missing view or a call. */
function inspectSlot(input: ConsiderInput): Considered | Seen {
  const { strategy, slotSeconds, view } = input
  const blocked = blockingSkip(input)
  if (blocked !== undefined) return { decision: blocked, alongside: [] }
  const { decision: deciding } = kindOf(strategy)
  if (deciding.by === 'calendar') {
    const decision = deciding.decide(strategy, { slotSeconds, caller: input.caller })
    return { decision: admitted(input, decision), alongside: [] }
  }
  if (view === undefined)
    return { decision: skip('price-missing', 'no market was read'), alongside: [] }
  const { order } = input
  const pairs = order && [{ sell: order.sell.token, buy: order.buy.token }]
  const market = viewOf(input, view, { strategy, slotSeconds, pairs })
  return { deciding, market, inputs: () => inputsOf(strategy, market, view) }
}

function considerSwap(
  input: ConsiderInput,
  market: MarketView,
  deciding: MarketDecision<Strategy>,
): Omit<Considered, 'inputs' | 'market'> {
  const { strategy } = input
  const record = input.state.strategies.get(strategy.name)
  const drawdown = drawdownOf(strategy, market, record?.resumedAtMs)
  if (drawdown.tag === 'unreadable') return { decision: unreadable(drawdown.asset), alongside: [] }
  if (drawdown.tag === 'tripped') {
    const { detail } = drawdown
    const paused = strategyPaused({ strategy: strategy.name, cause: 'drawdown', detail })
    return { decision: skip('drawdown', detail), alongside: [paused] }
  }
  const { skip: held, ...checked } = firstCheck(input, strategy, market)
  if (held !== undefined) return { decision: held, ...checked }
  const decision = admitted(input, deciding.decide(strategy, market))
  return { decision: remembering(decision, market.memory, drawdown.memory), ...checked }
}

/** Keeps the drawdown's entries in the strategy's memory. */
function remembering(decision: Decision, before: StrategyMemory, also: StrategyMemory): Decision {
  if (also === NO_MEMORY) return decision
  const memory = { ...(decision.memory ?? before), ...also }
  if (decision.tag === 'skip' || decision.memoryOnFill === undefined) return { ...decision, memory }
  return { ...decision, memory, memoryOnFill: { ...decision.memoryOnFill, ...also } }
}

async function openSlot(
  input: SlotInput,
  { inputs, alongside, terms: firstTerms }: Considered,
  { intents, memory, memoryOnFill }: Extract<Decision, { tag: 'trade' }>,
): Promise<Taken> {
  const { context, strategy, slotSeconds } = input
  const terms = termsOf(strategy, context.ports.modules.versionOf)
  // The record of an authorization waits for this one, and nothing before it moves money.
  context.ports.journal.note(
    slotOpened({
      strategy: strategy.name,
      slotSeconds,
      intents: intents.map((intent) => ({ ...intent, terms })),
      inputs: inputs?.(),
      decidedAtMs: input.nowMs,
      terms: firstTerms,
      memory: changed(input, memory),
      memoryOnFill,
      ...manualOf(input),
    }),
    ...alongside,
  )
  return { intents: intents.map((intent) => intent.id) }
}

/** Records a skip. Keeps no more than its events, because thousands wait until they are recorded. */
function skipOf(
  input: SlotInput,
  { inputs, alongside, terms }: Considered,
  { reason, detail, memory }: Skip,
): () => Promise<Taken> {
  const { context, strategy, slotSeconds } = input
  const { journal } = context.ports
  const closed = slotClosed({
    strategy: strategy.name,
    slotSeconds,
    outcome: 'skipped',
    reason,
    detail,
    inputs: inputs?.(),
    decidedAtMs: input.nowMs,
    terms,
    memory: changed(input, memory),
    ...manualOf(input),
  })
  return async () => {
    await journal.append(closed, ...alongside)
    return { intents: [], skip: { reason, detail } }
  }
}

function manualOf({ order }: SlotInput): Pick<SlotOpened, 'manual'> {
  return order === undefined ? {} : { manual: { id: order.id, order: orderText(order) } }
}

/** Unchanged memory is not written again. */
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
