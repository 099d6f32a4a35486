import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StateLockedError } from '../../domain/errors.ts'
import { ensureDirectory, isMissing, PRIVATE_FILE } from './durable-file.ts'
import { identifyProcess, isGone, type ProcessIdentity } from './process-identity.ts'

/**
 * One writer per state directory (rule G6), without help from the kernel: Node has no flock.
 *
 * `lock` is a list of claims, one JSON line each, only ever appended to, and the first claim whose process is alive
 * and has not withdrawn holds the lock. Of any two claimants one stands later in the file, sees the other alive and
 * gives way, so two can never both hold it, however many race for the lock of a dead process. Only the holder
 * removes the file, while it is alive. So whoever sees all earlier claimants gone, and after that finds the path
 * still naming the file it wrote to, cannot have that file removed behind it.
 *
 * Processes of one host share a local disk here; a claim from another host is never judged dead.
 */
export type LockHolder = {
  readonly pid: number
  /** What it was started as, for the operator. */
  readonly command: string
  readonly startedAtMs: number
}

export type LockClaim = LockHolder & ProcessIdentity & { readonly token: string }
type Line = LockClaim | { readonly withdrawn: string }

const LOCK = 'lock'
/** Losers of a race withdraw within moments; until then they look like holders. */
const TRIES_MAX = 8
const TRY_AGAIN_MS = 25

/**
 * Takes the lock of a state directory, making the directory if need be, and returns what gives it back. Taken over
 * from a process that is gone, however it died. Throws StateLockedError naming the holder.
 */
export async function acquireLock(dir: string, holder: LockHolder): Promise<() => void> {
  await ensureDirectory(dir)
  const file = join(dir, LOCK)
  const identity = identifyProcess(holder.pid)
  let blocker: LockClaim | undefined
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    if (tried > 0) await sleep(TRY_AGAIN_MS)
    const result = tryClaim(file, {
      ...holder,
      ...identity,
      token: randomBytes(12).toString('hex'),
    })
    if (typeof result === 'function') return result
    blocker = result ?? blocker
  }
  throw new StateLockedError(describe(file, blocker))
}

/** Who holds the lock now; undefined when nobody alive does. */
export function readLock(dir: string): LockClaim | undefined {
  try {
    return firstAlive(fs.readFileSync(join(dir, LOCK), 'utf8'))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** One try, with a claim that was never used. Gives the release, or the claim that is in the way if there is one. */
function tryClaim(file: string, claim: LockClaim): (() => void) | LockClaim | undefined {
  const fd = fs.openSync(file, 'a+', PRIVATE_FILE)
  const giveUp = (blocker: LockClaim | undefined) => {
    fs.closeSync(fd)
    return blocker
  }
  // Looking first keeps a process that is started again and again beside a holder from growing the file.
  const holding = firstAlive(readAll(fd))
  if (holding !== undefined) return giveUp(holding)
  write(fd, claim)
  const first = firstAlive(readAll(fd))
  if (first?.token !== claim.token || !isStillAt(file, fd)) {
    write(fd, { withdrawn: claim.token })
    return giveUp(first?.token === claim.token ? undefined : first)
  }
  let held = true
  return () => {
    if (!held) return
    held = false
    if (isStillAt(file, fd)) fs.unlinkSync(file)
    fs.closeSync(fd)
  }
}

/** A single write, so that a line is there as a whole; begun with a newline, so that no rubbish before it spoils it. */
function write(fd: number, line: Line): void {
  fs.writeSync(fd, `\n${JSON.stringify(line)}\n`)
}

function readAll(fd: number): string {
  const { size } = fs.fstatSync(fd)
  const data = Buffer.alloc(size)
  return data.toString('utf8', 0, fs.readSync(fd, data, 0, size, 0))
}

function isStillAt(file: string, fd: number): boolean {
  const own = fs.fstatSync(fd, { bigint: true })
  const there = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  return there !== undefined && there.ino === own.ino && there.dev === own.dev
}

function firstAlive(text: string): LockClaim | undefined {
  const lines = text.split('\n').flatMap(parseLine)
  const withdrawn = new Set(lines.flatMap((line) => ('withdrawn' in line ? [line.withdrawn] : [])))
  return lines.find(
    (line): line is LockClaim => 'token' in line && !withdrawn.has(line.token) && !isGone(line),
  )
}

/** Text that is no claim was left by a power cut or a full disk, and whoever wrote it holds nothing. */
function parseLine(text: string): readonly Line[] {
  try {
    const line: Partial<LockClaim & { withdrawn: string }> | null = JSON.parse(text)
    if (typeof line?.withdrawn === 'string') return [{ withdrawn: line.withdrawn }]
    if (typeof line?.token === 'string' && typeof line.pid === 'number') return [line as LockClaim]
    return []
  } catch {
    return []
  }
}

function describe(file: string, claim: LockClaim | undefined): string {
  if (claim === undefined) return `${file}: other processes are trying to take it; try again`
  const since = new Date(claim.startedAtMs).toISOString()
  const elsewhere =
    claim.host === identifyProcess(claim.pid).host
      ? ''
      : `. It is another machine: if its daemon is stopped for good, delete ${file}`
  return `${file}: held by process ${claim.pid} on ${claim.host} since ${since} (${claim.command})${elsewhere}`
}
