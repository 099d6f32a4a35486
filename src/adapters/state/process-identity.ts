import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** What tells a process from every other that ever had its pid. Undefined parts are not known on this system. */
export type ProcessIdentity = {
  readonly host: string
  readonly pid: number
  /** Differs after each boot of the machine. */
  readonly bootId: string | undefined
  /** Clock ticks from boot to the start of the process. */
  readonly startTicks: string | undefined
}

export function identifyProcess(pid: number): ProcessIdentity {
  return {
    host: hostname(),
    pid,
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim(),
    startTicks: readStatus(pid)?.startTicks,
  }
}

/**
 * Whether a process that identified itself so is gone for certain. False when in doubt: for another host, or one
 * of another user.
 */
export function isGone(known: ProcessIdentity): boolean {
  const now = identifyProcess(known.pid)
  if (known.host !== now.host) return false
  if (differ(known.bootId, now.bootId)) return true
  if (!answersSignals(known.pid)) return true
  const status = readStatus(known.pid)
  if (status === undefined) return false
  // Killed, but its parent has not asked for its exit code: it still answers signals and does nothing.
  if (status.state === 'Z' || status.state === 'X') return true
  return differ(known.startTicks, status.startTicks)
}

function differ(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM means that it exists and belongs to somebody else.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** Fields 3 and 22 of /proc/<pid>/stat (proc_pid_stat(5)), counted after the name, which may hold blanks and brackets. */
function readStatus(pid: number): { state: string; startTicks: string | undefined } | undefined {
  const text = readText(`/proc/${pid}/stat`)
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields?.[0]
  return state === undefined ? undefined : { state, startTicks: fields?.[19] }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
