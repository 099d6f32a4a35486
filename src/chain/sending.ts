import {
  getBalance,
  getBlock,
  getChainId,
  getTransactionCount,
  sendRawTransaction,
} from 'viem/actions'
import { keccak256, numberToHex } from 'viem/utils'
import { type GasLimits, TRANSACTION_GAS_MAX, unfitGas } from '../domain/money/gas.ts'
import { minOf, mulDivUp } from '../domain/money/units.ts'
import type { CallChain, Chain, ChainReply, TransactionDraft } from '../ports.ts'
import { DRAFTING, type HeardFees, readFees } from './fees.ts'
import { UnusableAnswer } from './node/batch.ts'
import { broadcastFault, callFault, present } from './node/chain-faults.ts'
import { type Node, type Nodes, readValue } from './node/nodes.ts'
import { readReceipt } from './transaction-trace.ts'

/** Gas is estimated on a state that may change before the transaction runs. */
const GAS_MARGIN = { num: 13n, den: 10n } as const

type CallRequest = Parameters<CallChain['simulate']>[0]

/** Shared by every chain port: the chain's identity, and drafting and broadcasting transactions. */
export function createSending(
  nodes: Nodes,
  chainId: number,
): Pick<Chain, 'identity' | 'draft' | 'broadcast' | 'transaction'> {
  return {
    identity: () => readValue(nodes, { route: 'identity', size: 3, anyChain: true }, readIdentity),
    draft: async ({ limits, ...call }) => {
      const [fees, drafted] = await Promise.all([
        readFees(nodes),
        nodes.read({ route: DRAFTING, size: 3 }, (node) => readUnpaid(node, { chainId, ...call })),
      ])
      if (!fees.ok) return drafted.ok ? fees : drafted
      return drafted.ok ? paid(drafted.value, fees.value, limits) : drafted
    },
    broadcast: (raw) =>
      nodes.send('broadcast', async (node) => {
        const expected = keccak256(raw)
        try {
          const hash = await node.ask('transaction hash', (client) =>
            sendRawTransaction(client, { serializedTransaction: raw }),
          )
          if (hash === expected) return { ok: true, value: hash }
        } catch (error) {
          return broadcastFault(error, expected)
        }
        throw new UnusableAnswer('answered the hash of another transaction')
      }),
    transaction: ({ from, hashes }) =>
      readValue(nodes, { route: 'transaction', size: 1 + hashes.length }, async (node) => {
        const [latestNonce, ...receipts] = await Promise.all([
          // Read before the receipts: a nonce that advances after them would look like a lost transaction.
          nonceOf(node, from),
          ...hashes.map((hash) => readReceipt(node, hash)),
        ])
        return { receipt: receipts.find(Boolean), latestNonce }
      }),
  }
}

async function readIdentity(node: Node) {
  const [chainId, genesis, newest] = await Promise.all([
    node.ask('chain id', (client) => getChainId(client)),
    node.ask('genesis block', (client) => getBlock(client, { blockNumber: 0n })),
    node.ask('newest block', (client) => getBlock(client, { blockTag: 'latest' })),
  ])
  const genesisHash = present(genesis.hash, 'genesis hash')
  return { chainId, genesisHash, blockTimeSeconds: Number(newest.timestamp) }
}

type Unpaid = Omit<TransactionDraft, 'maxFeePerGas' | 'maxPriorityFeePerGas'> & {
  readonly balance: bigint
}

async function readUnpaid(
  node: Node,
  draft: CallRequest & { readonly chainId: number },
): Promise<ChainReply<Unpaid>> {
  const { from, to, data, value } = draft
  const [nonce, estimate, balance] = await Promise.all([
    nonceOf(node, from),
    gasOf(node, { from, to, data, value }),
    node.ask('balance', (client) => getBalance(client, { address: from, blockTag: 'latest' })),
  ])
  if (!estimate.ok) return estimate
  const gas = minOf(mulDivUp(estimate.value, GAS_MARGIN.num, GAS_MARGIN.den), TRANSACTION_GAS_MAX)
  return { ok: true, value: { ...draft, nonce, gas, balance } }
}

/**
 * EIP-1559 fees that survive a doubling of the base fee, within the limits and the account's balance. A base fee above the
 * limits reports no lack of funds: the limits block the transaction anyway.
 */
function paid(
  { balance, ...draft }: Unpaid,
  { baseFeePerGas, maxPriorityFeePerGas, highestBaseFeePerGas }: HeardFees,
  limits: Pick<GasLimits, 'maxFeePerGas'> | undefined,
): Awaited<ReturnType<Chain['draft']>> {
  const costAt = (fee: bigint): bigint => draft.gas * fee + draft.value
  const maxFeePerGas = 2n * baseFeePerGas + maxPriorityFeePerGas
  const most = limits === undefined ? maxFeePerGas : minOf(maxFeePerGas, limits.maxFeePerGas)
  if (baseFeePerGas < most && balance < costAt(most)) {
    const message = `the account holds ${balance} wei and needs up to ${costAt(most)} for gas and value`
    return { ok: false, fault: { tag: 'insufficientFunds', message } }
  }
  const raised = 2n * highestBaseFeePerGas + maxPriorityFeePerGas
  const isRaised = raised > maxFeePerGas && balance >= costAt(raised)
  const fees = { baseFeePerGas, maxFeePerGas, maxPriorityFeePerGas }
  return { ok: true, value: { ...draft, ...fees, ...(isRaised && { raisedFeePerGas: raised }) } }
}

/** viem's own action adds 7 ms to each start. */
async function gasOf(node: Node, call: CallRequest): Promise<ChainReply<bigint>> {
  try {
    const estimate = BigInt(await node.request('eth_estimateGas', [requestOf(call)]))
    const unfit = unfitGas(call.data, estimate)
    if (unfit !== undefined) throw new UnusableAnswer(`gave a useless estimate: ${unfit}`)
    return { ok: true, value: estimate }
  } catch (error) {
    return callFault(error)
  }
}

export async function simulateCall(
  node: Node,
  call: CallRequest,
): Promise<ChainReply<{ readonly gasUsed: bigint }>> {
  const running = node.request('eth_call', [requestOf(call), 'latest'])
  const estimating = gasOf(node, call)
  await Promise.allSettled([running, estimating])
  try {
    // Awaits the call first: its error has the reason, whereas nodes word estimate errors freely.
    await running
  } catch (error) {
    return callFault(error)
  }
  const gas = await estimating
  return gas.ok ? { ok: true, value: { gasUsed: gas.value } } : gas
}

function requestOf({ value, ...call }: CallRequest) {
  return { ...call, value: numberToHex(value) }
}

function nonceOf(node: Node, address: `0x${string}`): Promise<number> {
  return node.ask('transaction count', (client) =>
    getTransactionCount(client, { address, blockTag: 'latest' }),
  )
}
