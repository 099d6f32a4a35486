import type { Address, Ratio } from '../../../domain/money/units.ts'
import { type JournalEvent, strategyIn } from '../../../journal/events/registry.ts'
import { type SlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'

type Seen<Type extends RuntimeEvent['type']> = Extract<RuntimeEvent, { type: Type }>

/** Data about a strategy that the journal's state does not have. */
export type ObservedStrategy = {
  nextSlotSeconds?: number | undefined
  waits?: { readonly slotSeconds: number; readonly why: string } | undefined
  lastSlot?: SlotEnd
  lastSkip?: SlotEnd
}

/** `amount` is undefined if the read failed. */
export type ObservedBalance = {
  readonly amount: bigint | undefined
  readonly decimals: number
  readonly atMs: number
}

export type ObservedPortfolio = Pick<Seen<'portfolio'>, 'valueToken' | 'holdings'> & {
  readonly atMs: number
}

/** Prices of a reading of the wallet, by token: base units of the value token per base unit. */
export type ObservedPrices = {
  readonly atSeconds: number
  readonly prices: ReadonlyMap<Address, Ratio>
}

/** Half a day. */
const PRICES_MAX = 720
const PRICES_EVERY_SECONDS = 60

/** Parts of the page that an event changes. */
export type Touched =
  | { readonly strategy: string | undefined; readonly overview: boolean }
  | undefined

const OVERVIEW: Touched = { strategy: undefined, overview: true }

/** The latest runtime events. Bounded by the operator's files. */
export class Observations {
  readonly strategies = new Map<string, ObservedStrategy>()
  readonly balances = new Map<string, Map<string, ObservedBalance>>()
  portfolio: ObservedPortfolio | undefined
  /** Oldest first, at most one a minute; the last is the newest of all. */
  prices: readonly ObservedPrices[] = []
  profit: Seen<'profit'> | undefined
  /** `profit` when the wallet was last read, so that both are of one moment. */
  profitAtReading: Seen<'profit'> | undefined
  gasTank: Seen<'gas-tank' | 'gas-tank-unknown'> | undefined
  stale: { readonly files: number; readonly detail: string } | undefined
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  observe(event: RuntimeEvent): Touched {
    switch (event.type) {
      case 'next-slot':
        return this.#observeNextSlot(event)
      case 'slot-waiting':
        return this.#observeWaiting(event)
      case 'wallet-balance':
        return this.#observeBalance(event)
      case 'portfolio':
        this.portfolio = { ...event, atMs: this.#now() }
        this.profitAtReading = this.profit
        this.#observePrices(event)
        return OVERVIEW
      case 'profit':
        this.profit = event
        return OVERVIEW
      case 'gas-tank':
      case 'gas-tank-unknown':
        this.gasTank = event
        return OVERVIEW
      case 'files-stale':
        this.stale = event.files === 0 ? undefined : { files: event.files, detail: event.detail }
        return OVERVIEW
      case 'order-waits':
      case 'order-waited':
      case 'daemon-started':
      case 'daemon-stopping':
        return OVERVIEW
      default:
        return undefined
    }
  }

  recorded(event: JournalEvent): Touched {
    const end = slotEndOf(event)
    if (end !== undefined) this.noteSlot(end)
    return { strategy: strategyIn(event), overview: true }
  }

  noteSlot(slot: SlotEnd): void {
    const observed = this.#observedOf(slot.strategy)
    if (isNewer(slot, observed.lastSlot)) observed.lastSlot = slot
    if (slot.outcome === 'skipped' && isNewer(slot, observed.lastSkip)) observed.lastSkip = slot
  }

  #observedOf(strategy: string): ObservedStrategy {
    const observed = this.strategies.get(strategy) ?? {}
    this.strategies.set(strategy, observed)
    return observed
  }

  #observeNextSlot({ strategy, nextSlotSeconds }: Seen<'next-slot'>): Touched {
    const observed = this.#observedOf(strategy)
    // The first event says that a strategy without a next slot is finished.
    const isSame = 'nextSlotSeconds' in observed && observed.nextSlotSeconds === nextSlotSeconds
    observed.nextSlotSeconds = nextSlotSeconds
    if (observed.waits?.slotSeconds !== nextSlotSeconds) observed.waits = undefined
    return isSame ? undefined : { strategy, overview: false }
  }

  #observeWaiting(event: Seen<'slot-waiting'>): Touched {
    const { strategy, slotSeconds } = event
    const why = event.detail === '' ? event.reason : `${event.reason}: ${event.detail}`
    const observed = this.#observedOf(strategy)
    const isSame = observed.waits?.slotSeconds === slotSeconds && observed.waits.why === why
    observed.waits = { slotSeconds, why }
    return isSame ? undefined : { strategy, overview: false }
  }

  #observePrices({ holdings }: Seen<'portfolio'>): void {
    const atSeconds = Math.floor(this.#now() / 1000)
    const prices = new Map(
      holdings.flatMap(({ address, price }) => (price ? [[address, price]] : [])),
    )
    const [before = 0] = this.prices.slice(-2).map((each) => each.atSeconds)
    const isSoon = this.prices.length > 1 && atSeconds - before < PRICES_EVERY_SECONDS
    const kept = isSoon ? this.prices.slice(0, -1) : this.prices.slice(1 - PRICES_MAX)
    this.prices = [...kept, { atSeconds, prices }]
  }

  #observeBalance({ wallet, token, amount, decimals }: Seen<'wallet-balance'>): Touched {
    const held = this.balances.get(wallet) ?? new Map<string, ObservedBalance>()
    this.balances.set(wallet, held)
    held.set(token, { amount, decimals, atMs: this.#now() })
    return OVERVIEW
  }
}

function isNewer(slot: SlotEnd, than: SlotEnd | undefined): boolean {
  return than === undefined || slot.lastSeconds >= than.lastSeconds
}
