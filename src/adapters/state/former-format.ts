import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { emptyState, imageOf } from '../../domain/book/fields.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import { StateCorruptError, WrongStateError } from '../../domain/errors.ts'
import type { Clock } from '../../ports.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import { fileSize, moveDurably, replaceFile, syncFile, writeNewFile } from './durable-file.ts'
import { GENESIS, type JournalHead, relink } from './journal-codec.ts'
import { Fold } from './journal-fold.ts'
import { JournalWalk } from './journal-reader.ts'
import { type Recovered, recover, warningsOf } from './journal-recovery.ts'
import { SEGMENT_BYTES } from './segment-log.ts'
import { listSegments, segmentFile } from './segments.ts'
import { SnapshotFile } from './snapshot.ts'
import { damagedJournal } from './state-faults.ts'
import { lookAt, type StateFiles, type StateSight } from './state-files.ts'

/**
 * Makes a journal of format 1 (one file, no MACs) one of format 2, in steps that each leave something to go on from:
 *
 * 1. `state.json` is copied to `format-1/`.
 * 2. The records are written, linked and signed anew, into a directory that becomes `journal/` in one step.
 * 3. `state.json` is replaced.
 * 4. `journal.jsonl` is moved to `format-1/`. Until then it is the journal, for every reader, and all of this is done again:
 *    the same records give the same bytes.
 *
 * To go back, stop the daemon, move `journal/` and `state.json` away and both files of `format-1/` back.
 */

const TEMPORARY = 'journal.upgrade.tmp'

export type UpgradeOptions = {
  readonly key?: JournalKey | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly mayUpgrade?: boolean | undefined
  readonly segmentBytes?: number | undefined
  /** Judges what was found, before anything is written. Throws to refuse it. */
  readonly admit?: (found: Recovered) => void
}

/** Upgrades a journal of format 1 where there is one; gives what the operator is to know of it. Throws StateCorruptError. */
export async function upgradeFormer(
  dir: string,
  options: UpgradeOptions,
): Promise<readonly string[]> {
  const sight = await lookAt(dir)
  if (!sight.isFormer) return []
  const { files } = sight
  if (options.mayUpgrade === false) throw upgradeBarred(files)
  await requireFree(files)
  const recovered = await recover(sight)
  requireOwn(recovered.state, options.key)
  options.admit?.(recovered)
  await keepSnapshot(sight)
  const { head, state } = await writeAnew(sight, options)
  const snapshot = { ...head, atMs: options.clock.now(), state: imageOf(state) }
  await new SnapshotFile(files.snapshot, options.key).write(snapshot)
  await mkdir(files.formerKept, { recursive: true, mode: 0o700 })
  await moveDurably(files.former, join(files.formerKept, 'journal.jsonl'))
  // A sound snapshot that lacks what the state has gained since was never to be taken over.
  const isWhole = sight.snapshot.tag === 'sound'
  return [
    ...(isWhole ? recovered.tornWarnings : warningsOf(sight, recovered)),
    `${files.dir}: the journal was upgraded to format 2: ${head.seq} records, now in ${files.journal}; the files of ` +
      `format 1 are kept in ${files.formerKept}`,
  ]
}

/** Nothing in format 1 says who wrote it, so what it says of its owner is all there is. */
function requireOwn({ bound }: DaemonState, key: JournalKey | undefined): void {
  if (bound === undefined) return
  if (key !== undefined && bound.owner !== key.address)
    throw new WrongStateError(
      `the state directory belongs to wallet ${bound.owner}, the config names ${key.address}: use another stateDir`,
    )
  const isDry = bound.mode === 'dry-run'
  if (isDry === (key === undefined)) return
  throw new WrongStateError(
    `the state directory belongs to a daemon in mode ${bound.mode}, and the config says ${isDry ? 'otherwise' : 'dry-run'}: use another stateDir`,
  )
}

function upgradeBarred({ former, journal }: StateFiles): StateCorruptError {
  return new StateCorruptError({
    file: former,
    detail:
      'it is a journal of format 1, which nobody signed, and this wallet has signed records since',
    remedy:
      `Move it away: the journal that this wallet's daemon has written is in ${journal}, or in a backup. If it is ` +
      'what the version before this one has gone on with, `tranched state accept-loss` believes it',
  })
}

