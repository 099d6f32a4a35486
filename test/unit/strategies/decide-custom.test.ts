import { describe, expect, test } from 'vitest'
import { decideCustom, moduleView } from '../../../src/strategies/custom/custom-kind.ts'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aCustomStrategy, NOON_SECONDS, usdc } from '../../support/builders.ts'

const WETH_IN_USDC = { num: 2_500n * 10n ** 6n, den: 10n ** 18n }
const ORDER = { sell: 'USDC', buy: 'WETH', amount: 25_000_000n }

const HOURLY = aCustomStrategy({ name: 'hourly' })

/** A view in which WETH costs 2,500 USDC and 100 USDC are available. */
function aMarket(changes: Partial<MarketView> = {}): MarketView {
  const price = { pairs: [WETH_USDC.pair], ratio: WETH_IN_USDC, updatedAtSeconds: NOON_SECONDS - 9 }
  return {
    slotSeconds: NOON_SECONDS,
    owner: WALLET,
    nowSeconds: NOON_SECONDS + 2,
    startSeconds: undefined,
    available: new Map([
      [USDC.address, usdc(100)],
      [WETH.address, 0n],
    ]),
    prices: new Map([['USDC/WETH', { ok: true, price }]]),
    held: new Map(),
    orderCaps: new Map(),
    memory: { seen: '3' },
    spent: new Map(),
    promised: new Map(),
    ...changes,
  }
}

function decisionOn(answer: unknown, market = aMarket()) {
  return decideCustom(HOURLY, market, { ok: true, value: answer })
}

/** Detail of a slot that the module failed. */
function failure(answer: unknown): string {
  const decision = decisionOn(answer)
  if (decision.tag !== 'skip' || decision.reason !== 'module-failed')
    throw new Error(`no failure but ${decision.tag}`)
  expect(decision.memory).toBeUndefined()
  return decision.detail
}

describe('the view of a module', () => {
  test('has its own tokens, the fresh prices, and its memory', () => {
    const market = aMarket({
      available: new Map([
        [USDC.address, usdc(100)],
        [WETH.address, -5n],
      ]),
    })
    expect(moduleView(HOURLY, market)).toEqual({
      slotSeconds: NOON_SECONDS,
      nowSeconds: NOON_SECONDS + 2,
      balances: {
        USDC: { amount: 100_000_000n, decimals: 6 },
        WETH: { amount: 0n, decimals: 18 },
      },
      prices: { 'USDC/WETH': { ...WETH_IN_USDC, updatedAtSeconds: NOON_SECONDS - 9 } },
      memory: { seen: '3' },
    })
  })
})

describe('the answer of a module', () => {
  test('becomes one intent per order, in the same order, and the new memory', () => {
    const decision = decisionOn({
      orders: [ORDER, { ...ORDER, amount: 1n }],
      memory: { seen: '4' },
      memoryOnFill: { bought: '1' },
    })
    expect(decision).toMatchObject({
      tag: 'trade',
      memory: { seen: '4' },
      memoryOnFill: { bought: '1' },
      intents: [
        {
          id: `hourly:${NOON_SECONDS}:0`,
          sell: { token: USDC, native: false },
          buy: { token: WETH, native: false },
          size: { side: 'sell', amount: 25_000_000n },
          maxSell: 25_000_000n,
          priceCheck: 'feed',
        },
        { id: `hourly:${NOON_SECONDS}:1`, leg: 1, maxSell: 1n },
      ],
    })
  })

  test('may be a skip, with its own reason as one bounded line', () => {
    expect(decisionOn({ skip: `too dear\nsecond line`, memory: { seen: '4' } })).toEqual({
      tag: 'skip',
      reason: 'module-skipped',
      detail: 'too dear',
      memory: { seen: '4' },
    })
    expect(decisionOn({ skip: 'x'.repeat(5_000) })).toMatchObject({ detail: 'x'.repeat(200) })
    expect(decisionOn({ orders: [] })).toMatchObject({ reason: 'module-skipped' })
  })

  test.each([
    ['a skip reason', { skip: `a\u001b]52;c;SGVsbG8=\u0007b\u202ec\u009b2Jd\ud800e\u{e0041}f` }],
    ['an unknown key', { 'a\u001b]52;c;SGVsbG8=\u0007b\u202ec\u009b2Jd\ud800e\u{e0041}f': 1 }],
  ])('cannot control a terminal through %s', (_, answer) => {
    expect(decisionOn(answer)).toMatchObject({
      detail: expect.stringContaining('a ]52;c;SGVsbG8= b c 2Jd e f'),
    })
  })

  test('is masked where it may contain a key', () => {
    const key = 'c0ffee11'.repeat(8)
    expect(decisionOn({ skip: `not with 0x${key}` })).toMatchObject({ detail: 'not with ***' })
  })

  test('is skipped if the pair has no price, with the reason of the feed', () => {
    const stale = { ok: false, reason: 'price-stale', pair: WETH_USDC.pair } as const
    const market = aMarket({ prices: new Map([['USDC/WETH', stale]]) })
    expect(decisionOn({ orders: [ORDER], memory: { seen: '4' } }, market)).toMatchObject({
      tag: 'skip',
      reason: 'price-stale',
      memory: { seen: '4' },
    })
  })

  test('is not requested while one of its balances is unreadable', () => {
    const market = aMarket({ available: new Map([[USDC.address, usdc(100)]]) })
    expect(moduleView(HOURLY, market)).toEqual({
      tag: 'skip',
      reason: 'balance-unreadable',
      detail: 'the balance of WETH could not be read',
    })
  })

  test('must be covered by the balance, summed over all orders of a token', () => {
    const orders = (count: number) => ({ orders: Array.from({ length: count }, () => ORDER) })
    expect(decisionOn(orders(4))).toMatchObject({ tag: 'trade' })
    expect(decisionOn(orders(5))).toMatchObject({ reason: 'insufficient-balance' })
  })
})

