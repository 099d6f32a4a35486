import type { JournalKey } from '../../../adapters/keys/journal-key.ts'
import type { Loss, Restored } from '../../../adapters/state/care/restore.ts'
import type { StateProof } from '../../../adapters/state/care/state-proof.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { OperatorError } from '../../../domain/errors.ts'
import { withClock } from '../../compose/clock.ts'
import { isUsed, whileHeld } from '../../compose/state.ts'
import { STATE_CARE } from '../../compose/state-care.ts'
import { readJournalKey } from '../../compose/wallets.ts'
import { EXIT, type ExitCode, type Io, printOutcome, printReport } from '../../io.ts'
import type {
  BackupData,
  ProofData,
  RebuildData,
  RestoreData,
  VerifyData,
} from '../../json/state.ts'
import { type ConfigOptions, reportProblems, settingsForReading, stateMissing } from '../../load.ts'

export type StateOptions = ConfigOptions & {
  /** Where finished files of the journal were moved to. */
  readonly archive?: string
}

export type RestoreCommandOptions = ConfigOptions & { readonly replace?: boolean }

/** A state directory, and the key of its wallet or why there is none. */
type Place = {
  readonly stateDir: string
  readonly key: JournalKey | undefined
  /** Why records are not checked for who wrote them. */
  readonly keyless: string | undefined
}

type FoundPlace =
  | { readonly ok: true; readonly place: Place }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** `tranched state verify`: proves what is there, writes nothing. May be run beside a daemon. */
export async function stateVerify(options: StateOptions, io: Io): Promise<ExitCode> {
  const found = await placeOf(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir, key, keyless } = found.place
  if (!(await isUsed(stateDir))) return missing(stateDir, options, io)
  const { archive } = options
  const proof = await STATE_CARE.prove(stateDir, { key, archive })
  const isSound = STATE_CARE.isSound(proof)
  const lines = proofLines(proof, keyless)
  const structureOnly = keyless ?? null
  const data = { ok: isSound, stateDir, ...proofData(proof), structureOnly, problems: [] }
  const conclusion = isSound ? soundText(proof) : 'NOT SOUND: see above, and delete nothing'
  printReport<VerifyData>(io, options, {
    data,
    lines: [['state', stateDir], ...lines, ['', conclusion]],
  })
  return isSound ? EXIT.done : EXIT.failed
}

/** `tranched state rebuild`: makes state.json anew from a journal that proves whole. */
export async function stateRebuild(options: StateOptions, io: Io): Promise<ExitCode> {
  const found = await signedPlaceOf(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir, key } = found.place
  if (!(await isUsed(stateDir))) return missing(stateDir, options, io)
  const { archive } = options
  const { records, kept } = await held('state rebuild', { stateDir, io }, (nowMs) =>
    STATE_CARE.rebuild(stateDir, { key, archive, nowMs }),
  )
  const was = kept === undefined ? '' : `; the one that was there is kept as ${kept}`
  return printOutcome<RebuildData>(io, options, {
    ok: true,
    message: `state.json was made anew from ${records} records, all of which prove${was}`,
    stateDir,
    records,
    kept: kept ?? null,
    problems: [],
  })
}

/** `tranched state backup`: a copy that was proven before it got its name. May be run beside a daemon. */
export async function stateBackup(
  target: string,
  options: ConfigOptions,
  io: Io,
): Promise<ExitCode> {
  const found = await placeOf(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir, key, keyless } = found.place
  if (!(await isUsed(stateDir))) return missing(stateDir, options, io)
  const proof = await untilSignalled(io, (signal) =>
    STATE_CARE.backUp(stateDir, target, key, signal),
  )
  const lines = proofLines(proof, keyless)
  const data = {
    ok: true as const,
    stateDir,
    backup: target,
    ...proofData(proof),
    structureOnly: keyless ?? null,
    problems: [],
  }
  printReport<BackupData>(io, options, { data, lines: [['backup', target], ...lines] })
  return EXIT.done
}

