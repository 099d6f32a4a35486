import { describe, expect, test } from 'vitest'
import {
  acceptPath,
  createPricePaths,
  type FeedReading,
  marketRatio,
  type PriceFeed,
  type PricePath,
  pricesAt,
  SEQUENCER_GRACE_SECONDS,
  worthAt,
} from '../../../src/domain/money/price.ts'
import type { Pair, Token } from '../../../src/domain/money/token.ts'
import { compareRatio, type Ratio } from '../../../src/domain/money/units.ts'

const NOW = 1_800_000_000

function token(symbol: string, decimals: number): Token {
  const letters = [...symbol].map((letter) => letter.charCodeAt(0).toString(16)).join('')
  const address = `0x${letters.padStart(40, '0')}` as const
  return { symbol, chain: 'base', chainId: 8453, address, decimals }
}

const USDC = token('USDC', 6)
const WETH = token('WETH', 18)
const WBTC = token('WBTC', 8)
const EUR = token('EUR', 18)
const AERO = token('AERO', 18)

function feed(base: Token, quote: Token, changes: Partial<PriceFeed> = {}): PriceFeed {
  const pair: Pair = `${base.symbol}/${quote.symbol}`
  const at = `0x${base.address.slice(22)}${quote.address.slice(22)}` as const
  const plain = { pair, base, quote, feed: at, maxAgeSeconds: 3_600, sequencerFeed: undefined }
  return { ...plain, ...changes }
}

const ETH_USD = feed(WETH, USDC)
const BTC_ETH = feed(WBTC, WETH)
const BTC_EUR = feed(WBTC, EUR)

/** Pair of each leg, with a mark before an inverted leg. */
function legs(path: PricePath | undefined): string[] | undefined {
  return path?.map((leg) => `${leg.inverted ? '1:' : ''}${leg.feed.pair}`)
}

describe('a path of feeds', () => {
  const find = createPricePaths([ETH_USD, BTC_ETH, BTC_EUR])

  test('is the feed itself if it prices the bought token in the sold token', () => {
    expect(legs(find(USDC, WETH))).toEqual(['WETH/USDC'])
  })

  test('is the inverted feed if it prices the sold token in the bought token', () => {
    expect(legs(find(WETH, USDC))).toEqual(['1:WETH/USDC'])
  })

  test('crosses two feeds over their shared token', () => {
    expect(legs(find(USDC, WBTC))).toEqual(['WBTC/WETH', 'WETH/USDC'])
    expect(legs(find(WBTC, USDC))).toEqual(['1:WETH/USDC', '1:WBTC/WETH'])
  })

  test('crosses three feeds, each in its own direction', () => {
    expect(legs(find(USDC, EUR))).toEqual(['1:WBTC/EUR', 'WBTC/WETH', 'WETH/USDC'])
  })

  test('has at most three legs', () => {
    const far = createPricePaths([ETH_USD, BTC_ETH, BTC_EUR, feed(AERO, EUR)])
    expect(far(USDC, AERO)).toBeUndefined()
    expect(legs(far(WETH, AERO))).toEqual(['AERO/EUR', '1:WBTC/EUR', 'WBTC/WETH'])
  })

  test('does not exist between tokens that no feeds connect', () => {
    expect(find(USDC, AERO)).toBeUndefined()
    expect(createPricePaths([])(USDC, WETH)).toBeUndefined()
  })

  test('is the shortest path, whatever the order of the feeds', () => {
    const direct = feed(WBTC, USDC)
    for (const feeds of [
      [ETH_USD, BTC_ETH, direct],
      [direct, BTC_ETH, ETH_USD],
    ])
      expect(legs(createPricePaths(feeds)(USDC, WBTC))).toEqual(['WBTC/USDC'])
  })

  test('is searched once and then cached', () => {
    expect(find(USDC, WBTC)).toBe(find(USDC, WBTC))
  })
})

function reading(answer: bigint, changes: Partial<FeedReading> = {}): FeedReading {
  return { answer, decimals: 8, updatedAtSeconds: NOW, sequencer: undefined, ...changes }
}

