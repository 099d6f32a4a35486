import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { JournalKey } from '../../adapters/keys/journal-key.ts'
import { HOLDINGS_FILE } from '../../adapters/page/holdings-curve.ts'
import type { StateAnchors } from '../../adapters/state/anchor.ts'
import { ensureDirectory, fileSize, syncFile } from '../../adapters/state/durable-file.ts'
import {
  haltFilePath,
  openHaltFile,
  readHaltFile,
  writeHaltFile,
} from '../../adapters/state/halt-file.ts'
import {
  type JournalOptions,
  type OpenedJournal,
  openJournal,
} from '../../adapters/state/journal-file.ts'
import { severJournal } from '../../adapters/state/journal-recovery.ts'
import { type JournalView, readJournal } from '../../adapters/state/journal-view.ts'
import type { LockHolder, Standing } from '../../adapters/state/lock-claims.ts'
import { type Holding, heldDirectories } from '../../adapters/state/running.ts'
import { holdsState } from '../../adapters/state/state-files.ts'
import { acquireLock, type HeldLock, readLock } from '../../adapters/state/state-lock.ts'
import type { JournalRecord } from '../../domain/book/journal.ts'
import { InvariantError, StateLockedError } from '../../domain/errors.ts'
import type { Mode, Settings } from '../../domain/settings.ts'
import { makeDirectory } from '../../files/directory.ts'
import type { Clock } from '../../ports.ts'
import type { Io } from '../io.ts'

/**
 * What the state of a directory consists of, by this version and the one before. Journals come first: a state.json that was left
 * alone stops a start, where a journal alone would be taken for whole.
 */
export const STATE_NAMES = [
  'journal',
  'journal.jsonl',
  'state.json',
  'state.json.damaged',
  'format-1',
]

/** What stands beside the state and is no part of it, but belongs to the same wallet and chain. */
export const SIDE_NAMES = [HOLDINGS_FILE, `${HOLDINGS_FILE}.damaged`]

type Holder = Pick<LockHolder, 'command' | 'startedAtMs' | 'config' | 'mode'> & { readonly io: Io }

const DAEMON = 'run'

/**
 * Takes a state directory for this process (rules G6 and T5). Where that has to wait, `tell` hears for whom. Throws
 * StateLockedError.
 */
export async function lockState(
  stateDir: string,
  { io, command, ...known }: Holder,
  tell: (line: string) => void,
): Promise<HeldLock> {
  const holder = { pid: io.pid, command: commandLine(command), ...known }
  const lock = await acquireLock(stateDir, holder, { onWait: tell })
  if (!lock.overtook) return lock
  try {
    await severJournal(stateDir)
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Takes a directory of another kind for this process, in the same way. Throws StateLockedError. */
export function lockDirectory(
  dir: string,
  { io, command }: Omit<Holder, 'startedAtMs'>,
  tell: (line: string) => void,
): Promise<HeldLock> {
  const holder = { pid: io.pid, command: commandLine(command), startedAtMs: Date.now() }
  return acquireLock(dir, holder, { onWait: tell })
}

/** Takes a daemon's state directory, in the same way. */
export function lockDaemon(
  { stateDir, file: config, mode }: Pick<Settings, 'stateDir' | 'file' | 'mode'>,
  io: Io,
  tell: (line: string) => void,
): Promise<HeldLock> {
  const holder = { io, command: DAEMON, startedAtMs: Date.now(), config, mode }
  return lockState(stateDir, holder, tell)
}

/** What a command was started as, in words. */
export function commandLine(command: string): string {
  return `tranched ${command}`
}

/** A daemon that runs, by the lock of its state directory. */
export type RunningDaemon = Omit<Holding, 'dir'> & { readonly stateDir: string }

/** Every daemon that runs and whose state directory this user may read; or why nobody can say. */
export function runningDaemons():
  | { readonly ok: true; readonly daemons: readonly RunningDaemon[] }
  | { readonly ok: false; readonly why: string } {
  try {
    const daemons = heldDirectories().filter(({ command }) => command === commandLine(DAEMON))
    return {
      ok: true,
      daemons: daemons.map(({ dir: stateDir, ...each }) => ({ ...each, stateDir })),
    }
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) }
  }
}

/** Who holds a state directory now, and whether that is certain. */
export function holderOf(stateDir: string): Standing | undefined {
  return readLock(stateDir)
}

/** The file HALT of a state directory that is there. */
export function openHalt(stateDir: string): ReturnType<typeof openHaltFile> {
  return openHaltFile(stateDir)
}

