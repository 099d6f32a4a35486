import type { FeedReading, PricePath } from '../domain/money/price.ts'
import type { Pair, Token } from '../domain/money/token.ts'
import type { Chain, Clock } from '../ports.ts'

export type HeardPrices = {
  readonly pathOf: (sell: Token, buy: Token) => PricePath | undefined
  readonly readings: ReadonlyMap<Pair, HeardReading>
}

type HeardReading = {
  readonly reading: FeedReading
  readonly blockTimeSeconds: number
  /** Epoch milliseconds of this machine's clock. */
  readonly readAtMs: number
}

/** Copies feed answers to the signer, so that it checks prices against the feeds without requests. */
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
