import { addSandboxFlags } from '../sandbox-flags.ts'
import { type Program, YES } from './program.ts'

/** Commands for whoever writes strategies and clients. */
export function addAuthoring(program: Program): void {
  addInit(program)
  addSandbox(program)
}

function addInit({ root, io, does }: Program): void {
  root
    .command('init')
    .argument('[dir]', 'folder to write into, "." unless given')
    .description('write configs, strategies and all else to start from; asks what no flag answers')
    .option(
      '--kinds <list>',
      'kinds of strategies: dca, rebalance, threshold, twap, call, custom, with commas between; or all',
    )
    .option('--mode <mode>', "config beside the sandbox's: live, dry-run, or sandbox for none")
    .option(...YES)
    .option(
      '--force',
      'replace what init wrote before, and keep it as .old; never keys, state, passwords or anchors',
    )
    .option('--json', 'print data; do not ask')
    .action((dir, options) => {
      return does(
        import('../commands/author/init.ts').then(({ init }) => init({ dir, ...options }, io)),
      )
    })
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
