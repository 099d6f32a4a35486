import { Argument, Command } from 'commander'
import { printable, withoutKeys } from '../../domain/text/outside-text.ts'
import { SCRIPTS } from '../completion/scripts.ts'
import { VERSION_TEXT } from '../process/version.ts'
import { flagError } from '../text/explain.ts'
import { addAccounts } from './account-commands.ts'
import { addAuthoring } from './author-commands.ts'
import { addBacktest } from './backtest-commands.ts'
import { addExamples } from './examples.ts'
import { addInspecting, addMoney } from './inspect-commands.ts'
import { addOperating } from './operate-commands.ts'
import { load, type Program, takeEnvironment } from './program.ts'
import { addState } from './state-commands.ts'

/** Descriptions wrap down to this width, also on a narrow terminal. */
const HELP_WIDTH_MIN = 20

const GROUPS = [
  addOperating,
  addInspecting,
  addMoney,
  addBacktest,
  addAuthoring,
  addAccounts,
  addState,
  addCompletion,
]

/** Commands that use the other ones. */
const USE_ALL = ['help', 'complete']

/**
 * Parsing a wrong command line throws CommanderError. `first`: the first word of the command line. If it names a command, only
 * this one is made: making all takes longer than a halt.
 */
export function createProgram(shared: Omit<Program, 'root'>, first?: string): Command {
  const root = new Command('tranched')
    .description(
      'Autonomous trading daemon: strategies in YAML, every order journaled, none doubled.',
    )
    .version(VERSION_TEXT)
    .exitOverride()
    .enablePositionalOptions()
    .showHelpAfterError('(--help lists the options)')
    .configureHelp({ minWidthToWrap: HELP_WIDTH_MIN })
    .configureOutput({
      outputError: (text, write) => write(printable(withoutKeys(flagError(text)))),
    })
  const only = first !== undefined && !USE_ALL.includes(first)
  const program = { ...shared, root: only ? makingOnly(first, root) : root }
  for (const add of GROUPS) {
    add(program)
    if (only && root.commands.length > 0) break
  }
  if (only && root.commands.length === 0) return createProgram(shared)
  addHelp(root)
  addExamples(root)
  takeEnvironment(root, shared.io)
  return root
}

/** Takes every call on a command that is not made. */
const NOT_MADE: unknown = new Proxy(() => NOT_MADE, { get: () => NOT_MADE })

function makingOnly(wanted: string, root: Command): Command {
  const command = (name: string) => (name === wanted ? root.command(name) : NOT_MADE)
  return { command } as unknown as Command
}

/** Replaces commander's help command, which mistakes a flag for a command when options are positional. */
function addHelp(root: Command): void {
  root
    .helpCommand(false)
    .command('help')
    .description('display help for command')
    .argument('[command...]')
    .action((words: readonly string[]) => {
      let found: Command | undefined = root
      for (const word of words) found = found?.commands.find((each) => each.name() === word)
      if (found === undefined) root.error(`error: unknown command '${words.join(' ')}'`)
      else found.help()
    })
}

function addCompletion({ root, io, does }: Program): void {
  root
    .command('completion')
    .description('print a completion script for commands, options and strategy names')
    .addArgument(new Argument('<shell>', 'shell to print it for').choices(Object.keys(SCRIPTS)))
    .action((shell: string) => void io.stdout.write(SCRIPTS[shell] ?? ''))
  root
    .command('complete', { hidden: true })
    .description('print completion candidates')
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (words) => does((await load.complete()).answerCompletion(root, words, io)))
}
