import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOLDINGS_FILE } from '../../../../src/store/file/state-files.ts'
import {
  createHoldingsCurve,
  type HoldingsSample,
  openHoldingsFile,
  readHoldings,
  seriesOf,
  thinned,
} from '../../../../src/ui/page/server/holdings.ts'
import type { Valued } from '../../../../src/ui/page/server/valuation.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const NOW = 1_800_000_000
const HOUR = 3_600
const DAY = 24 * HOUR

function sample(at: number, changes: Partial<HoldingsSample> = {}): HoldingsSample {
  return { at, valueToken: 'USDC', value: 100, held: { USDC: 100, WETH: null }, ...changes }
}

const every = (seconds: number, from: number, to: number): HoldingsSample[] => {
  const samples: HoldingsSample[] = []
  for (let at = from; at <= to; at += seconds) samples.push(sample(at))
  return samples
}

describe('thinning of samples by age', () => {
  test('keeps one per ten minutes for two days, per hour for sixty days, per day for five years', () => {
    const years = every(600, NOW - 400 * DAY, NOW)
    const kept = thinned(years, NOW)
    const between = (from: number, to: number): number =>
      kept.filter(({ at }) => NOW - at >= from && NOW - at < to).length
    expect(between(0, 2 * DAY)).toBeGreaterThan(280)
    expect(between(2 * DAY, 60 * DAY)).toBeGreaterThan(1_380)
    expect(between(2 * DAY, 60 * DAY)).toBeLessThan(1_400)
    expect(between(60 * DAY, 400 * DAY)).toBeGreaterThan(335)
    expect(kept.length).toBeLessThan(2_100)
  })

  test('keeps under four thousand, and is idempotent', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3_000 * DAY }), { maxLength: 300 }),
        (ages) => {
          const kept = thinned(
            ages.map((age) => sample(NOW - age)),
            NOW,
          )
          expect(kept.length).toBeLessThan(4_000)
          expect(thinned(kept, NOW)).toEqual(kept)
          expect(kept.map(({ at }) => at)).toEqual(
            kept.map(({ at }) => at).toSorted((a, b) => a - b),
          )
        },
      ),
    )
  })

  test('drops samples with a time in the future', () => {
    expect(thinned([sample(NOW), sample(NOW + 30 * DAY)], NOW)).toEqual([sample(NOW)])
  })
})

describe('a series', () => {
  test('has one point per step, and null for values that were not read', () => {
    const samples = [...every(600, NOW - 2 * DAY, NOW - 600), sample(NOW, { value: null })]
    const day = seriesOf(samples, 'day', NOW)
    expect(day.atSeconds.length).toBeLessThanOrEqual(145)
    expect(day.value.at(-1)).toBeNull()
    expect(day.tokens).toMatchObject([{ token: 'USDC' }, { token: 'WETH' }])
    expect(new Set(day.tokens[1]?.amounts)).toEqual(new Set([null]))
    for (const range of ['week', 'month', 'year'] as const) {
      const series = seriesOf(samples, range, NOW)
      expect(series.atSeconds.length).toBeLessThanOrEqual(370)
      expect(series.tokens[0]?.amounts).toHaveLength(series.atSeconds.length)
    }
  })

  test('has only values in the newest value token', () => {
    const samples = [sample(NOW - 1_200, { valueToken: 'DAI' }), sample(NOW - 600)]
    expect(seriesOf(samples, 'day', NOW)).toMatchObject({ valueToken: 'USDC', value: [null, 100] })
  })

  test('is empty without samples', () => {
    expect(seriesOf([], 'day', NOW)).toEqual({
      ...{ valueToken: null, atSeconds: [], value: [], tokens: [] },
    })
  })
})

function aFile(text?: string) {
  const file = join(temporaryDirectory(), 'holdings.jsonl')
  if (text !== undefined) writeFileSync(file, text)
  const warnings: string[] = []
  const open = () =>
    openHoldingsFile({
      file,
      nowMs: () => NOW * 1000,
      warn: (message) => warnings.push(message),
    })
  return { file, warnings, open }
}

const line = (each: HoldingsSample): string => `${JSON.stringify(each)}\n`