/** Files of an upgrade before this one are nobody's to overwrite. */
async function requireFree({ former, formerKept }: StateFiles): Promise<void> {
  const kept = join(formerKept, 'journal.jsonl')
  if ((await fileSize(kept)) === undefined) return
  throw new StateCorruptError({
    file: former,
    detail: `it is a journal of format 1, and ${kept} is one too: an upgrade was made before`,
    remedy: `Move away whichever of the two is not wanted, or ${formerKept} as a whole, and start again`,
  })
}

async function keepSnapshot({ files, snapshotFile, snapshot }: StateSight): Promise<void> {
  if (snapshot.tag === 'missing' || snapshotFile !== files.snapshot) return
  await mkdir(files.formerKept, { recursive: true, mode: 0o700 })
  await syncFile(files.dir)
  await replaceFile(join(files.formerKept, 'state.json'), await readFile(snapshotFile))
}

/** All records in the new form. Folded from the first on: an old snapshot may lack what the state has gained since. */
async function writeAnew(sight: StateSight, options: UpgradeOptions) {
  const { files, segments, genesis } = sight
  const temporary = join(files.dir, TEMPORARY)
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { mode: 0o700 })
  const state = emptyState()
  const fold = new Fold(state, 0)
  const writer = new SegmentsOf(temporary, options)
  const walk = new JournalWalk(segments, { start: genesis })
  for await (const lines of walk.lines()) {
    for (const line of lines) {
      fold.take(segments, line)
      await writer.take(line)
    }
  }
  const head = await writer.end()
  await syncFile(temporary)
  await putInPlace(temporary, files)
  return { head, state }
}

/** Complete appends, in files that begin where a daemon would have begun them. */
class SegmentsOf {
  readonly #dir: string
  readonly #options: UpgradeOptions
  /** Of the last append that is complete, and its lines so far. */
  #head: JournalHead = GENESIS
  #text: string[] = []
  #bytes = 0
  #firstSeq = 1
  /** Of the append under way. */
  #newHead: JournalHead = GENESIS
  #append = ''

  constructor(dir: string, options: UpgradeOptions) {
    this.#dir = dir
    this.#options = options
  }

  async take(line: Parameters<typeof relink>[1]): Promise<void> {
    const { text, head } = relink(this.#newHead, line, this.#options.key)
    this.#append += text
    this.#newHead = head
    if (line.more) return
    if (this.#bytes >= (this.#options.segmentBytes ?? SEGMENT_BYTES)) await this.#finish()
    this.#text.push(this.#append)
    this.#bytes += Buffer.byteLength(this.#append)
    this.#append = ''
    this.#head = head
  }

  /** An append that was cut short is left out. */
  async end(): Promise<JournalHead> {
    await this.#finish()
    return this.#head
  }

  async #finish(): Promise<void> {
    await writeNewFile(segmentFile(this.#dir, this.#firstSeq), this.#text.join(''))
    this.#text = []
    this.#bytes = 0
    this.#firstSeq = this.#head.seq + 1
  }
}

/** In one step; or, where a crash came after it, by finding the same there. */
async function putInPlace(temporary: string, { journal, former }: StateFiles): Promise<void> {
  const there = await listSegments(journal)
  if (there.length === 0) {
    await rename(temporary, journal)
    await syncFile(dirname(journal))
    return
  }
  const made = await listSegments(temporary)
  const [own, other] = await Promise.all([textOf(made), textOf(there)])
  await rm(temporary, { recursive: true, force: true })
  if (own.equals(other)) return
  throw damagedJournal(
    former,
    `it is a journal of format 1, and beside it ${journal} holds other records: only one of them can be this daemon's`,
  )
}

async function textOf(segments: Awaited<ReturnType<typeof listSegments>>): Promise<Buffer> {
  return Buffer.concat(await Promise.all(segments.map(({ file }) => readFile(file))))
}
