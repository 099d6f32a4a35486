import { getBlock } from 'viem/actions'
import { numberToHex } from 'viem/utils'
import { PRIORITY_FEE_LEAST } from '../../domain/gas.ts'
import { maxOf } from '../../domain/units.ts'
import type { ChainReply } from '../../ports.ts'
import { RpcRefusal } from './batch.ts'
import { present } from './faults.ts'
import type { Node, Nodes } from './nodes.ts'

/** What the next block asks for, and what others of late have paid on top of it. Wei for each gas. */
export type Fees = { readonly baseFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** Of the drafts that fees are read for: they share a batch. */
export const DRAFTING = 'draft'

const BLOCKS = 20
/** The tip that half of a block's gas paid more than. */
const PERCENTILE = 50

/** What most nodes say of fees, and the highest base fee that any of them names. */
export type HeardFees = Fees & { readonly highestBaseFeePerGas: bigint }

/** By every node that answers: of what they say the middle, and of two the lower, so that none raises a fee alone. */
export async function readFees(nodes: Nodes): Promise<ChainReply<HeardFees>> {
  const replies = await Promise.all(
    nodes.apart().map((node) =>
      node.read({ route: DRAFTING, size: 1 }, async (each) => ({
        ok: true,
        value: await feesBy(each),
      })),
    ),
  )
  const said = replies.flatMap((reply) => (reply.ok ? [reply.value] : []))
  const [first] = replies
  if (said.length === 0 && first?.ok === false) return first
  const baseFees = said.map(({ baseFeePerGas }) => baseFeePerGas)
  return {
    ok: true,
    value: {
      baseFeePerGas: lowerMedian(baseFees),
      highestBaseFeePerGas: baseFees.reduce(maxOf, 0n),
      maxPriorityFeePerGas: lowerMedian(
        said.map(({ maxPriorityFeePerGas }) => maxPriorityFeePerGas),
      ),
    },
  }
}

async function feesBy(node: Node): Promise<Fees> {
  try {
    const asked = [numberToHex(BLOCKS), 'latest', [PERCENTILE]]
    const { baseFeePerGas, reward } = await node.request('eth_feeHistory', asked)
    const next = present(baseFeePerGas.at(-1), 'base fee')
    // Blocks without transactions say 0.
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
    suggestedTip(node),
  ])
  return feesOf(present(block.baseFeePerGas, 'base fee'), tip)
}

async function suggestedTip(node: Node): Promise<bigint> {
  try {
    return BigInt(await node.request('eth_maxPriorityFeePerGas', []))
  } catch (error) {
    if (error instanceof RpcRefusal) return 0n
    throw error
  }
}

function feesOf(baseFeePerGas: bigint, tip: bigint): Fees {
  return { baseFeePerGas, maxPriorityFeePerGas: tip > 0n ? tip : PRIORITY_FEE_LEAST }
}

/** 0 of none. */
function lowerMedian(values: readonly bigint[]): bigint {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : 1))
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0n
}
