import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/domain/cap-windows.ts'
import { ETHER, NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { addExposure, type Exposure } from '../../../src/journal/projections/exposures.ts'
import { type CapUse, capsOf, limitHit } from '../../../src/journal/projections/limits.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { ACCOUNT, USDC, WETH } from '../../simulation/stage.ts'
import { capOf, OPEN, usdc } from '../../support/builders.ts'

const NOW_MS = 1_800_000_000_000
const UNBOUND = { ...ACCOUNT, perDay: NO_CAPS, perOrder: NO_CAPS }
const TOKENS = [USDC, WETH, ETHER]

let state: DaemonState
beforeEach(() => {
  state = emptyState()
})

function expose(changes: Partial<Exposure> = {}): void {
  addExposure(state, `order ${state.exposures.size}`, {
    strategy: 'hourly',
    token: USDC.address,
    amount: usdc(40),
    atMs: NOW_MS - 1,
    live: false,
    ...changes,
  })
}

const hourly = (limits: Partial<typeof OPEN>) => ({
  name: 'hourly',
  limits: { ...OPEN, ...limits },
})

function only(uses: readonly CapUse[]): CapUse | undefined {
  expect(uses).toHaveLength(1)
  return uses[0]
}

test('the list is empty without caps', () => {
  expose()
  const strategies = [hourly({})]
  expect(capsOf(state, { strategies, account: UNBOUND, tokens: TOKENS, nowMs: NOW_MS })).toEqual([])
})

test('account caps come first and count every strategy', () => {
  expose()
  expose({ strategy: 'other', amount: usdc(60) })
  const uses = capsOf(state, {
    strategies: [hourly({ perHour: capOf(USDC, usdc(80)) })],
    account: { ...UNBOUND, perDay: capOf(USDC, usdc(1_000)) },
    tokens: TOKENS,
    nowMs: NOW_MS,
  })
  expect(uses.map(({ strategy, window, used, cap }) => [strategy, window, used, cap])).toEqual([
    [undefined, 'day', usdc(100), usdc(1_000)],
    ['hourly', 'hour', usdc(40), usdc(80)],
  ])
})

describe('the time at which a cap begins to free up', () => {
  const dayOf = (changes: Partial<Exposure>): number | undefined => {
    expose(changes)
    const strategies = [hourly({ perDay: capOf(USDC, usdc(65)) })]
    return only(capsOf(state, { strategies, account: UNBOUND, tokens: TOKENS, nowMs: NOW_MS }))
      ?.freesAtMs
  }

  test('is when the oldest fill in its window leaves it', () => {
    expose({ atMs: NOW_MS - 30 * HOUR_MS })
    expect(dayOf({ atMs: NOW_MS - 2 * HOUR_MS })).toBe(NOW_MS - 2 * HOUR_MS + DAY_MS)
  })

  test('is unknown if only live permits fill the cap', () => {
    expect(dayOf({ live: true })).toBeUndefined()
  })

  test('is never for a total cap', () => {
    expose()
    const account = { ...UNBOUND, total: capOf(USDC, usdc(65)) }
    const use = only(capsOf(state, { strategies: [], account, tokens: TOKENS, nowMs: NOW_MS }))
    expect(use).toMatchObject({ window: 'total', freesAtMs: undefined })
  })
})

test('a cap on ether is listed as ether, and a cap on an unlisted token is omitted', () => {
  const account = {
    ...UNBOUND,
    perDay: new Map([
      [NATIVE_TOKEN, baseUnits(5n)],
      [WETH.address, baseUnits(6n)],
    ]),
  }
  const tokens = [USDC, ETHER]
  const uses = capsOf(state, { strategies: [], account, tokens, nowMs: NOW_MS })
  expect(uses.map(({ token }) => token.symbol)).toEqual(['ETH'])
})

const exposure = fc.record({
  strategy: fc.constantFrom('hourly', 'other'),
  amount: fc.integer({ min: 1, max: 100 }).map(usdc),
  atMs: fc.integer({ min: -10 * DAY_MS, max: HOUR_MS }).map((ms) => NOW_MS + ms),
  live: fc.boolean(),
})

test('the limits allow exactly the remainder of the fullest cap', () => {
  fc.assert(
    fc.property(
      fc.array(exposure, { maxLength: 20 }),
      fc.array(fc.integer({ min: 100, max: 3_000 }).map(usdc), { minLength: 6, maxLength: 6 }),
      (exposures, [a, b, c, d, e, f]) => {
        state = emptyState()
        for (const each of exposures) expose(each)
        const cap = (value: bigint | undefined) => capOf(USDC, baseUnits(value ?? 0n))
        const limits = { ...OPEN, perHour: cap(a), perDay: cap(b), perWeek: cap(c) }
        const account = { ...UNBOUND, perHour: cap(d), perDay: cap(e), perWeek: cap(f) }
        const strategies = [{ name: 'hourly', limits }]
        const uses = capsOf(state, { strategies, account, tokens: TOKENS, nowMs: NOW_MS })
        const smallest = uses.map(({ cap, used }) => cap - used).sort((x, y) => (x < y ? -1 : 1))[0]
        const left = smallest ?? 0n
        const query = { strategy: 'hourly', token: USDC, nowMs: NOW_MS, limits, account }
        if (left > 0n)
          expect(limitHit(state, { ...query, amount: baseUnits(left) })).toBeUndefined()
        const more = baseUnits(left < 0n ? 1n : left + 1n)
        expect(limitHit(state, { ...query, amount: more })).toBeDefined()
      },
    ),
  )
})
