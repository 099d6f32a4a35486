import type { Client, ContractFunctionReturnType } from 'viem'
import { getBlock, getTransactionCount, multicall } from 'viem/actions'
import { parseAbi } from 'viem/utils'
import { type Address, ZERO_ADDRESS } from '../domain/money/units.ts'
import type { AnsweredDomain } from '../domain/order/call.ts'
import type { AccountView, SeenBlock } from '../ports.ts'
import { UnusableAnswer } from './node/batch.ts'
import { present } from './node/chain-faults.ts'
import type { Node } from './node/nodes.ts'
import { BLOCK_ABI, MULTICALL3 } from './snapshot-reads.ts'

const ABI = parseAbi([
  'function nestedNonce() view returns (uint256)',
  'function balances(address account) view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
])

type ContractDomain = ContractFunctionReturnType<typeof ABI, 'view', 'eip712Domain'>
type ContractRead<Value> =
  | { readonly status: 'success'; readonly result: Value }
  | { readonly status: 'failure'; readonly error: Error }

export const ACCOUNT_SIZE = 4
const CONTRACT_READS = 7

/** Bits of ERC-5267's `fields`, in EIP-712 order. A salt or any higher bit means another domain. */
const FIELD = { name: 1, version: 2, chainId: 4, verifyingContract: 8 } as const
const KNOWN_FIELDS = FIELD.name | FIELD.version | FIELD.chainId | FIELD.verifyingContract
/** Characters of a name or version; real ones have a few dozen. */
const WORD_LENGTH_MAX = 1_000

/**
 * Reads the time and the nonce in one multicall, so both come from one block. Two requests of a batch may be answered by
 * nodes at different heads: an old nonce with a newer time would make an executed call look expired.
 */
export async function readAccount(
  node: Node,
  { account, gasTank }: { readonly account: Address; readonly gasTank: Address },
): Promise<AccountView> {
  const [reads, latest, transactionCount, code] = await Promise.all([
    node.ask('multicall', (client) => readContracts(client, account, gasTank)),
    node.ask('latest block', (client) => getBlock(client, { blockTag: 'latest' })),
    node.ask('transaction count', (client) =>
      getTransactionCount(client, { address: account, blockTag: 'latest' }),
    ),
    node.request('eth_getCode', [account, 'latest']),
  ])
  return {
    ...reads,
    baseFeePerGas: present(latest.baseFeePerGas, 'base fee'),
    transactionCount,
    code,
  }
}

async function readContracts(
  client: Client,
  account: Address,
  gasTank: Address,
): Promise<Omit<AccountView, 'baseFeePerGas' | 'transactionCount' | 'code'>> {
  const reads = await multicall(client, {
    multicallAddress: MULTICALL3,
    batchSize: 0,
    contracts: [
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getBlockNumber' },
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getCurrentBlockTimestamp' },
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getEthBalance', args: [account] },
      { abi: ABI, address: account, functionName: 'nestedNonce' },
      { abi: ABI, address: account, functionName: 'eip712Domain' },
      { abi: ABI, address: gasTank, functionName: 'balances', args: [account] },
      { abi: ABI, address: gasTank, functionName: 'balanceOf', args: [account] },
    ],
  })
  if (reads.length !== CONTRACT_READS)
    throw new UnusableAnswer('the multicall answered another question')
  const [blockNumber, blockTime, balance, nestedNonce, domain, balances, balanceOf] = reads
  return {
    blockNumber: known(blockNumber),
    blockTimeSeconds: Number(known(blockTime)),
    balance: known(balance),
    nestedNonce: nestedNonce.result,
    domain: domain.result === undefined ? undefined : domainOf(domain.result),
    gasTank: { balances: balances.result, balanceOf: balanceOf.result },
  }
}

export function readNestedNonce(
  node: Node,
  account: Address,
  blockNumber: bigint,
): Promise<SeenBlock & { readonly nestedNonce: bigint | undefined }> {
  return node.ask('multicall', async (client) => {
    const [at, time, nonce] = await multicall(client, {
      multicallAddress: MULTICALL3,
      batchSize: 0,
      blockNumber,
      contracts: [
        { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getBlockNumber' },
        { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getCurrentBlockTimestamp' },
        { abi: ABI, address: account, functionName: 'nestedNonce' },
      ],
    })
    return {
      blockNumber: known(at),
      blockTimeSeconds: Number(known(time)),
      nestedNonce: nonce.result,
    }
  })
}

/** If even the block is missing, the node refused the whole call, and every read reports that. */
function known<Value>(read: ContractRead<Value>): Value {
  if (read.status === 'failure') throw read.error
  return read.result
}

/** ERC-5267. A field that the bits leave out is returned empty, so it cannot match the expected one. */
function domainOf(answered: ContractDomain): AnsweredDomain | undefined {
  const [fieldsByte, name, version, chainId, verifyingContract, , extensions] = answered
  if (name.length > WORD_LENGTH_MAX || version.length > WORD_LENGTH_MAX) return undefined
  const fields = Number(fieldsByte)
  const has = (bit: number): boolean => (fields & bit) !== 0
  return {
    name: has(FIELD.name) ? name : '',
    version: has(FIELD.version) ? version : '',
    chainId: has(FIELD.chainId) ? chainId : 0n,
    // The decoder returns checksummed addresses.
    verifyingContract: has(FIELD.verifyingContract)
      ? (verifyingContract.toLowerCase() as Address)
      : ZERO_ADDRESS,
    hasExtras: has(~KNOWN_FIELDS) || extensions.length > 0,
  }
}
