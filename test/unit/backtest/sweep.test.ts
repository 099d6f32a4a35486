import { describe, expect, test } from 'vitest'
import {
  neighboursOf,
  parseAxis,
  pointsOf,
  type SweepAxis,
  valuesAt,
} from '../../../src/backtest/sweep/axes.ts'
import {
  bestOf,
  jobsOf,
  type SweepFigures,
  type SweepJob,
  standsAlone,
  sweep,
} from '../../../src/backtest/sweep/sweep.ts'

function axis(text: string, strategies: readonly string[] = ['weekly']): SweepAxis {
  const parsed = parseAxis(text, strategies)
  if ('message' in parsed) throw new Error(parsed.message)
  return parsed
}

const gaining = (returnPercent: number | null, drawdownPercent = 10): SweepFigures => ({
  ...{ returnPercent, drawdownPercent, fills: 1 },
})

describe('a field and its values', () => {
  test.each([
    ['band=1%..10%:3%', ['1%', '4%', '7%', '10%']],
    ['band=0.1%..0.3%:0.1%', ['0.1%', '0.2%', '0.3%']],
    ['amount=10..25:10', ['10', '20']],
    ['amount=0.25..1:0.25', ['0.25', '0.5', '0.75', '1']],
    ['cooldown=5m..15m:5m', ['5m', '10m', '15m']],
    ['amount=10,25,7.5', ['10', '25', '7.5']],
    ['to=target,edge', ['target', 'edge']],
    ['amount=10', ['10']],
    ['schedule.cron=0 9 * * 1,0 9 * * 5', ['0 9 * * 1', '0 9 * * 5']],
  ])('%s', (text, values) => expect(axis(text).values).toEqual(values))

  test.each([
    ['band', 'is no field with values'],
    ['band=', 'is no field with values'],
    ['=1,2', 'is no field with values'],
    ['a b=1', 'is no field with values'],
    ['band=1,,2', 'holds an empty value'],
    ['band=1,2,1', '1 is given twice'],
    ['band=1%..5:1%', 'have different units'],
    ['band=1%..5%', undefined],
    ['band=5%..1%:1%', 'has no values'],
    ['band=1%..5%:0%', 'has no values'],
    ['band=a..b:c', 'is no range of numbers'],
    ['band=1..100000:1', 'has more than 1000 values'],
  ])('checks the axis %s', (text, message) => {
    const parsed = parseAxis(text, ['weekly'])
    if (message === undefined) expect(parsed).toMatchObject({ values: ['1%..5%'] })
    else expect(parsed).toMatchObject({ message: expect.stringContaining(message) })
  })

  test('a field belongs to the strategy named before it, or to the only strategy', () => {
    const both = ['weekly', 'ladder']
    expect(axis('amount=1')).toMatchObject({ strategy: 'weekly', path: ['amount'] })
    expect(axis('weekly.amount=1')).toMatchObject({ strategy: 'weekly', path: ['amount'] })
    expect(axis('ladder.limits.perDay=1', both)).toMatchObject({
      ...{ key: 'ladder.limits.perDay', strategy: 'ladder', path: ['limits', 'perDay'] },
    })
    expect(axis('ladder.ladder[1].above=1', both)).toMatchObject({ path: ['ladder', 1, 'above'] })
    expect(axis('dip.0.drop=1%')).toMatchObject({ path: ['dip', 0, 'drop'] })
    expect(parseAxis('amount=1', both)).toMatchObject({
      expected: 'its strategy before it, such as weekly.amount',
    })
  })
})

describe('points', () => {
  const axes = [axis('a=1,2,3'), axis('b=x,y')]

  test('are all combinations, with the last axis varying fastest', () => {
    expect(pointsOf(axes)).toBe(6)
    expect(Array.from({ length: 6 }, (_, point) => valuesAt(axes, point).join(''))).toEqual(
      '1x 1y 2x 2y 3x 3y'.split(' '),
    )
  })

  test('have as neighbours the points that differ by one step in one axis', () => {
    for (let point = 0; point < 6; point += 1) {
      const [a, b] = [Math.floor(point / 2), point % 2]
      const beside = Array.from({ length: 6 }, (_, other) => other).filter(
        (other) => Math.abs(Math.floor(other / 2) - a) + Math.abs((other % 2) - b) === 1,
      )
      expect(neighboursOf(axes, point).toSorted()).toEqual(beside)
    }
  })
})

