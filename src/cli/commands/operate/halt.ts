import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import type { ControlAnswer } from '../../../control/ask-control.ts'
import type { Controlled, InFlight } from '../../../engine/daemon-control.ts'
import { instantText } from '../../../observe/wording.ts'
import type { LockClaim } from '../../../store/lock/lock-claims.ts'
import { readLock } from '../../../store/lock/state-lock.ts'
import { askDaemon, giveHalt, runningDaemons } from '../../compose/daemons.ts'
import type { HaltData, HaltFailedData } from '../../json/operate-outputs.ts'
import type { TargetOptions } from '../../load-files.ts'
import { columnsOf, EXIT, type ExitCode, type Io, print } from '../../process/io.ts'
import { Refusal } from '../../process/refusal.ts'
import { wrapped } from '../../text/table.ts'

/** Short, because the file already blocks signatures: a hanging daemon must not delay the command. */
const ANSWER_MS_MAX = 3_000

type Places = {
  readonly places: readonly {
    readonly stateDir: string
    /** True if a daemon surely uses this directory, so that it is created if missing. */
    readonly mayMake: boolean
  }[]
  readonly note?: string
  /** Why some daemons may still run. */
  readonly fault?: string
}

/** The halt of one state directory. */
type Given = {
  readonly stateDir: string
  readonly file: string
  /** Why the file could not be written; undefined if it exists. */
  readonly fileFault: string | undefined
  readonly answer: ControlAnswer | undefined
  /** True if neither a socket nor a lock shows a daemon. */
  readonly isAbsent: boolean
  readonly holder: LockClaim | undefined
}

/**
 * `tranched halt`: writes the file HALT into the state directory, which blocks all later signatures, and then asks the
 * daemon. Without a target, halts every running daemon. Needs no config, daemon, socket or key (rule T9).
 */
export async function halt(options: TargetOptions, io: Io, nowMs: number): Promise<ExitCode> {
  const { places, note, fault } = await placesOf(options, io)
  const text = `halted by ${userName()} at ${new Date(nowMs).toISOString()} (tranched halt)`
  // Writes all files first: no daemon keeps signing while another is contacted.
  const written = places.map(({ stateDir, mayMake }) => {
    return { ...giveHalt(stateDir, { mayMake, text }), stateDir }
  })
  const all = await Promise.all(
    written.map(async ({ stateDir, file, fault: fileFault }): Promise<Given> => {
      const reply = await askDaemon(stateDir, { command: 'halt' }, ANSWER_MS_MAX)
      const holder = holderNow(stateDir)
      const answer = reply.tag === 'answered' ? reply.answer : undefined
      const isAbsent = reply.tag === 'absent' && holder === undefined
      return { stateDir, file, fileFault, answer, isAbsent, holder }
    }),
  )
  const failures = all.filter((given) => !isHeld(given)).map(failText)
  if (fault !== undefined) failures.push(fault)
  if (failures.length > 0) throw failed(all, failures)
  return report(all, note, { options, io })
}

async function placesOf(options: TargetOptions, io: Io): Promise<Places> {
  if (options.isNamed) return namedPlace(options, io)
  const running = runningDaemons()
  if (!running.ok) {
    const fault = `running daemons cannot be listed (${running.why}): halt each with --config or --state-dir`
    const { places, fault: nowhere } = await namedPlace(options, io)
    return { places, fault: [nowhere, fault].filter((text) => text !== undefined).join('\n') }
  }
  if (running.daemons.length === 0)
    return { note: NONE_RUNS, ...(await namedPlace(options, io, NONE_RUNS)) }
  return { places: running.daemons.map(({ stateDir }) => ({ stateDir, mayMake: false })) }
}

const NONE_RUNS = 'no daemon of yours is running; '

