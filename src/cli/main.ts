#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { OperatorError } from '../domain/errors.ts'
import { count, duration } from './arguments.ts'
import { keepHeapSmall } from './heap.ts'
import { DEFAULT_CONFIG, EXIT, type ExitCode, type Io } from './io.ts'
import type { ConfigOptions } from './load.ts'
import { addSandboxFlags } from './sandbox-flags.ts'
import { createSignals } from './signals.ts'
import { VERSION } from './version.ts'

const signals = createSignals(process, () => process.exit(EXIT.failed))
const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  pid: process.pid,
  async confirm(question) {
    if (process.stdin.isTTY !== true) return undefined
    const { createInterface } = await import('node:readline/promises')
    // Not to stdout, which may be going into a file.
    const asking = createInterface({ input: process.stdin, output: process.stderr })
    try {
      return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim())
    } finally {
      asking.close()
    }
  },
  signalReady: () => process.send?.('ready'),
  onHangup: signals.onHangup,
  onSignal: signals.onSignal,
}

const CONTROLS = [
  ['pause', 'keep one strategy, or all, from opening slots until it is resumed', '[strategy]'],
  ['resume', 'end a pause; without a name also a halt and every other pause', '[strategy]'],
  ['trigger', 'open a slot of a strategy now, within its limits', '<strategy>'],
  ['reload', 'read the strategy files again', undefined],
] as const

let exitCode: Promise<ExitCode> | ExitCode = EXIT.done

function program(): Command {
  const root = new Command('tranched')
    .description(
      'Autonomous trading daemon: strategies in YAML, every order journaled, none doubled.',
    )
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(--help lists the options)')
  configured(root.command('run'))
    .description('run the daemon until it is told to stop')
    .option('--for <duration>', 'stop by itself after this long, and drain', duration)
    .action((options) => {
      signals.hold()
      keepHeapSmall()
      exitCode = import('./commands/run.ts').then(({ run }) =>
        run({ ...options, forMs: options.for }, io),
      )
    })
  configured(root.command('validate'))
    .description('check the config and every strategy file')
    .action((options) => {
      const nowSeconds = Math.floor(Date.now() / 1000)
      exitCode = import('./commands/validate.ts').then(({ validate }) =>
        validate(options, io, nowSeconds),
      )
    })
  configured(root.command('status'))
    .description('show who runs, what is open and when each strategy is next due')
    .action((options) => {
      exitCode = import('./commands/status.ts').then(({ status }) =>
        status(options, io, Date.now()),
      )
    })
  configured(root.command('plan').argument('[strategy]'))
    .description('show next slots, what each strategy would do now, and the most that it may spend')
    .option('--slots <n>', 'slots shown of each strategy', count, 3)
    .action((strategy, options) => {
      exitCode = import('./commands/plan.ts').then(({ plan }) =>
        plan(strategy, options, io, Date.now()),
      )
    })
  configured(root.command('quote').argument('[strategy]'))
    .description('ask the service for a quote and hold it against the feeds; signs nothing')
    .option('--sell <token>', 'token to sell, instead of a strategy')
    .option('--buy <token>', 'token to buy')
    .option('--amount <amount>', 'amount to sell')
    .action((strategy, options) => {
      exitCode = import('./commands/quote.ts').then(({ quote }) => quote(strategy, options, io))
    })
  configured(root.command('history'))
    .description('show slots and their outcomes, oldest first')
    .option('--strategy <name>', 'only this strategy')
    .option('--limit <n>', 'newest slots shown', count, 50)
    .action((options) => {
      exitCode = import('./commands/history.ts').then(({ history }) => history(options, io))
    })
  configured(root.command('why').argument('<slot>', 'STRATEGY:EPOCH_SECONDS, as history shows it'))
    .description('show everything the journal holds about one slot')
    .action((slot, options) => {
      exitCode = import('./commands/why.ts').then(({ why }) => why(slot, options, io))
    })
  configured(root.command('halt'))
    .description(
      'kill switch: sign nothing new until it is resumed, across restarts; with --state-dir it reads no config',
    )
    .action((options) => {
      exitCode = import('./commands/halt.ts').then(({ halt }) => halt(options, io, Date.now()))
    })
  settleCommand(root)
  for (const [name, does, argument] of CONTROLS) {
    const command = configured(root.command(name)).description(does)
    if (argument !== undefined) command.argument(argument)
    command.action((first: unknown) => {
      const strategy = typeof first === 'string' ? first : undefined
      const options: ConfigOptions = command.opts()
      exitCode = import('./commands/control.ts').then(({ control }) =>
        control({ command: name, strategy }, options, io),
      )
    })
  }
  root
    .command('init')
    .description('write a config and a first strategy to start from')
    .argument('[dir]', 'directory to write into', '.')
    .option('--json', 'print data')
    .action((dir, options) => {
      exitCode = import('./commands/init.ts').then(({ init }) => init({ dir, ...options }, io))
    })
  sandboxCommand(root)
  walletCommand(root)
  gastankCommand(root)
  delegationCommand(root)
  notifyCommand(root)
  stateCommand(root)
  return root
}