describe('the holdings file', () => {
  test('is private, and is read again after a restart', async () => {
    const { file, open, warnings } = aFile()
    const first = open()
    for (const at of [NOW - 1_200, NOW - 600]) await first.add(sample(at))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await open().samples()).toEqual([sample(NOW - 1_200), sample(NOW - 600)])
    expect(await first.samples()).toEqual([sample(NOW - 1_200), sample(NOW - 600)])
    expect(warnings).toEqual([])
  })

  test('may be missing without a warning', async () => {
    const { open, warnings } = aFile()
    expect(await open().samples()).toEqual([])
    expect(warnings).toEqual([])
  })

  test('truncated by a crash continues after its last complete line', async () => {
    const { file, open, warnings } = aFile(`${line(sample(NOW - 1_200))}{"at":1800`)
    await open().add(sample(NOW))
    expect(readFileSync(file, 'utf8')).toBe(line(sample(NOW - 1_200)) + line(sample(NOW)))
    appendFileSync(file, '{"at":')
    expect(await open().samples()).toHaveLength(2)
    expect(readFileSync(file, 'utf8').endsWith('}\n')).toBe(true)
    expect(warnings).toEqual([])
  })

  test.each([
    ['plain text', 'what is this\n'],
    ['another shape', '{"at":"now","held":{}}\n'],
    ['text instead of a number', '{"at":5,"valueToken":null,"value":"1","held":{}}\n'],
    ['invalid numbers', '{"at":5,"valueToken":null,"value":null,"held":{"a":"<b>"}}\n'],
    ['a list', '[]\n'],
  ])('with %s is moved aside with a warning, and its valid lines are kept', async (_name, bad) => {
    const { file, open, warnings } = aFile(line(sample(NOW - 600)) + bad)
    expect(await open().samples()).toEqual([sample(NOW - 600)])
    expect(warnings).toEqual([expect.stringMatching(/holdings\.jsonl\.damaged/)])
    expect(readFileSync(`${file}.damaged`, 'utf8')).toContain(bad)
    expect(readFileSync(file, 'utf8')).toBe(line(sample(NOW - 600)))
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('beyond the size limit is moved aside unread', async () => {
    const { open, warnings } = aFile('x'.repeat(17 * 1024 * 1024))
    const file = open()
    expect(await file.samples()).toEqual([])
    await file.add(sample(NOW))
    expect(warnings).toEqual([expect.stringContaining('longer than')])
  })

  test('is thinned once it has grown, even if the page is never opened', async () => {
    const many = every(60, NOW - 40 * DAY, NOW - 60)
    const { file, open } = aFile(many.map(line).join(''))
    const before = statSync(file).size
    await open().add(sample(NOW))
    expect(statSync(file).size).toBeLessThan(before / 10)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('that cannot be written causes one warning and blocks nothing', async () => {
    const { file, open, warnings } = aFile('')
    const broken = open()
    chmodSync(join(file, '..'), 0o500)
    writeFileSync(`${file}`, '')
    const nowhere = openHoldingsFile({
      file: join(file, 'under-a-file'),
      nowMs: () => NOW * 1000,
      warn: (message) => warnings.push(message),
    })
    await nowhere.add(sample(NOW))
    await nowhere.add(sample(NOW + 600))
    expect(warnings).toEqual([expect.stringMatching(/^holdings over time are not recorded: /)])
    await broken.add(sample(NOW))
    chmodSync(join(file, '..'), 0o700)
  })
})

test('holdings are sampled every ten minutes once read, and as null while nothing is read', async () => {
  const dir = temporaryDirectory()
  const clock = { seconds: NOW }
  const valued = valuedAt('5', [held('USDC', '5')])
  const curve = createHoldingsCurve({
    stateDir: dir,
    nowMs: () => clock.seconds * 1000,
    value: () => valued,
    warn: (message) => {
      throw new Error(message)
    },
  })
  const turn = { type: 'open-orders', openPermits: 0, unresolvedIntents: 0 } as const
  const minutes = (count: number, isRead: boolean): void => {
    for (let at = 0; at < count * 60; at += 1) {
      clock.seconds += 1
      curve.observe(turn)
      if (isRead && at % 60 === 0)
        curve.observe({ type: 'portfolio', valueToken: undefined, holdings: [] })
    }
  }
  minutes(30, false)
  expect((await curve.series('day')).atSeconds).toEqual([])
  minutes(121, true)
  const before = (await curve.series('day')).value.length
  minutes(25, false)
  const series = await curve.series('day')
  expect(series.value.slice(before - 2)).toEqual([5, 5, null, null])
  expect(series.tokens[0]?.amounts.slice(before - 2)).toEqual([5, 5, null, null])
  // A clock set back by a day delays sampling by no more than one interval.
  clock.seconds -= DAY
  minutes(11, true)
  expect((await curve.series('day')).atSeconds.length).toBeGreaterThan(0)
})

test('each reading of the first hour is shown, and later ones every ten minutes, as a report reads them', async () => {
  const clock = { seconds: NOW }
  const stateDir = temporaryDirectory()
  const curve = createHoldingsCurve({
    stateDir,
    nowMs: () => clock.seconds * 1000,
    value: () => valuedAt(`${clock.seconds - NOW}`),
    warn: (message) => {
      throw new Error(message)
    },
  })
  const readings = (count: number): void => {
    for (let at = 0; at < count; at += 1) {
      curve.observe({ type: 'portfolio', valueToken: undefined, holdings: [] })
      curve.observe({ type: 'open-orders', openPermits: 0, unresolvedIntents: 0 })
      clock.seconds += 60
    }
  }
  readings(5)
  expect((await curve.series('day')).value).toEqual([0, 60, 120, 180, 240])
  expect((await curve.series('week')).value).toEqual([0])
  readings(180)
  const { value } = await curve.series('day')
  expect(value.length).toBe(61 + 12)
  const read = await readHoldings(join(stateDir, HOLDINGS_FILE))
  expect(read.map((each) => each.value)).toEqual(value)
  expect((await seriesAfterRestart(stateDir, clock.seconds)).value).toEqual(value)
})

function valuedAt(totalValue: string | null, holdings: Valued['holdings'] = []): Valued {
  return { valueToken: 'USDC', totalValue, holdings, readAtMs: null }
}

/** The page of a daemon that starts again. */
function seriesAfterRestart(stateDir: string, nowSeconds: number) {
  const warn = (message: string) => {
    throw new Error(message)
  }
  const input = { stateDir, nowMs: () => nowSeconds * 1000, value: () => valuedAt(null), warn }
  return createHoldingsCurve(input).series('day')
}

function held(token: string, amount: string | null): Valued['holdings'][number] {
  return { token, amount, value: null, pricedAtMs: null }
}
