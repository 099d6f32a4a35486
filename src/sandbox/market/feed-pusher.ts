import { encodeFunctionData, type Hex } from 'viem'
import { feedBoardAbi as abi } from '../evm/abi.ts'
import type { Deployment } from '../evm/deploy.ts'
import { sendOrThrow } from '../evm/sender.ts'
import { FEED_DECIMALS } from '../tokens.ts'
import type { Market } from './market.ts'

/** A feed uses 620,000 gas when it archives its rounds, which may happen to all feeds at once, and otherwise 21,000. */
const FEED_GAS_MAX = 1_000_000n

/** Writes the market's prices to every feed on the chain, in one transaction. */
export async function pushFeeds(
  { deployer, feedBoard: to, feeds }: Deployment,
  market: Market,
): Promise<void> {
  const addresses = feeds.map(({ address }) => address)
  const answers = feeds.map(({ base, quote }) => market.pairPrice(base, quote, FEED_DECIMALS))
  const data = encodeFunctionData({ abi, functionName: 'push', args: [addresses, answers] })
  const gas = FEED_GAS_MAX * BigInt(feeds.length + 1)
  await sendOrThrow(deployer, 'pushing the feeds', { to, gas, data })
}

/** Adds one round to one feed, with any answer and any times, in Unix seconds. */
export async function setFeed(
  { deployer, feedBoard: to }: Deployment,
  round: { feed: Hex; answer: bigint; startedAt: bigint; updatedAt: bigint },
): Promise<void> {
  const args = [round.feed, round.answer, round.startedAt, round.updatedAt] as const
  const data = encodeFunctionData({ abi, functionName: 'set', args })
  await sendOrThrow(deployer, 'setting a feed', { to, data })
}

/** Starts a new phase of one feed. It has no answer until its next round. */
export async function beginPhase(
  { deployer, feedBoard: to }: Deployment,
  feed: Hex,
): Promise<void> {
  const data = encodeFunctionData({ abi, functionName: 'newPhase', args: [feed] })
  await sendOrThrow(deployer, 'beginning a phase of a feed', { to, data })
}
