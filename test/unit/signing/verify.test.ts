import { describe, expect, test } from 'vitest'
import { type Address, baseUnits } from '../../../src/domain/money/units.ts'
import type { SwapIntent } from '../../../src/domain/order/intent.ts'
import type { Permit } from '../../../src/domain/order/permit.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import type { RefusalReason } from '../../../src/domain/order/reason.ts'
import type { ChainView } from '../../../src/ports.ts'
import { createPermitHasher } from '../../../src/signing/permit-digest.ts'
import { type VerifyInput, verify } from '../../../src/signing/verify.ts'
import { typedDataOf } from '../../simulation/gasless/offer.ts'
import {
  GASLESS,
  PERMIT2,
  SIMULATED_CHAIN_ID,
  USDC,
  WETH,
  WETH_USDC,
} from '../../simulation/stage.ts'
import {
  anIntent,
  anOffer,
  aReading,
  aView,
  milliWeth,
  NOON_SECONDS,
  usdc,
} from '../../support/builders.ts'

const STRANGER: Address = '0x00000000000000000000000000000000000bad00'
const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })

const EXACT_OUTPUT = anIntent({
  size: { side: 'buy', amount: milliWeth(10) },
  maxSell: usdc(26),
})

type Case = {
  readonly intent?: SwapIntent
  /** Changes to the quote outside its typed data. */
  readonly quote?: Partial<Quote>
  /** Changes to the typed data to sign. */
  readonly permit?: Partial<Permit>
  readonly view?: Partial<ChainView>
  readonly input?: Partial<VerifyInput>
}

function inputOf({ intent = anIntent(), quote, permit, view, input }: Case): VerifyInput {
  const offer = anOffer(intent)
  const typedData = typedDataOf({ ...offer.permit, ...permit })
  return {
    intent,
    quote: { ...offer.quote, typedData, ...quote },
    view: aView(view),
    nowMs: NOON_SECONDS * 1000,
    chainId: SIMULATED_CHAIN_ID,
    gasless: GASLESS,
    path: [{ feed: WETH_USDC, inverted: false }],
    maxDeviationBps: 200,
    liveNonces: new Set(),
    hash,
    ...input,
  }
}

function verdictOf(given: Case): RefusalReason | 'signable' {
  const verdict = verify(inputOf(given))
  return verdict.ok ? 'signable' : verdict.reason
}

describe('an honest quote', () => {
  test.each([
    ['exact input', anIntent()],
    ['exact output', EXACT_OUTPUT],
  ])('for %s is signable, and the signed permit equals the offered permit', (_name, intent) => {
    const verdict = verify(inputOf({ intent }))
    const { permit } = anOffer(intent)
    expect(verdict).toEqual({ ok: true, permit, digest: hash(permit) })
  })

  test('may omit the receiver', () => {
    expect(verdictOf({ quote: { receiver: undefined } })).toBe('signable')
  })

  test("may omit its minimum, and the witness is checked against the strategy's floor", () => {
    expect(verdictOf({ quote: { minBuyAmount: undefined } })).toBe('signable')
    const permit = { minAmountOut: milliWeth(9) }
    expect(verdictOf({ quote: { minBuyAmount: undefined }, permit })).toBe('minimum-output-too-low')
  })

  test.each([undefined, '', 'OrderWitness witness)', 'anything'])(
    'may name its witness type %s, which is neither signed nor used',
    (witnessTypeString) => {
      expect(verdictOf({ quote: { witnessTypeString } })).toBe('signable')
    },
  )
})

