import type { Fill } from '../../domain/book/journal.ts'
import type { Permit } from '../../domain/permit.ts'
import { type BaseUnits, minOf } from '../../domain/units.ts'
import type { TransactionTrace, Transfer } from '../../ports.ts'
import { holds, paymentInCalldata, wordOf } from './calldata.ts'

export type ProofInput = {
  readonly permit: Permit
  readonly trace: TransactionTrace
  /** Other open permits of this wallet that the transaction names: their payments may be in it. */
  readonly mates: readonly Permit[]
  /** Transfers that prove other orders already, as `<txHash>:<log index>`. */
  readonly claimed: ReadonlyMap<string, number>
}

/**
 * What a transaction proves about a permit whose nonce is used: that the owner paid at most the permitted amount
 * and the recipient got at least the minimum. Undefined when it proves nothing (rule G5). What cannot be told apart is
 * booked in our disfavour (rule T7): the most that may have been paid, the least that may have been received.
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

/** What was paid by the permit, as far as it can be told from what others paid. */
function paidBy(input: ProofInput): Counted | undefined {
  const { permit, trace, mates } = input
  const out = paidIn(input)
  const isShared = mates.length > 0 || out.length > out.filter(isFree(input)).length
  if (!isShared) return allOf(input, out)
  return names(trace, permit) ? mostOf(input, out) : undefined
}

/** The payments of a transaction that took the tokens and gave too little, as a fill names them. */
export function takenBy(input: ProofInput): readonly string[] {
  return (paidBy(input)?.claims ?? []).map((transfer) => claimKey(input.trace, transfer))
}

/**
 * Whether a transaction took the permitted token by this very permit, whatever it gave for it: its calldata names the
 * permit, and there is a payment in it that is no other's.
 */
export function hasTaken(input: ProofInput): boolean {
  const { permit, trace } = input
  return trace.success && names(trace, permit) && mostOf(input, paidIn(input)) !== undefined
}

/**
 * Whether a transaction's calldata carries a permit's nonce and deadline: it settles that permit, perhaps among
 * others, or somebody wrote them there. The nonce alone is not enough, for a small one reads like any offset or length.
 */
export function names({ input }: TransactionTrace, permit: Permit): boolean {
  if (input === undefined) return false
  return wordsOf(permit).every((word) => holds(input, word))
}

/** Each order in flight is looked for in what settles any other. */
const WORDS = new WeakMap<Permit, readonly string[]>()

function wordsOf(permit: Permit): readonly string[] {
  const known = WORDS.get(permit)
  if (known !== undefined) return known
  const { nonce, deadlineSeconds } = permit
  const words = [nonce, BigInt(deadlineSeconds)].map(wordOf)
  WORDS.set(permit, words)
  return words
}

/** What was counted for an order, and the transfers that it is claimed by. */
type Counted = { readonly amount: bigint; readonly claims: readonly Transfer[] }

/** Of one order alone everything that was paid; more than it permits is another's too, which nobody recognised. */
function allOf(input: ProofInput, out: readonly Transfer[]): Counted | undefined {
  const amount = sum(out)
  if (amount === 0n) return undefined
  if (amount <= input.permit.amount) return { amount, claims: out }
  return names(input.trace, input.permit) ? mostOf(input, out) : undefined
}

/**
 * Of several orders together: what the calldata proves (`paymentInCalldata`). Where it does not, each may have been paid by any
 * payment that its permit allows. It is booked at the largest of them, whoever claims it, and claims the largest that is
 * free; so that together they never come to less than what left the wallet. Where there are more payments than orders (a token that takes a fee of its transfers) each is booked at all that
 * its permit allows, and the last one claims what is left. Undefined where there are fewer payments than orders: one of those
 * named is not in it.
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

/** Where recipients share, the smallest that is enough and free: whoever gets the others had more. */
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

/** Payments of the permitted token by the owner. A transfer of nothing pays nothing: anybody can make it. */
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
