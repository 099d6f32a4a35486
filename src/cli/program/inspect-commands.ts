import { Option } from 'commander'
import { count, moment, since } from '../arguments.ts'
import { configured, load, type Program } from './program.ts'

const nowSeconds = () => Math.floor(Date.now() / 1000)

export function addInspecting({ root, io, does }: Program): void {
  configured(root.command('validate'))
    .description('check the config, its keys and every strategy file')
    .option('--no-keys', 'skip the keys, on a machine that has none')
    .action(async (options) => does((await load.validate()).validate(options, io, nowSeconds())))
  configured(root.command('doctor'))
    .description(
      'check keys, files, chains, services and disk, and print a remedy for each fault; works beside a daemon',
    )
    .action(async (options) => does((await load.doctor()).doctor(options, io, nowSeconds())))
  configured(root.command('status'))
    .description('show the running daemon, open orders and when each strategy is next due')
    .action(async (options) => does((await load.status()).status(options, io, Date.now())))
  root
    .command('ps')
    .description(
      'list running daemons, each with its state, config, wallet and whether it is halted',
    )
    .option('--json', 'print data')
    .action(async (options) => does((await load.ps()).ps(options, io, Date.now())))
  configured(root.command('plan').argument('[strategy]'))
    .description('show next slots, what each strategy would do now, and the most that it may spend')
    .option('--slots <n>', 'slots to show per strategy', count, 3)
    .option('--utc', "times in UTC instead of each schedule's own zone")
    .option('--costs', 'show the expected cost of an order and of a month; may request quotes')
    .action(async (strategy, options) =>
      does((await load.plan()).plan(strategy, options, io, Date.now())),
    )
  configured(root.command('quote').argument('[strategy]'))
    .description('request a quote and compare it with the feeds; signs nothing')
    .option('--sell <token>', 'token to sell, instead of a strategy')
    .option('--buy <token>', 'token to buy')
    .option('--amount <amount>', 'amount to sell')
    .action(async (strategy, options) => does((await load.quote()).quote(strategy, options, io)))
  configured(root.command('history'))
    .description('show slots and their outcomes, oldest first')
    .option('--strategy <name>', 'only this strategy')
    .option('--limit <n>', 'number of newest slots to show', count, 50)
    .action(async (options) => does((await load.history()).history(options, io)))
  configured(root.command('why'))
    .argument('<slot>', 'STRATEGY:EPOCH_SECONDS, as history shows it, or STRATEGY for its last')
    .description('explain what happened to one slot, and why')
    .option('--raw', "print the journal's records instead")
    .action(async (slot, options) => does((await load.why()).why(slot, options, io, Date.now())))
}

const BY = ['day', 'week', 'month', 'strategy', 'token'] as const
const SINCE = [
  '--since <when>',
  'start: a day such as 2026-01-31, or a duration such as 30d',
  since,
] as const
const FORMATS = ['csv', 'jsonl', 'koinly', 'cointracking'] as const

export function addMoney({ root, io, does }: Program): void {
  configured(root.command('report'))
    .description('show fills, prices, costs, holdings and their cost, profit and caps')
    .addOption(new Option('--by <group>', 'print one line per group').choices(BY))
    .option(...SINCE)
    .option('--timezone <name>', 'time zone of days, weeks and months', 'UTC')
    .option('--csv', 'print CSV for a spreadsheet')
    .option(
      '--against-backtest',
      'play the same days again and show how live slots and fills differ',
    )
    .action(async (options) => does((await load.report()).report(options, io, Date.now())))
  configured(root.command('export'))
    .description('print every fill, call and cost, one per line, for other programs')
    .addOption(
      new Option('--format <name>', 'format that the other program reads')
        .choices(FORMATS)
        .default('csv'),
    )
    .option(...SINCE)
    .option('--until <day>', 'end: the first day that is left out, such as 2027-01-01', moment)
    .option('--paper', 'include paper fills (dry-run) in the formats of tax programs')
    .action(async (options) => does((await load.export()).exportEntries(options, io)))
}
