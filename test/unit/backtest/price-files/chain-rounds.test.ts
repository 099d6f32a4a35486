import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type FetchOptions,
  fetchRounds,
} from '../../../../src/backtest/price-files/chain-rounds.ts'
import { csvSeries } from '../../../../src/backtest/price-files/csv.ts'
import { PriceFileError } from '../../../../src/backtest/price-files/price-file-error.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { FakeFeed } from './fake-feed.ts'
import { PAIR, roundsOf } from './price-files.ts'

const T = 1_735_689_600
const HEAD = `# rounds of a feed: chain 8453, feed 0x${'fe'.repeat(20)}, decimals 8\ntime,price,round\n`
const NEVER = Number.MAX_SAFE_INTEGER

/** A price file and a function that fetches into it. */
function aFile(feed: FakeFeed) {
  const file = join(temporaryDirectory(), 'prices', 'WETH-USDC.csv')
  return {
    file,
    text: () => readFileSync(file, 'utf8'),
    fetch: (options: Partial<FetchOptions> = {}) =>
      fetchRounds({
        call: feed.call,
        clock: { sleep: () => Promise.resolve() },
        chainId: 8453,
        feed: feed.address,
        ...{ fromSeconds: T, toSeconds: NEVER, file, batch: 20 },
        signal: new AbortController().signal,
        ...options,
      }),
  }
}

/** Rows of a file without its header: seconds, then `phase:number` of each round. */
function rowsOf(text: string): readonly (readonly [number, string])[] {
  expect(text.startsWith(HEAD)).toBe(true)
  return text
    .slice(HEAD.length)
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [time = '', , round = ''] = line.split(',')
      const id = BigInt(round)
      return [Number(time), `${id >> 64n}:${id & 0xffff_ffffn}`] as const
    })
}

function aFeed(rounds = 100, missing: FakeFeed['missing'] = 'reverts'): FakeFeed {
  const feed = new FakeFeed()
  feed.missing = missing
  feed.add(1n, rounds, T)
  return feed
}

test('writes every round from the one valid at the start, with exact answers, and a backtest can play the file', async () => {
  const feed = aFeed(100)
  const { file, text, fetch } = aFile(feed)
  const fetched = await fetch({ fromSeconds: T + 150, toSeconds: T + 600 })
  expect(fetched).toEqual({
    ...{ end: { tag: 'whole' }, added: 9, skipped: 0, removed: 0 },
    ...{ fromSeconds: T + 120, toSeconds: T + 600 },
  })
  expect(rowsOf(text()).map(([at]) => at)).toEqual(
    Array.from({ length: 9 }, (_, n) => T + 120 + n * 60),
  )
  expect(text().split('\n')[2]).toBe(`${T + 120},2000.0068972,${(1n << 64n) + 3n}`)
  expect(roundsOf(csvSeries({ file, pair: PAIR })).at(-1)).toEqual([T + 600, 200_000_690_200n])
})

test.each(['reverts', 'zeros'] as const)(
  'phases follow each other without overlap and holes are skipped, where a missing round %s',
  async (missing) => {
    const feed = aFeed(50, missing)
    // This aggregator ran in parallel before the proxy switched to it.
    feed.add(2n, 40, T + 40 * 60 + 7)
    // No aggregator of this phase ever answered.
    feed.phases.set(3n, new Map())
    feed.add(4n, 30, T + 81 * 60)
    for (const number of [1n, 2n, 20n, 21n, 22n, 23n, 24n, 25n, 26n, 40n])
      feed.put(2n, number, undefined)
    feed.put(4n, 3n, undefined)
    const { text, fetch } = aFile(feed)
    expect((await fetch()).end).toEqual({ tag: 'whole' })
    const rows = rowsOf(text())
    const times = rows.map(([at]) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const names = rows.map(([, name]) => name)
    const numbers = (phase: number, list: readonly number[]) => list.map((n) => `${phase}:${n}`)
    const range = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, n) => from + n)
    expect(names).toEqual([
      ...numbers(1, range(1, 50)),
      ...numbers(2, [...range(10, 19), ...range(27, 39)]),
      ...numbers(4, [1, 2, ...range(4, 30)]),
    ])
  },
)

