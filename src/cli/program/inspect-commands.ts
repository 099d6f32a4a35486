import { count } from '../arguments.ts'
import { configured, type Program } from './program.ts'

/** Commands that only look. */
export function addLooking({ root, io, does }: Program): void {
  configured(root.command('validate'))
    .description('check the config, its keys and every strategy file')
    .option('--no-keys', 'leave the keys out, where a machine has none')
    .action((options) => {
      const nowSeconds = Math.floor(Date.now() / 1000)
      return does(
        import('../commands/look/validate.ts').then(({ validate }) =>
          validate(options, io, nowSeconds),
        ),
      )
    })
  configured(root.command('doctor'))
    .description(
      'ask everything that can be asked of keys, files, chains, services and disk, and say what to do; also beside a daemon',
    )
    .action((options) => {
      const nowSeconds = Math.floor(Date.now() / 1000)
      return does(
        import('../commands/look/doctor.ts').then(({ doctor }) => doctor(options, io, nowSeconds)),
      )
    })
  configured(root.command('status'))
    .description('show who runs, what is open and when each strategy is next due')
    .action((options) => {
      return does(
        import('../commands/look/status.ts').then(({ status }) => status(options, io, Date.now())),
      )
    })
  root
    .command('ps')
    .description(
      'list the daemons that run, each with its state, config, wallet and whether it is halted',
    )
    .option('--json', 'print data')
    .action((options) => {
      return does(import('../commands/look/ps.ts').then(({ ps }) => ps(options, io, Date.now())))
    })
  configured(root.command('plan').argument('[strategy]'))
    .description('show next slots, what each strategy would do now, and the most that it may spend')
    .option('--slots <n>', 'slots shown of each strategy', count, 3)
    .option('--utc', "times in UTC instead of each schedule's own zone")
    .action((strategy, options) => {
      return does(
        import('../commands/look/plan.ts').then(({ plan }) =>
          plan(strategy, options, io, Date.now()),
        ),
      )
    })
  configured(root.command('quote').argument('[strategy]'))
    .description('ask the service for a quote and hold it against the feeds; signs nothing')
    .option('--sell <token>', 'token to sell, instead of a strategy')
    .option('--buy <token>', 'token to buy')
    .option('--amount <amount>', 'amount to sell')
    .action((strategy, options) => {
      return does(
        import('../commands/look/quote.ts').then(({ quote }) => quote(strategy, options, io)),
      )
    })
  configured(root.command('history'))
    .description('show slots and their outcomes, oldest first')
    .option('--strategy <name>', 'only this strategy')
    .option('--limit <n>', 'newest slots shown', count, 50)
    .action((options) => {
      return does(import('../commands/look/history.ts').then(({ history }) => history(options, io)))
    })
  configured(root.command('why'))
    .argument('<slot>', 'STRATEGY:EPOCH_SECONDS, as history shows it, or STRATEGY for its last')
    .description('tell what became of one slot and why, in sentences')
    .option('--raw', "the journal's records instead")
    .action((slot, options) => {
      return does(
        import('../commands/look/why.ts').then(({ why }) => why(slot, options, io, Date.now())),
      )
    })
}
