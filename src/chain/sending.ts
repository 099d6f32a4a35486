import {
  getBalance,
  getBlock,
  getChainId,
  getTransactionCount,
  sendRawTransaction,
} from 'viem/actions'
import { keccak256, numberToHex } from 'viem/utils'
import { type GasLimits, TRANSACTION_GAS_MAX, unfitGas } from '../../domain/gas.ts'
import { minOf, mulDivUp } from '../../domain/units.ts'
import type { CallChain, Chain, ChainReply, TransactionDraft } from '../../ports.ts'
import { UnusableAnswer } from './batch.ts'
import { broadcastFault, callFault, present } from './faults.ts'
import { DRAFTING, type HeardFees, readFees } from './fees.ts'
import type { Node, Nodes } from './nodes.ts'
import { readReceipt } from './trace.ts'

/** Gas is estimated on a state that may have moved when the transaction runs. */
const GAS_MARGIN = { num: 13n, den: 10n } as const

type CallRequest = Parameters<CallChain['simulate']>[0]

/** What every chain port has: who the chain is, and the way of a transaction onto it. */
export function createSending(
  nodes: Nodes,
  chainId: number,
): Pick<Chain, 'identity' | 'draft' | 'broadcast' | 'transaction'> {
  return {
    identity: () => nodes.read({ route: 'identity', size: 3, anyChain: true }, readIdentity),
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
      nodes.read({ route: 'transaction', size: 1 + hashes.length }, async (node) => {
        const [latestNonce, ...receipts] = await Promise.all([
          // Before the receipts: a nonce that moved on after them would look like a transaction that was lost.
          nonceOf(node, from),
          ...hashes.map((hash) => readReceipt(node, hash)),
        ])
        return { ok: true, value: { receipt: receipts.find(Boolean), latestNonce } }
      }),
  }
}

async function readIdentity(node: Node): ReturnType<Chain['identity']> {
  const [chainId, genesis, newest] = await Promise.all([
    node.ask('chain id', (client) => getChainId(client)),
    node.ask('genesis block', (client) => getBlock(client, { blockNumber: 0n })),
    node.ask('newest block', (client) => getBlock(client, { blockTag: 'latest' })),
  ])
  return {
    ok: true,
    value: {
      chainId,
      genesisHash: present(genesis.hash, 'genesis hash'),
      blockTimeSeconds: Number(newest.timestamp),
    },
  }
}

type Unpaid = Omit<TransactionDraft, 'maxFeePerGas' | 'maxPriorityFeePerGas'> & {
  readonly balance: bigint
}

/** All of a draft but its fees, and what the account has to pay them with. */
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
 * EIP-1559 fees that survive the base fee doubling, of an account that can pay them as far as its limits let it offer them. Where the
 * base fee alone is above the limits, it is they that bar the transaction: what the account holds says nothing then.
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
  return {
    ok: true,
    value: { ...draft, ...fees, ...(isRaised ? { raisedFeePerGas: raised } : {}) },
  }
}

/** viem's own action brings 7 ms of a start with it. */
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

/** Runs a call without sending it. */
export async function simulateCall(
  node: Node,
  call: CallRequest,
): Promise<ChainReply<{ readonly gasUsed: bigint }>> {
  const running = node.request('eth_call', [requestOf(call), 'latest'])
  const estimating = gasOf(node, call)
  await Promise.allSettled([running, estimating])
  try {
    // The call first: its error has the reason, while a node may word that of an estimate as it likes.
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
