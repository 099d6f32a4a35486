import type { Command } from 'commander'
import { CONFIG_VARIABLE, DEFAULT_CONFIG, defaultConfig, type ExitCode, type Io } from '../io.ts'
import type { ConfigOptions } from '../load.ts'
import type { Signals } from '../signals.ts'
import type { TargetOptions } from '../target.ts'

/** What the declarations of commands share. */
export type Program = {
  readonly root: Command
  readonly io: Io
  readonly signals: Signals
  /** The process exits with what a command comes to. */
  readonly does: (outcome: Promise<ExitCode>) => Promise<void>
}

export const YES = ['--yes', 'do not ask'] as const

/** Has a command, and all below it, go by the environment where no flag says otherwise. */
export function takeEnvironment(command: Command, io: Pick<Io, 'env'>): void {
  const isConfigured = command.options.some((option) => option.attributeName() === 'config')
  if (isConfigured) command.setOptionValueWithSource('config', defaultConfig(io), 'default')
  for (const each of command.commands) takeEnvironment(each, io)
}

/** What was typed of a command that is about one daemon, and whether flags or the environment say which. */
export function targeted<Options extends ConfigOptions = ConfigOptions>(
  command: Command,
  { env }: Pick<Io, 'env'>,
): Options & TargetOptions {
  const options = command.opts<Options>()
  const isNamed =
    command.getOptionValueSource('config') === 'cli' ||
    options.stateDir !== undefined ||
    [CONFIG_VARIABLE, 'TRANCHED_STATE_DIR'].some((name) => (env[name] ?? '') !== '')
  return { ...options, isNamed }
}

/** Adds the options of every command that reads a config. */
export function configured(command: Command): Command {
  return command
    .option('--config <file>', `config file; else that of ${CONFIG_VARIABLE}`, DEFAULT_CONFIG)
    .option('--state-dir <dir>', "state directory, instead of the config file's")
    .option('--strategies-dir <dir>', "strategies directory, instead of the config file's")
    .option('--http-host <host>', 'address of the metrics server')
    .option('--http-port <port>', 'port of the metrics server, 0 for a free one')
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--json', 'print data on stdout and logs on stderr')
}