/** 2,500 USDC per WETH, 24 WETH per WBTC, 55,000 EUR per WBTC. */
function readings(changes: Readonly<Record<Pair, FeedReading>> = {}): Map<Pair, FeedReading> {
  const plain = {
    'WETH/USDC': reading(2_500n * 10n ** 8n),
    'WBTC/WETH': reading(24n * 10n ** 18n, { decimals: 18 }),
    'WBTC/EUR': reading(55_000n * 10n ** 8n),
  }
  return new Map(Object.entries({ ...plain, ...changes }) as [Pair, FeedReading][])
}

describe('the price of a path', () => {
  const find = createPricePaths([ETH_USD, BTC_ETH, BTC_EUR])
  const ask = (sell: Token, buy: Token, read = readings(), now = NOW) =>
    acceptPath(find(sell, buy), read, now)

  function ratioOf(answer: ReturnType<typeof acceptPath>): Ratio {
    if (!answer.ok) throw new Error(answer.reason)
    return answer.price.ratio
  }

  test('is exact in base units, over one leg or three, in either direction', () => {
    const expected: readonly (readonly [Token, Token, Ratio])[] = [
      [USDC, WETH, { num: 2_500n * 10n ** 6n, den: 10n ** 18n }],
      [WETH, USDC, { num: 10n ** 18n, den: 2_500n * 10n ** 6n }],
      [USDC, WBTC, { num: 60_000n * 10n ** 6n, den: 10n ** 8n }],
      [USDC, EUR, { num: 60_000n * 10n ** 6n, den: 55_000n * 10n ** 18n }],
      [EUR, USDC, { num: 55_000n * 10n ** 18n, den: 60_000n * 10n ** 6n }],
    ]
    for (const [sell, buy, ratio] of expected)
      expect(compareRatio(ratioOf(ask(sell, buy)), ratio)).toBe(0)
  })

  test('names its feeds and is as old as the oldest of them', () => {
    const old = reading(24n * 10n ** 18n, { decimals: 18, updatedAtSeconds: NOW - 900 })
    expect(ask(USDC, WBTC, readings({ 'WBTC/WETH': old }))).toMatchObject({
      ok: true,
      price: { updatedAtSeconds: NOW - 900, pairs: ['WBTC/WETH', 'WETH/USDC'] },
    })
  })

  test('is refused for a stale leg, which is named; a leg exactly at its maximum age counts', () => {
    const aged = (age: number) =>
      ask(USDC, WBTC, readings({ 'WETH/USDC': reading(1n, { updatedAtSeconds: NOW - age }) }))
    expect(aged(3_600).ok).toBe(true)
    expect(aged(3_601)).toEqual({ ok: false, reason: 'price-stale', pair: 'WETH/USDC' })
  })

  test('is refused for a leg without an answer, and for an answer without a price', () => {
    const missing = readings()
    missing.delete('WBTC/WETH')
    expect(ask(USDC, WBTC, missing)).toEqual({
      ok: false,
      reason: 'price-missing',
      pair: 'WBTC/WETH',
    })
    for (const answer of [0n, -1n])
      expect(ask(WETH, USDC, readings({ 'WETH/USDC': reading(answer) }))).toEqual({
        ok: false,
        reason: 'price-invalid',
        pair: 'WETH/USDC',
      })
  })

  const ANSWER = 2_500n * 10n ** 8n
  const priceOrReason = (changes: Partial<FeedReading>) => {
    const answer = ask(USDC, WETH, readings({ 'WETH/USDC': reading(ANSWER, changes) }))
    return answer.ok ? 'a price' : answer.reason
  }

  test.each([
    ['is incomplete', { updatedAtSeconds: 0 }, 'price-invalid'],
    ['is an hour ahead of its block', { updatedAtSeconds: NOW + 3_600 }, 'price-invalid'],
    ['has an impossible time', { updatedAtSeconds: Number(2n ** 256n - 1n) }, 'price-invalid'],
    ['is further ahead than the clock tolerance', { updatedAtSeconds: NOW + 61 }, 'price-invalid'],
    ['is as far ahead as the clock tolerance', { updatedAtSeconds: NOW + 60 }, 'a price'],
    ['carries over an earlier answer', { id: 9n, answeredInId: 8n }, 'price-stale'],
    [
      'carries over an earlier answer behind a proxy',
      { id: (7n << 64n) + 9n, answeredInId: (7n << 64n) + 8n },
      'price-stale',
    ],
    ['has its own answer', { id: 9n, answeredInId: 9n }, 'a price'],
    [
      'belongs to a feed that never sets the answering round',
      { id: 9n, answeredInId: 0n },
      'a price',
    ],
    ['comes from a file, without IDs', { id: undefined, answeredInId: undefined }, 'a price'],
  ] as const)('of a round that %s', (_, changes, expected) => {
    expect(priceOrReason(changes)).toBe(expected)
  })

  test('at market uses the newest rounds of any age, except answers that are not a price', () => {
    const old = readings({ 'WETH/USDC': reading(ANSWER, { updatedAtSeconds: 1 }) })
    const ratio = marketRatio(find(USDC, WBTC), old)
    expect(ratio).toEqual(ratioOf(ask(USDC, WBTC)))
    expect(marketRatio(find(USDC, WBTC), readings({ 'WBTC/WETH': reading(0n) }))).toBeUndefined()
    expect(marketRatio(find(USDC, AERO), old)).toBeUndefined()
  })

  test('is missing without a named feed if there is no path', () => {
    const none = { ok: false, reason: 'price-missing', pair: undefined }
    expect(ask(USDC, AERO)).toEqual(none)
    expect(ask(USDC, USDC)).toEqual(none)
  })

  describe('over a feed with a sequencer', () => {
    const watched = feed(WETH, USDC, {
      sequencerFeed: '0x00000000000000000000000000000000000000ff',
    })
    const guarded = createPricePaths([watched, BTC_ETH])
    const answer = (sequencer: FeedReading['sequencer']) =>
      acceptPath(
        guarded(USDC, WBTC),
        readings({ 'WETH/USDC': reading(2_500n * 10n ** 8n, { sequencer }) }),
        NOW,
      )
    const down = { ok: false, reason: 'sequencer-down', pair: 'WETH/USDC' }

    test('counts once the sequencer has been up for the grace period', () => {
      const startedAtSeconds = NOW - SEQUENCER_GRACE_SECONDS
      expect(answer({ answer: 0n, startedAtSeconds }).ok).toBe(true)
      expect(answer({ answer: 0n, startedAtSeconds: startedAtSeconds + 1 })).toEqual(down)
    })

    test('is refused if the sequencer round has no start or begins in the future', () => {
      expect(answer({ answer: 0n, startedAtSeconds: 0 })).toEqual(down)
      expect(answer({ answer: 0n, startedAtSeconds: NOW + 7_200 })).toEqual(down)
    })

    test('is refused while the sequencer is down or gives no answer', () => {
      expect(answer({ answer: 1n, startedAtSeconds: 0 })).toEqual(down)
      expect(answer(undefined)).toEqual(down)
    })
  })
})

