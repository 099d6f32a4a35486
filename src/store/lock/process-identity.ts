import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** What tells a process from every other that ever had its pid. Undefined parts are not known on this system. */
export type ProcessIdentity = {
  /** For words only: containers and cloned machines share names. */
  readonly host: string
  readonly machineId: string | undefined
  /** Differs after each boot of a machine. */
  readonly bootId: string | undefined
  /**
   * Where pid and start ticks mean something: the namespace that pids are counted in and, where there are such, that of the
   * clock since boot. Undefined where /proc shows another one's processes.
   */
  readonly namespace: string | undefined
  readonly pid: number
  /** Clock ticks from boot to the start of the process. */
  readonly startTicks: string | undefined
}

/** A process of where this one runs. */
export function identifyProcess(pid: number): ProcessIdentity {
  const namespace = ownNamespace()
  return {
    host: hostname(),
    machineId: readText('/etc/machine-id')?.trim(),
    bootId: readText('/proc/sys/kernel/random/boot_id')?.trim(),
    namespace,
    pid,
    startTicks: namespace === undefined ? undefined : readStatus(String(pid))?.startTicks,
  }
}

/**
 * Whether a process that identified itself so is there. `unknown` for one whose machine, boot or namespace is not, or may
 * not be, that of this process: another container's pid says nothing here, whatever the names of the hosts.
 */
export function judgeProcess(known: ProcessIdentity): 'alive' | 'gone' | 'unknown' {
  const now = identifyProcess(known.pid)
  const isOfOlderVersion = known.namespace === undefined && known.startTicks !== undefined
  if (isOfOlderVersion && known.bootId === now.bootId && known.startTicks === now.startTicks)
    return 'alive'
  return isOfOnePlace(known, now) ? judgeHere(known) : 'unknown'
}

function isOfOnePlace(known: ProcessIdentity, now: ProcessIdentity): boolean {
  if (now.bootId === undefined || now.namespace === undefined) return false
  return (
    known.machineId === now.machineId &&
    known.bootId === now.bootId &&
    known.namespace === now.namespace
  )
}

function judgeHere(known: ProcessIdentity): 'alive' | 'gone' {
  if (!answersSignals(known.pid)) return 'gone'
  const status = readStatus(String(known.pid))
  if (status === undefined) return 'alive'
  // Killed, but its parent has not asked for its exit code: it still answers signals and does nothing.
  if (status.state === 'Z' || status.state === 'X') return 'gone'
  return differ(known.startTicks, status.startTicks) ? 'gone' : 'alive'
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

function ownNamespace(): string | undefined {
  // A process in a namespace of its own may still see the /proc of the one around it.
  if (readStatus('self')?.pid !== process.pid) return undefined
  const pids = readLink('/proc/self/ns/pid')
  if (pids === undefined) return undefined
  return `${pids} ${readLink('/proc/self/ns/time') ?? ''}`.trim()
}

type Status = {
  readonly pid: number
  readonly state: string
  readonly startTicks: string | undefined
}

/** Fields 1, 3 and 22 of /proc/<pid>/stat (proc_pid_stat(5)), counted after the name, which may hold blanks and brackets. */
function readStatus(pid: string): Status | undefined {
  const text = readText(`/proc/${pid}/stat`)
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields?.[0]
  if (text === undefined || state === undefined) return undefined
  return { pid: Number.parseInt(text, 10), state, startTicks: fields?.[19] }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function readLink(file: string): string | undefined {
  try {
    return readlinkSync(file)
  } catch {
    return undefined
  }
}
