import { credibleFee } from '../../domain/money/gas.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { TransactionRecord } from '../../journal/records.ts'
import type { ChainFault, Receipt, SignedTransaction } from '../../ports.ts'
import type { SendingContext, WalletContext } from '../context.ts'
import { askFinal, isWatched } from '../finality.ts'

/** Outcome of a wallet transaction: at the newest block, and for certain. */

export type Sending = { readonly context: SendingContext; readonly wallet: WalletContext }

/**
 * Consecutive polls, about two minutes, with the nonce used and no receipt, before the transaction may count as lost. Nodes
 * know nonces before receipts, and a mined wrap mistaken for lost is never unwrapped.
 */
const LOST_POLLS = 120
/** This process's progress in following one transaction. */
export type Tries = {
  /** First broadcast of the current version, accepted or not; retries count from here. */
  triedAtMs?: number | undefined
  out?: SignedTransaction | undefined
  /** Consecutive reads with the nonce used and no receipt. */
  seenUsed: number
  /** An earlier nonce of the wallet is unused, so no fee gets this transaction mined. */
  waitsForOthers?: boolean
  /** Result of the last outcome check, if it allows another transaction. */
  outcome?: string | undefined
  /** Why the last read, and the last broadcast, must be repeated. */
  readFault?: ChainFault['tag'] | undefined
  broadcastFault?: ChainFault['tag'] | undefined
}

export function newTries(): Tries {
  return { seenUsed: 0 }
}

export function reportRetry(
  { context }: Pick<Sending, 'context'>,
  route: 'transaction' | 'broadcast',
  cause: ChainFault['tag'] | undefined,
): void {
  if (cause !== undefined) context.ports.observe({ type: 'retry', service: 'rpc', route, cause })
}

export type ExecutionOutcome = 'mined' | 'reverted' | 'lost'

/** A transaction's end as recorded. */
export type End = {
  readonly status: ExecutionOutcome
  readonly hash: Hex | undefined
  readonly blockNumber: bigint | undefined
  /** Set if a reorg may still remove it. */
  readonly blockHash?: Hex | undefined
  readonly fee?: bigint | undefined
}

export type Used = {
  /** Receipt of our version in the block, if the node has one. */
  readonly receipt: Receipt | undefined
}

export async function readNewest(
  sending: Sending,
  id: string,
  tries: Tries,
): Promise<Used | 'pending'> {
  const { journal, observe } = sending.context.ports
  const open = journal.state.transactions.get(id)
  if (open === undefined) return 'pending'
  const { record, hashes } = open
  reportRetry(sending, 'transaction', tries.readFault)
  const reply = await sending.wallet.chain.transaction({ from: record.from, hashes })
  tries.readFault = reply.ok ? undefined : reply.fault.tag
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: `following ${id}`, message: reply.fault.message })
    return 'pending'
  }
  const { receipt, latestNonce } = reply.value
  const isWithout = receipt === undefined && latestNonce > record.nonce
  tries.seenUsed = isWithout ? tries.seenUsed + 1 : 0
  tries.waitsForOthers = latestNonce < record.nonce
  return receipt === undefined && !isWithout ? 'pending' : { receipt }
}

/**
 * Orders continue once the transaction is mined; it is then monitored until final. The chain itself proves a direct call.
 */
export function minedEnd(
  { context, wallet }: Sending,
  id: string,
  { receipt }: Used,
): End | undefined {
  const open = context.ports.journal.state.transactions.get(id)
  if (open === undefined || receipt === undefined || open.record.purpose === 'call')
    return undefined
  const isMined = statusOf(receipt, open.cancelling) === 'mined'
  if (!isMined) return undefined
  const { blockHash } = receipt
  return {
    ...ended('mined', receipt, { ...open, wallet }),
    ...(isWatched(wallet.finality) ? { blockHash } : {}),
  }
}

/**
 * The certain outcome of a transaction. Outcomes that allow another transaction (reverted, lost, cleared) need a final
 * block, a quorum (rule T6) and two equal reads.
 */
export async function certainEnd(
  sending: Sending,
  id: string,
  { receipt, tries }: Used & { readonly tries: Tries },
): Promise<End | undefined> {
  const { context, wallet } = sending
  const mined = minedEnd(sending, id, { receipt })
  const open = context.ports.journal.state.transactions.get(id)
  if (open === undefined || mined !== undefined) return mined
  const { record, hashes, cancelling: cancels } = open
  const { from, nonce } = record
  if (receipt === undefined && tries.seenUsed % LOST_POLLS !== 0) return undefined
  const outcome = await askFinal(context, `finding out what became of ${id}`, (query) =>
    wallet.chain.nonceOutcome({ ...query, from, nonce, hashes }),
  )
  if (outcome === undefined) return undefined
  const end =
    outcome === 'lost'
      ? ({ status: 'lost', hash: hashes.at(-1), blockNumber: undefined } as const)
      : ended(statusOf(outcome, cancels), outcome, { record, wallet })
  const said = `${end.status} ${end.hash}`
  const isConfirmed = end.status === 'mined' || tries.outcome === said
  tries.outcome = said
  return isConfirmed ? end : undefined
}

function ended(
  status: ExecutionOutcome,
  { hash, blockNumber, fee }: Receipt,
  { record, wallet }: Pick<Sending, 'wallet'> & { readonly record: TransactionRecord },
): End {
  return { status, hash, blockNumber, fee: credibleFee(fee, record, wallet.gas) }
}

/** A mined cancellation does not serve the transaction's purpose. */
function statusOf({ hash, success }: Receipt, cancels: readonly Hex[]): ExecutionOutcome {
  if (cancels.includes(hash)) return 'lost'
  return success ? 'mined' : 'reverted'
}