/** `tranched state restore`: puts a backup in place of what is there, which is moved aside. */
export async function stateRestore(
  from: string,
  options: RestoreCommandOptions,
  io: Io,
): Promise<ExitCode> {
  const found = await signedPlaceOf(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir, key } = found.place
  const { replace = false } = options
  const restored = await untilSignalled(io, (signal) =>
    held('state restore', { stateDir, io }, (nowMs) =>
      STATE_CARE.restore(from, stateDir, { key, replace, nowMs, signal }),
    ),
  )
  const { backup, loss, objection, movedTo } = restored
  const isDone = objection === undefined || replace
  return printOutcome<RestoreData>(io, options, {
    ok: isDone,
    message: isDone ? restoredText(restored, from) : refusedText(restored),
    stateDir,
    backup: { from, ...proofData(backup) },
    movedTo: movedTo ?? null,
    objection: objection ?? null,
    loses: loss === undefined ? null : lossData(loss),
    problems: [],
  })
}

/** A command was told to end. */
class StoppedError extends OperatorError {
  override readonly name = 'StoppedError'
  readonly means = 'failed'
  constructor(signal: string) {
    super(`stopped by ${signal}: nothing was changed, and nothing is left behind`)
  }
}

/** A termination signal ends the task, and what it has made so far is taken away. */
async function untilSignalled<Result>(
  io: Io,
  task: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController()
  const off = io.onSignal((name) => stopping.abort(new StoppedError(name)))
  try {
    return await task(stopping.signal)
  } finally {
    off()
  }
}

/** The state directory of a config; where there is none that can be read, the one that was named. */
async function placeOf(options: ConfigOptions, io: Io): Promise<FoundPlace> {
  const found = settingsForReading(options, io)
  if (found.ok) {
    const { settings } = found
    const { stateDir } = settings
    const read = await readJournalKey(settings, io)
    if (!read.ok)
      return { ok: true, place: { stateDir, key: undefined, keyless: read.problem.message } }
    const keyless = read.key === undefined ? 'dry-run has no key' : undefined
    return { ok: true, place: { stateDir, key: read.key, keyless } }
  }
  const { stateDir } = options
  if (stateDir === undefined) return found
  return {
    ok: true,
    place: { stateDir, key: undefined, keyless: `${options.config} cannot be read` },
  }
}

/** The same for what writes: that takes the wallet's key. */
async function signedPlaceOf(options: ConfigOptions, io: Io): Promise<FoundPlace> {
  const found = settingsForReading(options, io)
  if (!found.ok) return found
  const { settings } = found
  const read = await readJournalKey(settings, io)
  if (!read.ok) return { ok: false, problems: [read.problem] }
  return { ok: true, place: { stateDir: settings.stateDir, key: read.key, keyless: undefined } }
}

/** No daemon is beside it. Throws StateLockedError. */
function held<Result>(
  command: string,
  { stateDir, io }: { readonly stateDir: string; readonly io: Io },
  task: (nowMs: number) => Promise<Result>,
): Promise<Result> {
  return withClock((clock) => whileHeld(stateDir, { io, command, clock }, () => task(clock.now())))
}

function missing(stateDir: string, options: ConfigOptions, io: Io): ExitCode {
  reportProblems([stateMissing(stateDir)], io, options)
  return EXIT.failed
}

function proofLines(proof: StateProof, keyless: string | undefined): [string, string][] {
  const { journalFault, snapshotFault } = proof
  const lines: [string, string][] = [
    ['journal', journalText(proof)],
    ['written by', authorText(proof, keyless)],
    ['state.json', snapshotText(proof)],
  ]
  if (proof.tornBytes > 0)
    lines.push([
      '',
      `the last append is cut short (${proof.tornBytes} bytes): a daemon is writing it, or a crash cut it`,
    ])
  for (const fault of [journalFault, snapshotFault])
    if (fault !== undefined)
      lines.push(['FAULT', `${fault.file}: ${fault.detail}`], ['to do', fault.remedy])
  return lines
}

