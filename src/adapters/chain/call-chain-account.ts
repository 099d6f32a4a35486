import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'
import type { AnsweredDomain } from '../../domain/call.ts'
import { type Address, type Hex, ZERO_ADDRESS } from '../../domain/units.ts'
import type { AccountView } from '../../ports.ts'
import type { RpcAnswers, RpcCall } from './json-rpc-batch.ts'
import { bytes, count, object, quantity } from './json-rpc-values.ts'
import { decodeMulticall, encodeMulticall, firstWord, multicallOf } from './multicall3.ts'

const ABI = parseAbi([
  'function nestedNonce() view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
])
const NESTED_NONCE = encodeFunctionData({ abi: ABI, functionName: 'nestedNonce' })
const DOMAIN = encodeFunctionData({ abi: ABI, functionName: 'eip712Domain' })
const READS = 3

/** Bits of ERC-5267's `fields`, in the order of EIP-712; a salt or anything above would be another domain. */
const FIELD = { name: 1, version: 2, chainId: 4, verifyingContract: 8 } as const
const KNOWN_FIELDS = FIELD.name | FIELD.version | FIELD.chainId | FIELD.verifyingContract
/** Hex digits; an honest answer has under a thousand. */
const DOMAIN_LENGTH_MAX = 8_192

/**
 * The calls whose answers `parseAccount` reads. What a signature's fate is told by (the time, the nonce) comes from
 * one multicall and so from one block: two calls of a batch may be answered by nodes at different heads, and an
 * old nonce beside a new time would make a call that was executed look expired.
 */
export function accountCalls(query: {
  readonly account: Address
  readonly gasTank: Address
}): readonly RpcCall[] {
  const { account, gasTank } = query
  const balance = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [account] })
  const reads = [
    { target: account, callData: NESTED_NONCE },
    { target: account, callData: DOMAIN },
    { target: gasTank, callData: balance },
  ]
  return [
    multicallOf(encodeMulticall(account, reads)),
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    { method: 'eth_getTransactionCount', params: [account, 'latest'] },
    { method: 'eth_getCode', params: [account, 'latest'] },
  ]
}

/** An account from the answers to `accountCalls`, which begin at `index`. */
export function parseAccount(answers: RpcAnswers, index: number): AccountView {
  const multicall = decodeMulticall(bytes(answers.result(index), 'multicall'), READS)
  const [nestedNonce, domain, gasTankBalance] = multicall.answers
  const latest = object<'baseFeePerGas'>(answers.result(index + 1), 'latest block')
  return {
    blockNumber: multicall.blockNumber,
    blockTimeSeconds: multicall.blockTimeSeconds,
    baseFeePerGas: quantity(latest.baseFeePerGas, 'base fee'),
    balance: multicall.nativeBalance,
    transactionCount: count(answers.result(index + 2), 'transaction count'),
    code: bytes(answers.result(index + 3), 'account code'),
    nestedNonce: firstWord(nestedNonce),
    domain: domain === undefined ? undefined : decodeDomain(domain),
    gasTankBalance: firstWord(gasTankBalance),
  }
}

/**
 * ERC-5267. A field that the bits leave out comes out empty, so that it cannot pass for the one that is expected.
 * Data of another shape is no answer.
 */
function decodeDomain(data: Hex): AnsweredDomain | undefined {
  if (data === '0x' || data.length > DOMAIN_LENGTH_MAX) return undefined
  let decoded: readonly [Hex, string, string, bigint, Hex, Hex, readonly bigint[]]
  try {
    decoded = decodeFunctionResult({ abi: ABI, functionName: 'eip712Domain', data })
  } catch {
    // The decoder's error repeats the data, and says no more than this.
    return undefined
  }
  const [fieldsByte, name, version, chainId, verifyingContract, , extensions] = decoded
  const fields = Number(fieldsByte)
  const has = (bit: number): boolean => (fields & bit) !== 0
  return {
    name: has(FIELD.name) ? name : '',
    version: has(FIELD.version) ? version : '',
    chainId: has(FIELD.chainId) ? chainId : 0n,
    verifyingContract: has(FIELD.verifyingContract) ? lowerCase(verifyingContract) : ZERO_ADDRESS,
    hasExtras: has(~KNOWN_FIELDS) || extensions.length > 0,
  }
}

/** The decoder answers checksummed addresses. */
function lowerCase(address: Hex): Address {
  return address.toLowerCase() as Address
}
