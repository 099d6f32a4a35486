import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../../domain/errors.ts'

/** Distinguishes a process from every other that had the same pid. Undefined parts are unknown on this system. */
export type ProcessIdentity = {
  /** Used only in messages, because containers and cloned machines share names. */
  readonly host: string
  readonly machineId: string | undefined
  /** Changes at each boot. */
  readonly bootId: string | undefined
  /** Pid namespace and time namespace, if any. Undefined if /proc shows another namespace. */
  readonly namespace: string | undefined
  readonly pid: number
  readonly startTicks: string | undefined
}

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

/** `unknown` if its machine, boot or namespace may differ from ours, because pids then mean nothing. */
export function checkProcess(known: ProcessIdentity): 'alive' | 'gone' | 'unknown' {
  const now = identifyProcess(known.pid)
  const isOfOlderVersion = known.namespace === undefined && known.startTicks !== undefined
  if (isOfOlderVersion && known.bootId === now.bootId && known.startTicks === now.startTicks)
    return 'alive'
  return isOfOnePlace(known, now) ? checkHere(known) : 'unknown'
}

function isOfOnePlace(known: ProcessIdentity, now: ProcessIdentity): boolean {
  if (now.bootId === undefined || now.namespace === undefined) return false
  return (
    known.machineId === now.machineId &&
    known.bootId === now.bootId &&
    known.namespace === now.namespace
  )
}

function checkHere(known: ProcessIdentity): 'alive' | 'gone' {
  if (!answersSignals(known.pid)) return 'gone'
  const status = readStatus(String(known.pid))
  if (status === undefined) return 'alive'
  // A zombie still answers signals but does no work.
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
    // EPERM: the process exists and belongs to another user.
    return codeOf(error) !== 'ESRCH'
  }
}

function ownNamespace(): string | undefined {
  // A process in its own namespace may still see the parent's /proc.
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

/** Fields 1, 3 and 22 of proc_pid_stat(5), counted after the name, which may contain blanks and parentheses. */
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
