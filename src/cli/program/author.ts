import { addSandboxFlags } from '../sandbox-flags.ts'
import type { Program } from './program.ts'

/** Commands for whoever writes strategies and clients. */
export function addAuthoring(program: Program): void {
  const { root, io, does } = program
  root
    .command('init')
    .description('write a config and a first strategy to start from')
    .argument('[dir]', 'directory to write into', '.')
    .option('--json', 'print data')
    .action((dir, options) => {
      return does(
        import('../commands/author/init.ts').then(({ init }) => init({ dir, ...options }, io)),
      )
    })
  addSandbox(program)
}

function addSandbox({ root, io, does, signals }: Program): void {
  const command = root
    .command('sandbox')
    .description('run the services and the local chains alone, for any client')
  const typed = addSandboxFlags(command)
  command.action((options) => {
    // One that is stopped while it starts is kept as well, and leaves no node behind.
    signals.hold()
    return does(
      import('../commands/author/sandbox.ts').then(({ sandbox }) =>
        sandbox({ ...options, forMs: options.for, typed }, io),
      ),
    )
  })
}
