import { encodeFunctionData, type Hex } from 'viem'
import { feedBoardAbi } from '../evm/abi.ts'
import type { Deployment } from '../evm/deploy.ts'
import { sendOrThrow } from '../evm/sender.ts'
import { FEED_DECIMALS } from '../tokens.ts'
import type { Market } from './market.ts'

/** A feed takes 620,000 when it archives its rounds, which all of them may do at once, and else 21,000. */
const FEED_GAS_MAX = 1_000_000n

/** Writes the market's prices to every feed on the chain, in one transaction. */
export async function pushFeeds(deployment: Deployment, market: Market): Promise<void> {
  const { feeds, feedBoard, deployer } = deployment
  await sendOrThrow(deployer, 'pushing the feeds', {
    to: feedBoard,
    gas: FEED_GAS_MAX * BigInt(feeds.length + 1),
    data: encodeFunctionData({
      abi: feedBoardAbi,
      functionName: 'push',
      args: [
        feeds.map((feed) => feed.address),
        feeds.map((feed) => market.pairPrice(feed.base, feed.quote, FEED_DECIMALS)),
      ],
    }),
  })
}

/** One round of one feed with any answer and any times, in Unix seconds. */
export async function setFeed(
  deployment: Deployment,
  round: { feed: Hex; answer: bigint; startedAt: bigint; updatedAt: bigint },
): Promise<void> {
  await sendOrThrow(deployment.deployer, 'setting a feed', {
    to: deployment.feedBoard,
    data: encodeFunctionData({
      abi: feedBoardAbi,
      functionName: 'set',
      args: [round.feed, round.answer, round.startedAt, round.updatedAt],
    }),
  })
}

/** A new phase of one feed, which has no answer before its next round. */
export async function beginPhase(deployment: Deployment, feed: Hex): Promise<void> {
  await sendOrThrow(deployment.deployer, 'beginning a phase of a feed', {
    to: deployment.feedBoard,
    data: encodeFunctionData({ abi: feedBoardAbi, functionName: 'newPhase', args: [feed] }),
  })
}
