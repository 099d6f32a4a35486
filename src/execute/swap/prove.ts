import type { Fill } from '../../domain/book/journal.ts'
import type { Permit } from '../../domain/permit.ts'
import type { BaseUnits } from '../../domain/units.ts'
import type { TransactionTrace, Transfer } from '../../ports.ts'

export type ProofInput = {
  readonly permit: Permit
  readonly trace: TransactionTrace
  /** Other open permits of this wallet; those settled by the same transaction share its transfers. */
  readonly others: readonly Permit[]
  /** Transfers that prove other orders already, as `<txHash>:<log index>`. */
  readonly claimed: ReadonlyMap<string, number>
}

/**
 * What a transaction proves about a permit whose nonce is used: that the owner paid at most the permitted amount
 * and the recipient got at least the minimum. Undefined when it proves nothing (rule G5).
 */
export function proveFill(input: ProofInput): Fill | undefined {
  const { permit, trace } = input
  if (!trace.success) return undefined
  const free = (transfer: Transfer): boolean => !input.claimed.has(claimKey(trace, transfer))
  const out = trace.transfers.filter(
    (transfer) =>
      transfer.token === permit.token && transfer.from === permit.owner && free(transfer),
  )
  const into = trace.transfers.filter(
    (transfer) =>
      transfer.token === permit.tokenOut && transfer.to === permit.recipient && free(transfer),
  )
  const mates = input.others.filter((other) => settles(trace, other))
  const counted = mates.length === 0 ? { out, into } : shareOf(input, { out, into, mates })
  return counted === undefined ? undefined : fillOf(input, counted)
}

/**
 * Whether a transaction's calldata carries a permit's nonce and deadline: it settles that permit, perhaps among
 * others. The nonce alone is not enough, for a small one reads like any offset or length.
 */
function settles(trace: TransactionTrace, permit: Permit): boolean {
  const deadline = word(BigInt(permit.deadlineSeconds))
  return position(trace, permit) >= 0 && (trace.input?.includes(deadline) ?? false)
}

type Counted = { readonly out: readonly Transfer[]; readonly into: readonly Transfer[] }

/**
 * Our own transfers in a transaction that settles other permits of the wallet: they come in calldata order. None if it
 * settles only the others, whatever their amounts would prove.
 */
function shareOf(
  { permit, trace }: ProofInput,
  shared: Counted & { readonly mates: readonly Permit[] },
): Counted | undefined {
  if (!settles(trace, permit)) return undefined
  const rank = (filter: (mate: Permit) => boolean): number =>
    shared.mates.filter((mate) => filter(mate) && position(trace, mate) < position(trace, permit))
      .length
  const out = shared.out[rank((mate) => mate.token === permit.token)]
  const into =
    shared.into[
      rank((mate) => mate.tokenOut === permit.tokenOut && mate.recipient === permit.recipient)
    ]
  return out === undefined || into === undefined ? undefined : { out: [out], into: [into] }
}

function position(trace: TransactionTrace, permit: Permit): number {
  return trace.input?.indexOf(word(permit.nonce)) ?? -1
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

function fillOf({ permit, trace }: ProofInput, counted: Counted): Fill | undefined {
  const paid = sum(counted.out)
  const received = sum(counted.into)
  if (paid === 0n || paid > permit.amount || received < permit.minAmountOut) return undefined
  return {
    txHash: trace.hash,
    blockNumber: trace.blockNumber,
    paid: paid as BaseUnits,
    received: received as BaseUnits,
    transfers: [...counted.out, ...counted.into].map((transfer) => claimKey(trace, transfer)),
  }
}

function sum(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((total, transfer) => total + transfer.amount, 0n)
}

function claimKey(trace: TransactionTrace, transfer: Transfer): string {
  return `${trace.hash}:${transfer.logIndex}`
}
