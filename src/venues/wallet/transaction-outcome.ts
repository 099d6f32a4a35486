import type { TransactionRecord } from '../domain/book/journal.ts'
import { credibleFee } from '../domain/gas.ts'
import type { Hex } from '../domain/units.ts'
import type { ChainFault, Receipt, SignedTransaction } from '../ports.ts'
import type { SendingContext, WalletContext } from './context.ts'
import { askFinal, isWatched } from './finality.ts'

/** What became of a transaction of our own: at the newest block, and for certain. */

/** Where a wallet's transactions are sent from. */
export type Sending = { readonly context: SendingContext; readonly wallet: WalletContext }

/**
 * Polls in a row that must see the nonce used without any receipt of ours before it is asked whether a transaction is lost.
 * About two minutes: nodes know receipts later than nonces, and a mined wrapping taken for lost is never unwrapped.
 */
const LOST_POLLS = 120
/** What following one transaction has come to in this process. */
export type Tries = {
  /** When its present version was first given to a node, whatever the answer was: patience counts from then. */
  triedAtMs?: number | undefined
  /** What this process sent last. */
  out?: SignedTransaction | undefined
  /** Looks in a row that saw the nonce used without a receipt. */
  seenUsed: number
  /** The last look saw an earlier nonce of the wallet unused: no fee brings this one into a block. */
  waitsForOthers?: boolean
  /** What the last question about its outcome came to, where that lets something be made again. */
  fate?: string | undefined
  /** Why the last look, and the last broadcast, have to be made again. */
  lookFault?: ChainFault['tag'] | undefined
  broadcastFault?: ChainFault['tag'] | undefined
}

export function newTries(): Tries {
  return { seenUsed: 0 }
}

export function tellRetry(
  { context }: Pick<Sending, 'context'>,
  route: 'transaction' | 'broadcast',
  cause: ChainFault['tag'] | undefined,
): void {
  if (cause !== undefined) context.ports.observe({ type: 'retry', service: 'rpc', route, cause })
}

export type Fate = 'mined' | 'reverted' | 'lost'

/** How a transaction ended, as its record says it. */
export type End = {
  readonly status: Fate
  readonly hash: Hex | undefined
  readonly blockNumber: bigint | undefined
  /** Where a reorganisation may still take it away. */
  readonly blockHash?: Hex | undefined
  readonly fee?: bigint | undefined
}

/** The nonce is used at the newest block. */
export type Used = {
  /** Of the version of ours that is in the block, as far as the node knows one. */
  readonly receipt: Receipt | undefined
}

/** One look at the newest block. */
export async function look(sending: Sending, id: string, tries: Tries): Promise<Used | 'pending'> {
  const { journal, observe } = sending.context.ports
  const open = journal.state.transactions.get(id)
  if (open === undefined) return 'pending'
  const { record, hashes } = open
  tellRetry(sending, 'transaction', tries.lookFault)
  const reply = await sending.wallet.chain.transaction({ from: record.from, hashes })
  tries.lookFault = reply.ok ? undefined : reply.fault.tag
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
 * What an order goes on with counts as soon as it is mined, and is watched until it is final; a direct call is proven by the chain
 * itself, and is followed until nothing takes it back.
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
 * What became of a transaction, once that is certain. Whatever lets something be made again counts at a final block alone, by
 * as many nodes as have to agree (rule T6), and when they say it twice: that it reverted, was lost or cleared.
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
  const fate = await askFinal(context, `finding out what became of ${id}`, (query) =>
    wallet.chain.nonceFate({ ...query, from, nonce, hashes }),
  )
  if (fate === undefined) return undefined
  const end =
    fate === 'lost'
      ? ({ status: 'lost', hash: hashes.at(-1), blockNumber: undefined } as const)
      : ended(statusOf(fate, cancels), fate, { record, wallet })
  const said = `${end.status} ${end.hash}`
  const isConfirmed = end.status === 'mined' || tries.fate === said
  tries.fate = said
  return isConfirmed ? end : undefined
}

function ended(
  status: Fate,
  { hash, blockNumber, fee }: Receipt,
  { record, wallet }: Pick<Sending, 'wallet'> & { readonly record: TransactionRecord },
): End {
  return { status, hash, blockNumber, fee: credibleFee(fee, record, wallet.gas) }
}

/** What clears a nonce does nothing of what was to be done. */
function statusOf({ hash, success }: Receipt, cancels: readonly Hex[]): Fate {
  if (cancels.includes(hash)) return 'lost'
  return success ? 'mined' : 'reverted'
}
