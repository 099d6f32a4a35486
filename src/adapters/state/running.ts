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
import { CONTROL_SOCKET } from '../control/control-socket.ts'
import type { Standing } from './lock-claims.ts'
import { LOCK, readLock } from './state-lock.ts'

/** A claim has some hundred bytes, and a lock few of them. */
const LOCK_BYTES_MAX = 1_048_576

/** A process that holds a directory now. */
export type Holding = Standing & { readonly dir: string }

/**
 * Every directory that a process of this machine holds by its lock and this user may read: a user's own, and for root everybody's.
 * Oldest first. Nobody keeps a list of them: the kernel knows which locks are open, and the locks say whose they are, so that a crash
 * leaves nothing that is wrong. Another container's are not among them. Throws where the system does not say which files are open.
 */
export function heldDirectories(): readonly Holding[] {
  const places = existsSync('/proc/self/fd') ? [...openLocks(), ...boundSockets()] : lsofLocks()
  const dirs = new Set(places.map(dirname).flatMap(realPath))
  return [...dirs].flatMap(holdingOf).toSorted((a, b) => a.startedAtMs - b.startedAtMs)
}

function holdingOf(dir: string): readonly Holding[] {
  try {
    const { size } = statSync(join(dir, LOCK))
    // Other programs have files of that name as well. A pipe, which has no size, would be read for ever.
    if (size === 0 || size > LOCK_BYTES_MAX) return []
    const holder = readLock(dir)
    return holder?.standing === 'alive' ? [{ ...holder, dir }] : []
  } catch {
    // Another user's.
    return []
  }
}

function realPath(dir: string): readonly string[] {
  try {
    return [realpathSync(dir)]
  } catch {
    return []
  }
}

/** By the open files of each process, as far as they are this user's to see (proc_pid_fd(5)). */
function openLocks(): readonly string[] {
  return entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => entriesOf(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`))
    .flatMap(targetOf)
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
  try {
    return readdirSync(dir)
  } catch {
    // It has ended, or belongs to somebody else.
    return []
  }
}

function targetOf(link: string): readonly string[] {
  try {
    return [readlinkSync(link)]
  } catch {
    return []
  }
}

/** Where there is no /proc. The fields of lsof(8): a letter and its value a line, `n` for the name of a file. */
export function lsofLocks(): readonly string[] {
  const user = process.getuid?.()
  const whose = user === 0 || user === undefined ? [] : ['-u', String(user)]
  const { error, stdout } = spawnSync('lsof', ['-nPw', '-F', 'n', ...whose], { encoding: 'utf8' })
  if (error !== undefined) throw new Error(`which files are open cannot be asked: ${error.message}`)
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('n/') && basename(line) === LOCK)
    .map((line) => line.slice(1))
}
