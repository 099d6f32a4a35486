import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { InvariantError, StateLockedError } from '../../domain/errors.ts'
import type { Mode, Settings } from '../../domain/settings.ts'
import type { JournalRecord } from '../../journal/events/registry.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { emptyState } from '../../journal/state/state-image.ts'
import type { Clock, Guard } from '../../ports.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import type { StateAnchors } from '../../store/anchor/anchor.ts'
import {
  type JournalOptions,
  type OpenedJournal,
  openJournal,
} from '../../store/file/journal-file.ts'
import type { MissingRecords } from '../../store/file/journal-reader.ts'
import { severJournal } from '../../store/file/journal-recovery.ts'
import { type JournalView, readJournal } from '../../store/file/journal-snapshot.ts'
import { HOLDINGS_FILE, holdsState } from '../../store/file/state-files.ts'
import type { JournalIndex } from '../../store/index/journal-index.ts'
import type { LockHolder } from '../../store/lock/lock-claims.ts'
import { acquireLock, type HeldLock } from '../../store/lock/state-lock.ts'
import { createClock } from '../../system/clock.ts'
import { ensureDirectory, fileSize, syncFile } from '../../system/durable-file.ts'
import { type Io, lineTo } from '../process/io.ts'
import { VERSION } from '../process/version.ts'
import { commandLine, DAEMON } from './daemons.ts'

/**
 * State files, in the order in which they are moved. The journal comes first: a state.json without a journal stops a start,
 * but a journal without state.json would pass as complete.
 */
export const STATE_NAMES = ['journal', 'state.json', 'state.json.damaged']

/** Files beside the state that belong to the same wallet and chain. */
export const SIDE_NAMES = [HOLDINGS_FILE, `${HOLDINGS_FILE}.damaged`]

type Holder = Partial<Pick<LockHolder, 'config' | 'mode'>> & {
  readonly io: Io
  readonly command: string
}

const READINESS = z.object({ status: z.string(), reasons: z.array(z.string()) })
const READINESS_MS_MAX = 2_000

/**
 * What a daemon's `/readyz` says. It answers while the daemon starts, before the control socket exists. Undefined without an
 * answer.
 */
export async function readinessOf({ http: { host, port } }: Pick<Settings, 'http'>) {
  const name = host.includes(':') ? `[${host}]` : host
  const signal = AbortSignal.timeout(READINESS_MS_MAX)
  try {
    const answer = await fetch(`http://${name}:${port}/readyz`, { signal })
    const { status, reasons } = READINESS.parse(await answer.json())
    return { ok: status === 'ok', reasons }
  } catch {
    return undefined
  }
}

/** Closes the clock after the task. */
export async function withClock<Result>(task: (clock: Clock) => Promise<Result>): Promise<Result> {
  const clock = createClock()
  try {
    return await task(clock)
  } finally {
    await clock.close()
  }
}

