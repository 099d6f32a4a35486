import { describe, expect, test } from 'vitest'
import {
  checkAggregator,
  checkGasless,
  checkQuote,
  type GaslessInput,
} from '../../../../src/cli/commands/doctor/check-services.ts'
import { USDC, WETH } from '../../../simulation/stage.ts'
import { troubles, verdicts } from './verdicts.ts'

const LISTED = [USDC, WETH].map(({ symbol, address, decimals }) => ({ symbol, address, decimals }))

function gasless(changes: Partial<GaslessInput> = {}) {
  return checkGasless({
    tokens: { ok: true, value: LISTED as never },
    durationMs: 20,
    clockOffsetMs: 200,
    remaining: 59,
    named: [USDC, WETH],
    traded: new Set(['USDC', 'WETH']),
    ...changes,
  })
}

function listing(list: readonly object[]): Partial<GaslessInput> {
  return { tokens: { ok: true, value: list as never } }
}

describe('the gasless service', () => {
  test('that answers, agrees and has room is fine', () => {
    expect(verdicts(gasless())).toEqual([
      'fine gasless',
      'fine gasless-clock',
      'fine gasless-limits',
      'fine service-tokens',
    ])
  })

  test('says nothing of limits where it names none', () => {
    expect(verdicts(gasless({ remaining: undefined }))).not.toContain('fine gasless-limits')
  })

  const gone = { ok: false, fault: { tag: 'unavailable', message: 'connection failed' } } as const
  const limited = {
    ok: false,
    fault: { tag: 'rateLimited', retryAfterMs: 1, message: 'slow down' },
  } as const
  test.each([
    ['is gone', { tokens: gone }, /^fault gasless: .*connection failed -> check `gasless.baseUrl`/],
    ['limits us', { tokens: limited }, /^warning gasless: /],
    ['has no room left', { remaining: 0 }, /^warning gasless-limits: /],
    ['tells no time', { clockOffsetMs: undefined }, /^unknown gasless-clock: /],
    ['is behind', { clockOffsetMs: -6_100 }, /^fault gasless-clock: .*is 6\.1 s behind/],
    [
      'counts a token otherwise',
      listing([{ ...LISTED[0], decimals: 18 }, LISTED[1] ?? {}]),
      /^fault service-tokens: USDC: the config has 6 decimals, the service says 18/,
    ],
    [
      'does not list a token that is traded',
      listing([LISTED[0] ?? {}]),
      /^warning service-tokens: WETH/,
    ],
  ] as const)('that %s', (_, changes, words) => {
    expect(troubles(gasless(changes))).toEqual([expect.stringMatching(words)])
  })

  test('need not list what nobody trades', () => {
    const changes = { ...listing([LISTED[0] ?? {}]), traded: new Set(['USDC']) }
    expect(troubles(gasless(changes))).toEqual([])
  })
})

describe('a quote', () => {
  const quoted = (refusal: null | 'price-outside-bounds' | 'spender-not-allowed') => {
    const sells = { amount: '25', token: 'USDC' }
    return { ok: true, value: { refusal, sells, buys: { amount: '0.01', token: 'WETH' } } } as const
  }
  test.each([
    [quoted(null), 'fine', /25 USDC for 0\.01 WETH/],
    [quoted('price-outside-bounds'), 'warning', /price-outside-bounds/],
    [quoted('spender-not-allowed'), 'fault', /spender-not-allowed/],
    [
      { ok: false, fault: { tag: 'badRequest', message: 'no route' } },
      'fault',
      /returned no quote: no route/,
    ],
    [
      { ok: false, fault: { tag: 'rateLimited', retryAfterMs: 1, message: 'wait' } },
      'warning',
      /wait/,
    ],
  ] as const)('%o is %s', (reply, verdict, words) => {
    const check = checkQuote('weekly', reply)
    expect([check.verdict, check.says]).toEqual([verdict, expect.stringMatching(words)])
    if (verdict !== 'fine') expect(check.remedy).toContain('`tranched quote weekly`')
  })
})

describe('the aggregation service', () => {
  const failed = (tag: 'unauthenticated' | 'rateLimited' | 'unavailable' | 'accountNotFound') =>
    checkAggregator({ ok: false, fault: { tag, message: 'it says' } }, 5)
  test('that answers has taken the login, also where it does not know the account', () => {
    const value = { balance: 1n, outstandingCharge: 0n }
    expect(checkAggregator({ ok: true, value }, 5).verdict).toBe('fine')
    expect(failed('accountNotFound').verdict).toBe('fine')
  })

  test('that refuses the login, limits us or is silent is told apart', () => {
    expect(failed('unauthenticated')).toMatchObject({
      verdict: 'fault',
      remedy: expect.stringContaining('signatureHeader'),
    })
    expect(failed('rateLimited').verdict).toBe('warning')
    expect(failed('unavailable')).toMatchObject({
      verdict: 'fault',
      remedy: expect.stringContaining('aggregator.rpcUrl'),
    })
  })
})
