import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPricePaths, type FeedReading } from '../../../src/domain/money/price.ts'
import { type BaseUnits, baseUnits, type Ratio } from '../../../src/domain/money/units.ts'
import { clientOrderId, type SwapIntent } from '../../../src/domain/order/intent.ts'
import type { Permit, PermitRecord } from '../../../src/domain/order/permit.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { ViewQuery } from '../../../src/ports.ts'
import { hearPrices } from '../../../src/signing/heard-prices.ts'
import { createPermitHasher } from '../../../src/signing/permit-digest.ts'
import type { SignerParts } from '../../../src/signing/policy.ts'
import { createSigner } from '../../../src/signing/signer.ts'
import { verify } from '../../../src/signing/verify.ts'
import type { DcaStrategy } from '../../../src/strategies/dca/dca-kind.ts'
import { typedDataOf } from '../../simulation/gasless/offer.ts'
import {
  ACCOUNT,
  GASLESS,
  PERMIT2,
  SIMULATED_CHAIN_ID,
  WALLET,
  WETH_USDC,
} from '../../simulation/stage.ts'
import {
  anIntent,
  anOffer,
  aPermit,
  aReading,
  aStrategy,
  aView,
  milliWeth,
  NOON_SECONDS,
  usdc,
} from '../../support/builders.ts'
import { AMPLE_GAS_EVERYWHERE, NO_CONTRACTS } from '../../support/signing.ts'

/** Rule T1: whatever the records contain, the signer checks the price of a permit against the operator's files and its own feed readings. */

const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })
const UNCAPPED = { perOrder: NO_CAPS, perDay: NO_CAPS }
const BUYS = { side: 'buy', amount: milliWeth(10) } as const
/** USDC base units per WETH base unit. */
const at = (price: bigint): Ratio => ({ num: price * 10n ** 6n, den: 10n ** 18n })
const minOf = (amount: bigint): Partial<Permit> => ({ minAmountOut: baseUnits(amount) })

type Case = {
  readonly strategy?: Partial<DcaStrategy>
  readonly maxDeviationBps?: number
  /** Journaled intent and permit. */
  readonly intent?: Partial<SwapIntent>
  readonly permit?: Partial<PermitRecord>
  /** Feed readings from the chain at noon; undefined if it is not read. */
  readonly readings?: ReadonlyMap<'WETH/USDC', FeedReading> | undefined
}

/** A signer setup with a recorded permit; `start` creates a signer from the same parts. */
async function stage(given: Case) {
  const intent = anIntent(given.intent)
  const permit = aPermit(given.permit)
  const { id, strategy: name, slotSeconds } = intent
  const state = emptyState()
  const clock = { nowMs: NOON_SECONDS * 1000, now: () => clock.nowMs }
  const record: PermitRecord = {
    ...{ attempt: 1, clientOrderId: clientOrderId(id, 1), quoteId: 'q', fromBlock: 1n },
    ...{ ...permit, ...given.permit, digest: hash(permit) },
  }
  for (const event of [
    { type: 'strategy-scheduled', strategy: name, scheduleKey: '0 * * * *', fromSeconds: 0 },
    { type: 'slot-opened', strategy: name, slotSeconds, intents: [intent] },
    { type: 'permit-recorded', intentId: id, permit: record },
  ] as const)
    reduce(state, event, clock.nowMs)
  let view = aView()
  const node = { view: async (_query: ViewQuery) => ({ ok: true, value: view }) as const }
  const { chain, prices } = hearPrices(node, clock, createPricePaths([WETH_USDC]))
  const hear = (readings: ReadonlyMap<'WETH/USDC', FeedReading>) => {
    view = aView({ readings, blockTimeSeconds: Math.floor(clock.nowMs / 1000) })
    return chain.view({ owner: WALLET, tokens: [], feeds: [WETH_USDC] })
  }
  const strategy = aStrategy(given.strategy)
  const parts: SignerParts = {
    key: {
      address: WALLET,
      signDigest: (digest) => digest,
      signTransaction: () => ({ hash: '0x01', raw: '0x02' }),
      signDelegation: () => ({ hash: '0x01', raw: '0x02' }),
    },
    hashPermit: hash,
    journal: { state, isOnDisk: () => true },
    guard: { blocked: () => undefined },
    ...{ clock, prices },
    files: {
      chainId: SIMULATED_CHAIN_ID,
      gasless: GASLESS,
      account: { ...ACCOUNT, ...UNCAPPED, maxDeviationBps: given.maxDeviationBps ?? 200 },
      strategies: new Map([[strategy.name, strategy]]),
      versionOf: () => undefined,
      pricePath: prices.pathOf,
      trusted: NO_CONTRACTS,
      gas: AMPLE_GAS_EVERYWHERE,
      aggregator: undefined,
    },
  }
  const start = () => {
    const signer = createSigner(parts)
    return () => {
      const signed = signer.permit(id)
      return signed.ok ? 'signed' : signed.reason
    }
  }
  const readings =
    'readings' in given ? given.readings : new Map([['WETH/USDC', aReading()]] as const)
  if (readings !== undefined) await hear(readings)
  return { clock, hear, start }
}

