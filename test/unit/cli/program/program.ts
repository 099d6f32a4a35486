import type { Command } from 'commander'
import type { Io } from '../../../../src/cli/process/io.ts'
import { createProgram } from '../../../../src/cli/program/root.ts'

/** The whole program for inspection, or as it is made for a first word: its commands must not run. */
export function theProgram(first?: string, env: Io['env'] = {}): Command {
  const io = { env } as Io
  const signals = {} as Parameters<typeof createProgram>[0]['signals']
  return createProgram({ io, signals, does: async () => undefined }, first)
}

/** Executable commands by full name. */
export function leaves(
  command: Command,
  path: readonly string[] = [],
): readonly (readonly [name: string, command: Command])[] {
  const shown = command.createHelp().visibleCommands(command)
  const own = shown.filter((each) => each.name() !== 'help')
  const below = own.flatMap((each) => leaves(each, [...path, each.name()]))
  const doesIt = own.length === 0 || command.registeredArguments.length > 0
  return doesIt ? [[path.join(' '), command], ...below] : below
}

/** The output of `--help`. */
export function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
  })
  command.outputHelp()
  return text
}
