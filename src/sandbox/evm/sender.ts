import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import type { Rpc } from './rpc.ts'

export type Receipt = {
  readonly transactionHash: Hex
  readonly status: Hex
  readonly contractAddress: Hex | null
  readonly blockNumber: Hex
  readonly gasUsed: Hex
  readonly effectiveGasPrice: Hex
  readonly logs: readonly { address: Hex; topics: readonly Hex[]; data: Hex }[]
}

/** A signed EIP-7702 authorization as nodes take it. */
export type RpcAuthorization = {
  readonly chainId: Hex
  readonly address: Hex
  readonly nonce: Hex
  readonly yParity: Hex
  readonly r: Hex
  readonly s: Hex
}

export type SentTransaction = {
  readonly to?: Hex
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
  /** Wei per gas; without it, what the node thinks fit. */
  readonly fees?: { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  readonly authorizations?: readonly RpcAuthorization[]
}

/** Sends transactions of one account of the node, strictly one after another. */
export type Sender = {
  readonly address: Hex
  /** Resolves with the receipt, whether the transaction succeeded or reverted. */
  send(transaction: SentTransaction): Promise<Receipt>
}

const GAS_DEFAULT = 5_000_000n
const RECEIPT_MS_MAX = 10_000
const EAGER_POLLS = 3
const POLL_MS = 2

/**
 * The account must be unlocked in the node. One transaction is in flight at a time: with several of one
 * sender under way, anvil's pool loses some and the rest wait behind the gap for ever. Nonces are counted
 * here, so nobody else may send for this account; after a send that nobody answered the node is asked for them.
 */
export function createSender(rpc: Rpc, address: Hex, firstNonce = 0): Sender {
  let tail: Promise<unknown> = Promise.resolve()
  let nonce = firstNonce
  let isUnsure = false
  const sendNow = async (transaction: SentTransaction): Promise<Receipt> => {
    if (isUnsure)
      nonce = Number(await rpc.call<Hex>('eth_getTransactionCount', [address, 'pending']))
    // Until it is answered nobody knows whether it was taken.
    isUnsure = true
    const hash = await rpc.call<Hex>('eth_sendTransaction', [
      {
        from: address,
        nonce: toQuantity(nonce),
        gas: toQuantity(transaction.gas ?? GAS_DEFAULT),
        value: toQuantity(transaction.value ?? 0n),
        ...(transaction.to === undefined ? {} : { to: transaction.to }),
        ...(transaction.data === undefined ? {} : { data: transaction.data }),
        ...feeFields(transaction.fees),
        ...(transaction.authorizations === undefined
          ? {}
          : { authorizationList: transaction.authorizations }),
      },
    ])
    isUnsure = false
    nonce += 1
    return waitForReceipt(rpc, hash)
  }
  return {
    address,
    send(transaction) {
      const sent = tail.then(() => sendNow(transaction))
      tail = sent.catch(() => undefined)
      return sent
    },
  }
}

/** A sender for an account that has sent before. */
export async function resumeSender(rpc: Rpc, address: Hex): Promise<Sender> {
  return createSender(
    rpc,
    address,
    Number(await rpc.call<Hex>('eth_getTransactionCount', [address, 'pending'])),
  )
}

/** Polls until the receipt exists; throws after ten seconds. */
export async function waitForReceipt(rpc: Rpc, hash: Hex): Promise<Receipt> {
  const giveUpAt = Date.now() + RECEIPT_MS_MAX
  for (let poll = 0; ; poll += 1) {
    const receipt = await rpc.call<Receipt | null>('eth_getTransactionReceipt', [hash])
    if (receipt !== null) return receipt
    if (Date.now() > giveUpAt) throw new Error(`no receipt of ${hash} within 10 s`)
    if (poll >= EAGER_POLLS) await sleep(POLL_MS)
  }
}

/** Sends and throws if the transaction reverts: for steps that cannot fail unless the sandbox is broken. */
export async function sendOrThrow(
  sender: Sender,
  what: string,
  transaction: SentTransaction,
): Promise<Receipt> {
  const receipt = await sender.send(transaction)
  if (receipt.status !== '0x1') throw new Error(`${what} reverted on the sandbox chain`)
  return receipt
}

function feeFields(fees: SentTransaction['fees']): Record<string, Hex> {
  if (fees === undefined) return {}
  return {
    maxFeePerGas: toQuantity(fees.maxFeePerGas),
    maxPriorityFeePerGas: toQuantity(fees.maxPriorityFeePerGas),
  }
}

function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}
