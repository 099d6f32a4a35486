import type { Chain } from '../../ports.ts'
import { CHAIN_ID, expectChain } from './chain-id.ts'
import { parseReceipt } from './chain-trace.ts'
import { draftCalls, parseBroadcast, parseDraft } from './chain-transaction.ts'
import type { JsonRpc } from './json-rpc.ts'
import type { RpcCall } from './json-rpc-batch.ts'
import { count, hash, object } from './json-rpc-values.ts'

/** A node's JSON-RPC, and the chain that it has to be on. */
export type ChainNode = { readonly rpc: JsonRpc; readonly chainId: number }

/** What every chain port has: who the chain is, and the way of a transaction onto it. */
export function createSending(
  node: ChainNode,
): Pick<Chain, 'identity' | 'draft' | 'broadcast' | 'transaction'> {
  const { rpc, chainId } = node
  return {
    identity: () => readIdentity(rpc),
    draft({ from, to, data, value }) {
      const call = { from, to, data, value }
      return rpc.read('draft', [CHAIN_ID, ...draftCalls(call)], (answers) => {
        expectChain(answers, chainId)
        return parseDraft(answers, 1, { chainId, ...call })
      })
    },
    broadcast: (raw) =>
      rpc.send('broadcast', [{ method: 'eth_sendRawTransaction', params: [raw] }], (answers) =>
        parseBroadcast(answers, raw),
      ),
    transaction: (query) => readTransaction(node, query),
  }
}

function readIdentity(rpc: JsonRpc): ReturnType<Chain['identity']> {
  const genesis: RpcCall = { method: 'eth_getBlockByNumber', params: ['0x0', false] }
  const newest: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }
  return rpc.read('identity', [CHAIN_ID, genesis, newest], (answers) => {
    const block = object<'hash'>(answers.result(1), 'genesis block')
    const head = object<'timestamp'>(answers.result(2), 'newest block')
    return {
      ok: true,
      value: {
        chainId: count(answers.result(0), 'chain id'),
        genesisHash: hash(block.hash, 'genesis hash'),
        blockTimeSeconds: count(head.timestamp, 'block time'),
      },
    }
  })
}

function readTransaction(
  node: ChainNode,
  query: Parameters<Chain['transaction']>[0],
): ReturnType<Chain['transaction']> {
  const { from, hashes } = query
  const calls: readonly RpcCall[] = [
    CHAIN_ID,
    // Before the receipts: a nonce that moved on after them would look like a transaction that was lost.
    { method: 'eth_getTransactionCount', params: [from, 'latest'] },
    ...hashes.map((txHash) => ({ method: 'eth_getTransactionReceipt', params: [txHash] })),
  ]
  return node.rpc.read('transaction', calls, (answers) => {
    expectChain(answers, node.chainId)
    const receipts = hashes.flatMap(
      (txHash, index) => parseReceipt(answers.result(index + 2), txHash) ?? [],
    )
    return {
      ok: true,
      value: {
        receipt: receipts[0],
        latestNonce: count(answers.result(1), 'transaction count'),
      },
    }
  })
}
