import type { ControlRequest } from '../../control/control-socket.ts'
import { duration } from '../arguments.ts'
import { keepHeapSmall } from '../process/heap.ts'
import { stay } from '../process/stay.ts'
import { configured, load, type Program, targeted, YES } from './program.ts'

const CONTROLS = [
  ['pause', 'keep one strategy, or all, from opening slots until it is resumed', '[strategy]'],
  ['resume', 'end a pause; without a name also a halt and every other pause', '[strategy]'],
  ['trigger', 'open a slot of a strategy now, within its limits', '<strategy>'],
  ['reload', 'read the strategy files again', undefined],
] as const

export function addOperating(program: Program): void {
  const { root, io, does, signals } = program
  configured(root.command('run'))
    .description('run the daemon until it is told to stop')
    .option('--for <duration>', 'stop by itself after this long, and drain', duration)
    .option(
      '--stay',
      'where no restart mends it (exit codes 75 and 78), say so and wait to be stopped: for a supervisor that restarts whatever ends',
    )
    .action((options) => {
      signals.hold()
      keepHeapSmall()
      const ran = load.run().then(({ run }) => run({ ...options, forMs: options.for }, io))
      const { wasTerminated } = signals
      const how = { json: options.json === true, wasTerminated }
      return does(options.stay === true ? stay(ran, io, how) : ran)
    })
  const halting = configured(root.command('halt')).description(
    'kill switch: sign nothing new until it is resumed, across restarts; every daemon that runs, or the one that is named',
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
      // The parser requires the name where the command does.
      const request = { command: name, strategy } as ControlRequest
      return does((await load.control()).control(request, options, io))
    })
  }
  addApprove(program)
  addSettle(program)
  addNotify(program)
}

function addApprove({ root, io, does }: Program): void {
  const command = configured(root.command('approve'))
    .description('approve what a name stands for; without one, list what waits for your approval')
    .argument('[name]', 'as the list shows it')
  command.action(async (name?: string) => {
    const options = targeted(command, io)
    return does((await load.control()).approveOrders(name, options, io))
  })
}

const SETTLE_NOTE =
  '\nWhere several orders are open, `tranched status` names them. Without --as it changes nothing.'

function addSettle({ root, io, does }: Program): void {
  const command = configured(
    root.command('settle').argument('<intent>', 'STRATEGY:EPOCH_SECONDS:LEG'),
  )
  command
    .description(
      'show what is known of an order that nothing has ended, and end it by your word; the daemon may run or not',
    )
    .option(
      '--as <word...>',
      'what became of it: `executed` and the hash of the transaction or `unknown`, booked in full unless the chain proves it; or `dead`, taken only where it can never execute',
    )
    .option(...YES)
    .addHelpText('after', SETTLE_NOTE)
    .action(async (intent) => {
      const options = targeted(command, io)
      return does((await load.settle()).settle(intent, options, io))
    })
}

function addNotify({ root, io, does }: Program): void {
  const notify = root.command('notify').description('the receivers of messages under `notify`')
  configured(notify.command('test'))
    .description('send one test message to each receiver of the config, also while a daemon runs')
    .option('--channel <name>', 'only this one, such as telegram-1: its kind and its place')
    .action(async (options) => does((await load.notify()).notifyTest(options, io)))
}
