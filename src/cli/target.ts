import { resolve } from 'node:path'
import { shellWord } from '../domain/shell-word.ts'
import { type RunningDaemon, runningDaemons } from './compose/state.ts'
import { EXIT, type ExitCode, type Io, printFailure } from './io.ts'
import type { ConfigOptions } from './load.ts'

/** Options of a command that is about one daemon, or about one state. */
export type TargetOptions = ConfigOptions & {
  /** Whether a flag or the environment says which: without that it is the daemon that runs. */
  readonly isNamed: boolean
}

/**
 * The options with the config and state directory of the one daemon that runs, where nothing else names a target; as they are where
 * none runs. Several are for the operator to choose from.
 */
export function targetOf<Options extends TargetOptions>(
  options: Options,
):
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly message: string } {
  const running = options.isNamed ? undefined : runningDaemons()
  if (running === undefined) return { ok: true, options }
  if (!running.ok) {
    const message = `which daemon is meant is not known (${running.why}): name it with --config or --state-dir`
    return { ok: false, message }
  }
  const [daemon, ...others] = running.daemons
  if (daemon === undefined) return { ok: true, options }
  if (others.length > 0) {
    const list = running.daemons.map((each) => `  ${flagsText(each)}`)
    const message = `several daemons run, and none of them is named: give --config or --state-dir\n${list.join('\n')}`
    return { ok: false, message }
  }
  const { stateDir, config = resolve(options.config) } = daemon
  return { ok: true, options: { ...options, stateDir, config } }
}

export function refuseUnnamed(message: string, options: TargetOptions, io: Io): ExitCode {
  return printFailure(io, options, { message, code: EXIT.usage })
}

/** The flags that name a daemon, and its process. */
function flagsText({ stateDir, config, pid }: RunningDaemon): string {
  const file = config === undefined ? '' : `--config ${shellWord(config)} `
  return `${file}--state-dir ${shellWord(stateDir)}   (process ${pid})`
}