describe('a quote is refused with', () => {
  test.each<[RefusalReason, string, Case]>([
    ['wallet-has-code', 'if the wallet has code', { view: { ownerHasCode: true } }],
    ['owner-mismatch', 'if it is for another owner', { quote: { from: STRANGER } }],
    ['kind-mismatch', 'if it is of the other kind', { quote: { side: 'buy' } }],
    ['sell-token-mismatch', 'if it sells another token', { quote: { sellToken: STRANGER } }],
    ['sell-token-mismatch', 'if its permit takes another token', { permit: { token: STRANGER } }],
    ['buy-token-mismatch', 'if it buys another token', { quote: { buyToken: STRANGER } }],
    ['buy-token-mismatch', 'if its witness buys another token', { permit: { tokenOut: STRANGER } }],
    ['recipient-mismatch', 'if it pays another recipient', { quote: { receiver: STRANGER } }],
    [
      'recipient-mismatch',
      'if its witness pays another recipient',
      { permit: { recipient: STRANGER } },
    ],
    [
      'permit2-mismatch',
      'if it requires another approval',
      { quote: { allowanceTarget: STRANGER } },
    ],
    ['permit2-mismatch', 'if its domain is another contract', { permit: { permit2: STRANGER } }],
    ['permit2-mismatch', 'if its domain is another chain', { permit: { chainId: 1 } }],
    ['typed-data-malformed', 'if it has no typed data', { quote: { typedData: {} } }],
    ['spender-not-allowed', 'if it names two spenders', { permit: { spender: STRANGER } }],
    [
      'spender-not-allowed',
      'if its spender is not on the list',
      { permit: { spender: STRANGER }, quote: { spender: STRANGER } },
    ],
    [
      'deadline-mismatch',
      'if its permit lives longer than the quote states',
      { permit: { deadlineSeconds: NOON_SECONDS + 61 } },
    ],
    [
      'deadline-too-far',
      'if its permit lives longer than the operator allows',
      {
        permit: { deadlineSeconds: NOON_SECONDS + 601 },
        quote: { validToSeconds: NOON_SECONDS + 601 },
      },
    ],
    ['nonce-used', 'if its nonce is used', { view: { permitNonceUsed: true } }],
    [
      'nonce-live',
      'if another live permit has its nonce',
      { input: { liveNonces: new Set([anOffer(anIntent()).permit.nonce]) } },
    ],
    ['nonce-used', 'if its nonce is unknown', { view: { permitNonceUsed: undefined } }],
    [
      'amount-above-limit',
      'if it takes more than the decided amount',
      { permit: { amount: baseUnits(25_000_001n) }, quote: { sellAmount: baseUnits(25_000_001n) } },
    ],
    [
      'amount-mismatch',
      'if its witness guarantees less than the quote states',
      { quote: { minBuyAmount: baseUnits(9_945_000_000_000_001n) } },
    ],
    [
      'amount-mismatch',
      'if it buys less than the exact amount',
      { intent: EXACT_OUTPUT, quote: { buyAmount: baseUnits(milliWeth(10) - 1n) } },
    ],
    [
      'minimum-output-too-low',
      "if its guarantee is below the strategy's floor",
      { permit: { minAmountOut: milliWeth(9) }, quote: { minBuyAmount: milliWeth(9) } },
    ],
    [
      'minimum-output-too-low',
      'if it guarantees nothing',
      {
        permit: { minAmountOut: baseUnits(0n) },
        quote: { minBuyAmount: baseUnits(0n), buyAmount: baseUnits(0n) },
      },
    ],
    [
      'digest-mismatch',
      'if its permit takes a different amount than the quote states',
      { quote: { sellAmount: usdc(24) } },
    ],
    ['price-missing', 'if its pair has no feed', { input: { path: undefined } }],
    [
      'price-outside-bounds',
      'if it meets the price bound only by quoting more than requested',
      {
        intent: {
          ...EXACT_OUTPUT,
          price: { min: undefined, max: { num: usdc(25), den: milliWeth(10) } },
        },
        permit: { amount: baseUnits(25_500_000n) },
        quote: {
          sellAmount: baseUnits(25_500_000n),
          buyAmount: baseUnits(10_200_000_000_000_000n),
        },
      },
    ],
    ['price-missing', 'if the feed gave no reading', { view: { readings: new Map() } }],
    ['price-invalid', 'if the feed answers zero', readingOf({ answer: 0n })],
    [
      'price-stale',
      'if the feed is older than its maxAge',
      readingOf({ updatedAtSeconds: NOON_SECONDS - 3_601 }),
    ],
    [
      'sequencer-down',
      'if the sequencer is down',
      readingOf({ sequencer: { answer: 1n, startedAtSeconds: 0 } }),
    ],
    [
      'sequencer-down',
      'if the sequencer came back within the hour',
      readingOf({ sequencer: { answer: 0n, startedAtSeconds: NOON_SECONDS - 3_599 } }),
    ],
    [
      'sequencer-down',
      'if a configured sequencer feed gave no answer',
      { input: { path: [{ feed: { ...WETH_USDC, sequencerFeed: STRANGER }, inverted: false }] } },
    ],
    [
      'price-deviation',
      'if it brings too little by the feed',
      readingOf({ answer: 2_400n * 10n ** 8n }),
    ],
    [
      'price-deviation',
      'if it brings too much by the feed',
      readingOf({ answer: 2_600n * 10n ** 8n }),
    ],
    [
      'price-deviation',
      'if an exact output costs too much',
      {
        intent: { ...EXACT_OUTPUT, maxSell: usdc(30) },
        permit: { amount: usdc(26) },
        quote: { sellAmount: usdc(26) },
      },
    ],
    [
      'price-deviation',
      'if an exact output costs implausibly little',
      { intent: EXACT_OUTPUT, permit: { amount: usdc(24) }, quote: { sellAmount: usdc(24) } },
    ],
    [
      'price-outside-bounds',
      "if its price is above the strategy's bound",
      { intent: anIntent({ price: { min: undefined, max: sellPerBuyAt(2_500) } }) },
    ],
    [
      'price-outside-bounds',
      "if its price is below the strategy's bound",
      { intent: anIntent({ price: { min: sellPerBuyAt(2_510), max: undefined } }) },
    ],
  ])('%s %s', (reason, _when, given) => {
    expect(verdictOf(given)).toBe(reason)
  })
})

