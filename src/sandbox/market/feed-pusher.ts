import { encodeFunctionData, type Hex } from 'viem'
import { feedBoardAbi } from '../evm/abi.ts'
import type { Deployment } from '../evm/deploy.ts'
import { sendOrThrow } from '../evm/sender.ts'
import { FEED_DECIMALS } from '../tokens.ts'
import type { Market } from './market.ts'

/** Writes the market's prices to every feed on the chain, in one transaction. */
export async function pushFeeds(deployment: Deployment, market: Market): Promise<void> {
  const { feeds, feedBoard, deployer } = deployment
  await sendOrThrow(deployer, 'pushing the feeds', {
    to: feedBoard,
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
