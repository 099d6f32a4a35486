import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, numberToHex, type SignedAuthorization } from 'viem'
import type { Rpc } from './rpc.ts'

export type Receipt = {
  readonly transactionHash: Hex
  readonly status: Hex
  readonly contractAddress: Hex | null
  readonly blockNumber: Hex
  readonly gasUsed: Hex
  readonly effectiveGasPrice: Hex
  /** Null or missing without blobs. */
  readonly blobGasPrice?: Hex | null
  readonly logs: readonly { address: Hex; topics: readonly Hex[]; data: Hex }[]
}

type RpcAuthorization = ReturnType<typeof rpcAuthorization>

/**
 * A signed EIP-7702 authorization in the form that nodes accept: quantities without the leading zeros that r and s may have.
 */
export function rpcAuthorization(
  signed: Pick<SignedAuthorization, 'address' | 'chainId' | 'nonce' | 'r' | 's' | 'yParity'>,
) {
  return {
    chainId: numberToHex(signed.chainId),
    address: signed.address,
    nonce: numberToHex(signed.nonce),
    yParity: numberToHex(signed.yParity ?? 0),
    r: numberToHex(BigInt(signed.r)),
    s: numberToHex(BigInt(signed.s)),
  }
}

export type SentTransaction = {
  readonly to?: Hex
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
  /** Wei per gas; default: the node's choice. */
  readonly fees?: Readonly<
    Record<'maxFeePerGas' | 'maxPriorityFeePerGas' | 'maxFeePerBlobGas', bigint>
  >
  /** Only with fees. */
  readonly blobs?: Readonly<Record<string, readonly Hex[]>> | undefined
  readonly authorizations?: readonly RpcAuthorization[]
}

export type Sender = ReturnType<typeof createSender>

const GAS_DEFAULT = 5_000_000n
const RECEIPT_MS_MAX = 10_000
const EAGER_POLLS = 3
const POLL_MS = 2

/**
 * Sends transactions from an unlocked account of the node, one in flight at a time. Of several at once, anvil's pool loses
 * some, and the rest wait behind the gap for ever.
 *
 * The sender counts nonces itself, so nothing else may send from this account. After a send without an answer it reads the
 * nonce from the node.
 */
export function createSender(rpc: Rpc, address: Hex, firstNonce = 0) {
  let tail: Promise<unknown> = Promise.resolve()
  let nonce = firstNonce
  let isUnsure = false
  const sendNow = async (transaction: SentTransaction): Promise<Receipt> => {
    if (isUnsure) nonce = await nextNonce(rpc, address)
    // Until the node answers, the nonce may or may not be used.
    isUnsure = true
    const hash = await rpc.call<Hex>('eth_sendTransaction', [
      {
        from: address,
        nonce: numberToHex(nonce),
        gas: numberToHex(transaction.gas ?? GAS_DEFAULT),
        value: numberToHex(transaction.value ?? 0n),
        ...(transaction.to && { to: transaction.to }),
        ...(transaction.data && { data: transaction.data }),
        ...(transaction.fees && {
          maxFeePerGas: numberToHex(transaction.fees.maxFeePerGas),
          maxPriorityFeePerGas: numberToHex(transaction.fees.maxPriorityFeePerGas),
        }),
        ...(transaction.blobs && {
          ...transaction.blobs,
          type: '0x3',
          maxFeePerBlobGas: numberToHex(transaction.fees?.maxFeePerBlobGas ?? 0n),
        }),
        ...(transaction.authorizations && { authorizationList: transaction.authorizations }),
      },
    ])
    isUnsure = false
    nonce += 1
    return waitForReceipt(rpc, hash)
  }
  return {
    address,
    /** Resolves with the receipt, even of a transaction that reverted. */
    send(transaction: SentTransaction): Promise<Receipt> {
      const sent = tail.then(() => sendNow(transaction))
      tail = sent.catch(() => undefined)
      return sent
    },
  }
}

export async function resumeSender(rpc: Rpc, address: Hex): Promise<Sender> {
  return createSender(rpc, address, await nextNonce(rpc, address))
}

/** The account's next nonce, including pending transactions. */
export async function nextNonce(rpc: Rpc, address: Hex): Promise<number> {
  return Number(await rpc.call<Hex>('eth_getTransactionCount', [address, 'pending']))
}

/** Polls until the receipt exists. Throws after ten seconds. */
async function waitForReceipt(rpc: Rpc, hash: Hex): Promise<Receipt> {
  const giveUpAt = Date.now() + RECEIPT_MS_MAX
  for (let poll = 0; ; poll += 1) {
    const receipt = await rpc.call<Receipt | null>('eth_getTransactionReceipt', [hash])
    if (receipt !== null) return receipt
    if (Date.now() > giveUpAt) throw new Error(`no receipt of ${hash} within 10 s`)
    if (poll >= EAGER_POLLS) await sleep(POLL_MS)
  }
}

/** Throws if the transaction reverts. For steps that fail only if the sandbox is broken. */
export async function sendOrThrow(
  sender: Sender,
  what: string,
  transaction: SentTransaction,
): Promise<Receipt> {
  const receipt = await sender.send(transaction)
  if (receipt.status !== '0x1') throw new Error(`${what} reverted on the sandbox chain`)
  return receipt
}
