import { existsSync } from 'node:fs'
import {
  requireNewFiles,
  sandboxConfigFiles,
  writeSandboxConfig,
} from '../../../sandbox/config-out.ts'
import { startSandbox } from '../../../sandbox/sandbox.ts'
import type { TypedFlag } from '../../../sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../sandbox/settings/load.ts'
import { requireFreePorts } from '../../../sandbox/settings/ports.ts'
import { isOfFlag } from '../../../sandbox/settings/typed.ts'
import { isUsed } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import { reportProblems } from '../../load.ts'
import { sandboxReport, sandboxText } from './sandbox-report.ts'

export type SandboxCommandOptions = {
  /** File with settings of the sandbox. */
  readonly settings?: string
  /** Flags that are settings of the sandbox, in the order in which they were typed. */
  readonly typed: readonly TypedFlag[]
  readonly configOut?: string
  /** Lets `configOut` replace files that are there. */
  readonly force?: boolean
  readonly stateDir: string
  readonly strategiesDir: string
  readonly httpPort?: number
  readonly forMs?: number | undefined
  readonly json?: boolean
}

/** `tranched sandbox`: the local chains and the services alone, until told to stop. */
export async function sandbox(options: SandboxCommandOptions, io: Io): Promise<ExitCode> {
  const loaded = loadSandboxOptions({ file: options.settings, typed: options.typed })
  if (!loaded.ok) {
    const code = reportProblems(loaded.problems, io, options)
    return loaded.problems.every(isOfFlag) ? EXIT.usage : code
  }
  const { configOut, force = false } = options
  if (configOut !== undefined && !force) requireNewFiles(sandboxConfigFiles(configOut))
  await requireFreePorts(loaded.options.ports)
  const running = await startSandbox({ ...loaded.options, anvilBin: io.env['ANVIL_BIN'] })
  try {
    const written =
      configOut === undefined
        ? undefined
        : await writeSandboxConfig({
            ...options,
            sandbox: running,
            file: configOut,
            existing: force ? 'replace' : 'refuse',
          })
    const report = sandboxReport(running, written?.file)
    if (options.json) printJson(io, report)
    else {
      const obstacles = written === undefined ? [] : await obstaclesOf(options)
      io.stdout.write(sandboxText(report, { workingDirectory: process.cwd(), obstacles }))
    }
    io.signalReady()
    await untilStopped(options.forMs, io)
  } finally {
    await running.stop()
  }
  return EXIT.done
}

/** What would make a daemon refuse the config that was just written: a person learns of it before and not after. */
async function obstaclesOf({
  stateDir,
  strategiesDir,
}: Pick<SandboxCommandOptions, 'stateDir' | 'strategiesDir'>): Promise<readonly string[]> {
  const obstacles: string[] = []
  // The chain of this sandbox is new: whatever state there is belongs to another.
  if (await isUsed(stateDir))
    obstacles.push(`${stateDir} holds the state of another chain: move it, or give --state-dir`)
  if (!existsSync(strategiesDir))
    obstacles.push(`${strategiesDir} is not there: run \`tranched init\`, or give --strategies-dir`)
  return obstacles
}

function untilStopped(forMs: number | undefined, io: Io): Promise<void> {
  return new Promise((resolve) => {
    const timer = forMs === undefined ? undefined : setTimeout(done, forMs)
    const offSignal = io.onSignal(done)
    function done(): void {
      clearTimeout(timer)
      offSignal()
      resolve()
    }
  })
}
