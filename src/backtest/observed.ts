import type { EventOf, JournalRecord, TransactionRecord } from '../domain/book/journal.ts'
import { clientOrderId } from '../domain/intent.ts'
import type { PermitRecord } from '../domain/permit.ts'
import type { Ratio } from '../domain/units.ts'
import type { FillModel } from './model.ts'

/** What the fills of a journal say of how quotes, services and chains behave. */
export type Observed = {
  /** Figures that enough was seen of; the others stay as they are. */
  readonly model: Partial<FillModel>
  /** Orders and calls that it is from. */
  readonly fills: number
  readonly calls: number
}

/** Of each figure the newest so many count: services and chains change. */
const NEWEST = 1_000
/** Fewer say nothing. */
const ENOUGH = 5
/** Of so many orders one that fails is a share, and no accident. */
const ENOUGH_ORDERS = 20
const PPM = 1_000_000

type Samples<Value> = { readonly values: Value[] }

/** Goes through a journal and takes the middle of what each order took, cost and came to. */
export class Observer {
  readonly #spreads: Samples<number> = { values: [] }
  readonly #fees: Samples<number> = { values: [] }
  readonly #quoteSeconds: Samples<number> = { values: [] }
  readonly #fillSeconds: Samples<number> = { values: [] }
  readonly #validSeconds: Samples<number> = { values: [] }
  readonly #ends: Samples<'filled' | 'dead'> = { values: [] }
  readonly #wraps: Samples<bigint> = { values: [] }
  readonly #charges: Samples<bigint> = { values: [] }
  readonly #openedMs = new Map<string, number>()
  readonly #permits = new Map<string, { readonly permit: PermitRecord; readonly atMs: number }>()
  readonly #transactions = new Map<string, TransactionRecord>()
  #fills = 0

  hear({ event, atMs }: Pick<JournalRecord, 'event' | 'atMs'>): void {
    switch (event.type) {
      case 'slot-opened':
        this.#openedMs.set(`${event.strategy}:${event.slotSeconds}`, atMs)
        return
      case 'slot-closed':
        this.#openedMs.delete(`${event.strategy}:${event.slotSeconds}`)
        return
      case 'permit-recorded':
        this.#signed(event, atMs)
        return
      case 'fill-proven':
        this.#filled(event, atMs)
        return
      case 'paper-filled':
        this.#priced(event)
        return
      case 'authorization-dead':
        if (this.#permits.delete(clientOrderId(event.intentId, event.attempt)))
          add(this.#ends, 'dead')
        return
      case 'call-proven':
        if (event.execution.costs.charged !== undefined)
          add(this.#charges, event.execution.costs.charged)
        return
      case 'transaction-recorded':
        this.#transactions.set(event.transaction.id, event.transaction)
        return
      case 'transaction-ended':
        this.#ended(event)
        return
      default:
        return
    }
  }

  result(): Observed {
    const model: Partial<FillModel> = {
      ...figure('spreadPpm', middleOf(this.#spreads)),
      ...figure('feePpm', middleOf(this.#fees)),
      ...figure('quoteSeconds', middleOf(this.#quoteSeconds)),
      ...figure('fillSeconds', middleOf(this.#fillSeconds)),
      ...figure('validSeconds', middleOf(this.#validSeconds)),
      ...figure('failurePpm', this.#failurePpm()),
      ...figure('wrapWei', middleWei(this.#wraps)),
      ...figure('callWei', middleWei(this.#charges)),
    }
    return { model, fills: this.#fills, calls: this.#charges.values.length }
  }

  #signed({ intentId, permit }: EventOf<'permit-recorded'>, atMs: number): void {
    this.#permits.set(permit.clientOrderId, { permit, atMs })
    add(this.#validSeconds, Math.max(0, permit.deadlineSeconds - Math.floor(atMs / 1000)))
    const slot = intentId.slice(0, intentId.lastIndexOf(':'))
    const openedMs = this.#openedMs.get(slot)
    // Only the first attempt of a slot is one that nothing went before.
    this.#openedMs.delete(slot)
    if (openedMs !== undefined) add(this.#quoteSeconds, Math.round((atMs - openedMs) / 1000))
  }

  #filled(event: EventOf<'fill-proven'>, atMs: number): void {
    const name = clientOrderId(event.intentId, event.attempt)
    const signed = this.#permits.get(name)
    if (signed === undefined) return
    this.#permits.delete(name)
    add(this.#ends, 'filled')
    add(this.#fillSeconds, Math.round((atMs - signed.atMs) / 1000))
    const { feed, fee } = signed.permit
    this.#priced({ ...event.fill, feed, fee })
  }

  /** What an order cost against the feeds, in millionths: what the service took, and the rest. */
  #priced(order: {
    readonly paid: bigint
    readonly received: bigint
    readonly feed?: Ratio | undefined
    readonly fee?: bigint | undefined
  }): void {
    const { paid, received, feed, fee = 0n } = order
    if (feed === undefined || paid === 0n || feed.den === 0n) return
    const fair = paid * feed.den
    const cost = ppmOf(fair - received * feed.num, fair)
    const feePpm = ppmOf(fee, paid)
    this.#fills += 1
    add(this.#fees, feePpm)
    add(this.#spreads, Math.max(0, cost - feePpm))
  }

  #ended({ id, status, fee }: EventOf<'transaction-ended'>): void {
    const purpose = this.#transactions.get(id)?.purpose
    this.#transactions.delete(id)
    if (status !== 'mined' || fee === undefined) return
    if (purpose === 'wrap' || purpose === 'unwrap') add(this.#wraps, fee)
  }

  #failurePpm(): number | undefined {
    const { values } = this.#ends
    if (values.length < ENOUGH_ORDERS) return undefined
    const dead = values.filter((end) => end === 'dead').length
    return Math.round((dead / values.length) * PPM)
  }
}

function add<Value>({ values }: Samples<Value>, value: Value): void {
  values.push(value)
  if (values.length > NEWEST) values.shift()
}

function figure<Name extends keyof FillModel>(
  name: Name,
  value: FillModel[Name] | undefined,
): Partial<FillModel> {
  return value === undefined ? {} : { [name]: value }
}

function middleOf({ values }: Samples<number>): number | undefined {
  if (values.length < ENOUGH) return undefined
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

function middleWei({ values }: Samples<bigint>): bigint | undefined {
  return values.toSorted((a, b) => (a < b ? -1 : 1))[Math.floor(values.length / 2)]
}

function ppmOf(part: bigint, whole: bigint): number {
  return Number.parseInt(((part * BigInt(PPM)) / whole).toString(), 10)
}

/** In words, which figures come from it. */
export function observedNote({ model, fills, calls }: Observed): string {
  const names: Readonly<Record<string, string>> = {
    spreadPpm: 'spread',
    feePpm: 'fee',
    quoteSeconds: 'time to sign',
    fillSeconds: 'time to fill',
    validSeconds: 'life of signatures',
    failurePpm: 'share that fails',
    wrapWei: 'gas of wraps',
    callWei: 'charges of calls',
  }
  const told = Object.entries(names).filter(([name]) => name in model)
  const untold = Object.entries(names).filter(([name]) => !(name in model))
  const rest =
    untold.length === 0
      ? ''
      : `; it does not tell ${untold.map(([, words]) => words).join(', ')}, which are defaults`
  return `Of the model the journal tells ${told.map(([, words]) => words).join(', ')}, by ${fills} fills and ${calls} calls${rest}.`
}
