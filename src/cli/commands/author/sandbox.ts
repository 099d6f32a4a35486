import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { shellWord } from '../../../domain/text/shell-word.ts'
import {
  requirePlaces,
  sandboxConfigFiles,
  writeSandboxConfig,
} from '../../../sandbox/config-files.ts'
import { openKept } from '../../../sandbox/keep/directory.ts'
import type { Keep } from '../../../sandbox/keep/keeper.ts'
import { boundTerms, type SandboxOptions } from '../../../sandbox/options.ts'
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts'
import type { TypedFlag } from '../../../sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../sandbox/settings/load-sandbox-settings.ts'
import { portsOf, requireFreePorts } from '../../../sandbox/settings/ports.ts'
import { isOfFlag } from '../../../sandbox/settings/typed.ts'
import { holdsState } from '../../../store/file/state-files.ts'
import { lockDirectory } from '../../compose/state.ts'
import type { SandboxData, SandboxReport } from '../../json/author-outputs.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../process/io.ts'
import { programName } from '../../process/program-name.ts'
import { refusalOf } from '../../process/refusal.ts'

export type SandboxCommandOptions = {
  readonly settings?: string
  readonly typed: readonly TypedFlag[]
  readonly configOut?: string
  /** True for the default directory. */
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

/** `tranched sandbox`: runs only the local chains and services, until stopped. */
export async function sandbox(options: SandboxCommandOptions, io: Io): Promise<ExitCode> {
  const loaded = loadSandboxOptions({ file: options.settings, typed: options.typed })
  if (!loaded.ok)
    throw refusalOf(loaded.problems, loaded.problems.every(isOfFlag) ? EXIT.usage : EXIT.badConfig)
  const keptIn = keptInOf(options)
  if (keptIn === undefined) return serve(options, io, { settings: loaded.options })
  const report = (line: string): void => void io.stderr.write(`tranched: ${line}\n`)
  const lock = await lockDirectory(keptIn, { io, command: 'sandbox' }, report)
  try {
    const isNew = options.force === true
    const terms = boundTerms(loaded.options)
    const keep = await openKept({ dir: keptIn, terms, isNew, report })
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
  given: { readonly settings: SandboxOptions; readonly keep?: Keep; readonly keptIn?: string },
): Promise<ExitCode> {
  const { settings, keep, keptIn } = given
  const { configOut, force = false } = options
  const former = keep?.former
  if (configOut !== undefined && former === undefined)
    requirePlaces(sandboxConfigFiles(configOut), force)
  // An earlier config of this sandbox names its ports; settings override them.
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
      // A node that failed on its own cannot take its last snapshot.
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

/** Reasons why a daemon would refuse the new config. */
async function obstaclesOf(options: SandboxCommandOptions): Promise<readonly string[]> {
  const { stateDir, strategiesDir } = options
  const obstacles: string[] = []
  // This sandbox's chain is new, so existing state belongs to another.
  if (await holdsState(stateDir))
    obstacles.push(`${stateDir} holds the state of another chain: move it, or give --state-dir`)
  const remedy = 'run `tranched init`, or give --strategies-dir'
  if (!existsSync(strategiesDir)) obstacles.push(`${strategiesDir} does not exist: ${remedy}`)
  return obstacles
}

async function untilStopped(forMs: number | undefined, io: Io): Promise<undefined> {
  let timer: NodeJS.Timeout | undefined
  let offSignal = (): void => undefined
  await new Promise<void>((resolve) => {
    if (forMs !== undefined) timer = setTimeout(resolve, forMs)
    // Called at once if a signal came earlier.
    offSignal = io.onSignal(() => resolve())
  })
  clearTimeout(timer)
  offSignal()
  return undefined
}

export function sandboxReport(
  sandbox: Omit<Sandbox, 'market' | 'faults' | 'config' | 'failed' | 'stop'>,
  written: Partial<Pick<SandboxReport, 'config' | 'keptIn' | 'isResumed'>>,
): SandboxReport {
  const { contracts, sepolia, tokens, feeds } = sandbox
  const { permit2, multicall3, settlement, sequencerFeed } = contracts
  return {
    rpcUrl: sandbox.rpcUrl,
    gaslessUrl: sandbox.gaslessUrl,
    aggregatorUrl: sandbox.aggregatorUrl,
    sepoliaRpcUrl: sepolia.rpcUrl,
    adminUrl: sandbox.adminUrl,
    chainId: sandbox.chainId,
    aggregatorChainId: sepolia.chainId,
    trader: sandbox.trader.address,
    operator: sandbox.operator.address,
    contracts: { permit2, multicall3, settlement, sequencerFeed },
    tokens: Object.fromEntries(tokens.map(({ symbol, address }) => [symbol, address])),
    feeds: Object.fromEntries(
      feeds.map(({ base, quote, address }) => [`${base}/${quote}`, address]),
    ),
    aggregatorContracts: sepolia.contracts,
    config: written.config ?? null,
    keptIn: written.keptIn ?? null,
    isResumed: written.isResumed === true,
  }
}

const COLUMNS = 100
const DEPOSIT = '0.05'

/** The same as text, with next steps. `obstacles`: reasons why the next commands would fail, one per line. */
export function sandboxText(
  report: SandboxReport,
  from: {
    readonly workingDirectory: string
    readonly obstacles: readonly string[]
    readonly program: string
  },
): string {
  const config = report.config === null ? undefined : shortest(report.config, from.workingDirectory)
  const keptIn = report.keptIn === null ? undefined : shortest(report.keptIn, from.workingDirectory)
  const rows: readonly (readonly [name: string, value: string, note?: string])[] = [
    ['gasless swap service', report.gaslessUrl, 'REST, under /api/v1'],
    [`its chain, id ${report.chainId}`, report.rpcUrl],
    ['aggregation service', report.aggregatorUrl, 'JSON-RPC, described at /docs'],
    [`its chain, id ${report.aggregatorChainId}`, report.sepoliaRpcUrl],
    ['admin port', report.adminUrl, 'prices, funds and faults'],
    ['trader', report.trader, `swaps on chain ${report.chainId}`],
    ['operator', report.operator, `calls on chain ${report.aggregatorChainId}`],
    ['demo target', report.aggregatorContracts.demoTarget, 'a contract to call'],
    ...(config === undefined ? [] : [['config', config] as const]),
    ...(keptIn === undefined ? [] : [['kept in', keptIn] as const]),
  ]
  return [
    openingOf(report),
    '',
    ...aligned(rows),
    '',
    ...obstacleLines(from.obstacles),
    ...(config === undefined
      ? withoutConfig(from.program)
      : nextSteps(report, { config, program: from.program })),
    '',
  ].join('\n')
}

function openingOf({ keptIn, isResumed }: SandboxReport): string {
  const worth = 'their funds are worth nothing.'
  if (keptIn === null) return `Two chains and two services are up; ${worth} Ctrl-C ends them.`
  const are = isResumed ? 'have resumed' : 'are up'
  return `Two chains and two services ${are}; ${worth} Ctrl-C stops and keeps them.`
}

export function partingText(keptIn: string | undefined, workingDirectory: string): string {
  if (keptIn === undefined) return 'The sandbox has ended; its chains and accounts are gone.\n'
  return `The sandbox has stopped. It is kept in ${shortest(keptIn, workingDirectory)}: the same command resumes it.\n`
}

function obstacleLines(obstacles: readonly string[]): readonly string[] {
  if (obstacles.length === 0) return []
  return ['Before anything else:', '', ...obstacles.map((text) => `  ${text}`), '']
}

function withoutConfig(program: string): readonly string[] {
  return [
    'Next: point a client at the addresses above, or start again with a config for the daemon:',
    '',
    `  ${program} sandbox --config-out config/sandbox-live.yaml`,
  ]
}

type Typed = { readonly config: string; readonly program: string }

function nextSteps({ isResumed }: SandboxReport, typed: Typed): readonly string[] {
  if (isResumed) return ['Next, in another terminal:', '', ...command('run', typed)]
  const steps = [`gastank deposit ${DEPOSIT} --yes`, 'delegation set', 'run']
  return [
    'Next, in another terminal (the first two only for strategies that call contracts):',
    '',
    ...steps.flatMap((step) => command(step, typed)),
  ]
}

/** A command to copy; a long one continues on a second line. */
function command(words: string, { config, program }: Typed): readonly string[] {
  const start = `  ${program} ${words}`
  const file = `--config ${shellWord(config)}`
  const whole = `${start} ${file}`
  return whole.length <= COLUMNS ? [whole] : [`${start} \\`, `    ${file}`]
}

function shortest(path: string, workingDirectory: string): string {
  const fromHere = relative(workingDirectory, path)
  return fromHere.length < path.length ? fromHere : path
}

function aligned(
  rows: readonly (readonly [name: string, value: string, note?: string])[],
): readonly string[] {
  const nameWidth = Math.max(...rows.map(([name]) => name.length))
  const noted = rows.filter(([, , note]) => note !== undefined)
  const valueWidth = Math.max(...noted.map(([, value]) => value.length))
  return rows.map(([name, value, note = '']) =>
    `  ${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${note}`.trimEnd(),
  )
}
