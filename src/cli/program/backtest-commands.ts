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
    .option('--from <when>', 'begin of the period: a day such as 2025-01-01, UTC', moment)
    .option('--to <when>', 'its end; now where it is left out', moment)
    .option(
      '--balance <token=amount>',
      'what the wallet holds at the beginning; may be repeated',
      collected,
    )
    .option(
      '--prices <dir>',
      "directory with a CSV file of each feed, or `journal`: what one's own daemon saw",
    )
    .option('--market <seed>', 'a random market instead of past prices')
    .option('--volatility <percent>', "of a random market's year", percentage)
    .option(
      '--start <token=price>',
      'price that a random market begins with; may be repeated',
      collected,
    )
    .addOption(
      new Option('--model <name>', 'where what is assumed of fills comes from').choices([
        'default',
        'from-journal',
      ]),
    )
    .option('--spread <bps>', "what a swap costs against the feed's price", points)
    .option('--fee <bps>', 'what the service takes on top', points)
    .option('--depth <value>', 'value of an order that moves the price by 1%')
    .option('--failure-rate <percent>', 'orders that come to nothing', percentage)
    .option('--latency <duration>', 'from the signature to the fill', duration)
    .option('--wrap-gas <ether>', 'gas of a wrapping or unwrapping')
    .option('--call-charge <ether>', 'what the GasTank is charged for a call')
    .option('--gas-tank <ether>', 'its funds at the beginning; no end of them where it is left out')
    .option('--seed <text>', 'another one lets other orders fail')
    .option('--html <file>', 'write the report as one page, which opens in any browser')
    .option('--force', 'let --html replace a file that is no report')
    .option('--no-vary', 'do not run it again with other assumptions')
    .option(
      '--expect <condition>',
      "such as 'drawdown<30%': exit code 1 where it does not hold; may be repeated",
      collected,
    )
    .option(
      '--sweep <key=values>',
      "play every value of a field of a file: 'band=1%..10%:1%' or 'amount=10,25'; may be repeated",
      collected,
    )
    .option(
      '--walk-forward [parts]',
      'choose the best of the sweep in each part of the period, and try it in the next; 4 parts',
      parts,
    )
    .addOption(
      new Option('--best-by <figure>', 'what the best of a sweep is the best by')
        .choices(['return', 'drawdown'])
        .default('return'),
    )
    .option('--jobs <n>', 'backtests of a sweep at once; as many as there are processors', count)
    .action(async (strategies, options) =>
      does((await load.backtest()).runBacktest(strategies, options, io, Date.now())),
    )
  configured(command.command('fetch').argument('[pair...]'))
    .description('read past prices of the feeds from their chains, into files for --prices')
    .option('--from <when>', 'begin of the period: a day such as 2025-01-01, UTC', moment)
    .option('--to <when>', 'its end; now where it is left out', moment)
    .option('--prices <dir>', 'directory for a CSV file of each feed', 'prices')
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