test('a start before, within or after overlapping phases begins with the round valid then', async () => {
  const feed = aFeed(50)
  feed.add(2n, 40, T + 40 * 60 + 7)
  const firstOf = async (fromSeconds: number) => {
    const { text, fetch } = aFile(feed)
    await fetch({ fromSeconds })
    return rowsOf(text())[0]?.[1]
  }
  expect(await firstOf(T - 5_000)).toBe('1:1')
  expect(await firstOf(T + 45 * 60)).toBe('1:46')
  expect(await firstOf(T + 49 * 60 + 10)).toBe('2:10')
  expect(await firstOf(T + 49 * 60 + 5)).toBe('1:50')
  expect(await firstOf(T + 900_000)).toBe('2:40')
})

test('a phase whose rounds do not count from 1 starts with its first existing round', async () => {
  const feed = new FakeFeed()
  feed.add(1n, 900, T)
  feed.add(2n, 20, T + 900 * 60)
  for (let number = 1n; number < 300n; number += 1n) feed.put(1n, number, undefined)
  const namesFrom = async (fromSeconds: number) => {
    const { text, fetch } = aFile(feed)
    await fetch({ fromSeconds })
    return rowsOf(text()).map(([, name]) => name)
  }
  const all = await namesFrom(T)
  expect([all.length, all[0], all.at(-1)]).toEqual([621, '1:300', '2:20'])
  expect((await namesFrom(T + 500 * 60))[0]).toBe('1:501')
})

test('answers that are not a price are skipped and counted', async () => {
  const feed = aFeed(10)
  feed.put(1n, 4n, { answer: 0n, at: T + 180 })
  feed.put(1n, 5n, { answer: -7n, at: T + 240 })
  const { text, fetch } = aFile(feed)
  expect(await fetch()).toMatchObject({ added: 8, skipped: 2 })
  expect(rowsOf(text()).map(([, name]) => name)).not.toContain('1:4')
})

/** Time of the last of a hundred rounds, one minute apart. */
const LAST = T + 99 * 60
const YEAR = 365 * 86_400

test.each([1, 2, 7, 500])(
  'skips rounds that a daemon would reject and keeps later rounds, with %i rounds per call',
  async (batch) => {
    const feed = aFeed(100)
    feed.put(1n, 10n, { answer: 1n, at: T + 9 * 60 + YEAR })
    feed.put(1n, 20n, { answer: 1n, at: T + 19 * 60 + 3_600 })
    feed.put(1n, 30n, { answer: 1n, at: T + 29 * 60, carried: 1n })
    feed.put(1n, 40n, { answer: 0n, at: T + 39 * 60 })
    // A feed without a start time, then a round whose clock is half a minute ahead of the next round.
    feed.put(1n, 50n, { answer: 1n, at: T + 49 * 60, startedAt: 0 })
    feed.put(1n, 60n, { answer: 1n, at: T + 60 * 60 + 30 })
    const { text, fetch } = aFile(feed)
    const fetched = await fetch({ batch, toSeconds: LAST })
    expect(fetched).toMatchObject({ end: { tag: 'whole' }, added: 95, skipped: 4 })
    const gone = [10, 20, 30, 40, 61].map((number) => `1:${number}`)
    const names = Array.from({ length: 100 }, (_, n) => `1:${n + 1}`)
    expect(rowsOf(text()).map(([, name]) => name)).toEqual(
      names.filter((name) => !gone.includes(name)),
    )
  },
)

test('does not write newest rounds from the future, and writes the rounds after them once they exist', async () => {
  const feed = aFeed(50)
  feed.put(1n, 51n, { answer: 1n, at: T + 50 * 60 + YEAR })
  feed.put(1n, 52n, { answer: 1n, at: T + 51 * 60 + YEAR })
  const whole = aFile(feed)
  const first = aFile(feed)
  expect(await first.fetch({ toSeconds: T + 51 * 60 })).toMatchObject({
    ...{ end: { tag: 'whole' }, added: 50, toSeconds: T + 49 * 60 },
  })
  feed.add(1n, 20, T + 52 * 60)
  expect(await first.fetch({ toSeconds: LAST })).toMatchObject({ added: 20, removed: 0 })
  await whole.fetch({ toSeconds: LAST })
  expect(first.text()).toBe(whole.text())
})

