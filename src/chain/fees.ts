import { getBlock } from 'viem/actions'
import { numberToHex } from 'viem/utils'
import { PRIORITY_FEE_LEAST } from '../domain/money/gas.ts'
import { maxOf } from '../domain/money/units.ts'
import type { ChainReply } from '../ports.ts'
import { RpcRefusal } from './node/batch.ts'
import { present } from './node/chain-faults.ts'
import { type Node, type Nodes, readValue } from './node/nodes.ts'

/** Base fee of the next block, and the tip that recent transactions paid. Wei per gas. */
export type Fees = { readonly baseFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

export const DRAFTING = 'draft'

const BLOCKS = 20
const PERCENTILE = 50

/** The median of the nodes' fees, and the highest base fee that any node reports. */
export type HeardFees = Fees & { readonly highestBaseFeePerGas: bigint }

/** Reads every node and takes the median (with two nodes the lower value), so that no single node can raise a fee. */
export async function readFees(nodes: Nodes): Promise<ChainReply<HeardFees>> {
  const replies = await Promise.all(
    nodes.apart().map((node) => readValue(node, { route: DRAFTING, size: 1 }, feesBy)),
  )
  const said = replies.flatMap((reply) => (reply.ok ? [reply.value] : []))
  const [first] = replies
  if (said.length === 0 && first?.ok === false) return first
  const baseFees = said.map(({ baseFeePerGas }) => baseFeePerGas)
  const tips = said.map(({ maxPriorityFeePerGas }) => maxPriorityFeePerGas)
  const value = {
    baseFeePerGas: lowerMedian(baseFees),
    highestBaseFeePerGas: baseFees.reduce(maxOf, 0n),
    maxPriorityFeePerGas: lowerMedian(tips),
  }
  return { ok: true, value }
}

async function feesBy(node: Node): Promise<Fees> {
  try {
    const params = [numberToHex(BLOCKS), 'latest', [PERCENTILE]]
    const { baseFeePerGas, reward } = await node.request('eth_feeHistory', params)
    const next = present(baseFeePerGas.at(-1), 'base fee')
    // Nodes report 0 for blocks without transactions.
    const tips = (reward ?? []).flatMap(([tip]) => (tip === undefined ? [] : [BigInt(tip)]))
    return feesOf(BigInt(next), lowerMedian(tips.filter((tip) => tip > 0n)))
  } catch (error) {
    if (error instanceof RpcRefusal) return feesWithoutHistory(node)
    throw error
  }
}

async function feesWithoutHistory(node: Node): Promise<Fees> {
  const [block, tip] = await Promise.all([
    node.ask('latest block', (client) => getBlock(client, { blockTag: 'latest' })),
    node.request('eth_maxPriorityFeePerGas', []).catch((error: unknown) => {
      if (error instanceof RpcRefusal) return 0n
      throw error
    }),
  ])
  return feesOf(present(block.baseFeePerGas, 'base fee'), BigInt(tip))
}

function feesOf(baseFeePerGas: bigint, tip: bigint): Fees {
  return { baseFeePerGas, maxPriorityFeePerGas: tip > 0n ? tip : PRIORITY_FEE_LEAST }
}

/** 0 for an empty list. */
function lowerMedian(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : 1))
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0n
}
