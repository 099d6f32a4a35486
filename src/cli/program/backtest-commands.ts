import { Option } from 'commander'
import { count, duration, moment, parts, percentage, points } from '../arguments.ts'
import { configured, load, type Program } from './program.ts'

const collected = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
]

export function addBacktest({ root, io, does }: Program): void {
  const command = configured(root.command('backtest').argument('[strategy...]'))
    .enablePositionalOptions()
    .description('run strategy files over past prices, and report the result')
    .option('--from <when>', 'start of the period: a day such as 2025-01-01, UTC', moment)
    .option('--to <when>', 'end of the period; default: now', moment)
    .option('--balance <token=amount>', 'starting balance; may be repeated', collected)
    .option(
      '--prices <dir>',
      'directory with a CSV file per feed, or `journal` for the prices that your daemon saw',
    )
    .option('--market <seed>', 'a random market instead of past prices')
    .option('--volatility <percent>', 'yearly volatility of a random market', percentage)
    .option(
      '--start <token=price>',
      'starting price of a random market; may be repeated',
      collected,
    )
    .addOption(
      new Option('--model <name>', 'source of the assumptions about fills').choices([
        'default',
        'from-journal',
      ]),
    )
    .option('--spread <bps>', "cost of a swap against the feed's price", points)
    .option('--fee <bps>', 'fee of the service on top', points)
    .option('--depth <value>', 'value of an order that moves the price by 1%')
    .option('--failure-rate <percent>', 'share of orders that fail', percentage)
    .option('--latency <duration>', 'time from the signature to the fill', duration)
    .option('--wrap-gas <ether>', 'gas of a wrap or unwrap')
    .option('--call-charge <ether>', 'charge to the GasTank per call')
    .option('--gas-tank <ether>', 'starting balance of the GasTank; default: unlimited')
    .option('--seed <text>', 'seed that decides which orders fail')
    .option('--html <file>', 'write the report as one HTML page')
    .option('--force', 'let --html replace a file that is not a report')
    .option('--no-vary', 'do not repeat it with other assumptions')
    .option(
      '--expect <condition>',
      "exit with code 1 unless this holds, such as 'drawdown<30%'; may be repeated",
      collected,
    )
    .option(
      '--sweep <key=values>',
      "test each value of a strategy field: 'band=1%..10%:1%' or 'amount=10,25'; may be repeated",
      collected,
    )
    .option(
      '--walk-forward [parts]',
      'choose the best of the sweep in each part of the period, and try it in the next; default: 4 parts',
      parts,
    )
    .addOption(
      new Option('--best-by <figure>', 'figure that ranks a sweep')
        .choices(['return', 'drawdown'])
        .default('return'),
    )
    .option('--jobs <n>', 'parallel backtests of a sweep; default: the number of processors', count)
    .action(async (strategies, options) =>
      does((await load.backtest()).runBacktest(strategies, options, io, Date.now())),
    )
  configured(command.command('fetch').argument('[pair...]'))
    .description('read past prices of the feeds from their chains, into files for --prices')
    .option('--from <when>', 'start of the period: a day such as 2025-01-01, UTC', moment)
    .option('--to <when>', 'end of the period; default: now', moment)
    .option('--prices <dir>', 'directory for a CSV file per feed', 'prices')
    .action(async (pairs, options) =>
      does((await load.fetch()).runFetch(pairs, options, io, Date.now())),
    )
  configured(command.command('replay').argument('[strategy...]'))
    .description(
      "repeat the journal's decisions from their recorded prices and balances, and compare the results",
    )
    .action(async (strategies, options) =>
      does((await load.replay()).runReplay(strategies, options, io)),
    )
}
