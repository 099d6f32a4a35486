import { pairKey } from '../decide/decision.ts'
import { emptyState } from '../domain/book/fields.ts'
import { applyEvent } from '../domain/book/fold.ts'
import type { DecisionInputs, EventOf, JournalRecord, PriceInput } from '../domain/book/journal.ts'
import type { StrategyMemory } from '../domain/book/memory.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { Intent } from '../domain/intent.ts'
import type { FeedReading, PriceFeed, PricePath } from '../domain/price.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import type { AccountLimits } from '../domain/settings.ts'
import { assetsOf, readsMarket, type Strategy } from '../domain/strategy.ts'
import { ETHER, NATIVE_TOKEN, type Pair, type Token } from '../domain/token.ts'
import { type Address, ZERO_ADDRESS } from '../domain/units.ts'
import { type Considered, considerAsking } from '../engine/slot.ts'
import { freeOf, scheduleOf } from '../engine/view.ts'
import { waitMs } from '../engine/waiting.ts'
import type { ChainView, Modules } from '../ports.ts'

/** A slot of the journal that would be decided otherwise now. */
export type Difference = {
  readonly strategy: string
  readonly slotSeconds: number
  /** What the journal has, and what is decided from the same inputs. */
  readonly was: string
  readonly is: string
}

export type Replayed = {
  /** Slots that were decided again, by strategy. */
  readonly slots: ReadonlyMap<string, number>
  readonly differences: readonly Difference[]
  /** Slots of strategies whose file is gone or says otherwise by now. */
  readonly others: number
}

export type ReplayInput = {
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
  readonly modules: Modules
  /** Whether a strategy's file still is what an intent was decided by. */
  readonly isByTerms: (intent: Intent, strategy: Strategy) => boolean
}

type Decided = EventOf<'slot-opened'> | EventOf<'slot-closed'>

/**
 * Takes every decision of a journal again: by the books as they were, at the time and from the prices and balances that it
 * names. What became of orders, what operators did and what was missed is as the journal has it.
 */
export async function replay(
  records: Iterable<JournalRecord> | AsyncIterable<JournalRecord>,
  input: ReplayInput,
): Promise<Replayed> {
  const strategies = new Map(input.strategies.map((strategy) => [strategy.name, strategy]))
  const state = emptyState()
  const slots = new Map<string, number>()
  const differences: Difference[] = []
  let others = 0
  for await (const { event, atMs } of records) {
    if (isDecision(event, state)) {
      const strategy = strategies.get(event.strategy)
      if (strategy === undefined || isOfOther(event, strategy, { state, input })) others += 1
      else {
        slots.set(strategy.name, (slots.get(strategy.name) ?? 0) + 1)
        const difference = await decideAgain(event, strategy, { state, input, atMs })
        if (difference !== undefined) differences.push(difference)
      }
    }
    applyEvent(state, event, atMs)
  }
  return { slots, differences, others }
}

/** A slot that opens, or is closed without having been open: the others end by their orders. What waits for an operator is his to decide. */
function isDecision(event: JournalRecord['event'], state: DaemonState): event is Decided {
  if (event.type === 'slot-opened') return true
  if (event.type !== 'slot-closed' || event.reason === 'needs-approval') return false
  const open = state.strategies.get(event.strategy)?.openSlots ?? []
  return open.every(({ slotSeconds }) => slotSeconds !== event.slotSeconds)
}

type Past = { readonly state: DaemonState; readonly input: ReplayInput }

function isOfOther(event: Decided, strategy: Strategy, { state, input }: Past): boolean {
  if (event.type === 'slot-closed') return false
  const { venue } = event.intents[0] ?? {}
  const isKindOfCall = strategy.kind === 'call'
  if (venue !== undefined && (venue === 'aggregated') !== isKindOfCall) return true
  return state.bound === undefined || event.intents.some((each) => !input.isByTerms(each, strategy))
}

async function decideAgain(
  event: Decided,
  strategy: Strategy,
  { state, input, atMs }: Past & { readonly atMs: number },
): Promise<Difference | undefined> {
  const { slotSeconds, inputs, decidedAtMs: nowMs = atMs } = event
  const { account, modules } = input
  const caller = callerOf(event)
  const { mode = 'live', owner = ZERO_ADDRESS } = state.bound ?? {}
  const past = inputs && new RecordedMarket(inputs)
  const view = past && readsMarket(strategy) ? past.view(strategy, state) : undefined
  const considered = await considerAsking(
    {
      ...{ strategy, slotSeconds, view, nowMs, mode, account, state, owner, caller },
      pricePath: (sell, buy) => past?.pathOf(sell, buy),
    },
    modules,
  )
  const memory = state.strategies.get(strategy.name)?.memory ?? {}
  const was = textOfEvent(event, memory)
  const schedule = scheduleOf(state, strategy)
  const { decision: skip } = considered
  const waits =
    skip.tag === 'skip' && waitMs({ strategy, schedule, slotSeconds, nowMs, skip }) !== undefined
  const is = waits ? `waits for ${skip.reason}` : textOfDecision(considered, memory)
  const late = lateText(event, strategy, state)
  if (was === is && late === undefined) return undefined
  return { strategy: strategy.name, slotSeconds, was, is: late ?? is }
}

/** The account that calls are made from, which the config alone knows: as it is recorded. */
function callerOf(event: Decided): Address {
  const intents = event.type === 'slot-opened' ? event.intents : []
  return (
    intents.flatMap((each) => (each.venue === 'aggregated' ? each.owner : []))[0] ?? ZERO_ADDRESS
  )
}