function configured(command: Command): Command {
  return command
    .option('--config <file>', 'config file', DEFAULT_CONFIG)
    .option('--state-dir <dir>', "state directory, instead of the config file's")
    .option('--strategies-dir <dir>', "strategies directory, instead of the config file's")
    .option('--http-host <host>', 'address of the metrics server')
    .option('--http-port <port>', 'port of the metrics server, 0 for a free one')
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--json', 'print data on stdout and logs on stderr')
}

const SETTLE_EXAMPLES = `
Where several orders are open, \`tranched status\` names them. Without --as it changes nothing.

  tranched settle weekly-eth:1893488400:0
  tranched settle weekly-eth:1893488400:0 --as executed 0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd
  tranched settle weekly-eth:1893488400:0 --as executed unknown
  tranched settle weekly-eth:1893488400:0 --as dead`

function settleCommand(root: Command): void {
  configured(root.command('settle').argument('<intent>', 'STRATEGY:EPOCH_SECONDS:LEG'))
    .description(
      'show what is known of an order that nothing has ended, and end it by your word; the daemon may run or not',
    )
    .option(
      '--as <word...>',
      'what became of it: `executed` and the hash of the transaction or `unknown`, booked in full unless the chain proves it; or `dead`, taken only where it can never execute',
    )
    .option(...YES)
    .addHelpText('after', SETTLE_EXAMPLES)
    .action((intent, options) => {
      exitCode = import('./commands/settle.ts').then(({ settle }) => settle(intent, options, io))
    })
}

function sandboxCommand(root: Command): void {
  const command = root
    .command('sandbox')
    .description('run the services and the local chains alone, for any client')
  const typed = addSandboxFlags(command)
  command.action((options) => {
    exitCode = import('./commands/sandbox.ts').then(({ sandbox }) =>
      sandbox({ ...options, forMs: options.for, typed }, io),
    )
  })
}

function walletCommand(root: Command): void {
  const wallet = root.command('wallet').description('make, import or show a wallet')
  const loaded = () =>
    Promise.all([import('./commands/wallet.ts'), import('./commands/wallet-io.ts')])
  wallet
    .command('new')
    .description('make a key and write it as an encrypted v3 keystore')
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      exitCode = loaded().then(([commands, at]) =>
        commands.walletNew(options, at.createWalletIo(process)),
      )
    })
  wallet
    .command('import')
    .description(
      'write a key that you have as an encrypted v3 keystore; it is asked for or read from stdin',
    )
    .requiredOption('--out <file>', 'keystore to write; an existing file is never replaced')
    .option('--private-key-file <file>', 'take the key from here')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      exitCode = loaded().then(([commands, at]) =>
        commands.walletImport(options, at.createWalletIo(process)),
      )
    })
  wallet
    .command('address')
    .description('show the address of a keystore or key file')
    .option('--keystore <file>', 'encrypted keystore')
    .option('--private-key-file <file>', 'file that holds a key')
    .option('--password-file <file>', 'take the password from here instead of asking')
    .option('--json', 'print data')
    .action((options) => {
      exitCode = loaded().then(([commands, at]) =>
        commands.walletAddress(options, at.createWalletIo(process)),
      )
    })
}

function gastankCommand(root: Command): void {
  const gastank = root
    .command('gastank')
    .description('the deposit that pays for aggregated transactions')
  configured(gastank.command('status'))
    .description('show what the service and the chain hold for the account, and how long it lasts')
    .action((options) => {
      exitCode = import('./commands/gastank.ts').then(({ gastankStatus }) =>
        gastankStatus(options, io),
      )
    })
  configured(gastank.command('deposit').argument('<amount>', 'ether, such as 0.05'))
    .description(
      "deposit ether of the aggregator's wallet and wait until the service has indexed it; the daemon must not be running",
    )
    .option('--yes', 'really send it: a deposit cannot be taken out again')
    .action((amount, options) => {
      exitCode = import('./commands/gastank.ts').then(({ gastankDeposit }) =>
        gastankDeposit(amount, options, io),
      )
    })
}

const DIRECT =
  'by an ordinary transaction of the account, at its own expense, not through the service'