async function namedPlace(options: TargetOptions, io: Io, note = ''): Promise<Places> {
  // A flag or variable needs no config, and a config need not be valid.
  const typed = options.stateDir ?? (io.env['TRANCHED_STATE_DIR'] || undefined)
  if (typed !== undefined) return { places: [{ stateDir: resolve(typed), mayMake: false }] }
  // Loaded only now: a halt of a given or running daemon starts fast.
  const { settingsForReading, writtenStateDir } = await import('../../load-files.ts')
  const found = settingsForReading(options, io)
  if (found.ok) return { places: [{ stateDir: found.settings.stateDir, mayMake: true }] }
  const stateDir = writtenStateDir(options, io)
  if (stateDir !== undefined) return { places: [{ stateDir, mayMake: false }] }
  const fault = `${note}${options.config} does not name the state directory: nothing is halted. Name it: tranched halt --state-dir DIR`
  return { places: [], fault }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry has no name.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** The process to kill if necessary; undefined if the lock is unreadable. */
function holderNow(stateDir: string): LockClaim | undefined {
  try {
    return readLock(stateDir)
  } catch {
    return undefined
  }
}

/** The halt holds through the file or the daemon's journal. */
function isHeld({ fileFault, answer }: Given): boolean {
  return fileFault === undefined || answer?.ok === true
}

function inFlightOf({ answer }: Given): readonly InFlight[] {
  return answer?.ok === true ? (answer.result as Extract<Controlled, { ok: true }>).inFlight : []
}

function report(
  all: readonly Given[],
  note = '',
  { options, io }: { readonly options: TargetOptions; readonly io: Io },
): ExitCode {
  const daemons = all.map(dataOf)
  const [first] = daemons
  if (options.json && first !== undefined) {
    const { isHalted: _, ...one } = first
    return print<HaltData>(io, options, { changed: ['everything'], ...one, daemons }, () => [])
  }
  for (const given of all) {
    const lines = `${note}${heldLines(given, all.length > 1).join('\n')}`.split('\n')
    for (const line of wrapped(lines, columnsOf(io))) io.stdout.write(`${line}\n`)
    for (const line of unansweredLines(given)) io.stderr.write(`${line}\n`)
  }
  return EXIT.done
}

function dataOf(given: Given): HaltData['daemons'][number] {
  const { stateDir, file, fileFault, holder } = given
  return {
    stateDir,
    isHalted: isHeld(given),
    file: fileFault === undefined ? file : null,
    isAnswered: given.answer?.ok === true,
    pid: holder?.pid ?? null,
    inFlight: inFlightOf(given).map(inFlightData),
  }
}

function heldLines(given: Given, isOneOfMany: boolean): readonly string[] {
  const { stateDir, file, fileFault, holder } = given
  const where =
    fileFault === undefined ? `${file} is in place` : `the daemon has journaled it; ${fileFault}`
  const named = holder?.config === undefined ? '' : ` --config ${holder.config}`
  const ends = `tranched resume${isOneOfMany ? `${named} --state-dir ${stateDir}` : ''}`
  return [
    `halted everything in ${stateDir} (${where}); \`${ends}\` ends it`,
    ...inFlightOf(given).map(inFlightText),
  ]
}

/** Empty if the daemon answers, or if none runs. */
function unansweredLines({ answer, isAbsent, holder }: Given): readonly string[] {
  if (answer?.ok === true || isAbsent) return []
  return [
    `${whoOf(holder)} does not answer. It checks for the file before each signature, so it signs nothing from now on.`,
    'Orders that it has already signed may still execute.',
    ...forceText(holder),
  ]
}

/** Killing a daemon loses nothing: the journal has its signatures, and the file holds at its next start. */
function forceText(holder: LockClaim | undefined): readonly string[] {
  if (holder === undefined) return []
  const { pid, host } = holder
  const after = `(on ${host}; its supervisor may start it again, and it stays halted)`
  return [`To end it by force: kill -9 ${pid}   ${after}`]
}

function whoOf(holder: LockClaim | undefined): string {
  return `the daemon${holder ? ` (process ${holder.pid} on ${holder.host})` : ''}`
}

function failText({ fileFault, answer, isAbsent, holder }: Given): string {
  const said = answer?.ok === false ? `: ${answer.detail}` : ''
  const daemon = isAbsent
    ? 'and no daemon runs there'
    : `and ${whoOf(holder)} did not confirm it${said}`
  return [`NOT halted: ${fileFault}, ${daemon}.`, ...forceText(holder)].join('\n')
}

/** Also lists successful halts: the operator must handle the rest at once. */
function failed(all: readonly Given[], failures: readonly string[]): Refusal {
  const held = all.filter(isHeld)
  const lines = held.flatMap((given) => [...heldLines(given, true), ...unansweredLines(given)])
  const data: Pick<HaltFailedData, 'daemons'> = { daemons: all.map(dataOf) }
  return new Refusal([...failures, ...lines].join('\n'), { data })
}

export function inFlightData({ intentId, state, deadlineSeconds: until }: InFlight) {
  return { intentId, state, deadlineAt: until === undefined ? null : instantText(until) }
}

export function inFlightText({ intentId, state, deadlineSeconds }: InFlight): string {
  const until =
    deadlineSeconds === undefined ? '' : `, at most until ${instantText(deadlineSeconds)}`
  return `  still in flight: ${intentId} (${state}${until}); it is followed to its end`
}
