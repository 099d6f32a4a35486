import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { boundTerms } from '../../../sandbox/aggregator/aggregator-settings.ts'
import {
  requirePlaces,
  sandboxConfigFiles,
  writeSandboxConfig,
} from '../../../sandbox/config-files.ts'
import { openKept } from '../../../sandbox/keep/directory.ts'
import type { Keep } from '../../../sandbox/keep/keeper.ts'
import type { SandboxOptions } from '../../../sandbox/options.ts'
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts'
import type { TypedFlag } from '../../../sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../sandbox/settings/load-sandbox-settings.ts'
import { portsOf, requireFreePorts } from '../../../sandbox/settings/ports.ts'
import { isOfFlag } from '../../../sandbox/settings/typed.ts'
import { holdsState } from '../../../store/file/state-files.ts'
import { lockDirectory } from '../../compose/state.ts'
import type { SandboxData } from '../../json/author-outputs.ts'
import { reportProblems } from '../../load-files.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../process/io.ts'
import { programName } from '../../process/program-name.ts'
import { partingText, sandboxReport, sandboxText } from './sandbox-report.ts'

export type SandboxCommandOptions = {
  readonly settings?: string
  readonly typed: readonly TypedFlag[]
  readonly configOut?: string
  /** True for the usual directory. */
  readonly keep?: string | true
  readonly force?: boolean
  readonly stateDir: string
  readonly strategiesDir: string
  readonly httpPort?: number
  readonly forMs?: number | undefined
  readonly json?: boolean
}

const KEPT_ALONE = 'data/sandbox-chain'
const KEPT_BESIDE_CONFIG = 'chain'

/** `tranched sandbox`: the local chains and services alone, until stopped. */
export async function sandbox(options: SandboxCommandOptions, io: Io): Promise<ExitCode> {
  const loaded = loadSandboxOptions({ file: options.settings, typed: options.typed })
  if (!loaded.ok) {
    const code = reportProblems(loaded.problems, io, options)
    return loaded.problems.every(isOfFlag) ? EXIT.usage : code
  }
  const keptIn = keptInOf(options)
  if (keptIn === undefined) return serve(options, io, { settings: loaded.options })
  const report = (line: string): void => void io.stderr.write(`tranched: ${line}\n`)
  const lock = await lockDirectory(keptIn, { io, command: 'sandbox' }, report)
  try {
    const isNew = options.force === true
    const terms = boundTerms(loaded.options)
    const keep = await openKept({ dir: keptIn, terms, isNew, report: report })
    return await serve(options, io, { settings: loaded.options, keep, keptIn })
  } finally {
    lock.release()
  }
}

function keptInOf({ keep, configOut }: SandboxCommandOptions): string | undefined {
  if (keep !== true) return keep === undefined ? undefined : resolve(keep)
  return configOut === undefined
    ? resolve(KEPT_ALONE)
    : join(dirname(resolve(configOut)), KEPT_BESIDE_CONFIG)
}

async function serve(
  options: SandboxCommandOptions,
  io: Io,
  {
    settings,
    keep,
    keptIn,
  }: { readonly settings: SandboxOptions; readonly keep?: Keep; readonly keptIn?: string },
): Promise<ExitCode> {
  const { configOut, force = false } = options
  const former = keep?.former
  if (configOut !== undefined && former === undefined)
    requirePlaces(sandboxConfigFiles(configOut), force)
  // An earlier config of this sandbox names its ports.
  const ports = { ...(former && portsOf(former.state.urls)), ...settings.ports }
  await requireFreePorts(ports)
  const running = await startSandbox({ ...settings, ports, anvilBin: io.env['ANVIL_BIN'] }, keep)
  let fault: Error | undefined
  try {
    const written = configOut === undefined ? undefined : await write(options, running, former)
    const isResumed = former !== undefined
    const place = { config: written?.file ?? null, keptIn: keptIn ?? null, isResumed }
    const report = sandboxReport(running, place)
    if (options.json) printJson<SandboxData>(io, { ok: true, ...report, problems: [] })
    else {
      const isFresh = written !== undefined && !isResumed
      const obstacles = isFresh ? await obstaclesOf(options) : []
      const program = programName(io, '.')
      io.stdout.write(sandboxText(report, { workingDirectory: process.cwd(), obstacles, program }))
    }
    io.signalReady()
    fault = await Promise.race([untilStopped(options.forMs, io), running.failed])
  } finally {
    await running.stop().catch((error: unknown) => {
      // A node that has ended by itself takes no last snapshot.
      if (fault === undefined) throw error
    })
  }
  if (fault !== undefined) throw fault
  if (!options.json) io.stdout.write(partingText(keptIn, process.cwd()))
  return EXIT.done
}

function write(options: SandboxCommandOptions, running: Sandbox, former: Keep['former']) {
  const { configOut: file = '', force = false } = options
  const ofFresh = force ? 'replace' : 'refuse'
  const existing = former === undefined ? ofFresh : 'reuse'
  return writeSandboxConfig({ ...options, sandbox: running, file, existing })
}

/** Why a daemon would refuse the config that was just written. */
async function obstaclesOf({
  stateDir,
  strategiesDir,
}: Pick<SandboxCommandOptions, 'stateDir' | 'strategiesDir'>): Promise<readonly string[]> {
  const obstacles: string[] = []
  // The chain of this sandbox is new: existing state belongs to another.
  if (await holdsState(stateDir))
    obstacles.push(`${stateDir} holds the state of another chain: move it, or give --state-dir`)
  if (!existsSync(strategiesDir))
    obstacles.push(
      `${strategiesDir} does not exist: run \`tranched init\`, or give --strategies-dir`,
    )
  return obstacles
}

async function untilStopped(forMs: number | undefined, io: Io): Promise<undefined> {
  let timer: NodeJS.Timeout | undefined
  let offSignal = (): void => undefined
  await new Promise<void>((resolve) => {
    if (forMs !== undefined) timer = setTimeout(resolve, forMs)
    // An earlier signal is delivered at once.
    offSignal = io.onSignal(() => resolve())
  })
  clearTimeout(timer)
  offSignal()
  return undefined
}
