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
import { CONTROL_SOCKET } from './ask-control.ts'

/** A claim has a few hundred bytes, and a lock has few claims. */
const LOCK_BYTES_MAX = 1_048_576

export type Holding = HeldClaim & { readonly dir: string }

/**
 * Directories that processes on this machine hold by their locks, if this user may read them; oldest first. The kernel knows
 * the open locks, and each lock names its holder, so a crash leaves no stale entry. Throws if open files cannot be listed.
 */
export function heldDirectories(): readonly Holding[] {
  const hasProc = existsSync('/proc/self/fd')
  const open = directoriesOf(hasProc ? openLocks() : lsofLocks())
  const bound = directoriesOf(hasProc ? boundSockets() : [])
  const found = [
    // A process has the lock open, so its holder is alive, even in a container with other pids.
    ...[...open].flatMap((dir) => holdingOf(dir, ['alive', 'unknown'])),
    ...[...bound].flatMap((dir) => (open.has(dir) ? [] : holdingOf(dir, ['alive']))),
  ]
  return found.toSorted((a, b) => a.startedAtMs - b.startedAtMs)
}

function directoriesOf(places: readonly string[]): ReadonlySet<string> {
  return new Set(places.map(dirname).flatMap((dir) => ifReadable(() => [realpathSync(dir)])))
}

function holdingOf(dir: string, admitted: readonly HeldClaim['status'][]): readonly Holding[] {
  return ifReadable(() => {
    const { size } = statSync(join(dir, LOCK))
    // Another program's file may have this name. A pipe has size 0 and would be read forever.
    if (size === 0 || size > LOCK_BYTES_MAX) return []
    const holder = readLock(dir)
    return holder !== undefined && admitted.includes(holder.status) ? [{ ...holder, dir }] : []
  })
}

/** Locks among the open files of processes that this user may inspect (proc_pid_fd(5)). */
function openLocks(): readonly string[] {
  return entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => entriesOf(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`))
    .flatMap((link) => ifReadable(() => [readlinkSync(link)]))
    .filter((path) => basename(path) === LOCK)
}

/** Control sockets of this network namespace: only root sees open files of processes in other user namespaces. */
export function boundSockets(): readonly string[] {
  return readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.slice(line.indexOf('/')))
    .filter((path) => path.startsWith('/') && basename(path) === CONTROL_SOCKET)
}

function entriesOf(dir: string): readonly string[] {
  return ifReadable(() => readdirSync(dir))
}

/** Empty for ended processes and for files of other users. */
function ifReadable<Found>(read: () => readonly Found[]): readonly Found[] {
  try {
    return read()
  } catch {
    return []
  }
}

/** For systems without /proc. lsof(8) prints one field per line, a letter and its value; `n` is a file's name. */
export function lsofLocks(): readonly string[] {
  const user = process.getuid?.()
  const whose = user === 0 || user === undefined ? [] : ['-u', String(user)]
  const { error, stdout } = spawnSync('lsof', ['-nPw', '-F', 'n', ...whose], { encoding: 'utf8' })
  // This process has open files, so an empty answer is wrong.
  const why = error?.message ?? (stdout === '' ? 'lsof names no file' : undefined)
  if (why !== undefined) throw new Error(`the open files cannot be listed: ${why}`)
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('n/') && basename(line) === LOCK)
    .map((line) => line.slice(1))
}