function delegationCommand(root: Command): void {
  const delegation = root
    .command('delegation')
    .description("the code behind the aggregator's account (EIP-7702)")
  const loaded = () => import('./commands/delegation.ts')
  configured(delegation.command('status'))
    .description('show the code, whose it is and what it answers')
    .action((options) => {
      exitCode = loaded().then(({ delegationStatus }) => delegationStatus(options, io))
    })
  configured(delegation.command('set'))
    .description(
      "delegate the account to the config's proposer through the service; the daemon must not be running",
    )
    .option('--trusted', 'needed with `proposer: trusted`, under which the service can do anything')
    .option('--direct', DIRECT)
    .action((options) => {
      exitCode = loaded().then(({ delegationSet }) => delegationSet(options, io))
    })
  configured(delegation.command('clear'))
    .description('take the code away again; the daemon must not be running')
    .option('--direct', DIRECT)
    .action((options) => {
      exitCode = loaded().then(({ delegationClear }) => delegationClear(options, io))
    })
}

function notifyCommand(root: Command): void {
  const notify = root.command('notify').description('the receivers of messages under `notify`')
  configured(notify.command('test'))
    .description('send one test message to each receiver of the config, beside whatever daemon')
    .option('--channel <name>', 'only this one, such as telegram-1: its kind and its place')
    .action((options) => {
      exitCode = import('./commands/notify.ts').then(({ notifyTest }) => notifyTest(options, io))
    })
}

const ARCHIVE =
  "where finished files of the journal were moved to, besides the state directory's own"

const YES = ['--yes', 'do not ask'] as const

function stateCommand(root: Command): void {
  const state = root.command('state').description("look after the daemon's state directory")
  const loaded = () => import('./commands/state.ts')
  configured(state.command('verify'))
    .description('prove every record and state.json; also beside a daemon, and without a key')
    .option('--archive <dir>', ARCHIVE)
    .action((options) => {
      exitCode = loaded().then(({ stateVerify }) => stateVerify(options, io))
    })
  configured(state.command('rebuild'))
    .description('make state.json anew from a journal that proves whole; no daemon may be running')
    .option('--archive <dir>', ARCHIVE)
    .action((options) => {
      exitCode = loaded().then(({ stateRebuild }) => stateRebuild(options, io))
    })
  configured(state.command('backup').argument('<target>', 'a new directory, or a file NAME.tar'))
    .description(
      'copy the state up to a record that is on disk, and prove the copy; also beside a daemon',
    )
    .action((target, options) => {
      exitCode = loaded().then(({ stateBackup }) => stateBackup(target, options, io))
    })
  configured(state.command('restore').argument('<backup>', 'what `state backup` has made'))
    .description(
      'put a backup in place of what is there, which is moved aside; no daemon may be running',
    )
    .option(
      '--replace',
      'also in place of state that is sound or newer: it says first what is lost',
    )
    .action((backup, options) => {
      exitCode = loaded().then(({ stateRestore }) => stateRestore(backup, options, io))
    })
  configured(state.command('new'))
    .description(
      'begin afresh: what is there is kept aside and forgotten; the daemon must not be running',
    )
    .option(...YES)
    .action((options) => {
      exitCode = import('./commands/state-new.ts').then(({ stateNew }) => stateNew(options, io))
    })
  configured(state.command('accept-loss'))
    .description(
      'go on with the state as it is although its anchor says that there was more; the daemon must not be running',
    )
    .option(...YES)
    .action((options) => {
      exitCode = import('./commands/state-accept-loss.ts').then(({ stateAcceptLoss }) =>
        stateAcceptLoss(options, io),
      )
    })
}

const IS_FULL =
  ': the disk is full. Nothing was signed whose record is not on disk; make room, and start again'
const FULL: Readonly<Record<string, string>> = { ENOSPC: IS_FULL, EDQUOT: IS_FULL }

/** What the operator is to read of an error, and the exit code it means. */
function explain(error: unknown): { readonly code: ExitCode; readonly text: string } {
  if (error instanceof CommanderError)
    return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, text: '' }
  if (error instanceof OperatorError) return { code: EXIT[error.means], text: error.message }
  if (!(error instanceof Error)) return { code: EXIT.failed, text: String(error) }
  // What the operating system says needs no stack: the path and the reason are in its text.
  if ('code' in error && 'syscall' in error)
    return { code: EXIT.failed, text: `${error.message}${FULL[String(error.code)] ?? ''}` }
  return { code: EXIT.failed, text: error.stack ?? error.message }
}

async function main(): Promise<ExitCode> {
  try {
    await program().parseAsync(process.argv)
    return await exitCode
  } catch (error) {
    const { code, text } = explain(error)
    if (text !== '') process.stderr.write(`tranched: ${text}\n`)
    return code
  }
}

process.exit(await main())
