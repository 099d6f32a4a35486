import type { Token } from '../../domain/money/token.ts'
import { type Address, type Hex, maxOf } from '../../domain/money/units.ts'
import { hasLiveAuthorization } from '../../domain/order/order.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import type { DaemonState, UnfinalFill } from '../../journal/state/daemon-state.ts'
import type { ChainReply, Payment, Ports, TransactionTrace } from '../../ports.ts'
import { unavailable } from '../../venues/chain-requests.ts'
import { names } from '../../venues/swap/prove.ts'
import { openSwaps, swapOf } from '../../venues/swap/swap-projection.ts'

/** Payments out of the trading wallet without a matching order. */

const DOING = 'comparing a wallet with the journal'
/** Upper bound on transactions matched with pending orders; more cannot be in flight. */
const MATCHED_MAX = 200

type PaymentPorts = Pick<Ports, 'chain' | 'signer' | 'observe' | 'clock' | 'journal'>

/** Payments of one transaction that no order claims. */
export type Strange = { readonly txHash: Hex; readonly payments: readonly Payment[] }

export type Payments = {
  readonly strange: readonly Strange[]
  /** True if a payment was attributed to a pending order without naming its permit. */
  readonly isOpen: boolean
}

export const NO_PAYMENTS = { ok: true, value: { strange: [], isOpen: false } } as const

/** Payments in a block range, inclusive, that match neither the ledger nor pending orders. */
export async function strangePayments(
  ports: PaymentPorts,
  tokens: readonly Token[],
  { fromBlock, toBlock }: { readonly fromBlock: bigint; readonly toBlock: bigint },
): Promise<ChainReply<Payments>> {
  const { chain, signer, observe } = ports
  const { address: owner } = signer
  if (tokens.length === 0) return NO_PAYMENTS
  const addresses = tokens.map(({ address }) => address)
  const paid = await chain.payments({ owner, tokens: addresses, fromBlock, toBlock })
  if (!paid.ok) return paid
  if (paid.value.fromBlock > fromBlock) {
    const message = `payments in blocks ${fromBlock} to ${paid.value.fromBlock - 1n} were not searched: its node takes too many requests for that`
    observe({ type: 'chain-trouble', doing: DOING, message })
  }
  const left = await unlessOfLiveOrders(ports, paid.value.payments)
  if (!left.ok) return left
  const strange = await shownByReceipts(ports, left.value.strange)
  return strange.ok ? { ok: true, value: { ...left.value, strange: strange.value } } : strange
}

/** Keeps transactions whose receipts confirm their logs by quorum: a log invented by one node must not halt trading. */
async function shownByReceipts(
  { chain, signer, observe }: PaymentPorts,
  strange: readonly Strange[],
): Promise<ChainReply<readonly Strange[]>> {
  const shown: Strange[] = strange.slice(MATCHED_MAX)
  for (const each of strange.slice(0, MATCHED_MAX)) {
    const { txHash } = each
    const reply = await chain.permit({ owner: signer.address, nonce: 0n, txHash })
    if (!reply.ok) return reply
    const { transaction } = reply.value
    if (transaction === undefined) return unavailable(`no node has the receipt of ${txHash} yet`)
    if (each.payments.every((payment) => holds(transaction, payment))) shown.push(each)
    else {
      const message = `a log of ${txHash} says a payment that its receipt does not have`
      observe({ type: 'nodes-disagree', doing: DOING, message })
    }
  }
  return { ok: true, value: shown }
}

function holds({ transfers }: TransactionTrace, payment: Payment): boolean {
  return transfers.some(
    ({ token, amount, logIndex }) =>
      token === payment.token && amount === payment.amount && logIndex === payment.logIndex,
  )
}

export function unclaimed(
  { claimedTransfers }: DaemonState,
  payments: readonly Payment[],
): readonly Strange[] {
  const byTransaction = new Map<Hex, Payment[]>()
  for (const payment of payments) {
    const { txHash, logIndex } = payment
    if (claimedTransfers.has(txHash) || claimedTransfers.has(`${txHash}:${logIndex}`)) continue
    byTransaction.set(txHash, [...(byTransaction.get(txHash) ?? []), payment])
  }
  return Array.from(byTransaction, ([txHash, each]) => ({ txHash, payments: each }))
}

/**
 * Removes payments of pending orders. A transaction that names permits settles them. Transactions without permits, or
 * without a receipt yet, may together settle the permits whose nonces are used.
 */
