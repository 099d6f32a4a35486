import { Option } from 'commander'
import { since } from '../arguments.ts'
import { configured, type Program } from './program.ts'

const BY = ['day', 'week', 'month', 'strategy', 'token'] as const
const FORMATS = ['csv', 'jsonl', 'koinly', 'cointracking'] as const

/** Commands that tell what became of the money. */
export function addMoney({ root, io, does }: Program): void {
  configured(root.command('report'))
    .description('fills, prices, costs, what is held and what it cost, profit and caps')
    .addOption(new Option('--by <group>', 'one line for each').choices(BY))
    .option(
      '--since <when>',
      'from then on: a day such as 2026-01-31, or a duration such as 30d',
      since,
    )
    .option('--timezone <name>', 'whose days, weeks and months', 'UTC')
    .option('--csv', 'for a spreadsheet')
    .action((options) =>
      does(
        import('../commands/money/report.ts').then(({ report }) => report(options, io, Date.now())),
      ),
    )
  configured(root.command('export'))
    .description('every fill, call and cost, one a line, for other programs')
    .addOption(
      new Option('--format <name>', 'what the other program reads').choices(FORMATS).default('csv'),
    )
    .option(
      '--since <when>',
      'from then on: a day such as 2026-01-31, or a duration such as 30d',
      since,
    )
    .option(
      '--paper',
      'also what dry-run booked and nothing moved, for the formats of tax programs',
    )
    .action((options) =>
      does(
        import('../commands/money/export.ts').then(({ exportEntries }) =>
          exportEntries(options, io),
        ),
      ),
    )
}