const signatureOf = async (given: Case): Promise<string> => (await stage(given)).start()()

describe('a permit of 25 USDC for WETH at a feed price of 2,500, with 2 % deviation and 0.5 % slippage', () => {
  const LEAST = 9_751_000_000_000_000n

  test.each([
    ['exactly the minimum', {}, LEAST, 'signed'],
    ['one base unit less', {}, LEAST - 1n, 'price-deviation'],
    [
      'less, with an intent that allows any slippage',
      { slippageBps: 9_999 },
      1n,
      'price-deviation',
    ],
    [
      'less, with an intent that allows any deviation',
      { maxDeviationBps: 9_999 },
      1n,
      'price-deviation',
    ],
    ['less, with an intent that checks no feed', { priceCheck: 'bounds' }, 1n, 'price-deviation'],
    [
      'less, with an intent that sells almost nothing',
      { size: { side: 'sell', amount: usdc(1) } },
      LEAST / 25n,
      'price-deviation',
    ],
    [
      'a third of it, with an intent that buys that amount',
      { size: { side: 'buy', amount: milliWeth(3) } },
      milliWeth(3),
      'price-deviation',
    ],
    [
      'almost nothing, with an intent that buys its full value',
      { size: BUYS },
      1n,
      'minimum-output-too-low',
    ],
  ] as const)('is checked if it guarantees %s', async (_, intent, min, expected) => {
    expect(await signatureOf({ intent, permit: minOf(min) })).toBe(expected)
  })

  test('is not checked against the price in its own record', async () => {
    const permit = { ...minOf(LEAST - 1n), feed: at(1_000_000n) }
    expect(await signatureOf({ permit })).toBe('price-deviation')
  })

  test.each([
    ['the account', { maxDeviationBps: 50 }],
    ['its strategy', { strategy: { maxDeviationBps: 50 } }],
    ['the slippage of its strategy', { strategy: { slippageBps: 1 } }],
  ] as const)('is checked against the current limit of %s', async (_, change) => {
    expect(await signatureOf({ ...change, permit: minOf(LEAST) })).toBe('price-deviation')
  })

  test.each([
    ['was never read', undefined, 'price-missing'],
    ['could not be read', new Map(), 'price-missing'],
    [
      'has no valid price',
      new Map([['WETH/USDC', aReading({ answer: 0n })]] as const),
      'price-invalid',
    ],
    [
      'is older than its maxAge',
      new Map([['WETH/USDC', aReading({ updatedAtSeconds: NOON_SECONDS - 3_601 })]] as const),
      'price-stale',
    ],
  ] as const)('is not signed if the feed %s', async (_, readings, reason) => {
    expect(await signatureOf({ readings })).toBe(reason)
  })

  test('is not signed with a reading older than 30 s, nor with a reading in the future after the clock was set back', async () => {
    const { clock, start } = await stage({})
    clock.nowMs += 30_000
    expect(start()()).toBe('signed')
    clock.nowMs += 1
    expect(start()()).toBe('price-stale')
    clock.nowMs -= 60_002
    expect(start()()).toBe('price-stale')
  })

  test('is signed again by the same signer at any later price, but not by a signer that starts later', async () => {
    const { hear, start } = await stage({})
    const sign = start()
    expect(sign()).toBe('signed')
    await hear(new Map([['WETH/USDC', aReading({ answer: 1_000n * 10n ** 8n })]]))
    expect([sign(), start()()]).toEqual(['signed', 'price-deviation'])
  })
})

describe('a permit for an exact output of 0.01 WETH at 2,500', () => {
  const MOST = 25_625_000n
  const permit = (amount: bigint, min = 9_950_000_000_000_000n): Partial<Permit> => ({
    amount: baseUnits(amount),
    ...minOf(min),
  })
  const intent = { size: BUYS, maxSell: usdc(1_000) }
  const strategy = { size: BUYS }

  test.each([
    ['as much as deviation and slippage allow', permit(MOST), {}, 'signed'],
    ['one base unit more', permit(MOST + 1n), {}, 'price-deviation'],
    [
      'the right amount for too little output',
      permit(MOST, milliWeth(9)),
      {},
      'minimum-output-too-low',
    ],
    [
      'more, with an intent that claims a larger output',
      permit(2n * MOST),
      { size: { side: 'buy', amount: milliWeth(20) } },
      'minimum-output-too-low',
    ],
    [
      'more, with an intent that allows it',
      permit(MOST + 1n),
      { slippageBps: 9_999 },
      'price-deviation',
    ],
  ] as const)('is checked if it takes %s', async (_, taken, changes, expected) => {
    expect(await signatureOf({ strategy, intent: { ...intent, ...changes }, permit: taken })).toBe(
      expected,
    )
  })
})