async function unlessOfLiveOrders(
  ports: PaymentPorts,
  payments: readonly Payment[],
): Promise<ChainReply<Payments>> {
  const { state } = ports.journal
  const strange = unclaimed(state, payments)
  if (strange.length === 0) return NO_PAYMENTS
  const inFlight = permitsInFlight(state, payments)
  const used = await usedOf(ports, [...inFlight, ...state.spokenFor.values()], strange)
  if (!used.ok) return used
  const [first] = used.value
  if (first === undefined) return { ok: true, value: { strange, isOpen: false } }
  const { owner, nonce } = first
  const nameless: Strange[] = strange.slice(MATCHED_MAX)
  const named = new Set<PermitRecord>()
  for (const each of strange.slice(0, MATCHED_MAX)) {
    const reply = await ports.chain.permit({ owner, nonce, txHash: each.txHash })
    if (!reply.ok) return reply
    const { transaction } = reply.value
    const own = used.value.filter((permit) => transaction && names(transaction, permit))
    for (const permit of own) named.add(permit)
    if (own.length === 0) nameless.push(each)
  }
  const spare = used.value.filter((permit) => !named.has(permit))
  const left = unpermitted(nameless, spare)
  const isOpen = left.length < nameless.length && spare.some((permit) => inFlight.includes(permit))
  return { ok: true, value: { strange: left, isOpen } }
}

/** Permits whose nonces are used at a final block no older than the payments. */
async function usedOf(
  { chain, clock }: PaymentPorts,
  permits: readonly PermitRecord[],
  strange: readonly Strange[],
): Promise<ChainReply<readonly PermitRecord[]>> {
  const paidUpTo = strange
    .flatMap((each) => each.payments.map(({ blockNumber }) => blockNumber))
    .reduce(maxOf)
  const used: PermitRecord[] = []
  for (const permit of permits) {
    const { owner, nonce } = permit
    const latestSeconds = latestBlockSeconds(clock.now())
    const reply = await chain.finalPermit({ owner, nonce, latestSeconds })
    if (!reply.ok) return unavailable(reply.fault.message)
    const { nonceUsed, blockNumber } = reply.value
    if (nonceUsed) used.push(permit)
    else if (blockNumber < paidUpTo)
      return unavailable(`block ${blockNumber} is final, and a payment is in block ${paidUpTo}`)
  }
  return { ok: true, value: used }
}

/** Permits of orders with unknown outcome, and of fills that an undetected reorg may have moved. */
function permitsInFlight(
  state: DaemonState,
  payments: readonly Payment[],
): readonly PermitRecord[] {
  const live = openSwaps(state).filter((open) => hasLiveAuthorization(open.state))
  const seen = new Set(payments.map(({ txHash, logIndex }) => `${txHash}:${logIndex}`))
  const isGone = ({ claims }: UnfinalFill): boolean => !claims.some((claim) => seen.has(claim))
  const moved = [...state.unfinal.values()].filter(isGone).map(({ open }) => open)
  return [...live, ...moved].flatMap((open) => swapOf(open)?.permit ?? [])
}

/** Transactions that paid more than permits allow. Keeps the largest, so that an order cannot hide a theft. */
function unpermitted(
  transactions: readonly Strange[],
  permits: readonly PermitRecord[],
): readonly Strange[] {
  const allowed = sumsOf(permits)
  const bySize = transactions
    .map((each) => ({ each, paid: sumsOf(each.payments) }))
    .toSorted((a, b) => (largestOf(a.paid) < largestOf(b.paid) ? 1 : -1))
  const left = bySize.filter(({ paid }) => {
    const isAllowed = [...paid].every(([token, sum]) => sum <= (allowed.get(token) ?? 0n))
    if (isAllowed)
      for (const [token, sum] of paid) allowed.set(token, (allowed.get(token) ?? 0n) - sum)
    return !isAllowed
  })
  return left.map(({ each }) => each)
}

type Sums = Map<Address, bigint>

function sumsOf(amounts: readonly { readonly token: Address; readonly amount: bigint }[]): Sums {
  const sums: Sums = new Map()
  for (const { token, amount } of amounts) sums.set(token, (sums.get(token) ?? 0n) + amount)
  return sums
}

function largestOf(sums: Sums): bigint {
  return [...sums.values()].reduce(maxOf, 0n)
}
