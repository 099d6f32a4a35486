import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { BacktestData, ReplayData } from '../../src/cli/json/backtest-outputs.ts'
import { outputOf } from '../support/output-of.ts'
import { ROOT, type Running, run, start } from '../support/process/cli.ts'
import { eventsIn, temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { all } from './audit.ts'
import { LEASH, metricsOf, type StrategyFiles, writeStrategies } from './rehearsal.ts'

/** The number of strategies of each kind, each with one slot a second: two thousand decisions in half a minute. */
const COPIES = 10
const SLOTS_MIN = 2_000
const REASONS = [
  'filled',
  'not-triggered',
  'limit-per-hour',
  'cooldown',
  'paused',
  'module-skipped',
] as const

const everySecond = { cron: '* * * * * *', missed: 'latest', maxLateness: '30s' }
const buying = { schedule: everySecond, sell: 'USDC', buy: 'WETH' }
const selling = { schedule: everySecond, sell: 'WETH', buy: 'USDC' }

/** Strategies with small caps, so that most slots trade nothing, for various reasons. */
function filesOf(copy: number): StrategyFiles {
  const strategies: readonly { readonly name: string; readonly [key: string]: unknown }[] = [
    {
      ...{ name: `dips-${copy}`, kind: 'dca', ...buying, amount: '2', dipWindow: '1h' },
      dip: [
        { drop: '0.1%', amount: '3' },
        { drop: '0.02%', amount: '2.5' },
      ],
      limits: { perHour: '8' },
    },
    {
      ...{ name: `exact-${copy}`, kind: 'dca', ...buying, buyAmount: '0.001' },
      limits: { perDay: '100', cooldown: '9s' },
    },
    {
      ...{ name: `ladder-${copy}`, kind: 'threshold', ...selling, rearm: '0.01%' },
      ladder: [
        { above: `${3000 + copy}`, amount: '0.001' },
        { above: `${3003 + copy}`, amount: '0.002' },
        { trailing: '0.05%', amount: '0.001' },
      ],
      limits: { perDay: '0.01' },
    },
    {
      ...{ name: `gains-${copy}`, kind: 'threshold', ...selling, entryOf: `dips-${copy}` },
      ...{ takeProfit: '0.01%', amount: '30%', limits: { perDay: '1' } },
    },
    {
      ...{ name: `custom-${copy}`, kind: 'custom', schedule: everySecond },
      module: join(ROOT, 'strategies/modules/buy-below-average.mjs'),
      tokens: ['USDC', 'WETH'],
      params: { spend: '5', discount: '0', samples: '3' },
      limits: { perHour: { USDC: '15' } },
    },
  ]
  return Object.fromEntries(strategies.map((strategy) => [strategy.name, strategy]))
}

/** One strategy of each kind from the sandbox examples, unchanged. */
function examples(): StrategyFiles {
  return Object.fromEntries(
    ['twap', 'rebalance', 'call'].map((name) => [
      name,
      readFileSync(join(ROOT, `strategies/sandbox/${name}.yaml`), 'utf8'),
    ]),
  )
}

test('a replay of the journal repeats over two thousand slot decisions', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  copyFileSync(join(ROOT, 'config/sandbox.yaml'), join(dir, 'config/sandbox.yaml'))
  const copies = Array.from({ length: COPIES }, (_, copy) => filesOf(copy))
  writeStrategies(join(dir, 'strategies/sandbox'), Object.assign(examples(), ...copies))
  const daemon = start(['run', '--http-port', '0', ...LEASH], { cwd: dir })
  await daemon.sees(/filled dips-0/)
  for (const line of ['pause dips-1', 'pause ladder-2', 'resume dips-1'])
    expect(
      await run([...line.split(' '), '--config', 'config/sandbox.yaml'], { cwd: dir }),
    ).toMatchObject({ code: 0 })
  await daemon.sees(/executed call/)
  const decided = () => decidedBy(daemon)
  await waitFor(`more than ${SLOTS_MIN} decided slots`, decided, (count) => count > SLOTS_MIN)
  expect((await daemon.stop()).code).toBe(0)
  expect([...(await reasonsIn(dir))]).toEqual(expect.arrayContaining([...REASONS]))

  const { code, stdout } = await run(['backtest', 'replay', '--json'], { cwd: dir })
  const data = outputOf<ReplayData>('backtest replay', stdout)
  expect(data.differences).toEqual([])
  expect([code, data.ok, data.others]).toEqual([0, true, 0])
  expect(data.strategies.length).toBe(COPIES * 5 + 3)
  expect(sumOf(data)).toBeGreaterThan(SLOTS_MIN)

  const line =
    'backtest dips-0 --from 2026-01-01 --to 2026-01-01T01:00 --balance USDC=1000 --market 7'
  const modelled = await run(
    [...line.split(' '), '--no-vary', '--model', 'from-journal', '--json'],
    {
      cwd: dir,
    },
  )
  const { model, notes } = outputOf<BacktestData>('backtest', modelled.stdout)
  expect(model).toMatchObject({ source: 'journal', failurePercent: 0 })
  expect(model.validSeconds).toBeGreaterThan(30)
  expect(notes.join()).toMatch(/From \d\d+ fills and \d+ calls of the journal: spread, fee, /)

  const file = join(dir, 'strategies/sandbox/exact-3.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('cooldown: 9s', 'cooldown: 1h'))
  const other = await run(['backtest', 'replay', 'exact-3'], { cwd: dir })
  expect(other.code).toBe(1)
  expect(other.stdout).toMatch(/DIFFERS {2}exact-3:\d+\n {2}was {4}opened .*\n {2}is {5}skipped/)
})

function sumOf({ strategies }: ReplayData): number {
  return strategies.reduce((sum, { slots }) => sum + slots, 0)
}

/** Slots that a running daemon has decided and closed, from its metrics. */
async function decidedBy(daemon: Running): Promise<number> {
  const closed = [...(await metricsOf(daemon))].filter(
    ([name]) => name.startsWith('tranched_slots_total{') && !name.includes('outcome="missed"'),
  )
  return closed.reduce((sum, [, count]) => sum + count, 0)
}

async function reasonsIn(dir: string): Promise<ReadonlySet<string>> {
  const events = await eventsIn(join(dir, 'data/sandbox'))
  return new Set(all(events, 'slot-closed').map(({ reason }) => reason))
}
