import { decideCall } from '../decide/call.ts'
import { decideCustom, moduleView } from '../decide/custom.ts'
import { decideSwap, type OwnKind } from '../decide/decide.ts'
import { type Decision, type MarketView, type Skip, skip, unreadable } from '../decide/decision.ts'
import { drawdownOf } from '../decide/drawdown.ts'
import type { DecisionInputs, EventOf } from '../domain/book/journal.ts'
import { type LimitHit, type LimitQuery, limitHit, limitText } from '../domain/book/limits.ts'
import type { StrategyMemory } from '../domain/book/memory.ts'
import { bookOf } from '../domain/book/venues.ts'
import type { IntentId } from '../domain/intent.ts'
import { MODULE_ANSWER_MS, type ModuleReply, type ModuleView } from '../domain/module.ts'
import { CLOCK_SKEW_MS_MAX } from '../domain/policy.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import {
  type CustomStrategy,
  readsMarket,
  type Strategy,
  type SwapStrategy,
} from '../domain/strategy.ts'
import { type Address, baseUnits } from '../domain/units.ts'
import { termsOf } from '../execute/authority/terms.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView, Modules } from '../ports.ts'
import { barredFrom } from './barred.ts'
import { type FirstLook, firstLook, termsOfPrices } from './hold.ts'
import { inputsOf, scheduleOf, type ViewContext, viewOf } from './view.ts'
import { freesInTimeMs, isScheduled, waitMs } from './waiting.ts'

export type SlotInput = {
  readonly context: OrderContext
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  /** The market at the tick; calls need none. */
  readonly view: ChainView | undefined
  readonly nowMs: number
}

/** What was recorded of a slot: the intents to execute, or why there are none. */
export type Taken = {
  readonly intents: readonly IntentId[]
  /** Undefined too where the daemon closed before it was decided. */
  readonly skip?: Pick<Skip, 'reason' | 'detail'> | undefined
  /** Of a slot that was not recorded because it waits, how long until it is looked at again. */
  readonly waitsMs?: number
}

/** A decision with what it was made from, and what else is to be journaled with it. */
export type Considered = {
  readonly decision: Decision
  readonly inputs?: DecisionInputs
  readonly alongside: readonly (EventOf<'strategy-paused'> | FirstLook['alongside'][number])[]
} & Pick<FirstLook, 'terms' | 'warning'>

/** What a strategy's module has to be asked before anything can be decided. */
export type Question = {
  readonly asks: CustomStrategy
  readonly view: ModuleView
  readonly inputs: DecisionInputs
}

/** What a decision is made from, all of it known before: whoever only wants to know what would be done needs no more. */
export type ConsiderInput = ViewContext & {
  /** Account of the aggregation service that calls are made from. */
  readonly caller: Address
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  readonly view: ChainView | undefined
  readonly nowMs: number
  /** Of the strategy's file. Without them nothing is held for an approval. */
  readonly terms?: string | undefined
}

/**
 * Decides one slot and journals what came of it: opened with its intents, or closed as skipped. Resolves, once that
 * is on disk. Nothing comes between looking at the state and adding to it, but for a
 * custom strategy, whose module takes its time: all is looked at again once it has answered.
 */
export function takeSlot(input: SlotInput): Promise<Taken> {
  const considered = considerNow(input)
  return 'asks' in considered ? askAndTake(input, considered) : takeOrLeave(input, considered)
}

/** What is made of a slot by what is true now. It is to be recorded before anything else is. */
export function considerNow(input: SlotInput): Considered | Question {
  return consider(considerInput(input))
}

/** Journals what was made of a slot, once its module has been asked where it has one; resolves when that is on disk. */
export function recordSlot(input: SlotInput, considered: Considered | Question): Promise<Taken> {
  return 'asks' in considered ? askAndTake(input, considered) : record(input, considered)
}

async function askAndTake(input: SlotInput, question: Question): Promise<Taken> {
  const { closing, ports } = input.context
  const reply = await ports.modules.decide(question.asks, question.view)
  // The slot stays owed: nobody would wait for what it decides.
  if (closing.aborted) return { intents: [] }
  const nowMs = ports.clock.now()
  // A clock that was set meanwhile is first compared with the others: the slot stays owed.
  if (Math.abs(nowMs - input.nowMs) > MODULE_ANSWER_MS + CLOCK_SKEW_MS_MAX) return { intents: [] }
  const later = { ...input, nowMs }
  return takeOrLeave(later, considerReply(considerInput(later), question, reply))
}

async function takeOrLeave(input: SlotInput, considered: Considered): Promise<Taken> {
  const waitsMs = waitOf(input, considered.decision)
  return waitsMs === undefined ? record(input, considered) : { intents: [], waitsMs }
}

/** How long until a slot is looked at again that stays owed, ms; undefined where what was decided is to be recorded. */
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
  const { context, strategy, slotSeconds, view, nowMs } = input
  const { mode, pricePath, account, ports, aggregator, wallet } = context
  return {
    strategy,
    slotSeconds,
    view,
    nowMs,
    mode,
    pricePath,
    account,
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
    : skipSlot(input, considered, decision)
}

