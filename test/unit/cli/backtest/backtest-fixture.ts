import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runBacktest } from '../../../../src/cli/commands/backtest/backtest.ts'
import type { BacktestOptions } from '../../../../src/cli/commands/backtest/flags.ts'
import type { BacktestData } from '../../../../src/cli/json/backtest-outputs.ts'
import { outputOf } from '../../../support/output-of.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { CONFIG, edit } from '../../config/config-fixture.ts'
import { type Printed, printed } from '../reading-fixture.ts'

export const HOUR = 3_600
export const FROM_SECONDS = Date.UTC(2025, 0, 1) / 1000

/** Unix seconds of an hour within the period. */
export const hour = (count: number): number => FROM_SECONDS + count * HOUR

const STRATEGY = `name: hourly
kind: dca
schedule: { cron: "0 * * * *" }
sell: USDC
buy: WETH
amount: "25"
`

/** A folder with an hourly purchase of WETH, the given price files, and a backtest over the first hours of 2025 plus one minute. */
export function aFolder(files: Readonly<Record<string, string>>, hours = 5) {
  const dir = temporaryDirectory()
  for (const name of ['strategies', 'prices']) mkdirSync(join(dir, name), { recursive: true })
  const config = join(dir, 'config.yaml')
  const text = edit(CONFIG, 'DAI/WETH', 'DAI/USDC')
  writeFileSync(config, `stateDir: ./state\nstrategiesDir: ./strategies\n${text}`)
  writeFileSync(join(dir, 'strategies/hourly.yaml'), STRATEGY)
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, 'prices', name), content)
  const prices = join(dir, 'prices')
  const options: BacktestOptions = {
    ...{ config, prices, balance: ['USDC=1000'], vary: false, keys: false },
    ...{ from: FROM_SECONDS * 1000, to: hour(hours) * 1000 + 60_000 },
  }
  const type = (more: Partial<BacktestOptions> = {}): Promise<Printed> =>
    printed((io) => runBacktest([], { ...options, ...more }, io, 0), { json: more.json === true })
  return {
    dir,
    prices,
    type,
    async report(more: Partial<BacktestOptions> = {}): Promise<BacktestData> {
      const { stdout } = await type({ ...more, json: true })
      return outputOf<BacktestData>('backtest', stdout)
    },
  }
}

/** Counts of slot outcomes by reason. */
export function outcomesOf({ strategies }: BacktestData): Readonly<Record<string, number>> {
  const outcomes = strategies.flatMap((each) => each.outcomes)
  return Object.fromEntries(outcomes.map(({ reason, count }) => [reason, count]))
}

/** A price file with one row per given hour. */
export function hoursOf(prices: readonly (readonly [hour: number, price: number])[]): string {
  const rows = prices.map(([at, price]) => `${hour(at)},${price}`)
  return `time,price\n${rows.join('\n')}\n`
}
