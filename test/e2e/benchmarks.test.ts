import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'

// Figures of so short a run mean nothing. What counts is that each program still runs, and that its books balance: it
// throws by itself when an order, a fill or a record is missing.

/** What a benchmark prints with `--json`. */
async function bench(name: string, ...args: readonly string[]) {
  const program = join(ROOT, `bench/${name}/main.mjs`)
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--json', ...args], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  })
  return JSON.parse(stdout)
}

test.each([
  ['lean', { orders: '20', placed: (20 + 5) * 3 * 2, more: [] }],
  ['sandbox', { orders: '16', placed: (16 + 4) * 3, more: ['--only', 'throughput'] }],
])(
  'orders: each order of the daemon and of both scripts is filled once by the %s service',
  async (service, { orders, placed, more }) => {
    const args = ['--rounds', '1', '--orders', orders, '--service', service, ...more]
    const result = await bench('orders', ...args)
    expect(result.books).toMatchObject({ placed, orders: placed })
    for (const { over, runs } of result.results) {
      expect(over.map(({ peer }: { peer: string }) => peer)).toEqual(['script', 'cautious script'])
      for (const { ratio } of over) expect(ratio).toBeGreaterThan(0)
      expect(runs.daemon[0].records).toBeGreaterThan(6 * Number(orders))
    }
  },
)

test('startup: the first job is begun after each start', async () => {
  const { ratios, times } = await bench('startup', '--rounds', '1')
  expect(times.firstJob).toHaveLength(1)
  expect(ratios.firstJob).toBeGreaterThan(ratios.version)
})

test('journal: what was appended is read again from the disk', async () => {
  const args = ['--rounds', '1', '--transitions', '50', '--many', '600']
  const { ratios } = await bench('journal', ...args)
  expect(ratios.p50).toBeGreaterThan(0)
})

test('page: every look at a long past and at a short one says something', async () => {
  const { looks } = await bench('page', '--rounds', '1', '--strategies', '20', '--fills', '2000')
  expect(looks.length).toBeGreaterThan(5)
  for (const { fewMs, manyMs } of looks) expect(Math.min(fewMs, manyMs)).toBeGreaterThan(0)
})

test('prices: every row of a file is read, of a long one as of a short one', async () => {
  const { results } = await bench('prices', '--rounds', '1', '--rows', '20000')
  for (const form of ['plain', 'bars']) {
    expect(results[form].rowsPerSecond).toBeGreaterThan(0)
    expect(results[form].pieceMax).toBeLessThan(20_000)
  }
})

test('memory: daemons with one strategy and with a hundred start, and stay idle', async () => {
  const { one, many, ratio } = await bench(
    'memory',
    '--rounds',
    '1',
    '--idle',
    '1',
    '--many',
    '100',
  )
  expect(one).toBeGreaterThan(30)
  expect(many / one).toBe(ratio)
})

test('backtest: every side comes to the same', async () => {
  const { threshold, dca, year, memory } = await bench(
    ...['backtest', '--rounds', '1', '--bars', '40000', '--plays', '1', '--swing', '997'],
  )
  expect(threshold.fills).toBeGreaterThan(100)
  expect(dca.fills).toBeGreaterThan(5)
  for (const figure of [threshold.ratio, dca.ratio, year.seconds]) expect(figure).toBeGreaterThan(0)
  expect(memory).toHaveLength(3)
})
