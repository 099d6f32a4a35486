import { createClock } from '../adapters/clock.ts'
import { acquireLock } from '../adapters/state/state-lock.ts'
import { createScrubber, type Scrubber } from '../adapters/tell/scrubber.ts'
import { problemOf } from '../config/yaml/problem.ts'
import type { Observation } from '../domain/observation.ts'
import type { Settings } from '../domain/settings.ts'
import type { Address } from '../domain/units.ts'
import type { AggregatorContext } from '../execute/context.ts'
import type { Clock } from '../ports.ts'
import { loadForReading } from './commands/status.ts'
import { composeAggregator } from './compose.ts'
import { readSigner } from './daemon/operate.ts'
import { EXIT, type ExitCode, type Io, printJson } from './io.ts'
import { type ConfigOptions, reportProblems } from './load.ts'

/** What the commands that set up an account of the aggregation service work with. */
export type AggregatorTools = {
  readonly settings: Settings
  readonly aggregator: AggregatorContext
  /** Of the aggregator's wallet. */
  readonly account: Address
  readonly clock: Clock
  readonly observe: (event: Observation) => void
  /** Aborted by the first termination signal. */
  readonly stop: AbortSignal
  readonly scrubber: Scrubber
  /** One line of progress for a person, beside the data on stdout. */
  readonly tell: (line: string) => void
}

/** Opens the aggregator's wallet and adapters for one task, and closes them after it. */
export async function withAggregator(
  options: ConfigOptions,
  io: Io,
  task: (tools: AggregatorTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { settings } = loaded
  if (settings.aggregator === undefined)
    return reportProblems([sectionMissing(settings)], io, options)
  const scrubber = createScrubber()
  const wallet = await readSigner(settings, settings.aggregator.wallet, { scrubber, io })
  if (!wallet.ok) return reportProblems([wallet.problem], io, options)
  const tell = (line: string): void => void io.stderr.write(`${scrubber.text(line)}\n`)
  const observe = (event: Observation): void => tellOf(event, tell)
  const clock = createClock()
  const stopping = new AbortController()
  const offSignal = io.onSignal((name) => stopping.abort(name))
  const { signer } = wallet
  const composed = composeAggregator({ settings, clock, observe, operator: signer })
  if (composed === undefined) throw new Error('the aggregator is not configured')
  try {
    return await task({
      settings,
      aggregator: composed.context,
      account: signer.address,
      clock,
      observe,
      stop: stopping.signal,
      scrubber,
      tell,
    })
  } finally {
    offSignal()
    await Promise.all([composed.close(), clock.close()])
  }
}

/**
 * Holds the state directory while `task` runs (rule G6): a daemon beside it would use the same account nonces. Throws
 * StateLockedError. Refuses in dry-run mode, which signs nothing that costs money.
 */
export async function whileStopped(
  input: {
    readonly tools: AggregatorTools
    readonly options: ConfigOptions
    readonly io: Io
    readonly command: string
  },
  task: () => Promise<ExitCode>,
): Promise<ExitCode> {
  const { tools, options, io, command } = input
  const { mode, stateDir } = tools.settings
  if (mode === 'dry-run')
    return printOutcome(io, options, {
      ok: false,
      message: 'in mode dry-run nothing is signed that costs money: this takes `mode: live`',
    })
  const startedAtMs = tools.clock.now()
  const release = await acquireLock(stateDir, {
    pid: io.pid,
    command: `tranched ${command}`,
    startedAtMs,
  })
  try {
    return await task()
  } finally {
    release()
  }
}

/** What a command found out: data on stdout, or `name value` lines for a person. */
export function printReport(
  io: Io,
  options: { readonly json?: boolean | undefined },
  report: { readonly data: object; readonly lines: readonly (readonly [string, string])[] },
): void {
  if (options.json) {
    printJson(io, report.data)
    return
  }
  const width = Math.max(...report.lines.map(([name]) => name.length))
  for (const [name, value] of report.lines) io.stdout.write(`${name.padEnd(width)}  ${value}\n`)
}

/** Says how a command ended. A failure's reason is data under --json. */
export function printOutcome(
  io: Io,
  options: { readonly json?: boolean | undefined },
  outcome: { readonly ok: boolean; readonly message: string; readonly data?: object },
): ExitCode {
  const { ok, message, data = {} } = outcome
  if (options.json) printJson(io, { ok, message, ...data })
  else (ok ? io.stdout : io.stderr).write(`${message}\n`)
  return ok ? EXIT.done : EXIT.failed
}

function tellOf(event: Observation, tell: (line: string) => void): void {
  if (event.type === 'transaction-sent') tell(`transaction ${event.hash}: sent`)
  else if (event.type === 'transaction' && event.status !== 'recorded')
    tell(`transaction ${event.hash}: ${event.status}`)
  else if (event.type === 'chain-trouble') tell(`${event.doing}: ${event.message}`)
}

function sectionMissing(settings: Settings): ReturnType<typeof problemOf> {
  return problemOf({
    file: settings.file,
    path: 'aggregator',
    message: 'this config does not use the aggregation service',
    expected: 'an `aggregator` section; config/live.example.yaml shows one',
  })
}
