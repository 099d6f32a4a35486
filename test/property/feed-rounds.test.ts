import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fetchRounds } from '../../src/backtest/price-files/chain-rounds.ts'
import { csvSeries } from '../../src/backtest/price-files/csv.ts'
import { Board } from '../../src/backtest/prices/price-board.ts'
import { acceptPrice, type FeedReading, type PriceFeed } from '../../src/domain/money/price.ts'
import { WETH_USDC } from '../simulation/stage.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { FakeFeed, type FakeRound } from '../unit/backtest/price-files/fake-feed.ts'

const T = 1_735_689_600
const MINUTE = 60
const YEAR = 365 * 86_400
const FEED: PriceFeed = { ...WETH_USDC, maxAgeSeconds: YEAR, sequencerFeed: undefined }

/** A round with random defects; about half have none. */
const round = fc.record({
  answer: fc.constantFrom(300_000_000_000n, 250_000_000_000n, 1n, 0n, -5n),
  ahead: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 30 * MINUTE }) },
    { weight: 1, arbitrary: fc.constant(YEAR) },
  ),
  carried: fc.constantFrom(0n, 0n, 0n, 1n),
  startedAt: fc.constantFrom(undefined, 0),
})

test('a round is a price for the fetch and the backtest exactly when the daemon accepts it', async () => {
  const directory = temporaryDirectory()
  let refused = 0
  let files = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(round, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 9 }),
      async (drawn, batch) => {
        const rounds: readonly FakeRound[] = drawn.map(
          ({ answer, ahead, carried, startedAt }, index) => ({
            ...{ answer, at: T + index * MINUTE + ahead, carried },
            ...(startedAt === undefined ? {} : { startedAt }),
          }),
        )
        const feed = new FakeFeed()
        feed.phases.set(1n, new Map(rounds.map((of, index) => [BigInt(index + 1), of])))
        const toSeconds = T + rounds.length * MINUTE
        files += 1
        const file = join(directory, `${files}.csv`)
        await fetchRounds({
          ...{ call: feed.call, clock: { sleep: () => Promise.resolve() }, chainId: 8453 },
          ...{ feed: feed.address, fromSeconds: T - YEAR, toSeconds, file, batch },
          signal: new AbortController().signal,
        })
        /** Rounds accepted by a daemon that reads each round when the next one arrives. */
        const accepted = rounds.filter(({ answer, at, carried = 0n }, index) => {
          const id = (1n << 64n) + BigInt(index + 1)
          const reading: FeedReading = {
            ...{ answer, decimals: 8, updatedAtSeconds: at, sequencer: undefined },
            ...{ id, answeredInId: id - carried },
          }
          const nowSeconds = rounds[index + 1]?.at ?? Number.POSITIVE_INFINITY
          const verdict = acceptPrice(
            { ...FEED, maxAgeSeconds: Number.POSITIVE_INFINITY },
            reading,
            nowSeconds,
          )
          if (!verdict.ok) refused += 1
          return verdict.ok
        })
        let after = 0
        const wanted = accepted.filter(({ at }) => {
          if (at <= after || at > toSeconds) return false
          after = at
          return true
        })
        if (wanted.length === 0) return
        expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(2 + wanted.length)
        const series = csvSeries({ file, pair: FEED.pair })
        const period = { fromSeconds: T, untilSeconds: toSeconds }
        const board = new Board([series], new Map([[FEED.pair, FEED]]), period)
        for (const { answer, at } of wanted) {
          board.advanceTo(at)
          const reading = board.readings.get(FEED.pair)
          expect(reading).toMatchObject({ answer, updatedAtSeconds: at })
          expect(acceptPrice(FEED, reading, at).ok).toBe(true)
        }
        board.close()
      },
    ),
    { numRuns: 300 },
  )
  expect(refused).toBeGreaterThan(300)
})