test('the batch size shrinks for nodes that take only small calls and grows again later', async () => {
  const feed = aFeed(1_000)
  const whole = aFile(feed)
  await whole.fetch()
  const { text, fetch } = aFile(feed)
  let [reports, from, to] = [0, 0, 0]
  const onProgress = () => {
    reports += 1
    if (reports === 3) [feed.most, from] = [5, feed.sizes.length]
    if (reports === 60) [feed.most, to] = [Number.POSITIVE_INFINITY, feed.sizes.length]
  }
  expect(await fetch({ onProgress })).toMatchObject({ end: { tag: 'whole' }, added: 1_000 })
  expect(text()).toBe(whole.text())
  expect(Math.max(...feed.sizes.slice(from, to))).toBeLessThanOrEqual(5)
  expect(feed.sizes.slice(to)).toContain(21)
})

test('a fetch waits for a silent node, then gives up and keeps the rounds it has', async () => {
  const feed = aFeed(200)
  const { text, fetch } = aFile(feed)
  let reports = 0
  const onProgress = () => {
    reports += 1
    if (reports === 2) feed.unanswered = 3
    if (reports === 4) feed.unanswered = 6
  }
  const waits: number[] = []
  const clock = { sleep: async (ms: number) => void waits.push(ms) }
  const fetched = await fetch({ clock, onProgress })
  expect(fetched.end).toEqual({
    tag: 'unread',
    message: 'the chain cannot be read: node 1 of 1: timed out',
  })
  expect(waits).toEqual([1, 2, 4, 1, 2, 4, 8, 16].map((seconds) => seconds * 1000))
  expect(rowsOf(text())).toHaveLength(fetched.added)
  expect(fetched.added).toBeGreaterThan(0)
  await fetch()
  expect(rowsOf(text())).toHaveLength(200)
})

test('repeated stops and partial lines leave the file identical to one uninterrupted fetch', async () => {
  const feed = aFeed(300)
  feed.add(2n, 200, T + 290 * 60)
  const whole = aFile(feed)
  await whole.fetch()
  const { file, text, fetch } = aFile(feed)
  for (let runs = 0, tag = ''; tag !== 'whole'; runs += 1) {
    expect(runs).toBeLessThan(40)
    const stop = new AbortController()
    let reports = 0
    const onProgress = () => {
      reports += 1
      if (reports === 2) stop.abort()
    }
    const { end } = await fetch({ signal: stop.signal, onProgress })
    tag = end.tag
    if (tag === 'stopped') {
      expect(text().endsWith('\n')).toBe(true)
      if (runs % 3 === 1) appendFileSync(file, `${T + 60 * runs},20`)
      if (runs === 0) truncateSync(file, HEAD.length - 4)
    }
  }
  expect(text()).toBe(whole.text())
})

test('extending a file backwards, even over several runs, gives the same file as one fetch', async () => {
  const feed = aFeed(200)
  feed.add(2n, 200, T + 190 * 60)
  const whole = aFile(feed)
  await whole.fetch({ fromSeconds: T + 600 })
  const { file, text, fetch } = aFile(feed)
  await fetch({ fromSeconds: T + 200 * 60, toSeconds: T + 300 * 60 })
  const before = text()
  const stop = new AbortController()
  const stopped = await fetch({
    fromSeconds: T + 600,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  })
  expect([stopped.end.tag, text()]).toEqual(['stopped', before])
  expect(existsSync(`${file}.part`)).toBe(true)
  const shares: number[] = []
  const fetched = await fetch({
    fromSeconds: T + 600,
    onProgress: ({ share }) => shares.push(share),
  })
  expect(fetched).toMatchObject({ end: { tag: 'whole' }, fromSeconds: T + 600 })
  expect(text()).toBe(whole.text())
  expect(existsSync(`${file}.part`)).toBe(false)
  expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  expect(shares.at(-1)).toBeGreaterThan(0.99)
  // A complete file only needs a check.
  const callsBefore = feed.sizes.length
  expect(await fetch({ fromSeconds: T + 600 })).toMatchObject({ added: 0, end: { tag: 'whole' } })
  expect(feed.sizes.length - callsBefore).toBeLessThan(8)
  expect(text()).toBe(whole.text())
})

