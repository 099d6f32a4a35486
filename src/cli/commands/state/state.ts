import { OperatorError } from '../../../domain/errors.ts'
import type { Token } from '../../../domain/money/token.ts'
import { valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import type { JournalKey } from '../../../signing/keys/journal-key.ts'
import { holdsState } from '../../../store/file/state-files.ts'
import { backUp } from '../../../store/maintenance/backup.ts'
import { rebuildSnapshot } from '../../../store/maintenance/rebuild.ts'
import { type Loss, type Restored, restoreState } from '../../../store/maintenance/restore.ts'
import {
  isSound as isSoundProof,
  proveState,
  type StateProof,
} from '../../../store/maintenance/state-proof.ts'
import { whileHeld } from '../../compose/state.ts'
import { readJournalKey } from '../../compose/wallets.ts'
import type * as json from '../../json/state-outputs.ts'
import { type ConfigOptions, noState, settingsForReading } from '../../load-files.ts'
import { type ExitCode, type Io, print, printOutcome } from '../../process/io.ts'
import { orRefuse, refusalOf } from '../../process/refusal.ts'
import { VERSION } from '../../process/version.ts'
import { counted, isoOf } from '../../text/amount-data.ts'
import { labelled } from '../../text/table.ts'

export type StateOptions = ConfigOptions & { readonly archive?: string }

type Place = {
  readonly stateDir: string
  readonly key: JournalKey | undefined
  /** Why the records' authors are not checked. */
  readonly keyless?: string
}

/** `tranched state verify`: proves the state. Writes nothing, and may run beside a daemon. */
export async function stateVerify(options: StateOptions, io: Io): Promise<ExitCode> {
  const { stateDir, key, keyless = null } = await inUse(placeOf(options, io))
  const { archive } = options
  const proof = await proveState(stateDir, { key, archive })
  const ok = isSoundProof(proof)
  const { unfitSideFiles } = proof
  const data = { ok, stateDir, ...proofData(proof), unfitSideFiles, structureOnly: keyless }
  const sound =
    proof.missing === undefined
      ? 'sound: nothing is missing or altered'
      : 'sound, as far as the records are here'
  return print<json.VerifyData>(io, options, data, () =>
    labelled([
      ['state', stateDir],
      ...proofLines(proof, keyless),
      ...unfitSideFiles.map((file): [string, string] => [
        'index',
        `${file} does not fit: reports read the journal instead; \`tranched state rebuild\` makes it anew`,
      ]),
      ['', ok ? sound : 'NOT SOUND: see above; delete nothing'],
    ]),
  )
}

/** `tranched state rebuild`: recreates state.json and the index from an intact journal. */
export async function stateRebuild(options: StateOptions, io: Io): Promise<ExitCode> {
  const { stateDir, key, valueToken } = await inUse(signedPlaceOf(options, io))
  const { archive } = options
  const made = { key, archive, valueToken, madeBy: VERSION }
  const { records, indexed, kept } = await whileHeld(
    stateDir,
    { io, command: 'state rebuild' },
    (_, clock) => rebuildSnapshot(stateDir, { ...made, nowMs: clock.now() }),
  )
  const was = kept === undefined ? '' : `; the old one is kept as ${kept}`
  const files = indexed === 0 ? '' : `, and the index of ${counted(indexed, 'journal file')}`
  return printOutcome<json.RebuildData>(io, options, {
    message: `state.json was rebuilt from ${records} intact records${files}${was}`,
    stateDir,
    records,
    indexed,
    kept: kept ?? null,
  })
}

/** `tranched state backup`: proves the copy before it gets its name. May run beside a daemon. */
export async function stateBackup(
  target: string,
  options: ConfigOptions,
  io: Io,
): Promise<ExitCode> {
  const { stateDir, key, keyless = null } = await inUse(placeOf(options, io))
  const proof = await untilSignalled(io, (signal) => backUp(stateDir, target, key, signal))
  const data = { stateDir, backup: target, ...proofData(proof), structureOnly: keyless }
  return print<json.BackupData>(io, options, data, () =>
    labelled([['backup', target], ...proofLines(proof, keyless)]),
  )
}

/** `tranched state restore`: restores a backup, and moves the existing state aside. */
export async function stateRestore(
  from: string,
  options: ConfigOptions & { readonly replace?: boolean },
  io: Io,
): Promise<ExitCode> {
  const { stateDir, key } = await signedPlaceOf(options, io)
  const { replace = false } = options
  const restored = await untilSignalled(io, (signal) =>
    whileHeld(stateDir, { io, command: 'state restore' }, (_, clock) =>
      restoreState(from, stateDir, { key, replace, nowMs: clock.now(), signal }),
    ),
  )
  const { backup, loss, objection, movedTo } = restored
  const isDone = objection === undefined || replace
  return printOutcome<json.RestoreData>(io, options, {
    ok: isDone,
    message: isDone ? restoredText(restored, from) : refusedText(restored),
    stateDir,
    backup: { from, ...proofData(backup) },
    movedTo: movedTo ?? null,
    objection: objection ?? null,
    loses: loss === undefined ? null : { ...spanOf(loss), authorizations: loss.authorizations },
  })
}

class StoppedError extends OperatorError {
  override readonly name = 'StoppedError'
  readonly means = 'failed'
  constructor(signal: string) {
    super(`stopped by ${signal}: nothing was changed, and nothing is left behind`)
  }
}

/** A termination signal ends the task, which removes its partial output. */
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

/** A state directory with a state. Throws a Refusal if it has none. */
async function inUse<Found extends Place>(place: Promise<Found>): Promise<Found> {
  const { stateDir } = await place
  if (await holdsState(stateDir)) return place
  throw noState(stateDir)
}

/** The config's state directory, or that of `--state-dir` if the config cannot be read. */
async function placeOf(options: ConfigOptions, io: Io): Promise<Place> {
  const found = settingsForReading(options, io)
  if (found.ok) {
    const { stateDir } = found.settings
    const read = await readJournalKey(found.settings, io)
    if (!read.ok) return { stateDir, key: undefined, keyless: read.problem.message }
    return { stateDir, key: read.key, ...(read.key ? {} : { keyless: 'dry-run has no key' }) }
  }
  const { stateDir } = options
  if (stateDir === undefined) throw refusalOf(found.problems)
  return { stateDir, key: undefined, keyless: `${options.config} cannot be read` }
}

/** Writing requires the wallet's key. */
async function signedPlaceOf(
  options: ConfigOptions,
  io: Io,
): Promise<Place & { readonly valueToken: Token | undefined }> {
  const { settings } = orRefuse(settingsForReading(options, io))
  const { key } = orRefuse(await readJournalKey(settings, io))
  const { stateDir, prices } = settings
  return { stateDir, key, valueToken: valueTokenOf(prices.values()) }
}

function proofLines(proof: StateProof, keyless: string | null): [string, string][] {
  const { journalFault, snapshotFault } = proof
  const lines: [string, string][] = [
    ['journal', journalText(proof)],
    ['written by', authorText(proof, keyless)],
    ['state.json', snapshotText(proof)],
  ]
  const torn = `the last append is cut short (${proof.tornBytes} bytes): a daemon is writing it, or it crashed`
  if (proof.tornBytes > 0) lines.push(['', torn])
  for (const fault of [journalFault, snapshotFault])
    if (fault !== undefined)
      lines.push(['FAULT', `${fault.file}: ${fault.detail}`], ['to do', fault.remedy])
  return lines
}

function journalText({ records, last, files, archived, missing }: StateProof): string {
  const inFiles = counted(files, 'file')
  if (last === undefined) return `no record in ${inFiles}`
  const first = last.seq - records + 1
  const where = archived === 0 ? '' : `, ${archived} of them in the archive`
  const lacking =
    missing === undefined
      ? ''
      : `; ${missing.from} to ${missing.to} are not here: --archive DIR verifies them too`
  return `records ${first} to ${last.seq}, the last of ${isoOf(last.atMs)}, in ${inFiles}${where}${lacking}`
}

function authorText({ macs, journalFault }: StateProof, keyless: string | null): string {
  if (keyless !== null) return `not checked, only the structure (${keyless})`
  if (macs === 'none') return 'unsigned'
  return journalFault === undefined
    ? "this wallet's daemon: every record carries its MAC"
    : "this wallet's daemon, up to the fault"
}

function snapshotText({ snapshotSeq, snapshotFault, missing }: StateProof): string {
  if (snapshotFault !== undefined) return 'not as it was written'
  if (snapshotSeq === undefined) return 'there is none'
  const how = missing === undefined ? 'matches them' : 'the journal continues it'
  return `covers the records up to ${snapshotSeq}, and ${how}`
}

function proofData(proof: StateProof): json.ProofData {
  const { format, records, last, missing, files, archived, macs, tornBytes } = proof
  const faults = [proof.journalFault, proof.snapshotFault].flatMap((fault) => fault ?? [])
  return {
    format,
    records,
    last: last === undefined ? null : { seq: last.seq, at: isoOf(last.atMs) },
    missing: missing === undefined ? null : { from: missing.from, to: missing.to },
    files,
    archived,
    macs,
    tornBytes,
    snapshotSeq: proof.snapshotSeq ?? null,
    faults: faults.map(({ file, detail, remedy }) => ({ file, detail, remedy })),
  }
}

function refusedText(restored: Restored): string {
  return [
    `not restored: ${restored.objection}`,
    ...lossLines(restored),
    '--replace restores it anyway and moves the present state aside',
  ].join('\n')
}

function restoredText(restored: Restored, from: string): string {
  const { backup, movedTo } = restored
  const { last } = backup
  const what =
    last === undefined ? 'no record' : `everything up to record ${last.seq}, of ${isoOf(last.atMs)}`
  const lines = [`restored from ${from}: ${what}`]
  if (movedTo !== undefined) lines.push(`the previous state is in ${movedTo}`)
  return [...lines, ...lossLines(restored)].join('\n')
}

function lossLines({ loss, present }: Restored): readonly string[] {
  const lines: string[] = []
  if (loss !== undefined) {
    const { from, to, fromAt, toAt } = spanOf(loss)
    lines.push(
      `the backup lacks records ${from} to ${to} (${fromAt} to ${toAt}); ${loss.authorizations} of them authorize a signature`,
    )
  }
  const isCut = present?.journalFault !== undefined
  if (isCut) lines.push('it is unknown how many records follow the readable ones')
  if (loss !== undefined || isCut)
    lines.push('the daemon may repeat lost orders, and spend up to its caps again')
  return lines
}

function spanOf({ from, to, fromAtMs, toAtMs }: Loss) {
  return { from, to, fromAt: isoOf(fromAtMs), toAt: isoOf(toAtMs) }
}
