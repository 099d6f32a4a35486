import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import type { Asked } from '../../../adapters/control/control-socket.ts'
import type { LockClaim } from '../../../adapters/state/lock-claims.ts'
import { findStateDir } from '../../../config/settings/find-state-dir.ts'
import type { Controlled, InFlight } from '../../../engine/control.ts'
import { askDaemon } from '../../compose/control.ts'
import { giveHalt, holderOf, runningDaemons } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import type { HaltData, HaltFailedData } from '../../json/operate.ts'
import { settingsForReading } from '../../load.ts'
import type { TargetOptions } from '../../target.ts'
import { inFlightData, inFlightText } from './control.ts'

/** The file holds already when the daemon is asked: nobody has to wait long for one that hangs. */
const ANSWER_MS_MAX = 3_000

type Place = {
  readonly stateDir: string
  /** Surely the one that a daemon will use: it is made where it is not there. */
  readonly mayMake: boolean
}

/** Where to halt, and what an operator has to know of that. */
type Places = {
  readonly places: readonly Place[]
  /** Where nothing was named and no daemon runs. */
  readonly note?: string
  /** Why daemons may run that are not halted. */
  readonly fault?: string
}

/** What became of a halt in one state directory. */
type Given = {
  readonly stateDir: string
  readonly file: string
  /** Why there is no file; undefined where it stands. */
  readonly fileFault: string | undefined
  readonly asked: Asked
  readonly holder: LockClaim | undefined
}

/**
 * `tranched halt`: puts the file HALT into the state directory, which bars every later signature, and then tells the daemon. Where
 * no target is named, into that of every daemon that runs. It needs no config, no daemon, no socket and no key (rule T9).
 */
export async function halt(options: TargetOptions, io: Io, nowMs: number): Promise<ExitCode> {
  const { places, note, fault } = placesOf(options, io)
  const words = `halted by ${userName()} at ${new Date(nowMs).toISOString()} (tranched halt)`
  // Every file first: no daemon goes on signing while another is asked.
  const written = places.map((place) => ({
    ...place,
    ...giveHalt(place.stateDir, { ...place, words }),
  }))
  const all = await Promise.all(
    written.map(async ({ stateDir, file, fault: fileFault }): Promise<Given> => {
      const asked = await askDaemon(stateDir, { command: 'halt' }, ANSWER_MS_MAX)
      return { stateDir, file, fileFault, asked, holder: holderNow(stateDir) }
    }),
  )
  const failures = [
    ...all.filter((given) => !isHeld(given)).map(failText),
    ...(fault ? [fault] : []),
  ]
  if (failures.length > 0) return fail(all, failures, { options, io })
  tell(all, note, { options, io })
  return EXIT.done
}

function placesOf(options: TargetOptions, io: Io): Places {
  if (options.isNamed) return namedPlace(options, io)
  const running = runningDaemons()
  if (!running.ok) {
    const fault = `whether daemons run could not be found out (${running.why}): halt each by --config or --state-dir`
    const { places, fault: nowhere } = namedPlace(options, io)
    return { places, fault: [nowhere, fault].filter((text) => text !== undefined).join('\n') }
  }
  if (running.daemons.length === 0)
    return { note: NONE_RUNS, ...namedPlace(options, io, NONE_RUNS) }
  return { places: running.daemons.map(({ stateDir }) => ({ stateDir, mayMake: false })) }
}

const NONE_RUNS = 'no daemon of yours is running; '

/** The state of a config, or the directory itself. */
function namedPlace(options: TargetOptions, io: Io, note = ''): Places {
  const place = stateDirOf(options, io)
  if (place !== undefined) return { places: [place] }
  const fault = `${note}${options.config} does not say where the state is: nothing is halted. Give the directory: tranched halt --state-dir DIR`
  return { places: [], fault }
}