function journalText({ records, last, files, archived, missing, format }: StateProof): string {
  if (last === undefined) return `no record in ${files} ${files === 1 ? 'file' : 'files'}`
  const first = last.seq - records + 1
  const where = archived === 0 ? '' : `, ${archived} of them in the archive`
  const former = format === 1 ? ', format 1' : ''
  const lacking =
    missing === undefined
      ? ''
      : `; ${missing.from} to ${missing.to} are not here: --archive DIR proves them too`
  return `records ${first} to ${last.seq}, the last of ${timeText(last.atMs)}, in ${files} ${files === 1 ? 'file' : 'files'}${where}${former}${lacking}`
}

function authorText({ macs, journalFault }: StateProof, keyless: string | undefined): string {
  if (keyless !== undefined) return `not checked, only the structure was (${keyless})`
  if (macs === 'none') return 'nobody signed it'
  return journalFault === undefined
    ? "this wallet's daemon: every record carries its MAC"
    : "this wallet's daemon, up to the fault"
}

function snapshotText({ snapshotSeq, snapshotFault, missing }: StateProof): string {
  if (snapshotFault !== undefined) return 'not as it was written'
  if (snapshotSeq === undefined) return 'there is none'
  const how = missing === undefined ? 'holds what they come to' : 'goes on in the journal'
  return `made of the records up to ${snapshotSeq}, and ${how}`
}

function soundText({ missing }: StateProof): string {
  return missing === undefined
    ? 'sound: nothing is missing or altered'
    : 'sound as far as it is here'
}

function proofData(proof: StateProof): ProofData {
  const { last, missing, journalFault, snapshotFault } = proof
  const faults = [journalFault, snapshotFault].flatMap((fault) =>
    fault === undefined ? [] : [{ file: fault.file, detail: fault.detail, remedy: fault.remedy }],
  )
  return {
    format: proof.format,
    records: proof.records,
    last: last === undefined ? null : { seq: last.seq, at: timeText(last.atMs) },
    missing: missing === undefined ? null : { from: missing.from, to: missing.to },
    files: proof.files,
    archived: proof.archived,
    macs: proof.macs,
    tornBytes: proof.tornBytes,
    snapshotSeq: proof.snapshotSeq ?? null,
    faults,
  }
}

function refusedText(restored: Restored): string {
  return [
    `not restored: ${restored.objection}`,
    ...lossLines(restored),
    '--replace restores it all the same; what is here is then moved aside, not deleted',
  ].join('\n')
}

function restoredText(restored: Restored, from: string): string {
  const { backup, movedTo } = restored
  const last = backup.last
  const what =
    last === undefined
      ? 'no record'
      : `everything up to record ${last.seq}, of ${timeText(last.atMs)}`
  const lines = [`restored from ${from}: ${what}`]
  if (movedTo !== undefined) lines.push(`what was here is in ${movedTo}`)
  lines.push(...lossLines(restored))
  return lines.join('\n')
}

/** What the daemon will not know, in the words of what it may do for want of it. */
function lossLines({ loss, present }: Restored): readonly string[] {
  const lines: string[] = []
  if (loss !== undefined) {
    const { from, to } = spanOf(loss)
    lines.push(
      `the backup lacks records ${loss.from} to ${loss.to} (${from} to ${to}); ${loss.authorizations} of them recorded something to be signed`,
    )
  }
  const isCut = present?.journalFault !== undefined
  if (isCut) lines.push('how many records came after those that can be read here, nobody can tell')
  if (loss !== undefined || isCut)
    lines.push(
      'what the daemon does not know of it may do again: orders, and spending up to its caps',
    )
  return lines
}

function lossData(loss: Loss): RestoreData['loses'] {
  const { from, to, authorizations } = loss
  return { from, to, fromAt: timeText(loss.fromAtMs), toAt: timeText(loss.toAtMs), authorizations }
}

function spanOf({ fromAtMs, toAtMs }: Loss) {
  return { from: timeText(fromAtMs), to: timeText(toAtMs) }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
