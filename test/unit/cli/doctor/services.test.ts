import { describe, expect, test } from 'vitest'
import {
  checkAggregator,
  checkGasless,
  checkQuote,
  type GaslessInput,
} from '../../../../src/cli/commands/doctor/check-services.ts'
import { USDC, WETH } from '../../../simulation/stage.ts'
import { findings, verdicts } from './verdicts.ts'

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

describe('gasless service check', () => {
  test('passes a service that answers, agrees and has quota left', () => {
    expect(verdicts(gasless())).toEqual([
      'fine gasless',
      'fine gasless-clock',
      'fine gasless-limits',
      'fine service-tokens',
    ])
  })

  test('omits limits if the service names none', () => {
    expect(verdicts(gasless({ remaining: undefined }))).not.toContain('fine gasless-limits')
  })

  const gone = { ok: false, fault: { tag: 'unavailable', message: 'connection failed' } } as const
  const limited = {
    ok: false,
    fault: { tag: 'rateLimited', retryAfterMs: 1, message: 'slow down' },
  } as const
  test.each([
    [
      'an unreachable service',
      { tokens: gone },
      /^fault gasless: .*connection failed -> check `gasless.baseUrl`/,
    ],
    ['a rate-limiting service', { tokens: limited }, /^warning gasless: /],
    ['an exhausted quota', { remaining: 0 }, /^warning gasless-limits: /],
    ['a service without a Date header', { clockOffsetMs: undefined }, /^unknown gasless-clock: /],
    ['a slow clock', { clockOffsetMs: -6_100 }, /^fault gasless-clock: .*is 6\.1 s behind/],
    [
      'different decimals of a token',
      listing([{ ...LISTED[0], decimals: 18 }, LISTED[1] ?? {}]),
      /^fault service-tokens: USDC: the config has 6 decimals, the service says 18/,
    ],
    [
      'a traded token that is not listed',
      listing([LISTED[0] ?? {}]),
      /^warning service-tokens: WETH/,
    ],
  ] as const)('flags %s', (_, changes, message) => {
    expect(findings(gasless(changes))).toEqual([expect.stringMatching(message)])
  })

  test('passes an unlisted token that no strategy trades', () => {
    const changes = { ...listing([LISTED[0] ?? {}]), traded: new Set(['USDC']) }
    expect(findings(gasless(changes))).toEqual([])
  })
})

describe('quote check', () => {
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
  ] as const)('%o is %s', (reply, verdict, message) => {
    const check = checkQuote('weekly', reply)
    expect([check.verdict, check.says]).toEqual([verdict, expect.stringMatching(message)])
    if (verdict !== 'fine') expect(check.remedy).toContain('`tranched quote weekly`')
  })
})

describe('aggregation service check', () => {
  const failed = (tag: 'unauthenticated' | 'rateLimited' | 'unavailable' | 'accountNotFound') =>
    checkAggregator({ ok: false, fault: { tag, message: 'it says' } }, 5)
  test('passes an accepted login, even if the service does not know the account', () => {
    const value = { balance: 1n, outstandingCharge: 0n }
    expect(checkAggregator({ ok: true, value }, 5).verdict).toBe('fine')
    expect(failed('accountNotFound').verdict).toBe('fine')
  })

  test('distinguishes a refused login, a rate limit and silence', () => {
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
