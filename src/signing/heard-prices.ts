import type { FeedReading, PricePath } from '../../domain/price.ts'
import type { Pair, Token } from '../../domain/token.ts'
import type { Chain, Clock } from '../../ports.ts'

/** The signer's own knowledge of prices. */
export type HeardPrices = {
  /** By the operator's files: feeds that give the price of a pair, sell per buy. */
  readonly pathOf: (sell: Token, buy: Token) => PricePath | undefined
  /** What each feed said when the chain was last read. */
  readonly readings: ReadonlyMap<Pair, HeardReading>
}

type HeardReading = {
  readonly reading: FeedReading
  readonly blockTimeSeconds: number
  /** By this machine's clock, epoch ms. */
  readonly readAtMs: number
}

/**
 * A chain whose answers the signer hears too, so that it judges a price by what the feeds said and not by what a record says
 * of them, and without a request of its own.
 */
export function hearPrices<Of extends Pick<Chain, 'view'>>(
  chain: Of,
  clock: Pick<Clock, 'now'>,
  pathOf: HeardPrices['pathOf'],
): { readonly chain: Of; readonly prices: HeardPrices } {
  const readings = new Map<Pair, HeardReading>()
  return {
    prices: { pathOf, readings },
    chain: {
      ...chain,
      async view(query) {
        const reply = await chain.view(query)
        if (!reply.ok) return reply
        const { blockTimeSeconds } = reply.value
        const readAtMs = clock.now()
        for (const [pair, reading] of reply.value.readings)
          readings.set(pair, { reading, blockTimeSeconds, readAtMs })
        return reply
      },
    },
  }
}
