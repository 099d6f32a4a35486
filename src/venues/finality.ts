import { isPastForAll, latestBlockSeconds } from '../domain/policy.ts'
import type { FinalityRule } from '../domain/settings.ts'
import type { AgreedReply, FinalChain, FinalQuery, MinedPlace, Sight } from '../ports.ts'
import type { SendingContext } from './context.ts'

/** What holds only at the depth that the operator asks for, by as many nodes, and by every clock (rule T6). */

/** Asks for something final. Undefined, and told, where it cannot be known now. */
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

/** Whether a deadline has passed at a final block, and by the clocks of machine and service too. */
export function isOver(
  { ports }: SendingContext,
  deadlineSeconds: number,
  { blockTimeSeconds, serviceOffsetMs }: Sight & { readonly serviceOffsetMs: number | undefined },
): boolean {
  const localMs = ports.clock.now()
  return isPastForAll(deadlineSeconds, { localMs, serviceOffsetMs, blockTimeSeconds })
}

/** The final block that shows that something happened for good; undefined while a reorganisation may still undo it. */
export async function finalSight(
  context: SendingContext,
  chain: Pick<FinalChain, 'blocks'>,
  { blockNumber, blockHash }: Omit<MinedPlace, 'txHash'>,
): Promise<Sight | undefined> {
  const seen = await askFinal(context, 'reading whether a block is final', (query) =>
    chain.blocks({ ...query, numbers: [blockNumber] }),
  )
  const block = seen?.blocks.get(blockNumber)
  if (seen === undefined || block?.hash !== blockHash || blockNumber > seen.final) return undefined
  return { blockNumber, blockTimeSeconds: block.timeSeconds }
}

/** A proof that counts as final at once needs no watching: no depth is asked for, and no second node. */
export function isWatched({ finality, agree }: FinalityRule): boolean {
  return finality !== 0 || agree > 1
}
