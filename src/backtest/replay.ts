import type { FeedReading, PricePath } from '../domain/money/price.ts'
import { ETHER, type Pair, shownToken, type Token } from '../domain/money/token.ts'
import { type Address, ZERO_ADDRESS } from '../domain/money/units.ts'
import type { Intent } from '../domain/order/intent.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import type { StrategyMemory } from '../domain/strategy-memory.ts'
import { freeOf } from '../engine/market-snapshot.ts'
import { type Considered, considerWithModule } from '../engine/slot.ts'
import { waitMs } from '../engine/waiting.ts'
import { type EventOf, type JournalRecord, reduce } from '../journal/events/registry.ts'
import {
  type SlotClosed,
  type SlotOpened,
  slotClosed,
  slotOpened,
} from '../journal/events/strategy/slots.ts'
import type { DecisionInputs, PriceInput } from '../journal/records.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import { emptyState } from '../journal/state/state-image.ts'
import type { ChainView } from '../ports.ts'
import { pairKey } from '../strategies/decision/decision.ts'
import { assetsOf, kindOf, readsMarket, type Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import { isCall } from '../venues/call/call-projection.ts'
import type { SimulationInput } from './simulation.ts'

/** A slot that would now be decided differently. */
type Difference = {
  readonly strategy: string
  readonly slotSeconds: number
  /** The decision in the journal, and the decision made now from the same inputs. */
  readonly was: string
  readonly is: string
}

export type Replayed = Awaited<ReturnType<typeof replay>>

type ReplayInput = Pick<SimulationInput, 'strategies' | 'account' | 'modules'> & {
  /** True if this very file decided the intent. */
  readonly isByTerms: (intent: Intent, strategy: Strategy) => boolean
}

type Decided = SlotOpened | SlotClosed

/**
 * Makes every decision of a journal again, with its state, time, prices and balances. Outcomes of orders, operators'
 * commands and missed slots are as recorded.
 */
export async function replay(
  records: Iterable<JournalRecord> | AsyncIterable<JournalRecord>,
  input: ReplayInput,
) {
  const strategies = new Map(input.strategies.map((strategy) => [strategy.name, strategy]))
  const state = emptyState()
  /** Slots decided again, by strategy. */
  const slots = new Map<string, number>()
  const differences: Difference[] = []
  /** Slots of strategies whose file is missing or changed. */
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
    reduce(state, event, atMs)
  }
  return { slots, differences, others }
}

/**
 * True for an opened slot, or one closed without having been open. Others end by their orders, by an operator's approval, or
 * carry out an order by hand.
 */
function isDecision(event: JournalRecord['event'], state: DaemonState): event is Decided {
  if (!slotOpened.is(event) && !slotClosed.is(event)) return false
  if (event.manual !== undefined) return false
  if (slotOpened.is(event)) return true
  if (event.reason === 'needs-approval') return false
  const open = state.strategies.get(event.strategy)?.openSlots ?? []
  return open.every(({ slotSeconds }) => slotSeconds !== event.slotSeconds)
}

type Past = { readonly state: DaemonState; readonly input: ReplayInput }

function isOfOther(event: Decided, strategy: Strategy, { state, input }: Past): boolean {
  if (slotClosed.is(event)) return false
  const { venue } = event.intents[0] ?? {}
  if (venue !== undefined && venue !== kindOf(strategy).venue) return true
  return state.bound === undefined || event.intents.some((each) => !input.isByTerms(each, strategy))
}

