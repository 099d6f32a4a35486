import { maxOf } from '../domain/money/units.ts'
import { isPastForAll, latestBlockSeconds } from '../domain/policy.ts'
import type { FinalityRule } from '../domain/settings.ts'
import type { AgreedReply, FinalChain, FinalQuery, MinedPlace, SeenBlock } from '../ports.ts'
import type { SendingContext } from './context.ts'

/** Reads that need finality: the operator's depth, a quorum, and every clock (rule T6). */

/** Returns undefined and reports the cause if the chain cannot answer now. */
export async function askFinal<Value>(
  context: SendingContext,
  doing: string,
  ask: (query: FinalQuery) => Promise<AgreedReply<Value>>,
): Promise<Value | undefined> {
  const { clock, observe } = context.ports
  const reply = await ask({ latestSeconds: latestBlockSeconds(clock.now()) })
  if (reply.ok) return reply.value
  const { tag, message } = reply.fault
  if (tag === 'disagreed') observe({ type: 'nodes-disagree', doing, message })
  else observe({ type: 'chain-trouble', doing, message })
  return undefined
}

/**
 * True if a deadline has passed at a final block and by the clocks of machine and service (rule T6). A caller without a
 * service's clock must pass undefined explicitly, so that none is forgotten.
 */
export function isOver(
  { ports }: SendingContext,
  deadlineSeconds: number,
  { blockTimeSeconds }: Pick<SeenBlock, 'blockTimeSeconds'>,
  serviceOffsetMs: number | undefined,
): boolean {
  const localMs = ports.clock.now()
  return isPastForAll(deadlineSeconds, { localMs, serviceOffsetMs, blockTimeSeconds })
}

/** Returns the given block once it is final; undefined while a reorg may still undo it. */
export async function finalSnapshot(
  context: SendingContext,
  chain: Pick<FinalChain, 'blocks'>,
  { blockNumber, blockHash }: Omit<MinedPlace, 'txHash'>,
): Promise<SeenBlock | undefined> {
  const seen = await askFinal(context, 'reading whether a block is final', (query) =>
    chain.blocks({ ...query, numbers: [blockNumber] }),
  )
  const block = seen?.blocks.get(blockNumber)
  if (seen === undefined || block?.hash !== blockHash || blockNumber > seen.final) return undefined
  return { blockNumber, blockTimeSeconds: block.timeSeconds }
}

/** A reorg may move a settlement to a block below the head recorded with its order. */
const REORG_BLOCKS = 64n

/**
 * First block that may contain an order's settlement. Earlier transactions do not count, even if they name it or match its
 * amounts.
 */
export function searchStart({ fromBlock }: { readonly fromBlock: bigint }): bigint {
  return maxOf(0n, fromBlock - REORG_BLOCKS)
}

/** Without a depth or a second node, a proof is final at once and needs no monitoring. */
export function isWatched({ finality, agree }: FinalityRule): boolean {
  return finality !== 0 || agree > 1
}
