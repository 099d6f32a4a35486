import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'

// Figures of so short a run mean nothing. The tests check that each program still runs and that its records add up: it
// throws by itself when an order, a fill or a record is missing.

/** The JSON that a benchmark prints with `--json`; without a name, that of the table of all. */
async function bench(name: string, ...args: readonly string[]) {
  const program = join(ROOT, 'bench', name, 'main.mjs')
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
  'orders: the %s service fills each order of the daemon and of both scripts once',
  async (service, { orders, placed, more }) => {
    const args = ['--rounds', '1', '--orders', orders, '--service', service, ...more]
    const result = await bench('orders', ...args)
    expect(result.totals).toMatchObject({ placed, orders: placed })
    for (const { over, runs } of result.results) {
      expect(over.map(({ peer }: { peer: string }) => peer)).toEqual(['script', 'cautious script'])
      for (const { ratio } of over) expect(ratio).toBeGreaterThan(0)
      expect(runs.daemon[0].records).toBeGreaterThan(6 * Number(orders))
    }
  },
)

test('startup: the first job begins after each start, and the table has its figures', async () => {
  const { rows } = await bench('', '--only', 'startup', '--rounds', '1')
  const commands = ['--version', 'halt', 'status'].map((name) => `\`tranched ${name}\`, CPU`)
  expect(rows.map(({ measure }: { measure: string }) => measure)).toEqual([
    'start to first job',
    ...commands,
  ])
  for (const { measure, figure, range, goal, floor } of rows) {
    expect(figure, measure).toBeGreaterThan(0)
    expect(range).toEqual([figure, figure])
    expect(goal).toBeLessThanOrEqual(floor)
  }
})

test('journal: appended records are read back from the disk', async () => {
  const args = ['--rounds', '1', '--transitions', '50', '--many', '600']
  const { ratios } = await bench('journal', ...args)
  expect(ratios.p50).toBeGreaterThan(0)
})

test('long: commands read a journal and its end, in a long one as in a short one', async () => {
  const { results } = await bench('long', '--rounds', '1', '--records', '9000', '--few', '600')
  expect(results.length).toBeGreaterThan(7)
  for (const { seconds, fewSeconds } of results)
    expect(Math.min(seconds, fewSeconds)).toBeGreaterThan(0)
})

test('page: every reading of a long past and of a short one answers with content', async () => {
  const { readings } = await bench('page', '--rounds', '1', '--strategies', '20', '--fills', '2000')
  expect(readings.length).toBeGreaterThan(5)
  for (const { fewMs, manyMs } of readings) expect(Math.min(fewMs, manyMs)).toBeGreaterThan(0)
})

test('prices: every row of a file is read, in a long file as in a short one', async () => {
  const { results } = await bench('prices', '--rounds', '1', '--rows', '20000')
  for (const form of ['plain', 'bars']) {
    expect(results[form].rowsPerSecond).toBeGreaterThan(0)
    expect(results[form].pieceMax).toBeLessThan(20_000)
  }
})

test('memory: daemons with one strategy and with a hundred start and stay idle', async () => {
  const { one, many, ratio, after } = await bench(
    ...['memory', '--rounds', '1', '--idle', '1', '--many', '100', '--orders', '50'],
  )
  expect(one).toBeGreaterThan(30)
  expect(many / one).toBe(ratio)
  expect(after).toMatchObject({ orders: 50, warmup: 5 })
})

test('backtest: all sides reach the same result, and every slot and trade is counted', async () => {
  const { threshold, dca, trade, slots, sweep, year, memory } = await bench(
    ...['backtest', '--rounds', '1', '--bars', '40000', '--plays', '1', '--swing', '997'],
    ...['--trades', '2000', '--sweep', '4000'],
  )
  expect(threshold.fills).toBeGreaterThan(100)
  expect(dca.fills).toBeGreaterThan(5)
  const micros = [trade, slots.bounds, slots.band, slots.dips].map((each) => each.micros)
  const figures = [threshold.ratio, dca.ratio, year.seconds, sweep.seconds, sweep.mebibytes]
  for (const figure of [...figures, ...micros]) expect(figure).toBeGreaterThan(0)
  expect(memory).toHaveLength(3)
})

test('many: each slot of many strategies is decided once, and a stall loses none', async () => {
  const args = ['--rounds', '1', '--strategies', '20', '--bursts', '1', '--every', '1']
  const { runs, lost } = await bench('many', ...args, '--stall', '1')
  expect(runs.daemon[0].decisions).toBeGreaterThanOrEqual(20)
  expect(lost.daemon).toBe(0)
  expect(runs.daemon[0].series).toBeGreaterThan(20 * 8)
  expect(runs.nodeCron[0].decisions).toBeGreaterThan(0)
})
