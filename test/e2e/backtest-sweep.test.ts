import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { BacktestData } from '../../src/cli/json/backtest-outputs.ts'
import { failureOf, outputOf } from '../support/output-of.ts'
import { ROOT, run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { type StrategyFiles, writeStrategies } from './rehearsal.ts'

const REBALANCE = {
  name: 'halves',
  kind: 'rebalance',
  schedule: { cron: '*/5 * * * *' },
  targets: { WETH: '50%', USDC: '50%' },
  quote: 'USDC',
  band: '5%',
  minTrade: '20',
  limits: { perDay: { USDC: '100000', WETH: '40' } },
}
const PERIOD = ['--from', '2025-01-01', '--to', '2025-01-09', '--balance', 'USDC=10000']
const PLAYED = [...PERIOD, '--market', '7', '--volatility', '150', '--no-vary', '--json']

/** A folder with a config, strategies and a separate cache. */
function folder(files: StrategyFiles) {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  const config = readFileSync(join(ROOT, 'config/sandbox.yaml'), 'utf8')
  writeFileSync(join(dir, 'config/sandbox.yaml'), config)
  writeStrategies(join(dir, 'strategies/sandbox'), files)
  const options = { cwd: dir, env: { XDG_CACHE_HOME: join(dir, 'cache') } }
  const flags = ['backtest', ...PLAYED]
  return {
    dir,
    kept: (): readonly string[] => readdirSync(join(dir, 'cache/tranched/sweeps')),
    play: (more: readonly string[]) => run([...flags, ...more], options),
    begin: (more: readonly string[]) => start([...flags, ...more], options),
  }
}

function sweepOf(stdout: string): NonNullable<BacktestData['sweep']> {
  const { sweep } = outputOf<BacktestData>('backtest', stdout)
  if (sweep === null) throw new Error('there is no sweep')
  return sweep
}

test('a sweep point equals a backtest of the file with its values, and a killed sweep resumes', async () => {
  const { dir, play, begin, kept } = folder({ halves: REBALANCE })
  const swept = ['--sweep', 'band=1%..5%:1%', '--sweep', 'minTrade=5..40:5', '--walk-forward', '2']
  const killed = begin(swept)
  await killed.sees(
    /sweep: 81 backtests, on \d+ threads?; if it is stopped, the same command continues/,
  )
  const lines = (): number => {
    const [name = ''] = kept()
    return readFileSync(join(dir, 'cache/tranched/sweeps', name), 'utf8').split('\n').length
  }
  await waitFor('more than 10 lines', lines, (count) => count > 10)
  await killed.killHard()

  const again = await play(swept)
  expect(again.code).toBe(0)
  const [, known] = /81 backtests, (\d+) of them already played/.exec(again.stderr) ?? []
  expect(Number(known)).toBeGreaterThanOrEqual(9)
  expect(kept()).toEqual([])
  const sweep = sweepOf(again.stdout)
  expect(sweepOf((await play([...swept, '--jobs', '1'])).stdout)).toEqual(sweep)

  expect(sweep.points.length).toBe(40)
  expect(new Set(sweep.points.map(({ returnPercent }) => returnPercent)).size).toBeGreaterThan(3)
  const point = sweep.points.find(({ values }) => values.join() === '2%,15')
  const changed = { ...REBALANCE, band: '2%', minTrade: '15' }
  writeFileSync(join(dir, 'strategies/sandbox/halves.yaml'), stringify(changed))
  const { figures } = outputOf<BacktestData>('backtest', (await play([])).stdout)
  expect(figures).toMatchObject({ returnPercent: point?.returnPercent })
  expect(figures?.drawdown.percent).toBe(point?.drawdownPercent)

  const [first] = sweep.walkForward?.folds ?? []
  const half = ['--from', '2025-01-01', '--to', '2025-01-04T23:59:59']
  const best = { ...REBALANCE, band: first?.values[0], minTrade: first?.values[1] }
  writeFileSync(join(dir, 'strategies/sandbox/halves.yaml'), stringify(best))
  const halved = outputOf<BacktestData>('backtest', (await play(half)).stdout)
  expect(halved.figures?.returnPercent).toBe(first?.searchReturnPercent)
})

test('a sweep varies the params of a module, leaves other files alone, and leaves no process behind', async () => {
  const custom = {
    name: 'average',
    kind: 'custom',
    schedule: { cron: '0 * * * *' },
    module: join(ROOT, 'strategies/modules/buy-below-average.mjs'),
    tokens: ['USDC', 'WETH'],
    params: { spend: '10', discount: '0', samples: '3' },
    limits: { perDay: { USDC: '1000000' } },
  }
  const { play } = folder({ halves: REBALANCE, average: custom })
  const { stdout, stderr, code } = await play(['average', '--sweep', 'params.spend=10,20,40'])
  expect([code, stderr]).toEqual([0, expect.stringContaining('3 backtests')])
  const { points } = sweepOf(stdout)
  expect(points.map(({ fills }) => fills > 10)).toEqual([true, true, true])
  expect(new Set(points.map(({ returnPercent }) => returnPercent)).size).toBe(3)
})

test('a sweep rejects invalid values before it replays anything', async () => {
  const { play } = folder({ halves: REBALANCE })
  const out = await play(['--sweep', 'band=1%,90%'])
  expect(out.code).toBe(78)
  expect(JSON.parse(out.stdout)).toMatchObject({
    ok: false,
    problems: [
      { file: '--sweep band=90%', path: 'band', message: 'this percentage is out of range' },
    ],
  })
  for (const [flags, message] of [
    [['--sweep', 'band=1%,2%', '--sweep', 'halves.band=3%'], 'halves.band is given twice'],
    [['--walk-forward'], 'there is no sweep to choose from'],
    [['--sweep', 'band=1%..50%:0.1%', '--sweep', 'minTrade=1..900:1'], '441900 combinations'],
  ] as const)
    expect(failureOf((await play(flags)).stdout).message).toContain(message)
})
