import type { Command } from 'commander'
import { DEFAULT_CONFIG, type ExitCode, type Io } from '../io.ts'
import type { Signals } from '../signals.ts'

/** What the declarations of commands share. */
export type Program = {
  readonly root: Command
  readonly io: Io
  readonly signals: Signals
  /** The process exits with what a command comes to. */
  readonly does: (outcome: Promise<ExitCode>) => Promise<void>
}

export const YES = ['--yes', 'do not ask'] as const

/** Adds the options of every command that reads a config. */
export function configured(command: Command): Command {
  return command
    .option('--config <file>', 'config file', DEFAULT_CONFIG)
    .option('--state-dir <dir>', "state directory, instead of the config file's")
    .option('--strategies-dir <dir>', "strategies directory, instead of the config file's")
    .option('--http-host <host>', 'address of the metrics server')
    .option('--http-port <port>', 'port of the metrics server, 0 for a free one')
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--json', 'print data on stdout and logs on stderr')
}