/** Slots come as the calendar names them, none left out that is not recorded as missed; but for those that an operator asks for. */
function lateText(event: Decided, strategy: Strategy, state: DaemonState): string | undefined {
  const record = state.strategies.get(strategy.name)
  if (record === undefined) return 'it was never scheduled'
  const schedule = scheduleOf(state, strategy)
  const next = nextSlot(schedule, record.lastSlotSeconds)
  if (next === undefined || next >= event.slotSeconds) return undefined
  return `slot ${next} comes before it`
}

function textOfEvent(event: Decided, before: StrategyMemory): string {
  const memory = memoryText(event.memory ?? before)
  if (event.type === 'slot-closed') return `${event.outcome} ${event.reason}; ${memory}`
  const onFill = event.memoryOnFill === undefined ? '' : `; ${memoryText(event.memoryOnFill)}`
  return `opened ${event.intents.map(intentText).join(' + ')}; ${memory}${onFill}`
}

function textOfDecision({ decision }: Considered, before: StrategyMemory): string {
  const memory = memoryText(decision.memory ?? before)
  if (decision.tag === 'skip') return `skipped ${decision.reason}; ${memory}`
  const { intents, memoryOnFill } = decision
  const onFill = memoryOnFill === undefined ? '' : `; ${memoryText(memoryOnFill)}`
  return `opened ${intents.map(intentText).join(' + ')}; ${memory}${onFill}`
}

function memoryText(memory: StrategyMemory): string {
  const entries = Object.entries(memory).sort(([a], [b]) => (a < b ? -1 : 1))
  return `remembers ${JSON.stringify(entries)}`
}

/** All of an intent but the digest of its file. */
function intentText({ terms: _, ...intent }: Intent): string {
  return JSON.stringify(intent, (_key, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** A market that gives the very prices and balances which a decision was made from. */
class RecordedMarket {
  readonly #inputs: DecisionInputs
  readonly #readings = new Map<Pair, FeedReading>()

  constructor(inputs: DecisionInputs) {
    this.#inputs = inputs
  }

  /** Any price is one feed's answer over another's; what was refused is a feed that is refused the same way. */
  pathOf(sell: Token, buy: Token): PricePath | undefined {
    const key = pairKey(sell, buy)
    const price = this.#inputs.prices[key]
    if (price === undefined) return undefined
    if ('refused' in price) return price.refused === 'price-missing' ? [] : [this.#leg(`${key}/0`)]
    return [this.#leg(`${key}/0`), { ...this.#leg(`${key}/1`), inverted: true }]
  }

  #leg(pair: Pair): { readonly feed: PriceFeed; readonly inverted: boolean } {
    const feed: PriceFeed = {
      pair,
      base: UNIT,
      quote: UNIT,
      feed: ZERO_ADDRESS,
      maxAgeSeconds: MAX_AGE_SECONDS,
      sequencerFeed: undefined,
    }
    return { feed, inverted: false }
  }

  view(strategy: Strategy, state: DaemonState): ChainView {
    const { blockNumber, blockTimeSeconds, prices } = this.#inputs
    for (const [key, price] of Object.entries(prices)) this.#read(key, price)
    const balances = new Map<Address, bigint>()
    let nativeBalance = 0n
    for (const asset of assetsOf(strategy)) {
      const { token, native } = asset
      const free = this.#inputs.available[native ? ETHER.symbol : token.symbol]
      if (free === undefined) continue
      const paper = state.bound?.mode === 'dry-run' ? state.paper : NO_PAPER
      const traded = paper.get(native ? NATIVE_TOKEN : token.address) ?? 0n
      const held = free - freeOf({ state }, 0n, asset) - traded
      if (native) nativeBalance = held
      else balances.set(token.address, held)
    }
    return {
      ...{ blockNumber, blockTimeSeconds, nativeBalance, balances },
      readings: this.#readings,
      allowances: NO_PAPER,
      ownerHasCode: false,
      permitNonceUsed: false,
    }
  }

  #read(key: string, price: PriceInput): void {
    const { blockTimeSeconds } = this.#inputs
    const answer = (value: bigint, updatedAtSeconds: number): FeedReading => {
      return { answer: value, decimals: 0, updatedAtSeconds, sequencer: undefined }
    }
    if (!('refused' in price)) {
      this.#readings.set(`${key}/0` as Pair, answer(price.num, price.updatedAtSeconds))
      this.#readings.set(`${key}/1` as Pair, answer(price.den, price.updatedAtSeconds))
      return
    }
    const refused: Readonly<Record<string, FeedReading>> = {
      'price-invalid': answer(0n, blockTimeSeconds),
      'price-stale': answer(1n, blockTimeSeconds - MAX_AGE_SECONDS - 1),
      'sequencer-down': {
        ...answer(1n, blockTimeSeconds),
        sequencer: { answer: 1n, startedAtSeconds: 0 },
      },
    }
    const reading = refused[price.refused]
    if (reading !== undefined) this.#readings.set(`${key}/0` as Pair, reading)
  }
}

/** A price as old as it was told to be was young enough then. */
const MAX_AGE_SECONDS = 10 * 366 * 86_400
const UNIT: Token = { ...ETHER, decimals: 0 }
const NO_PAPER: ReadonlyMap<Address, bigint> = new Map()
