import { expect, test } from 'vitest'
import { cachedSeries } from '../../../src/backtest/prices/held.ts'
import { Board } from '../../../src/backtest/prices/price-board.ts'
import type { PriceSeries } from '../../../src/domain/money/price-series.ts'

/** A series in several pieces that counts how often it is read and closed. */
function counted(pieces: number, rounds: number) {
  const seen = { begun: 0, ended: 0 }
  const series: PriceSeries = {
    ...{ pair: 'WETH/USDC', decimals: 8, source: 'a test' },
    *rounds() {
      seen.begun += 1
      try {
        for (let piece = 0; piece < pieces; piece += 1) {
          const atSeconds = new Float64Array(rounds).map((_, at) => piece * rounds + at)
          yield { atSeconds, answers: new Float64Array(rounds).fill(10), rests: undefined }
        }
      } finally {
        seen.ended += 1
      }
    },
  }
  return { series, seen }
}

test('a cached series is read once, completely', () => {
  const { series, seen } = counted(3, 5)
  const held = cachedSeries(series)
  const read = (): readonly number[] => [...held.rounds()].flatMap((each) => [...each.atSeconds])
  expect(read()).toEqual(Array.from({ length: 15 }, (_, at) => at))
  expect(read()).toEqual(read())
  expect(seen).toEqual({ begun: 1, ended: 1 })
})

test('a series too long to cache is read each time', () => {
  const { series, seen } = counted(5, 1_000_000)
  const held = cachedSeries(series)
  const length = (): number =>
    [...held.rounds()].reduce((sum, { atSeconds }) => sum + atSeconds.length, 0)
  expect([length(), length()]).toEqual([5_000_000, 5_000_000])
  expect(seen).toEqual({ begun: 3, ended: 3 })
})

test('a series that is not played to its end is closed', () => {
  const { series, seen } = counted(3, 5)
  const board = new Board([series], new Map(), { fromSeconds: 0, untilSeconds: 10 })
  board.advanceTo(2)
  expect(seen).toEqual({ begun: 1, ended: 0 })
  board.close()
  expect(seen).toEqual({ begun: 1, ended: 1 })
})
