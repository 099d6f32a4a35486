import { join } from 'node:path'
import { openLargeCalls } from '../../adapters/chain/large-calls.ts'
import {
  type Fetched,
  type FetchProgress,
  fetchRounds,
} from '../../adapters/prices/chain-rounds.ts'
import { priceDir, priceFileName } from '../../adapters/prices/price-dir.ts'
import { PriceFileError } from '../../adapters/prices/price-file-error.ts'
import type { Problem } from '../../config/yaml/problem.ts'
import type { PriceFeed } from '../../domain/price.ts'
import type { ChainSettings } from '../../domain/settings.ts'
import { withClock } from './clock.ts'

/** Past prices of feeds from a directory of CSV files; see `priceDir`. */
export const openPriceDir = priceDir

export type FetchOrder = {
  readonly feed: PriceFeed
  /** The one that the feed is on. */
  readonly chain: ChainSettings
  readonly dir: string
  /** Epoch seconds. */
  readonly fromSeconds: number
  readonly toSeconds: number
  readonly signal: AbortSignal
  readonly onProgress: (progress: FetchProgress) => void
}

/** Where past prices of a feed are written, and read from. */
export function priceFileOf({ feed, dir }: Pick<FetchOrder, 'feed' | 'dir'>): string {
  return join(dir, priceFileName(feed.pair))
}

/** Reads past rounds of a feed from its chain into its file; see `fetchRounds`. */
export function fetchPrices(order: FetchOrder): Promise<Fetched> {
  const { feed, chain, dir: _, ...options } = order
  const { chainId, rpcUrls } = chain
  return withClock(async (clock) => {
    const calls = openLargeCalls({ chainId, rpcUrls, clock })
    try {
      const file = priceFileOf(order)
      return await fetchRounds({
        ...{ ...options, clock, chainId, file },
        ...{ call: calls.call, feed: feed.feed },
      })
    } finally {
      await calls.close()
    }
  })
}

/** What is wrong with a file of prices, told as of any file of the operator's; undefined for every other error. */
export function priceProblem(error: unknown): Problem | undefined {
  if (!(error instanceof PriceFileError)) return undefined
  const { file, line, detail: message, remedy: expected, text } = error
  const isPlaced = line > 0
  const frame = isPlaced && text !== '' ? `${line} | ${text}` : ''
  return { file, line, column: isPlaced ? 1 : 0, path: '', message, expected, frame }
}
