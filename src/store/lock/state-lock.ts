import { randomBytes } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, StateLockedError } from '../../domain/errors.ts'
import { ensureDirectory, ifThereNow, isMissing, PRIVATE_FILE } from '../../system/durable-file.ts'
import { BEAT_DIGITS, startHeartbeat } from './heartbeat.ts'
import {
  firstInForce,
  type HeldClaim,
  type Line,
  type LockClaim,
  type LockHolder,
  readClaims,
} from './lock-claims.ts'
import { checkProcess, identifyProcess } from './process-identity.ts'

/**
 * One writer per state directory (rules G6 and T5), without kernel locks, because Node has no flock.
 *
 * `lock` is a list of claims, one JSON line each. Lines are only appended; only a claim's `beat` changes in place, every few
 * seconds while its process runs. A claim is in force if its process is not gone and it was neither withdrawn nor overtaken.
 * The first claim in force holds the lock. The later of two claimants in the file sees the other and withdraws, so two can
 * never both hold the lock. Only the holder removes the file, so a holder must also find that the path still names its file.
 *
 * The system can check a process of the same machine, boot and namespace. Any other (another container, a recreated one,
 * another machine on a shared volume) can be checked only by its beat. It is watched for a stale period of our own monotonic
 * clock, and overtaken if nothing changes. A holder that was suspended meanwhile finds the overtaking mark, because `lost`
 * is checked before each signature and each journal write.
 */
type LockOptions = {
  /** Called with a message that names the holder, before each wait for a claim that cannot be checked. */
  readonly onWait?: ((line: string) => void) | undefined
  /** A claim without a beat for this long is overtaken; default 30,000. */
  readonly staleMs?: number | undefined
  /** Beat interval; default 3,000. */
  readonly beatMs?: number | undefined
}

export type HeldLock = {
  /** Why this process no longer holds the lock; undefined while it does. Reads the file system each time. */
  lost(): string | undefined
  /** Cheaper: checks only for appended lines, and makes a full check if the last one is old. */
  lostLately(): string | undefined
  /** True if the lock is lost for good. Unlike `lost`, ignores a disk that does not answer. */
  isOver(): boolean
  /** The overtaken holder may still run, and may have a write in progress. */
  readonly overtook: boolean
  /** Calls back once when the loss is detected in the background. Returns a function that stops watching. */
  watch(onLost: (why: string) => void): () => void
  /** Idempotent. */
  release(): void
}

export const LOCK = 'lock'
/** Losers of a race withdraw within moments; until then they look like holders. */
const TRIES_MAX = 8
const TRY_AGAIN_MS = 25
const STALE_MS = 30_000
const BEAT_MS = 3_000
/** Reads of a claim per stale period. A suspension of the watcher counts as two reads at most. */
const READS = 30
/** A read is reused for this long, unless the file has grown. */
const RECENT_MS = 100
/** Claims watched in sequence before it gives up. */
const WATCHES_MAX = 5

/** Acquires the lock, creating the directory if needed, or takes it from a dead process. Throws StateLockedError. */
export async function acquireLock(
  dir: string,
  holder: LockHolder,
  options: LockOptions = {},
): Promise<HeldLock> {
  await ensureDirectory(dir)
  const file = join(dir, LOCK)
  const identity = identifyProcess(holder.pid)
  const { staleMs = STALE_MS, beatMs = BEAT_MS } = options
  let blocker: LockClaim | undefined
  let watches = 0
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    if (tried > 0) await sleep(TRY_AGAIN_MS)
    const token = randomBytes(12).toString('hex')
    const result = tryClaim(file, { ...holder, ...identity, token, beat: '0'.repeat(BEAT_DIGITS) })
    if (result?.tag === 'claimed') return holdLock(file, result, { staleMs, beatMs })
    blocker = result?.first ?? blocker
    if (result?.first.status !== 'unknown' || watches >= WATCHES_MAX) continue
    const { first: claim } = result
    options.onWait?.(waitingFor(file, claim, staleMs))
    if (!(await isStale(file, claim, staleMs))) break
    overtake(file, claim)
    watches += 1
    tried = 0
  }
  throw new StateLockedError(describe(file, blocker))
}