async function decideAgain(
  event: Decided,
  strategy: Strategy,
  { state, input, atMs }: Past & { readonly atMs: number },
): Promise<Difference | undefined> {
  const { slotSeconds, inputs, decidedAtMs: nowMs = atMs } = event
  const { account, modules } = input
  const intents = slotOpened.is(event) ? event.intents : []
  // As recorded.
  const caller = intents.find(isCall)?.owner ?? ZERO_ADDRESS
  const { mode = 'live', owner = ZERO_ADDRESS } = state.bound ?? {}
  const past = inputs && recordedMarket(inputs)
  const view = past && readsMarket(strategy) ? past.view(strategy, state) : undefined
  const considered = await considerWithModule(
    {
      strategy,
      slotSeconds,
      view,
      nowMs,
      mode,
      account,
      state,
      owner,
      caller,
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

/** Reports a slot that skips one of the calendar. Slots follow it without gaps, unless an operator triggered them. */
function lateText(event: Decided, strategy: Strategy, state: DaemonState): string | undefined {
  const record = state.strategies.get(strategy.name)
  if (record === undefined) return 'it was never scheduled'
  const schedule = scheduleOf(state, strategy)
  const next = nextSlot(schedule, record.lastSlotSeconds)
  if (next === undefined || next >= event.slotSeconds) return undefined
  return `slot ${next} comes before it`
}

function textOfEvent(event: Decided, before: StrategyMemory): string {
  if (!slotClosed.is(event)) return openedText(event, before)
  return `${event.outcome} ${event.reason}; ${memoryText(event.memory ?? before)}`
}

function textOfDecision({ decision }: Considered, before: StrategyMemory): string {
  return decision.tag === 'skip'
    ? `skipped ${decision.reason}; ${memoryText(decision.memory ?? before)}`
    : openedText(decision, before)
}

function openedText(
  opened: Pick<EventOf<'slot-opened'>, 'intents' | 'memory' | 'memoryOnFill'>,
  before: StrategyMemory,
): string {
  const { intents, memory = before, memoryOnFill } = opened
  const onFill = memoryOnFill === undefined ? '' : `; ${memoryText(memoryOnFill)}`
  return `opened ${intents.map(intentText).join(' + ')}; ${memoryText(memory)}${onFill}`
}

function memoryText(memory: StrategyMemory): string {
  const entries = Object.entries(memory).sort(([a], [b]) => (a < b ? -1 : 1))
  return `remembers ${JSON.stringify(entries)}`
}

/** An intent without the digest of its file, and without text for people. */
function intentText({ terms: _, ...intent }: Intent): string {
  return JSON.stringify(intent, (key, value: unknown) => {
    if (key === 'shown') return undefined
    if (typeof value === 'bigint') return `${value}n`
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/** A market with the prices and balances of a recorded decision. */
function recordedMarket({ blockNumber, blockTimeSeconds, prices, available }: DecisionInputs) {
  return {
    /** A price becomes one feed's answer over another's; a refused one, a feed that is refused for the same reason. */
    pathOf(sell: Token, buy: Token): PricePath | undefined {
      const key = pairKey(sell, buy)
      const price = prices[key]
      if (price === undefined) return undefined
      const over = { feed: { ...UNIT_FEED, pair: `${key}/0` as Pair }, inverted: false }
      if ('refused' in price) return price.refused === 'price-missing' ? [] : [over]
      return [over, { feed: { ...UNIT_FEED, pair: `${key}/1` as Pair }, inverted: true }]
    },
    view(strategy: Strategy, state: DaemonState): ChainView {
      const balances = new Map<Address, bigint>()
      let nativeBalance = 0n
      for (const asset of assetsOf(strategy)) {
        const { token, native } = asset
        const free = available[shownToken(asset).symbol]
        if (free === undefined) continue
        const paper = state.bound?.mode === 'dry-run' ? state.paper : NO_PAPER
        const traded = paper.get(shownToken(asset).address) ?? 0n
        const held = free - freeOf({ state }, 0n, asset) - traded
        if (native) nativeBalance = held
        else balances.set(token.address, held)
      }
      const readings = Object.entries(prices).flatMap(([key, price]) =>
        readingsOf(key, price, blockTimeSeconds),
      )
      return {
        blockNumber,
        blockTimeSeconds,
        nativeBalance,
        balances,
        readings: new Map(readings),
        allowances: NO_PAPER,
        ownerHasCode: false,
        permitNonceUsed: false,
      }
    },
  }
}

function readingsOf(
  key: string,
  price: PriceInput,
  blockTimeSeconds: number,
): readonly (readonly [Pair, FeedReading])[] {
  const answer = (value: bigint, updatedAtSeconds: number): FeedReading => {
    return { answer: value, decimals: 0, updatedAtSeconds, sequencer: undefined }
  }
  if (!('refused' in price))
    return [
      [`${key}/0` as Pair, answer(price.num, price.updatedAtSeconds)],
      [`${key}/1` as Pair, answer(price.den, price.updatedAtSeconds)],
    ]
  const refused: Readonly<Record<string, FeedReading>> = {
    'price-invalid': answer(0n, blockTimeSeconds),
    'price-stale': answer(1n, blockTimeSeconds - MAX_AGE_SECONDS - 1),
    'sequencer-down': {
      ...answer(1n, blockTimeSeconds),
      sequencer: { answer: 1n, startedAtSeconds: 0 },
    },
  }
  const reading = refused[price.refused]
  return reading === undefined ? [] : [[`${key}/0` as Pair, reading]]
}

/** Recorded prices were recent enough, so their age does not matter. */
const MAX_AGE_SECONDS = 10 * 366 * 86_400
const UNIT: Token = { ...ETHER, decimals: 0 }
const UNIT_FEED = {
  base: UNIT,
  quote: UNIT,
  feed: ZERO_ADDRESS,
  maxAgeSeconds: MAX_AGE_SECONDS,
  sequencerFeed: undefined,
}
const NO_PAPER: ReadonlyMap<Address, bigint> = new Map()
