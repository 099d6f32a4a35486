import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import type { Asked } from '../../../adapters/control/control-socket.ts'
import type { LockClaim } from '../../../adapters/state/lock-claims.ts'
import { findStateDir } from '../../../config/settings/find-state-dir.ts'
import type { Controlled } from '../../../engine/control.ts'
import { askDaemon } from '../../compose/control.ts'
import { giveHalt, holderOf } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { HaltData } from '../../json/operate.ts'
import { type ConfigOptions, settingsForReading } from '../../load.ts'
import { inFlightData, inFlightText } from './control.ts'

/** The file holds already when the daemon is asked: nobody has to wait long for one that hangs. */
const ANSWER_MS_MAX = 3_000

/** What became of a halt. `isHeld`: it holds, wherever it stands. */
type Given = {
  readonly stateDir: string
  readonly file: string
  /** Why there is no file; undefined where it stands. */
  readonly fileFault: string | undefined
  readonly asked: Asked
  readonly holder: LockClaim | undefined
}

/**
 * `tranched halt`: puts the file HALT into the state directory, which bars every later signature, and then tells the daemon.
 * It needs no config, no daemon, no socket and no key (rule T9).
 */
export async function halt(options: ConfigOptions, io: Io, nowMs: number): Promise<ExitCode> {
  const found = stateDirOf(options, io)
  if (found === undefined) return refuse(NOWHERE(options.config), options, io)
  const { stateDir, origin } = found
  const words = `halted by ${userName()} at ${new Date(nowMs).toISOString()} (tranched halt)`
  const { file, fault: fileFault } = giveHalt(stateDir, { words, mayMake: origin === 'config' })
  const asked = await askDaemon(stateDir, { command: 'halt' }, ANSWER_MS_MAX)
  const given = { stateDir, file, fileFault, asked, holder: holderNow(stateDir) }
  return fileFault === undefined || isDone(asked)
    ? tell(given, options, io)
    : fail(given, options, io)
}

const NOWHERE = (config: string): string =>
  `${config} does not say where the state is: nothing is halted. Give the directory: tranched halt --state-dir DIR`

/** Flag and environment need no config; a config need not be whole. */
function stateDirOf(
  options: ConfigOptions,
  io: Io,
):
  | { readonly stateDir: string; readonly origin: 'typed' | 'config' | 'broken config' }
  | undefined {
  const typed = options.stateDir ?? (io.env['TRANCHED_STATE_DIR'] || undefined)
  if (typed !== undefined) return { stateDir: resolve(typed), origin: 'typed' }
  const settings = settingsForReading(options, io)
  if (settings.ok) return { stateDir: settings.settings.stateDir, origin: 'config' }
  const stateDir = findStateDir({ file: options.config, env: io.env })
  return stateDir === undefined ? undefined : { stateDir, origin: 'broken config' }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry has no name.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Who would have to be ended by force. A lock that cannot be read names nobody. */
function holderNow(stateDir: string): LockClaim | undefined {
  try {
    return holderOf(stateDir)
  } catch {
    return undefined
  }
}

function isDone(asked: Asked): boolean {
  return asked.tag === 'answered' && asked.answer.ok
}

function tell(given: Given, options: ConfigOptions, io: Io): ExitCode {
  const { stateDir, file, fileFault, asked, holder } = given
  const inFlight =
    isDone(asked) && asked.tag === 'answered' && asked.answer.ok
      ? (asked.answer.result as Extract<Controlled, { ok: true }>).inFlight
      : []
  const isAnswered = isDone(asked)
  if (options.json) {
    const pid = holder?.pid ?? null
    const written = fileFault === undefined ? file : null
    printJson<HaltData>(io, {
      ok: true,
      changed: ['everything'],
      stateDir,
      file: written,
      isAnswered,
      pid,
      inFlight: inFlight.map(inFlightData),
      problems: [],
    })
    return EXIT.done
  }
  const where =
    fileFault === undefined ? `${file} stands` : `the daemon has it in its journal; ${fileFault}`
  const lines = [
    `halted everything in ${stateDir} (${where}); \`tranched resume\` ends it`,
    ...inFlight.map(inFlightText),
  ]
  io.stdout.write(`${lines.join('\n')}\n`)
  const more = isAnswered ? undefined : unansweredText(given)
  if (more !== undefined) io.stderr.write(`${more}\n`)
  return EXIT.done
}

/** Undefined where no daemon runs, which is as good as an answer. */
function unansweredText({ asked, holder }: Given): string | undefined {
  if (asked.tag === 'absent' && holder === undefined) return undefined
  return [
    `${whoOf(holder)} gives no answer. It looks for the file before each signature, so that it signs nothing from now on.`,
    'What it has signed before may still execute.',
    ...forceText(holder),
  ].join('\n')
}

/** A killed daemon loses nothing: the journal has what it signed, and the file holds at its next start. */
function forceText(holder: LockClaim | undefined): readonly string[] {
  if (holder === undefined) return []
  return [
    `To end it by force: kill -9 ${holder.pid}   (on ${holder.host}; its supervisor may start it again, and it stays halted)`,
  ]
}

function whoOf(holder: LockClaim | undefined): string {
  return holder === undefined
    ? 'the daemon'
    : `the daemon (process ${holder.pid} on ${holder.host})`
}

function fail(given: Given, options: ConfigOptions, io: Io): ExitCode {
  const { fileFault, asked, holder } = given
  const said = asked.tag === 'answered' && !asked.answer.ok ? `: ${asked.answer.detail}` : ''
  const isNobody = asked.tag === 'absent' && holder === undefined
  const daemon = isNobody
    ? 'and no daemon runs there'
    : `and ${whoOf(holder)} did not confirm it${said}`
  const detail = [`NOT halted: ${fileFault}, ${daemon}.`, ...forceText(holder)].join('\n')
  return refuse(detail, options, io)
}

function refuse(detail: string, options: ConfigOptions, io: Io): ExitCode {
  return printFailure(io, options, { message: detail })
}