test('rounds removed by a reorganisation are replaced with those of the chain', async () => {
  const feed = aFeed(100)
  const { text, fetch } = aFile(feed)
  await fetch()
  feed.put(1n, 98n, { answer: 5n, at: T + 97 * 60 + 1 })
  feed.put(1n, 100n, undefined)
  expect(await fetch()).toMatchObject({ end: { tag: 'unread' } })
  feed.put(1n, 100n, { answer: 6n, at: T + 99 * 60 + 2 })
  expect(await fetch()).toMatchObject({ end: { tag: 'whole' }, removed: 3, added: 3 })
  expect(text().trimEnd().split('\n').slice(-3)).toEqual([
    `${T + 97 * 60 + 1},0.00000005,${(1n << 64n) + 98n}`,
    expect.stringMatching(/^\d+,2000\.\d+,/),
    `${T + 99 * 60 + 2},0.00000006,${(1n << 64n) + 100n}`,
  ])
})

test('rejects a file of another chain with different rounds and leaves it unchanged', async () => {
  const { file, text, fetch } = aFile(aFeed(100))
  await fetch()
  const before = text()
  const other = aFeed(0)
  other.add(1n, 100, T + 1)
  await expect(fetch({ call: other.call })).rejects.toThrow(
    `${file}: the last rounds of the file differ from those on chain`,
  )
  expect(text()).toBe(before)
})

test.each([
  ['another chain', { chainId: 1 }],
  ['another feed', { feed: `0x${'ab'.repeat(20)}` as const }],
])('rejects a file of %s by its header', async (_, options) => {
  const { text, fetch } = aFile(aFeed(10))
  await fetch()
  const before = text()
  const fetching = fetch(options)
  await expect(fetching).rejects.toThrow(PriceFileError)
  await expect(fetching).rejects.toThrow(
    /:1: the rounds are those of the feed 0x(fe)+ on chain 8453/,
  )
  expect(text()).toBe(before)
})

test('rejects a file from another source and leaves it unchanged', async () => {
  const { file, text, fetch } = aFile(aFeed(10))
  await fetch()
  writeFileSync(file, 'time,price\n1735689600,2000\n')
  await expect(fetch()).rejects.toThrow(/not one that `tranched backtest fetch` has written/)
  writeFileSync(file, `${HEAD}${T},2000,no\n`)
  await expect(fetch()).rejects.toThrow(/the line `1735689600,2000,no` is none that/)
  expect(text()).toContain('no\n')
})

test.each([
  ['nothing', /has no past rounds: it has no getRoundData/],
  ['newest', /has no past rounds: it answers every round/],
] as const)(
  'rejects a feed that returns %s for past rounds and leaves no file',
  async (past, says) => {
    const feed = aFeed(10)
    feed.past = past
    const { file, fetch } = aFile(feed)
    const { end } = await fetch()
    expect(end).toEqual({ tag: 'unread', message: expect.stringMatching(says) })
    expect(existsSync(file)).toBe(false)
  },
)

test('fetches a feed without phases, and writes no file without rounds in the period', async () => {
  const feed = new FakeFeed()
  feed.add(0n, 30, T)
  const { text, fetch, file } = aFile(feed)
  expect(await fetch({ toSeconds: T - 1 })).toMatchObject({ added: 0, fromSeconds: undefined })
  expect(existsSync(file)).toBe(false)
  expect(await fetch()).toMatchObject({ added: 30 })
  expect(rowsOf(text())[0]).toEqual([T, '0:1'])
})
