import { Argument } from 'commander'
import { SHELLS } from '../completion/scripts.ts'
import { EXIT } from '../process/io.ts'
import { load, type Program } from './program.ts'

export function addCompletion({ root, io, does }: Program): void {
  root
    .command('completion')
    .description('print a completion script for commands, options and strategy names')
    .addArgument(new Argument('<shell>', 'shell to print it for').choices(SHELLS))
    .action((shell) =>
      does(
        import('../completion/scripts.ts').then(({ completionScript }) => {
          io.stdout.write(completionScript(shell))
          return EXIT.done
        }),
      ),
    )
  root
    .command('complete', { hidden: true })
    .description('print completion candidates')
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (words) => does((await load.complete()).answerCompletion(root, words, io)))
}