/** The current holder, and whether its process is known to run; undefined if there is none. */
export function readLock(dir: string): HeldClaim | undefined {
  return firstInForce(textOf(join(dir, LOCK)))
}

type Claimed = {
  readonly tag: 'claimed'
  readonly fd: number
  readonly token: string
  readonly beatAt: number
  readonly overtook: boolean
}
type Blocked = { readonly tag: 'blocked'; readonly first: HeldClaim }

/** One attempt with a new claim. Undefined if it failed without a blocking claim. */
function tryClaim(file: string, claim: LockClaim): Claimed | Blocked | undefined {
  const fd = openSync(file, 'a+', PRIVATE_FILE)
  const giveUp = (first: HeldClaim | undefined): Blocked | undefined => {
    closeSync(fd)
    return first && { tag: 'blocked', first }
  }
  // Checks first, so that a process that restarts repeatedly does not grow the file.
  const holding = firstInForce(readAll(fd).toString())
  if (holding !== undefined) return giveUp(holding)
  write(fd, claim)
  const text = readAll(fd)
  const first = firstInForce(text.toString())
  const isFirst = first?.token === claim.token
  if (!isFirst || !isStillAt(file, fd)) {
    write(fd, { withdrawn: claim.token })
    return giveUp(isFirst ? undefined : first)
  }
  const line = JSON.stringify(claim)
  const beatAt = text.indexOf(line) + Buffer.byteLength(line) - BEAT_DIGITS - '"}'.length
  const { overtook } = readClaims(text.toString())
  return { tag: 'claimed', fd, token: claim.token, beatAt, overtook }
}

function holdLock(
  file: string,
  { fd, token, beatAt, overtook }: Claimed,
  { staleMs, beatMs }: { readonly staleMs: number; readonly beatMs: number },
): HeldLock {
  const heart = startHeartbeat({ file, fd, at: beatAt, everyMs: beatMs })
  const own = fstatSync(fd, { bigint: true })
  /** At this file length the claim was in force. The file only grows, except for beats. */
  let lengthSeen = -1n
  let isReleased = false
  let why: string | undefined
  const check = (): string | undefined => {
    if (isReleased) return `${file}: was given back`
    // Beats here after a third of the stale period without a beat. If that fails, others will overtake the lock.
    if (heart.ageMs() * 3 > staleMs) heart.beat()
    const there = readIfOwn(file, own, lengthSeen)
    if (there === 'unchanged') return undefined
    if (there === 'gone') return `${file}: somebody has removed or replaced it`
    if (!standsIn(there.text, token)) {
      const other = firstInForce(there.text)
      const who = other === undefined ? '' : ` (${nameOf(other)})`
      return `another daemon has taken over the state directory${who}: ${file}`
    }
    lengthSeen = there.length
    return undefined
  }
  const next = Buffer.alloc(1)
  let checkedMs = Number.NEGATIVE_INFINITY
  const lost = (): string | undefined => {
    try {
      // A lost lock is never regained.
      why ??= check()
      checkedMs = performance.now()
      return why
    } catch (error) {
      return `${file}: cannot be kept: ${messageOf(error)}`
    }
  }
  const lostLately = (): string | undefined => {
    const isRecent = why === undefined && !isReleased && performance.now() - checkedMs < RECENT_MS
    try {
      // A takeover always appends a line to this file.
      if (isRecent && readSync(fd, next, 0, 1, Number(lengthSeen)) === 0) return undefined
    } catch {
      // Checked again at once by `lost`, which reports a failure.
    }
    return lost()
  }
  const release = (): void => {
    if (isReleased) return
    const isOwn = lost() === undefined
    isReleased = true
    heart.stop()
    if (isOwn) rmSync(file, { force: true })
    closeSync(fd)
  }
  const isOver = (): boolean => lost() !== undefined && why !== undefined
  const untilOver = (): string | undefined => (isOver() ? why : undefined)
  const onLost = (listener: (why: string) => void) => watch(untilOver, beatMs, listener)
  return { lost, lostLately, isOver, overtook, watch: onLost, release }
}

