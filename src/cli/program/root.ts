import { Command } from 'commander'
import { printable, withoutKeys } from '../../domain/outside-text.ts'
import { flagError } from '../flag-errors.ts'
import { VERSION_TEXT } from '../version.ts'
import { addAccounts } from './account.ts'
import { addAuthoring } from './author.ts'
import { addBacktest } from './backtest.ts'
import { addCompletion } from './completion.ts'
import { addExamples } from './examples.ts'
import { addLooking } from './look.ts'
import { addMoney } from './money.ts'
import { addOperating } from './operate.ts'
import { type Program, takeEnvironment } from './program.ts'
import { addState } from './state.ts'

/** Every command there is. An error of the command line is thrown, as CommanderError, when its words are parsed. */
export function createProgram(shared: Omit<Program, 'root'>): Command {
  const root = new Command('tranched')
    .description(
      'Autonomous trading daemon: strategies in YAML, every order journaled, none doubled.',
    )
    .version(VERSION_TEXT)
    .exitOverride()
    .enablePositionalOptions()
    .showHelpAfterError('(--help lists the options)')
    .configureOutput({
      outputError: (text, write) => write(printable(withoutKeys(flagError(text)))),
    })
  const program = { ...shared, root }
  addOperating(program)
  addLooking(program)
  addMoney(program)
  addBacktest(program)
  addAuthoring(program)
  addAccounts(program)
  addState(program)
  addCompletion(program)
  addHelp(root)
  addExamples(root)
  takeEnvironment(root, shared.io)
  return root
}

/** In place of the parser's own, which takes a flag for a command where options have their place. */
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
