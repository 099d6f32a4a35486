import { join } from 'node:path'
import { fileSize } from '../../adapters/state/durable-file.ts'
import {
  type JournalOptions,
  type JournalView,
  type OpenedJournal,
  openJournal,
  readJournal,
} from '../../adapters/state/journal-file.ts'
import { acquireLock, type LockClaim, readLock } from '../../adapters/state/state-lock.ts'
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

/** Opens the journal of a state directory that this process holds. */
export function openState(options: JournalOptions): Promise<OpenedJournal> {
  return openJournal(options)
}

/** The journal of a state directory as it is on disk; undefined when nothing was ever written there. */
export async function readState(stateDir: string): Promise<JournalView | undefined> {
  const isThere = await isInState(stateDir, 'journal.jsonl')
  return isThere ? readJournal(stateDir) : undefined
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