describe('a module that fails', () => {
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'what it returned is no object'],
    ['a list', [], 'what it returned is no object'],
    ['neither orders nor skip', {}, 'it returned neither `orders` nor `skip`'],
    ['both', { skip: 'no', orders: [ORDER] }, 'it returned both `skip` and what belongs to orders'],
    ['a skip that is not text', { skip: true }, 'skip is no text'],
    [
      'a misspelt key',
      { orders: [ORDER], memoryonfill: {} },
      'what it returned has an unknown key, memoryonfill; known are orders, skip, memory, memoryOnFill',
    ],
    ['orders that are not a list', { orders: ORDER }, 'orders is no list'],
    ['too many orders', { orders: Array(9).fill(ORDER) }, 'it wants 9 orders; 8 are the most'],
    ['a hole in its orders', { orders: new Array(1) }, 'orders[0] is no object'],
    [
      'an unknown field of an order',
      { orders: [{ ...ORDER, slippageBps: 2_000 }] },
      'orders[0] has an unknown key, slippageBps; known are sell, buy, amount',
    ],
    [
      'a foreign token',
      { orders: [ORDER, { ...ORDER, buy: 'DAI' }] },
      'orders[1]: sell and buy have to be one of its tokens: USDC, WETH',
    ],
    [
      'a token named like a property of every object',
      { orders: [{ ...ORDER, buy: 'constructor' }] },
      'orders[0]: sell and buy have to be one of its tokens: USDC, WETH',
    ],
    [
      'one token twice',
      { orders: [{ ...ORDER, buy: 'USDC' }] },
      'orders[0]: sell and buy are one token',
    ],
    [
      'a number for an amount',
      { orders: [{ ...ORDER, amount: 25 }] },
      'orders[0]: amount has to be a positive bigint of base units',
    ],
    [
      'a negative amount',
      { orders: [{ ...ORDER, amount: -1n }] },
      'orders[0]: amount has to be a positive bigint of base units',
    ],
    [
      'no amount at all',
      { orders: [{ ...ORDER, amount: 0n }] },
      'orders[0]: amount has to be a positive bigint of base units',
    ],
    [
      'memory that is not text',
      { skip: 'no', memory: { seen: 3 } },
      'memory.seen is no text of at most 4096 characters',
    ],
    [
      'memory that is too large',
      { skip: 'no', memory: { seen: 'x'.repeat(4_097) } },
      'memory.seen is no text of at most 4096 characters',
    ],
    [
      'too many memories',
      {
        skip: 'no',
        memory: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`n${i}`, ''])),
      },
      'memory has 65 entries; 64 are the most',
    ],
    [
      'a long name in memoryOnFill',
      { orders: [ORDER], memoryOnFill: { ['n'.repeat(129)]: '' } },
      'memoryOnFill has a name of more than 128 characters',
    ],
    [
      'a memory key named __proto__',
      { skip: 'no', memory: JSON.parse('{"seen":"4","__proto__":"x"}') },
      'memory has the name __proto__, which every object has; take another',
    ],
    [
      'a memory key named like a property of every object',
      { orders: [ORDER], memoryOnFill: { toString: '1' } },
      'memoryOnFill has the name toString, which every object has; take another',
    ],
  ])('by returning %s skips the slot with this detail', (_, answer, detail) => {
    expect(failure(answer)).toBe(detail)
  })

  test('without an answer skips the slot with the first line of the error', () => {
    const silent = (detail: string) => decideCustom(HOURLY, aMarket(), { ok: false, detail })
    const skipped = (text: string) => ({ tag: 'skip', reason: 'module-failed', detail: text })
    expect(silent('no average\n    at decide')).toEqual(skipped('no average'))
    expect(silent('x'.repeat(999))).toEqual(skipped('x'.repeat(200)))
  })
})