/** Flag and environment need no config; a config need not be whole. */
function stateDirOf(options: TargetOptions, io: Io): Place | undefined {
  const typed = options.stateDir ?? (io.env['TRANCHED_STATE_DIR'] || undefined)
  if (typed !== undefined) return { stateDir: resolve(typed), mayMake: false }
  const settings = settingsForReading(options, io)
  if (settings.ok) return { stateDir: settings.settings.stateDir, mayMake: true }
  const stateDir = findStateDir({ file: options.config, env: io.env })
  return stateDir === undefined ? undefined : { stateDir, mayMake: false }
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

function isAnswered({ asked }: Given): boolean {
  return asked.tag === 'answered' && asked.answer.ok
}

/** The halt holds, wherever it stands. */
function isHeld(given: Given): boolean {
  return given.fileFault === undefined || isAnswered(given)
}

function inFlightOf({ asked }: Given): readonly InFlight[] {
  if (asked.tag !== 'answered' || !asked.answer.ok) return []
  return (asked.answer.result as Extract<Controlled, { ok: true }>).inFlight
}

type To = { readonly options: TargetOptions; readonly io: Io }

function tell(all: readonly Given[], note: string | undefined, { options, io }: To): void {
  const daemons = all.map(dataOf)
  const [first] = daemons
  if (options.json && first !== undefined) {
    const { isHalted: _, ...one } = first
    printJson<HaltData>(io, { ok: true, changed: ['everything'], ...one, daemons, problems: [] })
    return
  }
  for (const given of all) {
    io.stdout.write(`${note ?? ''}${heldLines(given, all.length > 1).join('\n')}\n`)
    for (const line of unansweredLines(given)) io.stderr.write(`${line}\n`)
  }
}

function dataOf(given: Given): HaltData['daemons'][number] {
  const { stateDir, file, fileFault, holder } = given
  return {
    stateDir,
    isHalted: isHeld(given),
    file: fileFault === undefined ? file : null,
    isAnswered: isAnswered(given),
    pid: holder?.pid ?? null,
    inFlight: inFlightOf(given).map(inFlightData),
  }
}

function heldLines(given: Given, isOneOfMany: boolean): readonly string[] {
  const { stateDir, file, fileFault, holder } = given
  const where =
    fileFault === undefined ? `${file} stands` : `the daemon has it in its journal; ${fileFault}`
  const named = holder?.config === undefined ? '' : ` --config ${holder.config}`
  const ends = `tranched resume${isOneOfMany ? `${named} --state-dir ${stateDir}` : ''}`
  return [
    `halted everything in ${stateDir} (${where}); \`${ends}\` ends it`,
    ...inFlightOf(given).map(inFlightText),
  ]
}

/** None where the daemon answers, or where none runs, which is as good. */
function unansweredLines(given: Given): readonly string[] {
  const { asked, holder } = given
  if (isAnswered(given) || (asked.tag === 'absent' && holder === undefined)) return []
  return [
    `${whoOf(holder)} gives no answer. It looks for the file before each signature, so that it signs nothing from now on.`,
    'What it has signed before may still execute.',
    ...forceText(holder),
  ]
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

function failText({ fileFault, asked, holder }: Given): string {
  const said = asked.tag === 'answered' && !asked.answer.ok ? `: ${asked.answer.detail}` : ''
  const isNobody = asked.tag === 'absent' && holder === undefined
  const daemon = isNobody
    ? 'and no daemon runs there'
    : `and ${whoOf(holder)} did not confirm it${said}`
  return [`NOT halted: ${fileFault}, ${daemon}.`, ...forceText(holder)].join('\n')
}

/** What is halted is told as well: whoever reads this has to see to the rest at once. */
function fail(all: readonly Given[], failures: readonly string[], { options, io }: To): ExitCode {
  const held = all.filter(isHeld)
  const lines = held.flatMap((given) => [...heldLines(given, true), ...unansweredLines(given)])
  const message = [...failures, ...lines].join('\n')
  if (!options.json) io.stderr.write(`${message}\n`)
  else printJson<HaltFailedData>(io, { ok: false, message, daemons: all.map(dataOf), problems: [] })
  return EXIT.failed
}