describe('the price bounds of a strategy', () => {
  /** 25 USDC for a minimum of 0.0099 WETH, hence at most 0.00995 at 0.5 % of slippage: 2,512.5 to 2,525.3 USDC. */
  test.each([
    ['max', undefined, 2_513n, 'signed'],
    ['max', undefined, 2_512n, 'price-outside-bounds'],
    ['min', 2_525n, undefined, 'signed'],
    ['min', 2_526n, undefined, 'price-outside-bounds'],
  ] as const)('hold in addition to the feed: %s of %s, %s', async (_, min, max, expected) => {
    const price = { min: min && at(min), max: max && at(max) }
    expect(await signatureOf({ strategy: { price } })).toBe(expected)
  })

  test.each([
    [
      'is checked against price.max, even if the intent has a higher bound',
      2_512n,
      'price-outside-bounds',
    ],
    ['is signed within price.max, without a feed', 2_513n, 'signed'],
    ['is not signed without a price.max', undefined, 'price-missing'],
  ] as const)('of a pair that the file declares without a feed: %s', async (_, max, expected) => {
    const price = { min: undefined, max: max && at(max) }
    const strategy = { priceCheck: 'bounds', price } as const
    const intent = { price: { min: undefined, max: at(9_999n) } }
    expect(await signatureOf({ strategy, intent, readings: undefined })).toBe(expected)
  })
})

test('every permit that the firewall accepts is signed with the same readings', async () => {
  const bps = (max: number) => fc.integer({ min: 1, max })
  const around = fc.integer({ min: 7_000, max: 13_000 })
  const skewed = (amount: bigint, by: number): BaseUnits =>
    baseUnits((amount * BigInt(by)) / 10_000n)
  const shape = fc.record({
    ...{ side: fc.constantFrom('sell', 'buy'), size: fc.bigInt({ min: 1n, max: 10n ** 9n }) },
    ...{ slippageBps: bps(2_000), maxDeviationBps: bps(2_000), widest: bps(5_000) },
    ...{ quoted: around, guaranteed: fc.integer({ min: 8_000, max: 10_000 }) },
    ...{ priceCheck: fc.constantFrom('feed', 'bounds') },
    ...{ min: fc.option(around), max: fc.option(around) },
  })
  let passed = 0
  await fc.assert(
    fc.asyncProperty(shape, async (given) => {
      const { slippageBps, maxDeviationBps, priceCheck, side } = given
      const amount = baseUnits(side === 'sell' ? given.size : given.size * 10n ** 9n)
      const bound = (by: number | null): Ratio | undefined =>
        by === null ? undefined : { num: BigInt(by) * 2_500n * 10n ** 6n, den: 10n ** 22n }
      const price = { min: bound(given.min), max: bound(given.max) }
      const terms = { slippageBps, maxDeviationBps, priceCheck, price, size: { side, amount } }
      const intent = anIntent({ ...terms, maxSell: side === 'sell' ? amount : usdc(10_000) })
      const offer = anOffer(intent)
      const { sellAmount, buyAmount } = offer.quote
      const isSell = side === 'sell'
      const quote = {
        ...offer.quote,
        sellAmount: isSell ? sellAmount : skewed(sellAmount, given.quoted),
        buyAmount: isSell ? skewed(buyAmount, given.quoted) : buyAmount,
        minBuyAmount: undefined,
      }
      const minAmountOut = skewed(quote.buyAmount, given.guaranteed)
      const permit = { ...offer.permit, amount: quote.sellAmount, minAmountOut }
      const verdict = verify({
        ...{ intent, quote: { ...quote, typedData: typedDataOf(permit) }, view: aView() },
        ...{ nowMs: NOON_SECONDS * 1000, chainId: SIMULATED_CHAIN_ID, gasless: GASLESS, hash },
        path: [{ feed: WETH_USDC, inverted: false }],
        maxDeviationBps: Math.min(given.widest, maxDeviationBps),
        liveNonces: new Set(),
      })
      if (!verdict.ok) return
      passed += 1
      const files = { strategy: terms, maxDeviationBps: given.widest }
      expect(await signatureOf({ ...files, intent, permit: verdict.permit })).toBe('signed')
    }),
    { numRuns: 2_000 },
  )
  expect(passed).toBeGreaterThan(50)
})
