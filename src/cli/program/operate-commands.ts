import type { ControlRequest } from '../../control/control-socket.ts'
import { duration, slippage } from '../arguments.ts'
import type { OrderOptions } from '../commands/operate/order.ts'
import { stay } from '../process/stay.ts'
import { configured, load, type Program, targeted, YES } from './program.ts'

const CONTROLS = [
  ['pause', 'stop one strategy, or all, from opening slots until resumed', '[strategy]'],
  ['resume', 'end a pause; without a name, end every pause and the halt', '[strategy]'],
  ['trigger', 'open a slot of a strategy now, within its limits', '<strategy>'],
  ['reload', 'read the strategy files again', undefined],
] as const

export function addOperating(program: Program): void {
  const { root, io, does, signals } = program
  configured(root.command('run'))
    .description('run the daemon until it is stopped')
    .option('--for <duration>', 'stop after this long, and drain', duration)
    .option(
      '--stay',
      'on an error that no restart fixes (exit codes 75 and 78), report it and wait to be stopped: for a supervisor that restarts after every exit',
    )
    .action((options) => {
      signals.hold()
      const ran = load.run().then(({ run }) => run({ ...options, forMs: options.for }, io))
      const { wasTerminated } = signals
      const how = { json: options.json === true, wasTerminated }
      return does(options.stay === true ? stay(ran, io, how) : ran)
    })
  const halting = configured(root.command('halt')).description(
    'kill switch: sign nothing new until resumed, across restarts; halts every running daemon, or the named one',
  )
  halting.action(async () => {
    const options = targeted(halting, io)
    return does((await load.halt()).halt(options, io, Date.now()))
  })
  for (const [name, description, argument] of CONTROLS) {
    const command = configured(root.command(name)).description(description)
    if (argument !== undefined) command.argument(argument)
    command.action(async (first: unknown) => {
      const strategy = typeof first === 'string' ? first : undefined
      const options = targeted(command, io)
      // The parser requires the name for commands that need it.
      const request = { command: name, strategy } as ControlRequest
      return does((await load.control()).control(request, options, io))
    })
  }
  addOrders(program)
  addApprove(program)
  addSettle(program)
  addNotify(program)
}

const ORDERS = [
  ['sell', 'sell exactly AMOUNT of a token, as a slot of its own', '--at-least', 'to receive'],
  ['buy', 'buy exactly AMOUNT of a token, as a slot of its own', '--at-most', 'to pay'],
] as const

function addOrders({ root, io, does }: Program): void {
  for (const [side, description, limit, what] of ORDERS) {
    const command = configured(root.command(side))
      .description(
        `${description}, within the limits of the account; shows a quote, asks, and follows it`,
      )
      .argument('<amount>', 'exact amount')
      .argument('<token>', 'token of the config, or ETH')
      .requiredOption('--for <token>', 'the other token')
      .option(
        '--strategy <name>',
        "the strategy whose purchases it adds to or sells; by default, none's",
      )
      .option(`${limit} <amount>`, `limit of the amount ${what}, in the other token`)
      .option(
        '--slippage-bps <n>',
        'slippage, instead of that of the strategy or the service',
        slippage,
      )
      .option(...YES)
    command.action(async (amount: string, token: string) => {
      // The parser requires `--for`.
      const options = targeted(command, io) as OrderOptions
      return does((await load.order()).order({ side, amount, token }, options, io))
    })
  }
}

function addApprove({ root, io, does }: Program): void {
  const command = configured(root.command('approve'))
    .description(
      'approve a strategy or contract by name; without a name, list those waiting for approval',
    )
    .argument('[name]', 'as the list shows it')
  command.action(async (name?: string) => {
    const options = targeted(command, io)
    return does((await load.control()).approveOrders(name, options, io))
  })
}

const SETTLE_NOTE = '\n`tranched status` lists open orders. Without --as it changes nothing.'

function addSettle({ root, io, does }: Program): void {
  const command = configured(
    root.command('settle').argument('<intent>', 'STRATEGY:EPOCH_SECONDS:LEG'),
  )
  command
    .description(
      'show what is known of a stuck order, and settle it manually; works with or without a daemon',
    )
    .option(
      '--as <word...>',
      'its outcome: `executed` and the hash of the transaction or `unknown`, booked in full unless the chain proves it; or `dead`, accepted only if it can never execute',
    )
    .option(...YES)
    .addHelpText('after', SETTLE_NOTE)
    .action(async (intent) => {
      const options = targeted(command, io)
      return does((await load.settle()).settle(intent, options, io))
    })
}

function addNotify({ root, io, does }: Program): void {
  const notify = root.command('notify').description('receivers of messages, set under `notify`')
  configured(notify.command('test'))
    .description('send one test message to each receiver of the config, also while a daemon runs')
    .option('--channel <name>', 'only this receiver, by kind and position, such as telegram-1')
    .action(async (options) => does((await load.notify()).notifyTest(options, io)))
}
