import { spawnSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { HeldClaim } from '../store/lock/lock-claims.ts'
import { LOCK, readLock } from '../store/lock/state-lock.ts'
import { CONTROL_SOCKET } from './control-socket.ts'

/** A claim has some hundred bytes, and a lock few of them. */
const LOCK_BYTES_MAX = 1_048_576

/** A process that holds a directory now. */
export type Holding = HeldClaim & { readonly dir: string }

/**
 * Every directory that a process of this machine holds by its lock and this user may read: a user's own, and for root everybody's.
 * Oldest first. No list of them is kept: the kernel knows which locks are open, and the locks say whose they are, so that a crash
 * leaves nothing that is wrong. Throws where the system does not say which files are open.
 */
export function heldDirectories(): readonly Holding[] {
  const hasProc = existsSync('/proc/self/fd')
  const open = directoriesOf(hasProc ? openLocks() : lsofLocks())
  const bound = directoriesOf(hasProc ? boundSockets() : [])
  const found = [
    // Somebody has the lock open now: whom it names is there, also in a container whose pids say nothing here.
    ...[...open].flatMap((dir) => holdingOf(dir, ['alive', 'unknown'])),
    ...[...bound].flatMap((dir) => (open.has(dir) ? [] : holdingOf(dir, ['alive']))),
  ]
  return found.toSorted((a, b) => a.startedAtMs - b.startedAtMs)
}

function directoriesOf(places: readonly string[]): ReadonlySet<string> {
  return new Set(places.map(dirname).flatMap((dir) => ifReadable(() => [realpathSync(dir)])))
}

function holdingOf(dir: string, admitted: readonly HeldClaim['standing'][]): readonly Holding[] {
  return ifReadable(() => {
    const { size } = statSync(join(dir, LOCK))
    // Other programs have files of that name as well. A pipe, which has no size, would be read for ever.
    if (size === 0 || size > LOCK_BYTES_MAX) return []
    const holder = readLock(dir)
    return holder !== undefined && admitted.includes(holder.standing) ? [{ ...holder, dir }] : []
  })
}

/** By the open files of each process, as far as they are this user's to see (proc_pid_fd(5)). */
function openLocks(): readonly string[] {
  return entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => entriesOf(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`))
    .flatMap((link) => ifReadable(() => [readlinkSync(link)]))
    .filter((path) => basename(path) === LOCK)
}

/** By the control sockets of this network namespace: open files of a process in another user namespace are root's alone to see. */
export function boundSockets(): readonly string[] {
  return readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.slice(line.indexOf('/')))
    .filter((path) => path.startsWith('/') && basename(path) === CONTROL_SOCKET)
}

function entriesOf(dir: string): readonly string[] {
  return ifReadable(() => readdirSync(dir))
}

/** Nothing of a process that has ended, or of what belongs to another user. */
function ifReadable<Found>(read: () => readonly Found[]): readonly Found[] {
  try {
    return read()
  } catch {
    return []
  }
}

/** Where there is no /proc. The fields of lsof(8): a letter and its value a line, `n` for the name of a file. */
export function lsofLocks(): readonly string[] {
  const user = process.getuid?.()
  const whose = user === 0 || user === undefined ? [] : ['-u', String(user)]
  const { error, stdout } = spawnSync('lsof', ['-nPw', '-F', 'n', ...whose], { encoding: 'utf8' })
  // This process has files open, too: no answer is none that could be right.
  const why = error?.message ?? (stdout === '' ? 'lsof names no file' : undefined)
  if (why !== undefined) throw new Error(`which files are open cannot be asked: ${why}`)
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('n/') && basename(line) === LOCK)
    .map((line) => line.slice(1))
}
