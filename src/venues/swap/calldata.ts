import type { Permit } from '../../domain/order/permit.ts'
import type { Transfer } from '../../ports.ts'

const WORD = 64
/** Maximum distance in words between a permit and its amount. */
const REACH_WORDS = 32
/** Calldata that names the token more often proves nothing: scanning all of it would block the daemon. */
const PLACES_MAX = 1_000

/** Permits of one token that one transaction settled, and its payments of that token by their owner. */
type SharedPayments = {
  readonly calldata: string
  readonly permits: readonly Permit[]
  readonly payments: readonly Transfer[]
  /** Payments that prove no other order. */
  readonly free: readonly Transfer[]
}

/**
 * Returns the payment of the first permit; undefined if calldata does not prove it.
 *
 * The service writes calldata, so a single word proves nothing. Each permit must occur once as signed: token, amount, nonce,
 * deadline. The amounts must occur at the same distance from their permits, and in the order of the payments. A second,
 * contradicting match voids all of them. Permits of one transaction always get different payments, so together they are
 * booked at no less than was paid.
 */
export function paymentInCalldata(shared: SharedPayments): Transfer | undefined {
  const { calldata, permits, free } = shared
  const [first] = permits
  if (first === undefined) return undefined
  const all = placesOf(calldata, wordOf(BigInt(first.token)), PLACES_MAX + 1)
  if (all.length > PLACES_MAX) return undefined
  const starts = permits.map((permit) => onlyPlaceOf(calldata, structOf(permit)))
  const paid = wordsOf(shared.payments)
  const known = new Set(paid)
  const left = sorted(wordsOf(free))
  const found = new Set<string | undefined>()
  for (let distance = -REACH_WORDS; distance <= REACH_WORDS; distance += 1) {
    const amounts = all.flatMap((place) => wordAt(calldata, place, distance) ?? [])
    const read = amounts.filter((word) => known.has(word))
    if (sorted(read) !== sorted(paid)) continue
    const own = starts.map((place) => wordAt(calldata, place, distance) ?? '')
    if (sorted(own) !== left) continue
    const isAllowed = permits.every(({ amount }, at) => (own[at] ?? '') <= wordOf(amount))
    found.add(isAllowed && read.join() === paid.join() ? own[0] : undefined)
  }
  const [amount] = found
  return found.size === 1 ? free.find((payment) => wordOf(payment.amount) === amount) : undefined
}

/** True if hex digits occur in calldata at a byte boundary. */
export function holds(calldata: string, digits: string): boolean {
  return placeFrom(calldata, digits, 0) >= 0
}

function placesOf(calldata: string, digits: string, max: number): readonly number[] {
  const places: number[] = []
  let at = placeFrom(calldata, digits, 0)
  for (; at >= 0 && places.length < max; at = placeFrom(calldata, digits, at + 1)) places.push(at)
  return places
}

function placeFrom(calldata: string, digits: string, from: number): number {
  let at = calldata.indexOf(digits, from)
  while (at % 2 === 1) at = calldata.indexOf(digits, at + 1)
  return at
}

export function wordOf(value: bigint): string {
  return value.toString(16).padStart(WORD, '0')
}

function structOf({ token, amount, nonce, deadlineSeconds }: Permit): string {
  return [BigInt(token), amount, nonce, BigInt(deadlineSeconds)].map(wordOf).join('')
}

function onlyPlaceOf(calldata: string, digits: string): number | undefined {
  const [place, ...others] = placesOf(calldata, digits, 2)
  return others.length === 0 ? place : undefined
}

function wordAt(calldata: string, place: number | undefined, distance: number): string | undefined {
  if (place === undefined) return undefined
  const at = place + distance * WORD
  return at < 0 ? undefined : calldata.slice(at, at + WORD)
}

function wordsOf(payments: readonly Transfer[]): readonly string[] {
  return payments.toSorted((a, b) => a.logIndex - b.logIndex).map(({ amount }) => wordOf(amount))
}

function sorted(words: readonly string[]): string {
  return words.toSorted().join()
}
