import { type BaseUnits, minOf } from '../../domain/money/units.ts'
import type { Permit } from '../../domain/order/permit.ts'
import type { Fill } from '../../journal/records.ts'
import type { TransactionTrace, Transfer } from '../../ports.ts'
import { holds, paymentInCalldata, wordOf } from './calldata.ts'

export type ProofInput = {
  readonly permit: Permit
  readonly trace: TransactionTrace
  /** Other open permits of this wallet that the transaction names; it may contain their payments. */
  readonly mates: readonly Permit[]
  /** Transfers that already prove other orders, as `<txHash>:<log index>`. */
  readonly claimed: ReadonlyMap<string, number>
}

/**
 * What a transaction proves about a permit with a used nonce: the owner paid at most the permitted amount, and the recipient
 * got at least the minimum. Undefined if it proves nothing (rule G5). Ambiguity is booked against us (rule T7): the maximum
 * that may have been paid, the minimum that may have been received.
 */
export function proveFill(input: ProofInput): Fill | undefined {
  const { trace } = input
  if (!trace.success) return undefined
  const paid = paidBy(input)
  const received = receivedIn(input)
  if (paid === undefined || received === undefined) return undefined
  return {
    txHash: trace.hash,
    blockNumber: trace.blockNumber,
    paid: paid.amount as BaseUnits,
    received: received.amount as BaseUnits,
    transfers: [...paid.claims, ...received.claims].map((transfer) => claimKey(trace, transfer)),
  }
}

function paidBy(input: ProofInput): Counted | undefined {
  const { permit, trace, mates } = input
  const out = paidIn(input)
  const isShared = mates.length > 0 || out.length > out.filter(isFree(input)).length
  if (!isShared) return allOf(input, out)
  return names(trace, permit) ? mostOf(input, out) : undefined
}

/** Payments of a transaction that took the tokens and gave too little, in the format of a fill's transfers. */
export function takenBy(input: ProofInput): readonly string[] {
  return (paidBy(input)?.claims ?? []).map((transfer) => claimKey(input.trace, transfer))
}

/** True if its calldata names the permit and it has a payment that no other order claims, whatever the recipient got. */
export function hasTaken(input: ProofInput): boolean {
  const { permit, trace } = input
  return trace.success && names(trace, permit) && mostOf(input, paidIn(input)) !== undefined
}

/**
 * True if calldata contains a permit's nonce and deadline: it settles that permit, possibly among others, or only mentions
 * it. The nonce alone is not enough, because a small one looks like an offset or length.
 */
export function names({ input }: TransactionTrace, permit: Permit): boolean {
  if (input === undefined) return false
  return wordsOf(permit).every((word) => holds(input, word))
}

/** Cache: every pending order is checked against the settlements of all others. */
const WORDS = new WeakMap<Permit, readonly string[]>()

function wordsOf(permit: Permit): readonly string[] {
  const known = WORDS.get(permit)
  if (known !== undefined) return known
  const { nonce, deadlineSeconds } = permit
  const words = [nonce, BigInt(deadlineSeconds)].map(wordOf)
  WORDS.set(permit, words)
  return words
}

type Counted = { readonly amount: bigint; readonly claims: readonly Transfer[] }

/** A single order claims all payments. An excess over its permit also belongs to an unrecognized order. */
function allOf(input: ProofInput, out: readonly Transfer[]): Counted | undefined {
  const amount = sum(out)
  if (amount === 0n) return undefined
  if (amount <= input.permit.amount) return { amount, claims: out }
  return names(input.trace, input.permit) ? mostOf(input, out) : undefined
}

/**
 * Several orders: the payment that calldata proves (`paymentInCalldata`). Otherwise each may have been paid by any payment
 * that its permit allows. It is booked at the largest of them, even if claimed, and claims the largest unclaimed one, so
 * the total is never less than what left the wallet. With more payments than orders (a fee-on-transfer token) each is
 * booked at its permit's maximum, and the last one claims the rest. Undefined with fewer payments than orders: one of the
 * named orders is not in it.
 */
function mostOf(input: ProofInput, out: readonly Transfer[]): Counted | undefined {
  const { permit, mates, trace } = input
  const fits = ({ amount }: Transfer): boolean => amount <= permit.amount
  const free = out.filter(isFree(input))
  const rivals = mates.filter(({ token }) => token === permit.token)
  if (free.length <= rivals.length) return undefined
  const [own, ...others] = free.filter(fits).toSorted(largestFirst)
  const [most] = out.filter(fits).toSorted(largestFirst)
  if (own === undefined || most === undefined) return undefined
  if (free.length === rivals.length + 1) {
    const permits = [permit, ...rivals]
    const known =
      trace.input && paymentInCalldata({ calldata: trace.input, permits, payments: out, free })
    return known
      ? { amount: known.amount, claims: [known] }
      : { amount: most.amount, claims: [own] }
  }
  const amount = minOf(sum(out), permit.amount)
  return { amount, claims: rivals.length === 0 ? [own, ...others] : [own] }
}

/** If orders share a recipient, returns the smallest sufficient unclaimed transfer. */
function receivedIn(input: ProofInput): Counted | undefined {
  const { permit, trace, mates } = input
  const into = trace.transfers.filter(
    ({ token, to, amount }) => token === permit.tokenOut && to === permit.recipient && amount > 0n,
  )
  const free = into.filter(isFree(input))
  const rivals = mates.filter(
    ({ tokenOut, recipient }) => tokenOut === permit.tokenOut && recipient === permit.recipient,
  )
  if (rivals.length === 0 && free.length === into.length) {
    const amount = sum(into)
    return amount < permit.minAmountOut ? undefined : { amount, claims: into }
  }
  const [least] = free
    .filter(({ amount }) => amount >= permit.minAmountOut)
    .toSorted((a, b) => largestFirst(b, a))
  return least && { amount: least.amount, claims: [least] }
}

/** The owner's payments in the permitted token. Zero transfers do not count, because anyone can emit them. */
function paidIn({ permit, trace }: ProofInput): readonly Transfer[] {
  return trace.transfers.filter(
    ({ token, from, amount }) => token === permit.token && from === permit.owner && amount > 0n,
  )
}

function isFree({ trace, claimed }: ProofInput): (transfer: Transfer) => boolean {
  return (transfer) => !claimed.has(claimKey(trace, transfer))
}

function largestFirst(a: Transfer, b: Transfer): number {
  if (a.amount === b.amount) return a.logIndex - b.logIndex
  return a.amount < b.amount ? 1 : -1
}

function sum(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((total, transfer) => total + transfer.amount, 0n)
}

function claimKey(trace: TransactionTrace, transfer: Transfer): string {
  return `${trace.hash}:${transfer.logIndex}`
}
