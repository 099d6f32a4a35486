import { describe, expect, test } from 'vitest'
import { ETHER } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { AccountLimits } from '../../../src/domain/settings.ts'
import { NO_CAPS, type StrategyLimits } from '../../../src/domain/strategy.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { unmetBy } from '../../../src/strategies/spending/unmet.ts'
import { ACCOUNT, USDC } from '../../simulation/stage.ts'
import {
  aCall,
  aCustomStrategy,
  aSchedule,
  aStrategy,
  capOf,
  HOUR,
  MINUTE,
  OPEN,
  usdc,
} from '../../support/builders.ts'
import { aRebalance } from '../../support/market-view.ts'
import { aTwap } from './decide-fixture.ts'

const UNCAPPED: AccountLimits = { ...ACCOUNT, perOrder: NO_CAPS, perDay: NO_CAPS }
const DAY = 24 * HOUR

/** Config keys of the warnings for a strategy. */
function keys(strategy: Strategy, account: Partial<AccountLimits> = {}): readonly string[] {
  return unmetBy(strategy, { ...UNCAPPED, ...account }).map(({ path }) => path.join('.'))
}

function dca(cron: string, limits: Partial<StrategyLimits> = {}): Strategy {
  return aStrategy({ schedule: aSchedule(cron), limits: { ...OPEN, ...limits } })
}

function slices(limits: Partial<StrategyLimits>, everySeconds = 3_600): Strategy {
  return aTwap({ limits: { ...OPEN, ...limits } }, { everySeconds })
}

describe('a schedule of orders', () => {
  test.each<[string, string, Partial<StrategyLimits>, readonly string[]]>([
    ['fits a cap of the same amount', '0 9 * * *', { perDay: capOf(USDC, usdc(25)) }, []],
    ['fits a weekly cap of the same amount', '0 9 * * 1', { perWeek: capOf(USDC, usdc(25)) }, []],
    ['fits a cooldown of its interval', '0 9 * * *', { cooldownMs: DAY }, []],
    ['exceeds a smaller cap', '0 9,10 * * *', { perDay: capOf(USDC, usdc(49)) }, ['limits.perDay']],
    [
      'exceeds a cap on some days',
      '0,30 9 * * 6',
      { perHour: capOf(USDC, usdc(25)) },
      ['limits.perHour'],
    ],
    [
      'exceeds a weekly cap',
      '0 9 * * 1-5',
      { perWeek: capOf(USDC, usdc(100)) },
      ['limits.perWeek'],
    ],
    [
      'has slots within a cooldown',
      '0 9,10 * * *',
      { cooldownMs: 61 * MINUTE },
      ['limits.cooldown'],
    ],
  ])('%s', (_, cron, limits, expected) => {
    expect(keys(dca(cron, limits))).toEqual(expected)
  })

  test('is also checked against the limits of the account', () => {
    const perDay = capOf(USDC, usdc(100))
    expect(keys(dca('0 * * * *'), { perDay, cooldownMs: DAY })).toEqual(['schedule', 'schedule'])
    expect(keys(dca('0 9 * * *'), { perDay, cooldownMs: DAY })).toEqual([])
  })

  test('is counted on its busiest day, even if few days of a month have slots', () => {
    expect(keys(dca('* 9 1 * *', { perDay: capOf(USDC, usdc(1_000)) }))).toEqual(['limits.perDay'])
  })

  test('of calls is checked by the value of the calls', () => {
    const perDay = capOf(ETHER, baseUnits(10n))
    const call = aCall({ schedule: aSchedule('0 * * * *'), limits: { ...OPEN, perDay } })
    expect(keys({ ...call, value: baseUnits(1n) })).toEqual(['limits.perDay'])
    expect(keys({ ...call, value: baseUnits(0n) })).toEqual([])
  })

  test('is not checked for kinds where the market decides time and amount', () => {
    const limits = { ...OPEN, perDay: capOf(USDC, usdc(1)), cooldownMs: DAY }
    const schedule = aSchedule('* * * * *', { overlap: 'skip' })
    expect(keys(aRebalance({ schedule, limits }))).toEqual([])
    expect(keys(aCustomStrategy({ schedule, limits }))).toEqual([])
  })
})

describe('a TWAP schedule', () => {
  test.each<[string, Partial<StrategyLimits>, number, readonly string[]]>([
    ['fits an hourly cap of one slice', { perHour: capOf(USDC, usdc(100)) }, 3_600, []],
    ['fits a daily cap of its total', { perDay: capOf(USDC, usdc(2_400)) }, 3_600, []],
    [
      'ends before an hourly cap lets it sell all',
      { perHour: capOf(USDC, usdc(100)) },
      1_800,
      ['limits.perHour'],
    ],
    ['exceeds a total cap', { total: capOf(USDC, usdc(2_399)) }, 3_600, ['limits.total']],
    ['is cut by a cap per order', { perOrder: capOf(USDC, usdc(99)) }, 3_600, ['limits.perOrder']],
    ['has slices within a cooldown', { cooldownMs: 2 * HOUR }, 3_600, ['limits.cooldown']],
  ])('%s', (_, limits, every, expected) => {
    expect(keys(slices(limits, every))).toEqual(expected)
  })

  test('reports the amount that it can sell', () => {
    const strategy = slices({ perHour: capOf(USDC, usdc(100)) }, 1_800)
    expect(unmetBy(strategy, UNCAPPED)).toMatchObject([
      { message: 'slices sells at most 1,200 USDC of 2,400 USDC under limits.perHour of 100 USDC' },
    ])
  })
})
