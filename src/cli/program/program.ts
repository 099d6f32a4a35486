import type { Command } from 'commander'
import type { ConfigOptions, TargetOptions } from '../load-files.ts'
import {
  CONFIG_VARIABLE,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  type Io,
  isNamedBy,
} from '../process/io.ts'
import type { Signals } from '../process/terminal.ts'

export type Program = {
  readonly root: Command
  readonly io: Io
  readonly signals: Signals
  /** Sets the process's exit code. */
  readonly does: (outcome: ExitCode | Promise<ExitCode>) => Promise<void>
}

/** Modules of commands, loaded only when one runs. */
export const load = {
  approvalsRevoke: () => import('../commands/account/approvals-revoke.ts'),
  approvals: () => import('../commands/account/approvals.ts'),
  delegation: () => import('../commands/account/delegation.ts'),
  gastank: () => import('../commands/account/gastank.ts'),
  wallet: () => import('../commands/account/wallet.ts'),
  complete: () => import('../completion/candidates.ts'),
  init: () => import('../commands/author/init.ts'),
  sandbox: () => import('../commands/author/sandbox.ts'),
  backtest: () => import('../commands/backtest/backtest.ts'),
  fetch: () => import('../commands/backtest/fetch.ts'),
  replay: () => import('../commands/backtest/replay.ts'),
  doctor: () => import('../commands/doctor/doctor.ts'),
  history: () => import('../commands/inspect/history.ts'),
  plan: () => import('../commands/inspect/plan.ts'),
  ps: () => import('../commands/inspect/ps.ts'),
  quote: () => import('../commands/inspect/quote.ts'),
  status: () => import('../commands/inspect/status.ts'),
  validate: () => import('../commands/inspect/validate.ts'),
  why: () => import('../commands/inspect/why.ts'),
  export: () => import('../commands/money/export.ts'),
  report: () => import('../commands/money/report.ts'),
  order: () => import('../commands/operate/order.ts'),
  control: () => import('../commands/operate/control.ts'),
  halt: () => import('../commands/operate/halt.ts'),
  notify: () => import('../commands/operate/notify-test.ts'),
  run: () => import('../commands/operate/run.ts'),
  settle: () => import('../commands/operate/settle.ts'),
  stateOverrule: () => import('../commands/state/state-overrule.ts'),
  state: () => import('../commands/state/state.ts'),
}

export const YES = ['--yes', 'do not ask'] as const

/** Sets defaults from the environment for a command and its subcommands. */
export function takeEnvironment(command: Command, io: Pick<Io, 'env'>): void {
  const isConfigured = command.options.some((option) => option.attributeName() === 'config')
  if (isConfigured) command.setOptionValueWithSource('config', defaultConfig(io), 'default')
  for (const each of command.commands) takeEnvironment(each, io)
}

/** Options of a command for one daemon, and whether flags or the environment name it. */
export function targeted<Options extends ConfigOptions = ConfigOptions>(
  command: Command,
  io: Pick<Io, 'env'>,
): Options & TargetOptions {
  const options = command.opts<Options>()
  const isNamed =
    command.getOptionValueSource('config') === 'cli' ||
    options.stateDir !== undefined ||
    isNamedBy(io)
  return { ...options, isNamed }
}

/** Options of every command that reads a config. */
export function configured(command: Command): Command {
  return command
    .option('--config <file>', `config file; default from ${CONFIG_VARIABLE}`, DEFAULT_CONFIG)
    .option('--state-dir <dir>', "state directory, instead of the config file's")
    .option('--strategies-dir <dir>', "strategies directory, instead of the config file's")
    .option('--http-host <host>', 'address of the metrics server')
    .option('--http-port <port>', 'port of the metrics server, 0 for a free one')
    .option('--log-level <level>', 'debug, info, warn or error')
    .option('--json', 'print data on stdout and logs on stderr')
}
