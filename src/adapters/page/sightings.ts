import type { Fact } from '../../domain/book/fact.ts'
import type { CloseReason } from '../../domain/book/journal.ts'
import type { IntentId, Outcome } from '../../domain/intent.ts'
import type { Observation } from '../../domain/observation.ts'

type Seen<Type extends Observation['type']> = Extract<Observation, { type: Type }>

/** A slot that ended, of a run of missed ones the last. */
export type EndedSlot = {
  readonly slotSeconds: number
  readonly outcome: Outcome
  readonly reason: CloseReason
  readonly detail: string | undefined
}

/** What is no part of the state, of one strategy. */
export type StrategySight = {
  nextSlotSeconds: number | undefined
  /** A slot that stays owed, and why. */
  waits: { readonly slotSeconds: number; readonly why: string } | undefined
  lastSlot: EndedSlot | undefined
  lastSkip: EndedSlot | undefined
}

/** A balance as it was last read; undefined where the read failed. */
export type SeenBalance = {
  readonly amount: bigint | undefined
  readonly decimals: number
  readonly atMs: number
}

/** What the wallet that trades holds, as it was last looked at. */
export type SeenPortfolio = Pick<Seen<'portfolio'>, 'valueToken' | 'holdings'> & {
  readonly atMs: number
}

export type SeenGasTank =
  | { readonly tag: 'known'; readonly tank: Seen<'gas-tank'> }
  | { readonly tag: 'unknown'; readonly account: string; readonly why: string }

export type SeenFiles = { readonly files: number; readonly detail: string }

/** What an observation changes of what is shown: nothing, one strategy, all the rest, or both. */
export type Touched =
  | { readonly strategy: string | undefined; readonly overview: boolean }
  | undefined

const OVERVIEW: Touched = { strategy: undefined, overview: true }

/** Orders whose waiting is remembered: more are not shown. */
const WAITING_MAX = 1_000

/** What the daemon tells beside its journal, as it stands now. Bounded by the operator's files. */
export class Sightings {
  readonly #now: () => number
  readonly strategies = new Map<string, StrategySight>()
  /** By wallet, then by token symbol. */
  readonly balances = new Map<string, Map<string, SeenBalance>>()
  /** What an order waits for before anything is signed. */
  readonly waiting = new Map<IntentId, string>()
  portfolio: SeenPortfolio | undefined
  profit: Seen<'profit'> | undefined
  gasTank: SeenGasTank | undefined
  stale: SeenFiles | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  saw(event: Observation): Touched {
    switch (event.type) {
      case 'next-slot':
        return this.#sawNextSlot(event)
      case 'slot-waiting':
        return this.#sawWaiting(event)
      case 'wallet-balance':
        return this.#sawBalance(event)
      case 'portfolio':
        this.portfolio = { ...event, atMs: this.#now() }
        return OVERVIEW
      case 'profit':
        this.profit = event
        return OVERVIEW
      case 'order-waits':
        return this.#sawOrderWait(event)
      case 'order-waited':
        return this.waiting.delete(event.intentId) ? OVERVIEW : undefined
      case 'gas-tank':
        this.gasTank = { tag: 'known', tank: event }
        return OVERVIEW
      case 'gas-tank-unknown':
        this.gasTank = { tag: 'unknown', account: event.account, why: event.message }
        return OVERVIEW
      case 'files-stale':
        this.stale = event.files === 0 ? undefined : { files: event.files, detail: event.detail }
        return OVERVIEW
      case 'daemon-started':
      case 'daemon-stopping':
        return OVERVIEW
      default:
        return undefined
    }
  }

  /** What a record of the journal says. */
  told(fact: Fact): Touched {
    if (fact.type === 'slot-closed') this.noteSlot(fact.strategy, endedSlot(fact))
    if (fact.type === 'intent-closed' || fact.type === 'failed' || fact.type === 'refused')
      this.waiting.delete(fact.intentId)
    const strategy = 'strategy' in fact ? fact.strategy : undefined
    return { strategy, overview: true }
  }

  /** Keeps a slot's end where it is the newest that is known. */
  noteSlot(strategy: string, slot: EndedSlot): void {
    const sight = this.sightOf(strategy)
    if (isNewer(slot, sight.lastSlot)) sight.lastSlot = slot
    if (slot.outcome === 'skipped' && isNewer(slot, sight.lastSkip)) sight.lastSkip = slot
  }

  sightOf(strategy: string): StrategySight {
    const known = this.strategies.get(strategy)
    if (known !== undefined) return known
    const sight: StrategySight = {
      nextSlotSeconds: undefined,
      waits: undefined,
      lastSlot: undefined,
      lastSkip: undefined,
    }
    this.strategies.set(strategy, sight)
    return sight
  }

  #sawNextSlot({ strategy, nextSlotSeconds }: Seen<'next-slot'>): Touched {
    const sight = this.sightOf(strategy)
    const isSame = sight.nextSlotSeconds === nextSlotSeconds
    sight.nextSlotSeconds = nextSlotSeconds
    if (sight.waits?.slotSeconds !== nextSlotSeconds) sight.waits = undefined
    return isSame ? undefined : { strategy, overview: false }
  }

  #sawWaiting({ strategy, slotSeconds, reason, detail }: Seen<'slot-waiting'>): Touched {
    const why = detail === '' ? reason : `${reason}: ${detail}`
    const sight = this.sightOf(strategy)
    const isSame = sight.waits?.slotSeconds === slotSeconds && sight.waits.why === why
    sight.waits = { slotSeconds, why }
    return isSame ? undefined : { strategy, overview: false }
  }

  #sawBalance({ wallet, token, amount, decimals }: Seen<'wallet-balance'>): Touched {
    const known = this.balances.get(wallet)
    const held = known ?? new Map<string, SeenBalance>()
    if (known === undefined) this.balances.set(wallet, held)
    held.set(token, { amount, decimals, atMs: this.#now() })
    return OVERVIEW
  }

  #sawOrderWait({ intentId, reason, detail }: Seen<'order-waits'>): Touched {
    if (this.waiting.size >= WAITING_MAX) this.waiting.clear()
    this.waiting.set(intentId, detail === '' ? reason : `${reason}: ${detail}`)
    return OVERVIEW
  }
}

export function endedSlot(fact: Extract<Fact, { type: 'slot-closed' }>): EndedSlot {
  const { lastSeconds: slotSeconds, outcome, reason, detail } = fact
  return { slotSeconds, outcome, reason, detail }
}

function isNewer(slot: EndedSlot, than: EndedSlot | undefined): boolean {
  return than === undefined || slot.slotSeconds >= than.slotSeconds
}
