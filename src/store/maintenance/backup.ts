import { createHash, randomBytes } from 'node:crypto'
import { lstatSync, statSync } from 'node:fs'
import { link, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { OperatorError, StateCorruptError } from '../../domain/errors.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { makeDirectory } from '../../system/directory.ts'
import { copyPrivately, fileSize, syncFile, truncateFile } from '../../system/durable-file.ts'
import { holdsState, listFiles, stateFiles } from '../file/state-files.ts'
import { checkProcess, identifyProcess } from '../lock/process-identity.ts'
import { proveState, type StateProof } from './state-proof.ts'
import { packTar, unpackTar } from './tar.ts'

export class BackupError extends OperatorError {
  override readonly name = 'BackupError'
  readonly means = 'failed'
}

/** A name with this suffix is a single file; any other is a directory. */
const ARCHIVE = '.tar'

/**
 * Copies a state directory up to a durable record, also beside a running daemon, and verifies the copy before it gets its
 * name. Overwrites nothing, and removes leftovers of killed backups. Throws BackupError, StateCorruptError for damaged
 * state, and the reason of an aborted signal, which leaves nothing behind.
 */
export async function backUp(
  dir: string,
  target: string,
  key?: JournalKey | undefined,
  signal?: AbortSignal,
): Promise<StateProof> {
  const place = resolve(target)
  // Dangling links count as existing.
  if (lstatSync(place, { throwIfNoEntry: false }) !== undefined)
    throw new BackupError(`${place} is there already and is not overwritten: choose another name`)
  if (!(await holdsState(dir))) throw new BackupError(`${dir}: there is no state here to back up`)
  makeDirectory(dirname(place), 0o700)
  await removeAbandoned(place, Date.now())
  const temporary = temporaryBeside(place)
  try {
    const proof = await copyState(dir, temporary, key, signal)
    await nameIt(temporary, place, signal)
    return proof
  } finally {
    await rm(temporary, { recursive: true, force: true })
    await rm(`${temporary}${ARCHIVE}`, { force: true })
  }
}

/** Opens the state at `from`: a directory in place, or an archive unpacked to `temporary`, which is created. */
export async function openBackup(
  from: string,
  temporary: string,
  signal?: AbortSignal,
): Promise<string> {
  const place = resolve(from)
  const stat = statSync(place, { throwIfNoEntry: false })
  if (stat === undefined) throw new BackupError(`${place}: there is no such backup`)
  if (stat.isDirectory()) return place
  if (!stat.isFile() || !place.endsWith(ARCHIVE))
    throw new BackupError(
      `${place}: a backup is a directory, or a file whose name ends in ${ARCHIVE}`,
    )
  await unpackTar(place, temporary, signal)
  return temporary
}

/** Copies a state to `to`, which is created, and returns the copy's proof. Throws StateCorruptError for damaged state. */
export async function copyState(
  dir: string,
  to: string,
  key?: JournalKey | undefined,
  signal?: AbortSignal,
): Promise<StateProof> {
  const copyOf = (file: string): string => join(to, relative(dir, file))
  await mkdir(to, { mode: 0o700 })
  // Lists the journal after copying the snapshot, so that it holds all of the snapshot's records.
  const { snapshot } = stateFiles(dir)
  if ((await fileSize(snapshot)) !== undefined)
    await copyPrivately(snapshot, stateFiles(to).snapshot)
  const { segments } = await listFiles(dir)
  await mkdir(stateFiles(to).journal, { mode: 0o700 })
  for (const { file } of segments) {
    signal?.throwIfAborted()
    await copyPrivately(file, copyOf(file))
  }
  const proof = await proveState(to, { key, signal })
  const fault = proof.journalFault ?? proof.snapshotFault
  // A fault in the copy is a fault in the original.
  if (fault !== undefined)
    throw new StateCorruptError({
      file: fault.file.replace(to, dir),
      detail: fault.detail.replaceAll(to, dir),
      remedy: fault.remedy,
    })
  const last = segments.at(-1)
  if (last !== undefined && proof.tornBytes > 0) {
    const copy = copyOf(last.file)
    await truncateFile(copy, ((await fileSize(copy)) ?? 0) - proof.tornBytes)
  }
  await syncFile(stateFiles(to).journal)
  await syncFile(to)
  return { ...proof, tornBytes: 0 }
}

async function nameIt(temporary: string, place: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  if (place.endsWith(ARCHIVE)) {
    const packed = `${temporary}${ARCHIVE}`
    await packTar(temporary, packed, signal)
    // Unlike a rename, a link fails if another program created the file first.
    await link(packed, place)
  } else await rename(temporary, place)
  await syncFile(dirname(place))
}

/**
 * `<place>.<where>-<pid>-<start ticks>-<random>.tmp`, plain or packed; `where` encodes host, machine, boot and namespace.
 */
const NAME = /\.(?:([0-9a-f]{8})-(\d{1,10})-(\d{1,20})-)?[0-9a-f]{12}\.tmp(?:\.tar)?$/
/** Age at which leftovers of other machines or older versions are removed; no copy takes a day. */
const ABANDONED_MS = 86_400_000

/** A temporary name that shows later processes whether its writer still runs. */
export function temporaryBeside(place: string): string {
  const own = identifyProcess(process.pid)
  const { pid, startTicks = '0' } = own
  return `${place}.${whereOf(own)}-${pid}-${startTicks}-${randomBytes(6).toString('hex')}.tmp`
}

/** Removes leftovers of killed processes, and ignores failures. */
async function removeAbandoned(place: string, nowMs: number): Promise<void> {
  const dir = dirname(place)
  for (const name of await readdir(dir).catch(() => [])) {
    const match = NAME.exec(name)
    if (match !== null && (await isAbandoned(join(dir, name), match, nowMs)))
      await rm(join(dir, name), { recursive: true, force: true }).catch(() => undefined)
  }
}

async function isAbandoned(path: string, match: RegExpExecArray, nowMs: number): Promise<boolean> {
  const [, where, pid, startTicks] = match
  const here = identifyProcess(process.pid)
  if (where === whereOf(here) && pid !== undefined)
    return checkProcess({ ...here, pid: Number(pid), startTicks }) === 'gone'
  const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: nowMs }))
  return nowMs - mtimeMs > ABANDONED_MS
}

function whereOf({ host, machineId, bootId, namespace }: ReturnType<typeof identifyProcess>) {
  const where = JSON.stringify([host, machineId, bootId, namespace])
  return createHash('sha256').update(where).digest('hex').slice(0, 8)
}