/** What the file HALT says of a state directory, for whoever only looks; undefined where there is neither. */
export function haltOf(stateDir: string): string | undefined {
  if (!existsSync(stateDir)) return undefined
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
    if (mayMake) makeDirectory(stateDir, 0o700)
    writeHaltFile(stateDir, words)
    return { file, fault: undefined }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { file, fault: `the file ${file} could not be made (${why})` }
  }
}

export type StateOptions = Omit<JournalOptions, 'fence' | 'key'> & {
  /** Undefined in dry-run alone. */
  readonly key: JournalKey | undefined
  /** Of the state directory. */
  readonly lock: HeldLock
  /** Where the state has any: it has to be the one that they name. */
  readonly anchors?: StateAnchors | undefined
}

/**
 * Opens the journal of a state directory that this process holds, and writes to it only as long as it does. Only dry-run,
 * which signs nothing that costs money, has no key for it (rule T2). Throws AnchorRefusedError for a state that is not the one
 * that its wallets signed with last.
 */
export async function openState(
  mode: Mode,
  { lock, anchors, ...options }: StateOptions,
): Promise<OpenedJournal> {
  if (options.key === undefined && mode !== 'dry-run')
    throw new InvariantError(`a journal in mode ${mode} is never opened without its wallet's key`)
  const { mayUpgrade = true } = options
  const opened = await openJournal({
    ...options,
    mayUpgrade: mayUpgrade && anchors?.isAnchored !== true,
    fence: {
      beforeFlush() {
        const why = lock.lostLately()
        if (why === undefined) return
        const message = `${why}. Nothing more is recorded or signed`
        throw lock.isOver() ? new StateLockedError(message) : new Error(message)
      },
      afterFlush: (head, events) => anchors?.afterFlush(head, events),
      positions: anchors?.positions ?? [],
      admit: (found) => anchors?.admit(found),
    },
  })
  return {
    ...opened,
    async close() {
      await opened.close()
      await anchors?.close()
    },
  }
}

/** The journal of a state directory as it is on disk; undefined when nothing was ever written there. */
export async function readState(
  stateDir: string,
  positions?: readonly number[],
): Promise<JournalView | undefined> {
  return (await holdsState(stateDir)) ? readJournal(stateDir, positions) : undefined
}

/** Records that a state directory still has, oldest first; a person is told which it has not. */
export function recordsAtHand(
  view: JournalView,
  on: {
    readonly stateDir: string
    /** As the config names it, if it does. */
    readonly archive: string | undefined
    readonly tell: (line: string) => void
  },
): AsyncIterable<JournalRecord> {
  const { stateDir, archive, tell } = on
  return view.records(
    ({ from, to }) =>
      tell(
        `records ${from} to ${to} are not in ${join(stateDir, 'journal')}${archive === undefined ? ' (moved to an archive? name it as journal.archive)' : ` nor in ${archive}`}: what they hold is left out`,
      ),
    archive,
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

/**
 * Moves the state of a directory that this process holds into a folder of its own in it, and gives the folder; undefined where
 * there was none. Nothing is deleted.
 */
export async function keepStateAside(stateDir: string, nowMs: number): Promise<string | undefined> {
  const names = await namesIn(stateDir, STATE_NAMES)
  if (names.length === 0) return undefined
  names.push(...(await namesIn(stateDir, SIDE_NAMES)))
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '-')
  const aside = join(stateDir, `aside-${stamp}`)
  await ensureDirectory(aside)
  for (const name of names) await rename(join(stateDir, name), join(aside, name))
  await syncFile(aside)
  await syncFile(stateDir)
  return aside
}

async function namesIn(stateDir: string, names: readonly string[]): Promise<string[]> {
  const present = await Promise.all(names.map((name) => isInState(stateDir, name)))
  return names.filter((_, index) => present[index])
}

/** Holds a state directory while a task runs: no daemon is beside it. Throws StateLockedError. */
export async function whileHeld<Result>(
  stateDir: string,
  holder: { readonly io: Io; readonly command: string; readonly clock: Clock },
  task: (lock: HeldLock) => Promise<Result>,
): Promise<Result> {
  const { io, command, clock } = holder
  const tell = (line: string): void => void io.stderr.write(`${line}\n`)
  const lock = await lockState(stateDir, { io, command, startedAtMs: clock.now() }, tell)
  try {
    return await task(lock)
  } finally {
    lock.release()
  }
}
