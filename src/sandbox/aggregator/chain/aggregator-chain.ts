import {
  BaseError,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  numberToHex,
  parseAbi,
  size,
  slice,
} from 'viem'
import { blockAt, type Rpc, RpcError } from '../../evm/rpc.ts'
import type { SentTransaction } from '../../evm/sender.ts'
import type { AggregatedCall, NodeReceipt } from '../batch/calls.ts'
import {
  demoTargetAbi,
  gasTankBalancesAbi,
  multicallAbi,
  trustedProposerAbi,
  trustlessProposerAbi,
} from './abi.ts'

export type AccountCode =
  | { readonly kind: 'none' }
  | { readonly kind: 'delegated'; readonly to: Hex }
  | { readonly kind: 'contract' }

const DELEGATION = /^0xef0100([0-9a-f]{40})$/

export async function readAccount(
  rpc: Rpc,
  address: Hex,
): Promise<{ code: AccountCode; nonce: number }> {
  const [code, nonce] = await Promise.all([
    rpc.call<Hex>('eth_getCode', [address, 'latest']),
    rpc.call<Hex>('eth_getTransactionCount', [address, 'latest']),
  ])
  return { code: accountCode(code), nonce: Number(nonce) }
}

function accountCode(code: Hex): AccountCode {
  if (code === '0x') return { kind: 'none' }
  const to = DELEGATION.exec(code.toLowerCase())?.[1]
  return to === undefined ? { kind: 'contract' } : { kind: 'delegated', to: `0x${to}` }
}

export async function nestedNonce(rpc: Rpc, account: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: trustlessProposerAbi, functionName: 'nestedNonce' })
  return BigInt(await rpc.call<Hex>('eth_call', [{ to: account, data }, 'latest']))
}

type CallOfBatch = Pick<AggregatedCall, 'account'> & {
  readonly work: Pick<AggregatedCall['work'], 'target' | 'data' | 'value' | 'gasLimit'>
}

export function executeData(calls: readonly CallOfBatch[]): Hex {
  const items = calls.map(({ account, work }) => ({ account, ...work }))
  return encodeFunctionData({ abi: multicallAbi, functionName: 'execute', args: [items] })
}

/** Why a batch would revert at the latest block; undefined if it would succeed. */
export async function revertOf(
  rpc: Rpc,
  batch: { from: Hex; to: Hex; data: Hex; blobVersionedHashes?: readonly Hex[] },
): Promise<string | undefined> {
  try {
    await rpc.call('eth_call', [batch, 'latest'])
    return undefined
  } catch (error) {
    if (error instanceof RpcError) return reasonOf(error)
    throw error
  }
}

/** Total gas of a transaction at the latest block; undefined if it would revert. */
export async function gasOf(
  rpc: Rpc,
  call: { from: Hex; to: Hex; data: Hex; value: bigint; blobVersionedHashes?: readonly Hex[] },
): Promise<bigint | undefined> {
  const params = [{ ...call, value: numberToHex(call.value) }, 'latest', { tracer: 'callTracer' }]
  try {
    const trace = await rpc.call<{ gasUsed: Hex; error?: string }>('debug_traceCall', params)
    return trace.error === undefined ? BigInt(trace.gasUsed) : undefined
  } catch (error) {
    // The node refuses a call that the account cannot pay for.
    if (error instanceof RpcError) return undefined
    throw error
  }
}

/** The node's priority fee, and maximum fees with room for twice the base fees. */
export async function currentFees(rpc: Rpc): Promise<NonNullable<SentTransaction['fees']>> {
  const [block, tip, blobBaseFee] = await Promise.all([
    blockAt(rpc, 'latest'),
    rpc.call<Hex>('eth_maxPriorityFeePerGas'),
    rpc.call<Hex>('eth_blobBaseFee'),
  ])
  const maxPriorityFeePerGas = BigInt(tip)
  const maxFeePerGas = 2n * BigInt(block.baseFeePerGas) + maxPriorityFeePerGas
  return { maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas: 2n * BigInt(blobBaseFee) }
}

export function nodeReceipt(rpc: Rpc, hash: Hex): Promise<NodeReceipt | null> {
  return rpc.call<NodeReceipt | null>('eth_getTransactionReceipt', [hash])
}

const REASON_ABI = [
  ...gasTankBalancesAbi,
  ...multicallAbi,
  ...trustedProposerAbi,
  ...trustlessProposerAbi,
  ...demoTargetAbi,
  // `require` with a message, and the compiler's own checks.
  ...parseAbi(['error Error(string text)', 'error Panic(uint256 code)']),
]
const NO_REASON = 'no reason given'

/** The contract's reason or the name of its error; without data, the node's message. */
function reasonOf(error: RpcError): string {
  const data = /(0x[0-9a-f]{8}):? ?([0-9a-f]*)/.exec(error.message)
  if (data === null) return error.message.replace(/^eth_call: /, '')
  return nameOf(`${data[1]}${data[2]}` as Hex)
}

function nameOf(data: Hex): string {
  try {
    const decoded = decodeErrorResult({ abi: REASON_ABI, data })
    if (decoded.errorName === 'CallFailed') return nameOf(decoded.args[2])
    return decoded.errorName === 'Error' ? decoded.args[0] : decoded.errorName
  } catch (error) {
    if (error instanceof BaseError)
      return size(data) < 4 ? NO_REASON : `custom error ${slice(data, 0, 4)}`
    throw error
  }
}
