import { mkdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { StateCorruptError } from '../../domain/errors.ts'
import { callRecorded, permitRecorded } from '../../journal/events/order/authorizations.ts'
import { transactionRecorded } from '../../journal/events/state/transactions.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize, moveDurably, writeNewFile } from '../../system/durable-file.ts'
import { decodeRecord, GENESIS } from '../file/journal-codec.ts'
import { JournalWalk } from '../file/journal-reader.ts'
import { holdsState, listFiles, stateFiles } from '../file/state-files.ts'
import { BackupError, copyState, openBackup } from './backup.ts'
import { isSound, proveState, provesWhole, type StateProof } from './state-proof.ts'

export type Loss = {
  readonly from: number
  readonly to: number
  readonly fromAtMs: number
  readonly toAtMs: number
  /** Number of them that authorized a signature: an order, a call, a transaction. */
  readonly authorizations: number
}

type RestoreOptions = {
  readonly key?: JournalKey | undefined
  /** Replaces even a sound or newer state. */
  readonly replace: boolean
  readonly nowMs: number
  /** Aborts the restore before its first change to the state. */
  readonly signal?: AbortSignal | undefined
}

export type Restored = Awaited<ReturnType<typeof restoreState>>

/**
 * Replaces a state directory, whose lock the caller holds, with a backup; the previous files are moved aside. Changes
 * nothing if the plan objects and `replace` is not set. Throws for a damaged backup.
 *
 * A crash leaves either the previous files, or a state.json without its journal, which a start refuses.
 *
 * `movedTo`: directory of the previous files; undefined if nothing changed or there were none.
 */
export async function restoreState(from: string, dir: string, options: RestoreOptions) {
  const { key, replace, nowMs, signal } = options
  const temporary = stateFiles(dir).restoring
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { mode: 0o700 })
  try {
    const backup = await takeIn(from, temporary, { key, signal })
    const plan = await planFor(backup, dir, { key, signal })
    signal?.throwIfAborted()
    if (plan.objection !== undefined && !replace) return { ...plan, movedTo: undefined }
    return { ...plan, movedTo: await exchange(join(temporary, 'state'), dir, nowMs) }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

type Reading = Pick<RestoreOptions, 'key' | 'signal'>

async function takeIn(
  from: string,
  temporary: string,
  { key, signal }: Reading,
): Promise<StateProof> {
  const opened = await openBackup(from, join(temporary, 'unpacked'), signal)
  if (!(await holdsState(opened))) throw new BackupError(`${from}: it holds no state`)
  try {
    return await copyState(opened, join(temporary, 'state'), key, signal)
  } catch (error) {
    if (!(error instanceof StateCorruptError)) throw error
    const file = error.file.replace(opened, from)
    const remedy = 'Nothing was put in place; use another backup'
    throw new StateCorruptError({ file, detail: error.detail.replaceAll(opened, from), remedy })
  }
}

/** `present`: undefined without a state. `objection`: why the operator must confirm; undefined if no reason. */
async function planFor(backup: StateProof, dir: string, { key, signal }: Reading) {
  if (!(await holdsState(dir)))
    return { backup, present: undefined, loss: undefined, objection: undefined }
  const present = await proveState(dir, { key, signal })
  const loss = await lossOf(dir, { after: backup.last?.seq ?? 0, key })
  return { backup, present, loss, objection: objectionTo({ backup, present, loss }) }
}

function objectionTo({
  backup,
  present,
  loss,
}: {
  backup: StateProof
  present: StateProof
  loss: Loss | undefined
}): string | undefined {
  const upTo = `the backup goes up to record ${backup.last?.seq ?? 0}`
  if (isSound(present))
    return loss === undefined
      ? `what is here is sound and goes up to record ${present.last?.seq ?? 0}; ${upTo}`
      : `what is here is sound, and newer: ${upTo}`
  if (provesWhole(present))
    return `the journal here proves whole, and state.json follows from it: \`tranched state rebuild\` loses nothing, and ${upTo}`
  return loss === undefined ? undefined : `what is here is damaged and yet newer: ${upTo}`
}

async function lossOf(
  dir: string,
  { after, key }: { readonly after: number; readonly key: JournalKey | undefined },
): Promise<Loss | undefined> {
  const { segments } = await listFiles(dir)
  const onMissing = (): void => undefined
  const walk = new JournalWalk(segments, { start: GENESIS, onMissing, key })
  let loss: Loss | undefined
  try {
    for await (const lines of walk.lines()) {
      for (const { head, line } of lines) {
        if (head.seq <= after) continue
        const { seq, atMs, event } = decodeRecord(line)
        const { from = seq, fromAtMs = atMs, authorizations = 0 } = loss ?? {}
        const more = AUTHORIZATIONS.has(event.type) ? 1 : 0
        loss = { from, fromAtMs, to: seq, toAtMs: atMs, authorizations: authorizations + more }
      }
    }
  } catch (error) {
    if (!(error instanceof StateCorruptError)) throw error
  }
  return loss
}

const AUTHORIZATIONS: ReadonlySet<string> = new Set([
  permitRecorded.type,
  callRecorded.type,
  transactionRecorded.type,
])

/** Moves state.json first, so that no moment looks like a first start. Returns the directory of the old files. */
async function exchange(made: string, dir: string, nowMs: number): Promise<string | undefined> {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const aside = join(dir, `before-restore-${stamp}`)
  const old = stateFiles(dir)
  const fresh = stateFiles(made)
  await mkdir(aside, { mode: 0o700 })
  const keep = stateFiles(aside)
  const isUsed = await holdsState(dir)
  if ((await fileSize(old.snapshot)) !== undefined)
    await writeNewFile(keep.snapshot, await readFile(old.snapshot))
  await moveDurably(fresh.snapshot, old.snapshot)
  if ((await fileSize(old.journal)) !== undefined) await moveDurably(old.journal, keep.journal)
  if ((await fileSize(fresh.journal)) !== undefined) await moveDurably(fresh.journal, old.journal)
  if (isUsed) return aside
  await rmdir(aside)
  return undefined
}