function watch(
  lost: () => string | undefined,
  everyMs: number,
  onLost: (why: string) => void,
): () => void {
  const timer = setInterval(() => {
    const why = lost()
    if (why === undefined) return
    clearInterval(timer)
    onLost(why)
  }, everyMs).unref()
  return () => clearInterval(timer)
}

type LockRead = 'unchanged' | 'gone' | { readonly text: string; readonly length: bigint }

/** Opens the file by path each time, because only that makes a network file system ask its server. */
function readIfOwn(file: string, own: BigIntStats, lengthSeen: bigint): LockRead {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (error) {
    if (isMissing(error)) return 'gone'
    throw error
  }
  try {
    const there = fstatSync(fd, { bigint: true })
    if (there.ino !== own.ino || there.dev !== own.dev) return 'gone'
    if (there.size === lengthSeen) return 'unchanged'
    return { text: readAll(fd).toString(), length: there.size }
  } finally {
    closeSync(fd)
  }
}

function standsIn(text: string, token: string): boolean {
  const { claims, ended } = readClaims(text)
  return !ended.has(token) && claims.some((claim) => claim.token === token)
}

/**
 * False as soon as the claim beats. Returns true early if it no longer blocks. Sums bounded intervals of our monotonic
 * clock.
 */
async function isStale(file: string, claim: LockClaim, staleMs: number): Promise<boolean> {
  const readEveryMs = Math.ceil(staleMs / READS)
  let stillMs = 0
  let checkedMs = performance.now()
  while (stillMs < staleMs) {
    await sleep(readEveryMs)
    const now = performance.now()
    stillMs += Math.min(now - checkedMs, 2 * readEveryMs)
    checkedMs = now
    const there = readClaims(textOf(file)).claims.find(({ token }) => token === claim.token)
    if (there !== undefined && there.beat !== claim.beat) return false
    if (!isInTheWay(file, claim)) return true
  }
  return true
}

function isInTheWay(file: string, claim: LockClaim): boolean {
  return firstInForce(textOf(file))?.token === claim.token
}

/** Marks a claim that stopped beating. If its process resumes, it finds the mark. */
function overtake(file: string, claim: LockClaim): void {
  if (!isInTheWay(file, claim)) return
  const fd = openSync(file, constants.O_WRONLY | constants.O_APPEND)
  try {
    write(fd, { overtaken: claim.token })
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** A single write, so that the line is complete. The leading newline isolates it from a torn line before it. */
function write(fd: number, line: Line): void {
  writeSync(fd, `\n${JSON.stringify(line)}\n`)
}

function readAll(fd: number): Buffer {
  const { size } = fstatSync(fd)
  const data = Buffer.alloc(size)
  return data.subarray(0, readSync(fd, data, 0, size, 0))
}

function textOf(file: string): string {
  return ifThereNow(() => readFileSync(file, 'utf8')) ?? ''
}

function isStillAt(file: string, fd: number): boolean {
  const own = fstatSync(fd, { bigint: true })
  const there = statSync(file, { bigint: true, throwIfNoEntry: false })
  return there !== undefined && there.ino === own.ino && there.dev === own.dev
}

function describe(file: string, claim: LockClaim | undefined): string {
  if (claim === undefined) return `${file}: other processes are trying to take it; try again`
  const where =
    checkProcess(claim) === 'unknown'
      ? ', in another container or on another machine: its claim is kept fresh'
      : ''
  return `${file}: held by ${nameOf(claim)}${where}; stop that one first, or give this one another directory`
}

function nameOf({ pid, host, startedAtMs, command }: LockClaim): string {
  return `process ${pid} on ${host} since ${new Date(startedAtMs).toISOString()} (${command})`
}

function waitingFor(file: string, claim: LockClaim, staleMs: number): string {
  return `${file}: claimed by ${nameOf(claim)}, in another container or on another machine, or before this one was started again: whether it still runs cannot be asked here. Waiting up to ${Math.ceil(staleMs / 1000)} s for a sign of it; without one the lock is taken over`
}