describe('the best point', () => {
  test('has the highest return or the smallest drawdown; points without a figure do not count', () => {
    const points = [gaining(1, 9), gaining(null, 1), gaining(5, 30), gaining(5, 5)]
    expect(bestOf(points, 'returnPercent')).toBe(2)
    expect(bestOf(points.slice(0, 1).concat(points.slice(2)), 'drawdownPercent')).toBe(2)
    expect(bestOf([gaining(null)], 'returnPercent')).toBeNull()
  })

  test('stands alone if a neighbour keeps less than half of its lead', () => {
    const line = [axis('a=1..7:1')]
    const alone = (gains: readonly number[]): boolean => {
      const points = gains.map((gain) => gaining(gain))
      const best = bestOf(points, 'returnPercent') ?? 0
      return standsAlone(line, points, { best, metric: 'returnPercent' })
    }
    expect(alone([0, 0, 1, 20, 1, 0, 0])).toBe(true)
    expect(alone([0, 2, 15, 20, 16, 3, 0])).toBe(false)
    expect(alone([20, 1, 0, 0, 0, 0, 0])).toBe(true)
    expect(alone([5, 5, 5, 5, 5, 5, 5])).toBe(false)
  })
})

describe('a sweep', () => {
  /** The first half of the period favours small values, the second half large values. */
  async function swept(parts: number | undefined) {
    const played: SweepJob[] = []
    const plan = { axes: [axis('a=1..9:1')], metric: 'returnPercent', parts } as const
    const period = { fromSeconds: 1_000, untilSeconds: 2_000 }
    const result = await sweep({ ...plan, ...period }, (jobs) => {
      played.push(...jobs)
      return Promise.resolve(
        jobs.map(({ values, untilSeconds, fromSeconds }) => {
          const value = Number(values[0])
          if (fromSeconds === 1_000 && untilSeconds === 2_000) return gaining(value)
          return gaining(untilSeconds < 1_500 ? 10 - value : value)
        }),
      )
    })
    return { result, played, planned: jobsOf({ ...plan, ...period }) }
  }

  test('plays every combination over the whole period', async () => {
    const { result, played, planned } = await swept(undefined)
    expect(played.length).toBe(9)
    expect(planned).toBe(9)
    expect(result).toMatchObject({ best: 8, isLonely: false, walkForward: null })
    expect(result.points.map(({ values }) => values[0])).toEqual('123456789'.split(''))
  })

  test('walks forward: the best point of one part is tested on the next part', async () => {
    const { result, played, planned } = await swept(4)
    expect(played.length).toBe(planned)
    expect(result.walkForward).toEqual({
      folds: [
        fold(['1'], 9, 9, [1_000, 1_249, 1_250, 1_499]),
        fold(['1'], 9, 1, [1_250, 1_499, 1_500, 1_749]),
        fold(['9'], 9, 9, [1_500, 1_749, 1_750, 2_000]),
      ],
      unseenReturnPercent: expect.closeTo((1.09 * 1.01 * 1.09 - 1) * 100, 9),
    })
  })

  function fold(
    values: readonly string[],
    searchReturnPercent: number,
    tryReturnPercent: number,
    seconds: readonly number[],
  ) {
    const [searchFromAt, searchUntilAt, tryFromAt, tryUntilAt] = seconds.map((each) =>
      new Date(each * 1000).toISOString(),
    )
    const times = { searchFromAt, searchUntilAt, tryFromAt, tryUntilAt }
    return { ...times, values, searchReturnPercent, tryReturnPercent }
  }
})