/**
 * The whole decision of a slot, with limits applied and without any effect; or what its module is to be asked first,
 * whose reply goes to `considerReply`.
 */
export function consider(input: ConsiderInput): Considered | Question {
  const seen = lookAt(input)
  if ('decision' in seen) return seen
  const { strategy, market, inputs } = seen
  if (strategy.kind === 'custom') {
    const view = moduleView(strategy, market)
    return 'tag' in view
      ? { decision: view, inputs, alongside: [] }
      : { asks: strategy, view, inputs }
  }
  return { inputs, ...considerSwap(input, strategy, market) }
}

/** The same where a module may be asked at once: what whoever only wants to know needs. */
export async function considerAsking(input: ConsiderInput, modules: Modules): Promise<Considered> {
  const considered = consider(input)
  if (!('asks' in considered)) return considered
  const reply = await modules.decide(considered.asks, considered.view)
  return considerReply(input, considered, reply)
}

/** The decision that a module's reply makes, by what bars and limits it now. */
export function considerReply(
  input: ConsiderInput,
  { asks, inputs }: Question,
  reply: ModuleReply,
): Considered {
  const seen = lookAt(input)
  if ('decision' in seen) return seen
  const decision = admitted(input, decideCustom(asks, seen.market, reply))
  return { decision, inputs, alongside: [] }
}

type Seen = {
  readonly strategy: SwapStrategy
  readonly market: MarketView
  readonly inputs: DecisionInputs
}

/** The market as a strategy that swaps sees it; a decision at once for what is barred, blind or a call. */
function lookAt(input: ConsiderInput): Considered | Seen {
  const { state, strategy, slotSeconds, view, nowMs, account, terms } = input
  const barred = barredFrom({ state, strategy, account, nowMs, terms })
  if (barred !== undefined) return { decision: barred, alongside: [] }
  if (!readsMarket(strategy)) {
    const decision = decideCall(strategy, { slotSeconds, caller: input.caller })
    return { decision: admitted(input, decision), alongside: [] }
  }
  if (view === undefined)
    return { decision: skip('price-missing', 'no market was read'), alongside: [] }
  const market = viewOf(input, view, { strategy, slotSeconds })
  return { strategy, market, inputs: inputsOf(strategy, market, view) }
}

function considerSwap(
  input: ConsiderInput,
  strategy: OwnKind,
  market: MarketView,
): Omit<Considered, 'inputs'> {
  const record = input.state.strategies.get(strategy.name)
  const drawdown = drawdownOf(strategy, market, record?.resumedAtMs)
  if (drawdown.tag === 'unreadable') return { decision: unreadable(drawdown.asset), alongside: [] }
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
  const { skip: held, ...looked } = firstLook(input, strategy, market)
  if (held !== undefined) return { decision: held, ...looked }
  const decision = admitted(input, decideSwap(strategy, market))
  return { decision: remembering(decision, market.memory, drawdown.memory), ...looked }
}

/** Keeps the drawdown's own entries in whatever the strategy remembers. */
function remembering(decision: Decision, before: StrategyMemory, also: StrategyMemory): Decision {
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
  const { journal, modules } = context.ports
  const terms = termsOf(strategy, modules.versionOf)
  await journal.append(
    {
      type: 'slot-opened',
      strategy: strategy.name,
      slotSeconds,
      intents: intents.map((intent) => ({ ...intent, terms })),
      inputs,
      decidedAtMs: input.nowMs,
      terms: firstTerms,
      memory: changed(input, memory),
      memoryOnFill,
    },
    ...alongside,
  )
  return { intents: intents.map((intent) => intent.id) }
}

async function skipSlot(
  input: SlotInput,
  { inputs, alongside, terms }: Considered,
  { reason, detail, memory }: Skip,
): Promise<Taken> {
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
      decidedAtMs: input.nowMs,
      terms,
      memory: changed(input, memory),
    },
    ...alongside,
  )
  return { intents: [], skip: { reason, detail } }
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

/**
 * A cap that an order would pass beside orders that are still to be signed. It is worth waiting for where it frees in time.
 * Otherwise whoever is signed first has it: the others may come to nothing.
 */
function crowdedHit(input: ConsiderInput, query: LimitQuery): LimitHit | undefined {
  const { state, strategy, slotSeconds, nowMs } = input
  const planned = { own: 0n, account: 0n }
  for (const { state: at, intent } of state.intents.values()) {
    const { token, amount } = bookOf(intent).mostOf(intent)
    if (at !== 'planned' || token.address !== query.token.address) continue
    planned.account += amount
    if (intent.strategy === strategy.name) planned.own += amount
  }
  if (planned.account === 0n) return undefined
  const hit = limitHit(state, { ...query, planned })
  const slot = { strategy, schedule: scheduleOf(state, strategy), slotSeconds, nowMs }
  const waits = isScheduled(slot) && freesInTimeMs(slot, hit?.freesAtMs) !== undefined
  return waits ? hit : undefined
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
    const query = { strategy: name, token, amount, together, nowMs, limits, account }
    const hit = limitHit(state, query) ?? crowdedHit(input, query)
    if (hit !== undefined)
      return { ...skip(hit.reason, limitText(hit, nowMs), decision.memory), hit }
  }
  return decision
}
