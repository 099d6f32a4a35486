import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { BacktestData, FetchData } from '../../src/cli/json/backtest-outputs.ts'
import { formatAmount } from '../../src/domain/money/units.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { all } from './audit.ts'
import { adminCall, everySecond, startRehearsal } from './rehearsal.ts'

test('a backtest replays the prices fetched from the chain, across phases and while feeds go on', async () => {
  const { dir, config, report } = await startRehearsal(everySecond('buy-weth'))
  const prices = join(dir, 'prices')
  const at = ['--config', config, '--prices', prices, '--json']
  const fetch = async (): Promise<FetchData> => {
    const { code, stdout, stderr } = await run(
      ['backtest', 'fetch', '--from', '2020-01-01', ...at],
      { cwd: dir },
    )
    expect([code, stderr]).toEqual([0, ''])
    return outputOf<FetchData>('backtest fetch', stdout)
  }
  const { feeds } = await fetch()
  expect(feeds.map(({ pair }) => pair)).toContain('WETH/DAI')
  for (const { end, added, file } of feeds) {
    expect([end, added > 0]).toEqual(['whole', true])
    expect(readFileSync(file, 'utf8')).toMatch(/^# rounds of a feed: chain \d+, feed 0x/)
  }
  const feed = /feed (0x\w+)/.exec(readFileSync(join(prices, 'WETH-USDC.csv'), 'utf8'))?.[1]
  await adminCall(report, 'POST', '/feed/phase', { feed })
  const now = Math.floor(Date.now() / 1_000)
  const inAYear = { answer: '1', startedAt: now, updatedAt: now + 365 * 86_400 }
  await adminCall(report, 'PUT', '/feed', { feed, ...inAYear })
  const rounds = (): readonly number[] =>
    readFileSync(join(prices, 'WETH-USDC.csv'), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((line) => Number(line.split(',')[0]))
  const before = rounds().length
  const count = () => fetch().then(() => rounds().length)
  await waitFor('three rounds more', count, (rounds) => rounds > before + 2)
  expect(Math.max(...rounds())).toBeLessThan(now + 120)
  const [first = 0, last = 0] = [rounds()[0], rounds().at(-1)]
  const period = ['--from', momentOf(first), '--to', momentOf(last)]
  const line = ['backtest', ...period, '--balance', 'USDC=10000', '--latency', '0s', ...at]
  const { code, stdout } = await run(line, { cwd: dir })
  const played = outputOf<BacktestData>('backtest', stdout)
  expect(code).toBe(0)
  expect(played.prices).toContainEqual({
    ...{ pair: 'WETH/USDC', source: join(prices, 'WETH-USDC.csv') },
    rounds: rounds().length,
  })
  expect(played.strategies[0]).toMatchObject({ name: 'buy-weth', slots: last - first + 1 })
  expect(played.strategies[0]?.filled).toBeGreaterThan(0)
})

test("a daemon's journal has the chain's prices and can be replayed by itself", async () => {
  const { dir, config, stateDir, daemon } = await startRehearsal(everySecond('buy-weth'))
  const running = daemon()
  await running.sees(/filled buy-weth[\s\S]*filled buy-weth[\s\S]*filled buy-weth/)
  expect((await running.stop()).code).toBe(0)
  const at = ['--config', config, '--json']
  const fetching = ['backtest', 'fetch', 'WETH/USDC', '--from', '2020-01-01', ...at]
  expect((await run(fetching, { cwd: dir })).code).toBe(0)
  const lines = readFileSync(join(dir, 'prices/WETH-USDC.csv'), 'utf8').split('\n')
  const opened = all(await eventsIn(stateDir), 'slot-opened')
  expect(opened.length).toBeGreaterThan(2)
  for (const { inputs } of opened) {
    const price = inputs?.prices['USDC/WETH'] ?? { refused: 'nothing' }
    if ('refused' in price) return expect.unreachable(price.refused)
    const answer = formatAmount((price.num * 10n ** 20n) / price.den, 8)
    const line = lines.find((each) => each.startsWith(`${price.updatedAtSeconds},`))
    expect(line).toMatch(`${price.updatedAtSeconds},${answer},`)
  }
  const [from, to] = [opened[0], opened.at(-1)].map((event) => event?.slotSeconds ?? 0)
  const period = ['--from', momentOf(from), '--to', momentOf(to)]
  const line = ['backtest', ...period, '--balance', 'USDC=10000', '--latency', '0s', ...at]
  const { stdout } = await run([...line, '--prices', 'journal'], { cwd: dir })
  const { prices, strategies } = outputOf<BacktestData>('backtest', stdout)
  expect(prices).toMatchObject([{ pair: 'WETH/USDC', source: expect.stringContaining(stateDir) }])
  expect(strategies[0]?.filled).toBeGreaterThan(0)
})

function momentOf(seconds = 0): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '')
}