describe('a quote exactly at a bound is accepted', () => {
  test.each<[string, Case]>([
    [
      'with a permit that lives exactly as long as the operator allows',
      {
        permit: { deadlineSeconds: NOON_SECONDS + 600 },
        quote: { validToSeconds: NOON_SECONDS + 600 },
      },
    ],
    [
      'with a feed exactly as old as its maxAge',
      readingOf({ updatedAtSeconds: NOON_SECONDS - 3_600 }),
    ],
    [
      'with a sequencer that came back an hour ago',
      readingOf({ sequencer: { answer: 0n, startedAtSeconds: NOON_SECONDS - 3_600 } }),
    ],
    [
      'with a guarantee exactly at the floor',
      {
        permit: { minAmountOut: baseUnits(9_940_050_000_000_000n) },
        quote: { minBuyAmount: baseUnits(9_940_050_000_000_000n) },
      },
    ],
  ])('%s', (_name, given) => {
    expect(verdictOf(given)).toBe('signable')
  })

  test('except one unit below the floor', () => {
    const amount = baseUnits(9_940_049_999_999_999n)
    const given = { permit: { minAmountOut: amount }, quote: { minBuyAmount: amount } }
    expect(verdictOf(given)).toBe('minimum-output-too-low')
  })
})

test("a strategy that sells the feed's base token is checked against the inverted feed", () => {
  const intent = anIntent({
    sell: { token: WETH, native: false },
    buy: { token: USDC, native: false },
    size: { side: 'sell', amount: milliWeth(10) },
    maxSell: milliWeth(10),
  })
  const offer = anOffer(intent)
  const honest = { buyAmount: baseUnits(24_975_000n), minBuyAmount: baseUnits(24_850_125n) }
  const input = { path: [{ feed: WETH_USDC, inverted: true }] }
  const given = { intent, quote: honest, permit: { minAmountOut: honest.minBuyAmount }, input }
  expect(offer.permit.token).toBe(WETH.address)
  expect(verdictOf(given)).toBe('signable')
  const poor = { buyAmount: baseUnits(24_400_000n), minBuyAmount: baseUnits(24_300_000n) }
  expect(verdictOf({ ...given, quote: poor, permit: { minAmountOut: poor.minBuyAmount } })).toBe(
    'price-deviation',
  )
})

function readingOf(changes: Parameters<typeof aReading>[0]): Case {
  return { view: { readings: new Map([['WETH/USDC', aReading(changes)]]) } }
}

/** Whole USDC per whole WETH as a ratio of base units. */
function sellPerBuyAt(price: number): { num: bigint; den: bigint } {
  return { num: BigInt(price) * 10n ** 6n, den: 10n ** 18n }
}
