import { expect, test } from 'vitest'
import { Board } from '../../../src/backtest/prices/board.ts'
import { heldTape } from '../../../src/backtest/prices/held.ts'
import type { Tape } from '../../../src/domain/tape.ts'

/** A tape of some pieces, which counts how often it is read and how often that ended, as a file is closed. */
function counted(pieces: number, rounds: number) {
  const seen = { begun: 0, ended: 0 }
  const tape: Tape = {
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
  return { tape, seen }
}

test('a tape that is held is read once, whole', () => {
  const { tape, seen } = counted(3, 5)
  const held = heldTape(tape)
  const read = (): readonly number[] => [...held.rounds()].flatMap((each) => [...each.atSeconds])
  expect(read()).toEqual(Array.from({ length: 15 }, (_, at) => at))
  expect(read()).toEqual(read())
  expect(seen).toEqual({ begun: 1, ended: 1 })
})

test('a tape that is too long to be held is read each time', () => {
  const { tape, seen } = counted(5, 1_000_000)
  const held = heldTape(tape)
  const length = (): number =>
    [...held.rounds()].reduce((sum, { atSeconds }) => sum + atSeconds.length, 0)
  expect([length(), length()]).toEqual([5_000_000, 5_000_000])
  expect(seen).toEqual({ begun: 3, ended: 3 })
})

test('a tape that is not played to its end is let go', () => {
  const { tape, seen } = counted(3, 5)
  const board = new Board([tape], new Map(), { fromSeconds: 0, untilSeconds: 10 })
  board.advanceTo(2)
  expect(seen).toEqual({ begun: 1, ended: 0 })
  board.close()
  expect(seen).toEqual({ begun: 1, ended: 1 })
})