describe("the recorded value of an order's sold token", () => {
  const DAI = token('DAI', 18)
  const feeds = [ETH_USD, feed(DAI, USDC), feed(AERO, WETH)]
  const round = (answer: bigint): FeedReading => {
    return { answer, updatedAtSeconds: NOW, decimals: 8, sequencer: undefined }
  }
  const readings = new Map<Pair, FeedReading>([
    ['WETH/USDC', round(3_000n * 10n ** 8n)],
    ['DAI/USDC', round(99_000_000n)],
  ])
  const priceOf = pricesAt(createPricePaths(feeds), { readings, blockTimeSeconds: NOW })
  const worth = (sell: Token, buy: Token, valueToken?: Token) => {
    const sides = { sell: { token: sell, native: false }, buy: { token: buy, native: false } }
    return worthAt(valueToken, sides, priceOf)
  }

  test('is its price in the value token by the feeds that the order reads', () => {
    const { token: of, price } = worth(DAI, WETH, USDC) ?? {}
    expect(of).toBe(USDC.address)
    // 0.99 USDC of 6 decimals per DAI of 18.
    const expected = { num: 99n, den: 100n * 10n ** 12n }
    expect(price && compareRatio(price, expected)).toBe(0)
  })

  test('is not recorded without a reading, and where the value token is bought or sold', () => {
    expect(worth(AERO, DAI, USDC)).toBeUndefined()
    expect(worth(DAI, USDC, USDC)).toBeUndefined()
    expect(worth(USDC, DAI, USDC)).toBeUndefined()
    expect(worth(DAI, WETH)).toBeUndefined()
  })
})
