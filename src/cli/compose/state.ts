import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalKey } from '../../adapters/keys/journal-key.ts'
import { fileSize } from '../../adapters/state/durable-file.ts'
import {
  haltFilePath,
  openHaltFile,
  readHaltFile,
  writeHaltFile,
} from '../../adapters/state/halt-file.ts'
import {
  type JournalOptions,
  type JournalView,
  type OpenedJournal,
  openJournal,
  readJournal,
} from '../../adapters/state/journal-file.ts'
import { holdsState } from '../../adapters/state/state-files.ts'
import { acquireLock, type LockClaim, readLock } from '../../adapters/state/state-lock.ts'
import type { JournalRecord } from '../../domain/book/journal.ts'
import { InvariantError } from '../../domain/errors.ts'
import type { Mode } from '../../domain/settings.ts'
import type { Clock } from '../../ports.ts'
import type { Io } from '../io.ts'

/** Takes a state directory for this process (rule G6); gives what returns it. Throws StateLockedError. */
export function lockState(
  stateDir: string,
  holder: { readonly io: Io; readonly command: string; readonly startedAtMs: number },
): Promise<() => void> {
  const { io, command, startedAtMs } = holder
  return acquireLock(stateDir, { pid: io.pid, command: `tranched ${command}`, startedAtMs })
}

/** Who holds a state directory now. */
export function holderOf(stateDir: string): LockClaim | undefined {
  return readLock(stateDir)
}

/** The file HALT of a state directory that is there. */
export function openHalt(stateDir: string): ReturnType<typeof openHaltFile> {
  return openHaltFile(stateDir)
}

/** What the file HALT says of a state directory, for whoever only looks; undefined where there is none. */
export function haltOf(stateDir: string): string | undefined {
  const reading = readHaltFile(stateDir)
  return reading.tag === 'absent' ? undefined : reading.detail
}

/**
 * Puts the file HALT into a state directory. `mayMake` says that the directory is surely the one that a daemon will use, so
 * that it is made where it is not there. Never throws: gives why there is no file.
 */
export function giveHalt(
  stateDir: string,
  { words, mayMake }: { readonly words: string; readonly mayMake: boolean },
): { readonly file: string; readonly fault: string | undefined } {
  const file = haltFilePath(stateDir)
  try {
    if (mayMake) mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    writeHaltFile(stateDir, words)
    return { file, fault: undefined }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { file, fault: `the file ${file} could not be made (${why})` }
  }
}

/**
 * Opens the journal of a state directory that this process holds. Only dry-run, which signs nothing that costs money, has
 * no key for it (rule T2).
 */
export function openState(
  mode: Mode,
  options: JournalOptions & { readonly key: JournalKey | undefined },
): Promise<OpenedJournal> {
  if (options.key === undefined && mode !== 'dry-run')
    throw new InvariantError(`a journal in mode ${mode} is never opened without its wallet's key`)
  return openJournal(options)
}

/** The journal of a state directory as it is on disk; undefined when nothing was ever written there. */
export async function readState(stateDir: string): Promise<JournalView | undefined> {
  return (await holdsState(stateDir)) ? readJournal(stateDir) : undefined
}

/** Records that a state directory still has, oldest first; a person is told which it has not. */
export function recordsAtHand(
  view: JournalView,
  on: { readonly stateDir: string; readonly tell: (line: string) => void },
): AsyncIterable<JournalRecord> {
  return view.records(({ from, to }) =>
    on.tell(
      `records ${from} to ${to} are not in ${join(on.stateDir, 'journal')} (moved to an archive?): what they hold is left out`,
    ),
  )
}

/** Whether anything that a daemon remembers is in a directory. */
export function isUsed(stateDir: string): Promise<boolean> {
  return holdsState(stateDir)
}

/** Whether a state directory has a file of that name. */
export async function isInState(stateDir: string, name: string): Promise<boolean> {
  return (await fileSize(join(stateDir, name))) !== undefined
}

/** Holds a state directory while a task runs: no daemon is beside it. Throws StateLockedError. */
export async function whileHeld<Result>(
  stateDir: string,
  holder: { readonly io: Io; readonly command: string; readonly clock: Clock },
  task: () => Promise<Result>,
): Promise<Result> {
  const { io, command, clock } = holder
  const release = await lockState(stateDir, { io, command, startedAtMs: clock.now() })
  try {
    return await task()
  } finally {
    release()
  }
}
