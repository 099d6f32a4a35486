import type { Ratio } from '../domain/money/units.ts'
import { clientOrderId } from '../domain/order/intent.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import {
  authorizationDead,
  type PermitRecorded,
  permitRecorded,
} from '../journal/events/order/authorizations.ts'
import {
  callProven,
  type FillProven,
  fillProven,
  paperFilled,
} from '../journal/events/order/fills.ts'
import type { JournalRecord } from '../journal/events/registry.ts'
import {
  type TransactionEnded,
  transactionEnded,
  transactionRecorded,
} from '../journal/events/state/transactions.ts'
import { slotClosed, slotOpened } from '../journal/events/strategy/slots.ts'
import type { TransactionRecord } from '../journal/records.ts'
import type { FillModel } from './model.ts'

export type Observed = ReturnType<Observer['result']>

/** Newest values kept per figure, because services and chains change. */
const NEWEST = 1_000
/** Minimum values of a figure. */
const ENOUGH = 5
/** Minimum orders of a failure share. */
const ENOUGH_ORDERS = 20
const PPM = 1_000_000

/** Each figure with its label. */
const LABELS = {
  spreadPpm: 'spread',
  feePpm: 'fee',
  quoteSeconds: 'time to sign',
  fillSeconds: 'time to fill',
  validSeconds: 'life of signatures',
  failurePpm: 'share that fails',
  wrapWei: 'gas of wraps',
  callWei: 'charges of calls',
} as const

/** Measures how quotes, services and chains behaved in the fills of a journal: the median of each figure. */
export class Observer {
  readonly #numbers = {
    spreadPpm: [] as number[],
    feePpm: [] as number[],
    quoteSeconds: [] as number[],
    fillSeconds: [] as number[],
    validSeconds: [] as number[],
  }
  readonly #ends: ('filled' | 'dead')[] = []
  readonly #wraps: bigint[] = []
  readonly #charges: bigint[] = []
  readonly #openedMs = new Map<string, number>()
  readonly #permits = new Map<string, { readonly permit: PermitRecord; readonly atMs: number }>()
  readonly #transactions = new Map<string, TransactionRecord>()
  #fills = 0

  add({ event, atMs }: Pick<JournalRecord, 'event' | 'atMs'>): void {
    if (slotOpened.is(event)) this.#openedMs.set(`${event.strategy}:${event.slotSeconds}`, atMs)
    else if (slotClosed.is(event)) this.#openedMs.delete(`${event.strategy}:${event.slotSeconds}`)
    else if (permitRecorded.is(event)) this.#signed(event, atMs)
    else if (fillProven.is(event)) this.#filled(event, atMs)
    else if (paperFilled.is(event)) this.#priced(event)
    else if (authorizationDead.is(event)) {
      if (this.#permits.delete(clientOrderId(event.intentId, event.attempt)))
        add(this.#ends, 'dead')
    } else if (callProven.is(event)) {
      const { charged } = event.execution.costs
      if (charged !== undefined) add(this.#charges, charged)
    } else if (transactionRecorded.is(event))
      this.#transactions.set(event.transaction.id, event.transaction)
    else if (transactionEnded.is(event)) this.#ended(event)
  }

  /** `model`: figures with enough data; the others keep their defaults. */
  result() {
    const numbers = Object.entries(this.#numbers).map(([name, values]) => {
      return [name, middleOf(values, ENOUGH)] as const
    })
    const figures = [
      ...numbers,
      ['failurePpm', this.#failurePpm()] as const,
      ['wrapWei', middleOf(this.#wraps)] as const,
      ['callWei', middleOf(this.#charges)] as const,
    ]
    const known = figures.filter(([, value]) => value !== undefined)
    const model: Partial<FillModel> = Object.fromEntries(known)
    return { model, fills: this.#fills, calls: this.#charges.length }
  }

  #signed({ intentId, permit }: PermitRecorded, atMs: number): void {
    this.#permits.set(permit.clientOrderId, { permit, atMs })
    add(this.#numbers.validSeconds, Math.max(0, permit.deadlineSeconds - Math.floor(atMs / 1000)))
    const slot = intentId.slice(0, intentId.lastIndexOf(':'))
    const openedMs = this.#openedMs.get(slot)
    // Later attempts of a slot do not measure the time to sign.
    this.#openedMs.delete(slot)
    if (openedMs !== undefined)
      add(this.#numbers.quoteSeconds, Math.round((atMs - openedMs) / 1000))
  }

  #filled(event: FillProven, atMs: number): void {
    const name = clientOrderId(event.intentId, event.attempt)
    const signed = this.#permits.get(name)
    if (signed === undefined) return
    this.#permits.delete(name)
    add(this.#ends, 'filled')
    add(this.#numbers.fillSeconds, Math.round((atMs - signed.atMs) / 1000))
    const { feed, fee } = signed.permit
    this.#priced({ ...event.fill, feed, fee })
  }

  /** Costs of an order against the feeds, millionths: the service's fee, and the rest as spread. */
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
    add(this.#numbers.feePpm, feePpm)
    add(this.#numbers.spreadPpm, Math.max(0, cost - feePpm))
  }

  #ended({ id, status, fee }: TransactionEnded): void {
    const purpose = this.#transactions.get(id)?.purpose
    this.#transactions.delete(id)
    if (status !== 'mined' || fee === undefined) return
    if (purpose === 'wrap' || purpose === 'unwrap') add(this.#wraps, fee)
  }

  #failurePpm(): number | undefined {
    const ends = this.#ends
    if (ends.length < ENOUGH_ORDERS) return undefined
    return Math.round((ends.filter((end) => end === 'dead').length / ends.length) * PPM)
  }
}

function add<Value>(values: Value[], value: Value): void {
  values.push(value)
  if (values.length > NEWEST) values.shift()
}

/** The median; undefined without values or with fewer than `least`. */
function middleOf<Value extends number | bigint>(values: readonly Value[], least = 0) {
  if (values.length < least) return undefined
  return values.toSorted((a, b) => (a < b ? -1 : 1))[Math.floor(values.length / 2)]
}

function ppmOf(part: bigint, whole: bigint): number {
  return Number.parseInt(((part * BigInt(PPM)) / whole).toString(), 10)
}

/** A note that lists the figures taken from the journal. */
export function observedNote({ model, fills, calls }: Observed): string {
  const labels = (isKnown: boolean): string =>
    Object.entries(LABELS)
      .filter(([name]) => name in model === isKnown)
      .map(([, label]) => label)
      .join(', ')
  const missing = labels(false)
  const rest = missing === '' ? '' : `; defaults: ${missing}`
  return `From ${fills} fills and ${calls} calls of the journal: ${labels(true)}${rest}.`
}
