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
const { hash } = createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })

const EXACT_OUTPUT = anIntent({
  size: { side: 'buy', amount: milliWeth(10) },
  maxSell: usdc(26),
})

type Case = {
  readonly intent?: SwapIntent
  /** Changes to what the service says beside the typed data. */
  readonly quote?: Partial<Quote>
  /** Changes to what it wants signed. */
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

function judged(given: Case): RefusalReason | 'signable' {
  const verdict = verify(inputOf(given))
  return verdict.ok ? 'signable' : verdict.reason
}

describe('an honest quote', () => {
  test.each([
    ['exact input', anIntent()],
    ['exact output', EXACT_OUTPUT],
  ])('for %s is signable, and what is signed is what was offered', (_name, intent) => {
    const verdict = verify(inputOf({ intent }))
    const { permit } = anOffer(intent)
    expect(verdict).toEqual({ ok: true, permit, digest: hash(permit) })
  })

  test('may leave out the receiver', () => {
    expect(judged({ quote: { receiver: undefined } })).toBe('signable')
  })

  test('may leave its minimum to the witness, which our own floor is held against', () => {
    expect(judged({ quote: { minBuyAmount: undefined } })).toBe('signable')
    const permit = { minAmountOut: milliWeth(9) }
    expect(judged({ quote: { minBuyAmount: undefined }, permit })).toBe('minimum-output-too-low')
  })

  test.each([undefined, '', 'OrderWitness witness)', 'anything'])(
    'may call its witness type %s: it is neither signed nor needed',
    (witnessTypeString) => {
      expect(judged({ quote: { witnessTypeString } })).toBe('signable')
    },
  )
})

describe('a quote is refused', () => {
  test.each<[RefusalReason, string, Case]>([
    ['wallet-has-code', 'when the wallet has code', { view: { ownerHasCode: true } }],
    ['owner-mismatch', 'when it is for another owner', { quote: { from: STRANGER } }],
    ['kind-mismatch', 'when it is of the other kind', { quote: { side: 'buy' } }],
    ['sell-token-mismatch', 'when it sells another token', { quote: { sellToken: STRANGER } }],
    ['sell-token-mismatch', 'when its permit takes another token', { permit: { token: STRANGER } }],
    ['buy-token-mismatch', 'when it buys another token', { quote: { buyToken: STRANGER } }],
    ['buy-token-mismatch', 'when its witness buys another', { permit: { tokenOut: STRANGER } }],
    ['recipient-mismatch', 'when it pays somebody else', { quote: { receiver: STRANGER } }],
    ['recipient-mismatch', 'when its witness does', { permit: { recipient: STRANGER } }],
    [
      'permit2-mismatch',
      'when it wants another approval',
      { quote: { allowanceTarget: STRANGER } },
    ],
    ['permit2-mismatch', 'when its domain is another contract', { permit: { permit2: STRANGER } }],
    ['permit2-mismatch', 'when its domain is another chain', { permit: { chainId: 1 } }],
    ['typed-data-malformed', 'when nothing is to be signed', { quote: { typedData: {} } }],
    ['spender-not-allowed', 'when two spenders are named', { permit: { spender: STRANGER } }],
    [
      'spender-not-allowed',
      'when its spender is not on the list',
      { permit: { spender: STRANGER }, quote: { spender: STRANGER } },
    ],
    [
      'deadline-mismatch',
      'when its permit lives longer than it says',
      { permit: { deadlineSeconds: NOON_SECONDS + 61 } },
    ],
    [
      'deadline-too-far',
      'when its permit lives longer than the operator allows',
      {
        permit: { deadlineSeconds: NOON_SECONDS + 601 },
        quote: { validToSeconds: NOON_SECONDS + 601 },
      },
    ],
    ['nonce-used', 'when its nonce is used', { view: { permitNonceUsed: true } }],
    [
      'nonce-live',
      'when another live permit carries its nonce',
      { input: { liveNonces: new Set([anOffer(anIntent()).permit.nonce]) } },
    ],
    ['nonce-used', 'when nobody knows its nonce', { view: { permitNonceUsed: undefined } }],
    [
      'amount-above-limit',
      'when it takes more than was decided',
      { permit: { amount: baseUnits(25_000_001n) }, quote: { sellAmount: baseUnits(25_000_001n) } },
    ],
    [
      'amount-mismatch',
      'when its witness promises less than it says',
      { quote: { minBuyAmount: baseUnits(9_945_000_000_000_001n) } },
    ],
    [
      'amount-mismatch',
      'when it buys less than the exact amount',
      { intent: EXACT_OUTPUT, quote: { buyAmount: baseUnits(milliWeth(10) - 1n) } },
    ],
    [
      'minimum-output-too-low',
      'when its guarantee is below our own floor',
      { permit: { minAmountOut: milliWeth(9) }, quote: { minBuyAmount: milliWeth(9) } },
    ],
    [
      'minimum-output-too-low',
      'when it guarantees nothing',
      {
        permit: { minAmountOut: baseUnits(0n) },
        quote: { minBuyAmount: baseUnits(0n), buyAmount: baseUnits(0n) },
      },
    ],
    [
      'digest-mismatch',
      'when its permit takes another amount than it says',
      { quote: { sellAmount: usdc(24) } },
    ],
    ['price-missing', 'when its pair has no feed', { input: { path: undefined } }],
    [
      'price-outside-bounds',
      'when its price keeps to the bound only by naming more than was asked for',
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
    ['price-missing', 'when the feed gave no reading', { view: { readings: new Map() } }],
    ['price-invalid', 'when the feed says zero', readingOf({ answer: 0n })],
    [
      'price-stale',
      'when the feed is older than its maxAge',
      readingOf({ updatedAtSeconds: NOON_SECONDS - 3_601 }),
    ],
    [
      'sequencer-down',
      'when the sequencer is down',
      readingOf({ sequencer: { answer: 1n, startedAtSeconds: 0 } }),
    ],
    [
      'sequencer-down',
      'when the sequencer came back within the hour',
      readingOf({ sequencer: { answer: 0n, startedAtSeconds: NOON_SECONDS - 3_599 } }),
    ],
    [
      'sequencer-down',
      'when a configured sequencer feed gave no answer',
      { input: { path: [{ feed: { ...WETH_USDC, sequencerFeed: STRANGER }, inverted: false }] } },
    ],
    [
      'price-deviation',
      'when the feed says it brings too little',
      readingOf({ answer: 2_400n * 10n ** 8n }),
    ],
    [
      'price-deviation',
      'when the feed says it brings too much',
      readingOf({ answer: 2_600n * 10n ** 8n }),
    ],
    [
      'price-deviation',
      'when an exact output costs too much',
      {
        intent: { ...EXACT_OUTPUT, maxSell: usdc(30) },
        permit: { amount: usdc(26) },
        quote: { sellAmount: usdc(26) },
      },
    ],
    [
      'price-deviation',
      'when an exact output costs too little to be true',
      { intent: EXACT_OUTPUT, permit: { amount: usdc(24) }, quote: { sellAmount: usdc(24) } },
    ],
    [
      'price-outside-bounds',
      "when it is dearer than the strategy's own bound",
      { intent: anIntent({ price: { min: undefined, max: sellPerBuyAt(2_500) } }) },
    ],
    [
      'price-outside-bounds',
      "when it is cheaper than the strategy's own bound",
      { intent: anIntent({ price: { min: sellPerBuyAt(2_510), max: undefined } }) },
    ],
  ])('%s %s', (reason, _when, given) => {
    expect(judged(given)).toBe(reason)
  })
})

describe('the bounds themselves are allowed', () => {
  test.each<[string, Case]>([
    [
      'a permit that lives exactly as long as the operator allows',
      {
        permit: { deadlineSeconds: NOON_SECONDS + 600 },
        quote: { validToSeconds: NOON_SECONDS + 600 },
      },
    ],
    ['a feed exactly as old as its maxAge', readingOf({ updatedAtSeconds: NOON_SECONDS - 3_600 })],
    [
      'a sequencer that came back an hour ago',
      readingOf({ sequencer: { answer: 0n, startedAtSeconds: NOON_SECONDS - 3_600 } }),
    ],
    [
      'a guarantee exactly at our floor',
      {
        permit: { minAmountOut: baseUnits(9_940_050_000_000_000n) },
        quote: { minBuyAmount: baseUnits(9_940_050_000_000_000n) },
      },
    ],
  ])('%s', (_name, given) => {
    expect(judged(given)).toBe('signable')
  })

  test('one unit below our floor is not', () => {
    const amount = baseUnits(9_940_049_999_999_999n)
    const given = { permit: { minAmountOut: amount }, quote: { minBuyAmount: amount } }
    expect(judged(given)).toBe('minimum-output-too-low')
  })
})

test('a strategy that sells what the feed prices is judged by the inverse of the feed', () => {
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
  expect(judged(given)).toBe('signable')
  const poor = { buyAmount: baseUnits(24_400_000n), minBuyAmount: baseUnits(24_300_000n) }
  expect(judged({ ...given, quote: poor, permit: { minAmountOut: poor.minBuyAmount } })).toBe(
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