/** Locks a state directory for this process (rules G6 and T5); calls `report` if it has to wait. Throws StateLockedError. */
async function lockState(
  stateDir: string,
  holder: Holder,
  report: (line: string) => void,
): Promise<HeldLock> {
  const lock = await lockDirectory(stateDir, holder, report)
  if (!lock.overtook) return lock
  try {
    await severJournal(stateDir)
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}

export function lockDirectory(
  dir: string,
  { io, command, ...known }: Holder,
  report: (line: string) => void,
): Promise<HeldLock> {
  const own = { pid: io.pid, command: commandLine(command), startedAtMs: Date.now() }
  return acquireLock(dir, { ...own, ...known }, { onWait: report })
}

export function lockDaemon(
  { stateDir, file: config, mode }: Pick<Settings, 'stateDir' | 'file' | 'mode'>,
  io: Io,
  report: (line: string) => void,
): Promise<HeldLock> {
  return lockState(stateDir, { io, command: DAEMON, config, mode }, report)
}

/** One guard from several reasons: reports the first that blocks a signature. */
export function composeGuard(...reasons: readonly Guard['blocked'][]): Guard {
  return {
    blocked() {
      for (const reason of reasons) {
        const detail = reason()
        if (detail !== undefined) return detail
      }
      return undefined
    },
  }
}

type StateOptions = Omit<JournalOptions, 'fence' | 'key' | 'recorded'> & {
  /** Logs records and sends messages. Undefined if the command reports its own work. */
  readonly recorded: JournalOptions['recorded']
  /** Undefined only in dry-run. */
  readonly key: JournalKey | undefined
  readonly lock: HeldLock
  /** Anchors that the state must match. */
  readonly anchors?: StateAnchors | undefined
}

/**
 * Opens the journal of a held state directory, and writes only while it is held. Only dry-run, which signs nothing, has no
 * key (rule T2). Throws AnchorRefusedError if the state is not the one with which its wallets last signed.
 */
export async function openState(
  mode: Mode,
  { lock, anchors, ...options }: StateOptions,
): Promise<OpenedJournal> {
  if (options.key === undefined && mode !== 'dry-run')
    throw new InvariantError(`a journal in mode ${mode} is never opened without its wallet's key`)
  const opened = await openJournal({
    ...options,
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

/** Keeps the journal open during a task; calls `report` with its warnings. */
export async function whileOpen<Result>(
  { mode, stateDir: dir }: Settings,
  options: Omit<StateOptions, 'dir' | 'onFatal'> & {
    /** Without it, a failure only rejects appends. */
    readonly onFatal?: StateOptions['onFatal']
    readonly report: (line: string) => void
  },
  task: (opened: OpenedJournal) => Promise<Result>,
): Promise<Result> {
  const { report, onFatal = () => undefined, ...rest } = options
  const opened = await openState(mode, { ...rest, dir, onFatal })
  try {
    for (const warning of opened.warnings) report(warning)
    return await task(opened)
  } finally {
    await opened.close()
  }
}

/** The journal on disk; undefined if there is none. */
export async function readState(
  stateDir: string,
  positions?: readonly number[],
): Promise<JournalView | undefined> {
  return (await holdsState(stateDir)) ? readJournal(stateDir, positions) : undefined
}

/** The state on disk; empty if there is none. */
export async function stateAtHand(stateDir: string): Promise<DaemonState> {
  return (await readState(stateDir))?.state ?? emptyState()
}

type RecordsPlace = {
  readonly stateDir: string
  /** The config's archive, if any. */
  readonly archive: string | undefined
  readonly report: (line: string) => void
}

/** Existing records, oldest first; calls `report` for missing ones. */
export function recordsAtHand(view: JournalView, on: RecordsPlace): AsyncIterable<JournalRecord> {
  return view.records(missingIn(on), on.archive)
}

/** The index of the existing records; calls `report` for missing ones. */
export function indexAtHand(view: JournalView, on: RecordsPlace): Promise<JournalIndex> {
  return view.index({ archive: on.archive, onMissing: missingIn(on), madeBy: VERSION })
}

function missingIn({ stateDir, archive, report }: RecordsPlace) {
  const elsewhere =
    archive === undefined
      ? ' (moved to an archive? name it as journal.archive)'
      : ` nor in ${archive}`
  return ({ from, to }: MissingRecords): void =>
    report(
      `records ${from} to ${to} are not in ${join(stateDir, 'journal')}${elsewhere}: they are left out`,
    )
}

export async function isInState(stateDir: string, name: string): Promise<boolean> {
  return (await fileSize(join(stateDir, name))) !== undefined
}

/**
 * Moves the state of a held directory into a new subfolder, and returns that; undefined without a state. Deletes nothing.
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

/** Holds a state directory during a task, so that no daemon runs meanwhile. Throws StateLockedError. */
export async function whileHeld<Result>(
  stateDir: string,
  { io, command }: { readonly io: Io; readonly command: string },
  task: (lock: HeldLock, clock: Clock) => Promise<Result>,
): Promise<Result> {
  return withClock(async (clock) => {
    const lock = await lockState(stateDir, { io, command }, lineTo(io.stderr))
    try {
      return await task(lock, clock)
    } finally {
      lock.release()
    }
  })
}
