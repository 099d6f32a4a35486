import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StateLockedError } from '../../domain/errors.ts'
import { ensureDirectory, isMissing, PRIVATE_FILE } from './durable-file.ts'
import { BEAT_DIGITS, type Heartbeat, startHeartbeat } from './heartbeat.ts'
import {
  claimsIn,
  firstStanding,
  type Line,
  type LockClaim,
  type LockHolder,
  overtaken,
  type Standing,
  withdrawn,
} from './lock-claims.ts'
import { identifyProcess, judgeProcess } from './process-identity.ts'

/**
 * One writer per state directory (rules G6 and T5), without help from the kernel: Node has no flock.
 *
 * `lock` is a list of claims, one JSON line each. Lines are only ever appended; of a claim its `beat` alone changes in
 * place, every few seconds, for as long as its process runs. The first claim that stands holds the lock: one stands whose
 * process is not gone, and that was neither withdrawn nor overtaken. Of any two claimants one comes later in the file, sees the
 * other and gives way, so two can never both hold it, however many race for it. Only the holder removes the file. So whoever
 * stands first, and after that finds the path still naming the file it wrote to, holds the lock.
 *
 * A process of the same machine, boot and namespace is judged by the system. Of any other (another container, one that was
 * made anew, another machine on a shared volume) nothing can be known but whether its claim still beats: it is watched for
 * a stale period of the watcher's own monotonic clock, and overtaken only if nothing moved. A holder that was stopped
 * meanwhile finds the mark of that in the file: `lost` is asked before each signature and each write of the journal.
 */
export type LockOptions = {
  /** Told once for whom it waits, when the claim in the way cannot be judged. */
  readonly onWait?: ((line: string) => void) | undefined
  /** How long a claim has to be still before it is overtaken, milliseconds; default 30 s. */
  readonly staleMs?: number | undefined
  /** Between two beats, milliseconds; default 3 s. */
  readonly beatMs?: number | undefined
}

export type HeldLock = {
  /** Why this process does not hold it any more, in words; undefined while it does. Asks the file system anew. */
  lost(): string | undefined
  /** The same for a fraction: by what was added to the file that is open, and anew where that is a moment ago. */
  lostLately(): string | undefined
  /** It is lost for good. While only the disk does not answer, `lost` says so and this does not. */
  isOver(): boolean
  /** A holder was overtaken that may still be running, and may still have a write under way. */
  readonly overtook: boolean
  /** Calls back, once, when it is found lost while nobody asks. Gives what ends that. */
  watch(onLost: (why: string) => void): () => void
  /** Gives it back. May be called again. */
  release(): void
}

/** Of the file in a directory that is held. */
export const LOCK = 'lock'
/** Losers of a race withdraw within moments; until then they look like holders. */
const TRIES_MAX = 8
const TRY_AGAIN_MS = 25
const STALE_MS = 30_000
const BEAT_MS = 3_000
/** Looks at a claim in a stale period. Time that the watcher itself was stopped counts as one look at most. */
const LOOKS = 30
/** How long a look at the file is good for, as long as nothing was added to it. */
const RECENT_MS = 100
/** Claims that may be watched to their end one after the other before somebody has to look into it. */
const WATCHES_MAX = 5

/**
 * Takes the lock of a state directory, making the directory if need be. Taken over from a process that is gone, however it
 * died. Throws StateLockedError naming the holder.
 */
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
    if (result?.first.standing !== 'unknown' || watches >= WATCHES_MAX) continue
    const { first: claim } = result
    options.onWait?.(waitingFor(file, claim, staleMs))
    if (!(await isStale(file, claim, staleMs))) break
    overtake(file, claim)
    watches += 1
    tried = 0
  }
  throw new StateLockedError(describe(file, blocker))
}

/** Who holds the lock now, and whether that is certain; undefined when nobody does that may be running. */
export function readLock(dir: string): Standing | undefined {
  return firstStanding(textOf(join(dir, LOCK)))
}

type Claimed = {
  readonly tag: 'claimed'
  readonly fd: number
  readonly token: string
  /** Offset of the claim's beat. */
  readonly beatAt: number
  readonly overtook: boolean
}
type Blocked = { readonly tag: 'blocked'; readonly first: Standing }

/** One try, with a claim that was never used. Undefined when nobody is in the way and it still came to nothing. */
function tryClaim(file: string, claim: LockClaim): Claimed | Blocked | undefined {
  const fd = fs.openSync(file, 'a+', PRIVATE_FILE)
  const giveUp = (first: Standing | undefined): Blocked | undefined => {
    fs.closeSync(fd)
    return first && { tag: 'blocked', first }
  }
  // Looking first keeps a process that is started again and again beside a holder from growing the file.
  const holding = firstStanding(readAll(fd).toString())
  if (holding !== undefined) return giveUp(holding)
  write(fd, claim)
  const text = readAll(fd)
  const first = firstStanding(text.toString())
  const isFirst = first?.token === claim.token
  if (!isFirst || !isStillAt(file, fd)) {
    write(fd, { withdrawn: claim.token })
    return giveUp(isFirst ? undefined : first)
  }
  const beatAt = offsetOfBeat(text, claim)
  return {
    tag: 'claimed',
    fd,
    token: claim.token,
    beatAt,
    overtook: overtaken(text.toString()).size > 0,
  }
}

/** Where the beat of a claim that stands in a file begins, in bytes. */
function offsetOfBeat(text: Buffer, claim: LockClaim): number {
  const line = text.indexOf(JSON.stringify(claim))
  return line + Buffer.byteLength(JSON.stringify(claim)) - BEAT_DIGITS - '"}'.length
}

type Beating = {
  readonly staleMs: number
  readonly beatMs: number
}

function holdLock(file: string, claimed: Claimed, { staleMs, beatMs }: Beating): HeldLock {
  const { fd, token, beatAt, overtook } = claimed
  const heart = startHeartbeat({ file, fd, at: beatAt, everyMs: beatMs })
  const own = fs.fstatSync(fd, { bigint: true })
  /** A file of this length says that the claim stands: it only grows, but for beats in place. */
  let lengthSeen = -1n
  let isReleased = false
  let why: string | undefined
  const look = (): string | undefined => {
    if (isReleased) return `${file}: was given back`
    keepBeating(heart, staleMs)
    const there = readIfOwn(file, own, lengthSeen)
    if (there === 'unchanged') return undefined
    if (there === 'gone') return `${file}: somebody has removed or replaced it`
    if (!standsIn(there.text, token)) {
      const other = firstStanding(there.text)
      const who = other === undefined ? '' : ` (${nameOf(other)})`
      return `another daemon has taken over the state directory${who}: ${file}`
    }
    lengthSeen = there.length
    return undefined
  }
  const next = Buffer.alloc(1)
  let lookedMs = Number.NEGATIVE_INFINITY
  const lost = (): string | undefined => {
    try {
      // What is lost once is never held again.
      why ??= look()
      lookedMs = performance.now()
      return why
    } catch (error) {
      return `${file}: cannot be kept: ${error instanceof Error ? error.message : error}`
    }
  }
  const lostLately = (): string | undefined => {
    const isRecent = why === undefined && !isReleased && performance.now() - lookedMs < RECENT_MS
    try {
      // Nobody takes the lock over without a line in this very file.
      if (isRecent && fs.readSync(fd, next, 0, 1, Number(lengthSeen)) === 0) return undefined
    } catch {
      // Looked at anew, and told if that does not work either.
    }
    return lost()
  }
  const release = (): void => {
    if (isReleased) return
    const isOwn = lost() === undefined
    isReleased = true
    heart.stop()
    if (isOwn) fs.rmSync(file, { force: true })
    fs.closeSync(fd)
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

/** After a third of the stale period without a beat it is written here; where that fails, others will take the lock for stale. */
function keepBeating(heart: Heartbeat, staleMs: number): void {
  if (heart.ageMs() * 3 > staleMs) heart.beat()
}

type Sight = 'unchanged' | 'gone' | { readonly text: string; readonly length: bigint }

/** The file as others see it: opened by its path each time, because only that makes a network file system ask its server. */
function readIfOwn(file: string, own: fs.BigIntStats, lengthSeen: bigint): Sight {
  let fd: number
  try {
    fd = fs.openSync(file, 'r')
  } catch (error) {
    if (isMissing(error)) return 'gone'
    throw error
  }
  try {
    const there = fs.fstatSync(fd, { bigint: true })
    if (there.ino !== own.ino || there.dev !== own.dev) return 'gone'
    if (there.size === lengthSeen) return 'unchanged'
    return { text: readAll(fd).toString(), length: there.size }
  } finally {
    fs.closeSync(fd)
  }
}

function standsIn(text: string, token: string): boolean {
  if (withdrawn(text).has(token) || overtaken(text).has(token)) return false
  return claimsIn(text).some((claim) => claim.token === token)
}

/**
 * Watches a claim for a stale period, or until it is in nobody's way any more; false as soon as it beats. Time is the sum of
 * what passed between two looks, each bounded, by this process's own monotonic clock.
 */
async function isStale(file: string, claim: LockClaim, staleMs: number): Promise<boolean> {
  const lookEveryMs = Math.ceil(staleMs / LOOKS)
  let stillMs = 0
  let lookedMs = performance.now()
  while (stillMs < staleMs) {
    await sleep(lookEveryMs)
    const now = performance.now()
    stillMs += Math.min(now - lookedMs, 2 * lookEveryMs)
    lookedMs = now
    const there = claimsIn(textOf(file)).find(({ token }) => token === claim.token)
    if (there !== undefined && there.beat !== claim.beat) return false
    if (!isInTheWay(file, claim)) return true
  }
  return true
}

function isInTheWay(file: string, claim: LockClaim): boolean {
  return firstStanding(textOf(file))?.token === claim.token
}

/** Marks a claim that did not move. Its process, if it ever runs again, finds the mark. */
function overtake(file: string, claim: LockClaim): void {
  if (!isInTheWay(file, claim)) return
  const fd = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_APPEND)
  try {
    write(fd, { overtaken: claim.token })
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** A single write, so that a line is there as a whole; begun with a newline, so that no rubbish before it spoils it. */
function write(fd: number, line: Line): void {
  fs.writeSync(fd, `\n${JSON.stringify(line)}\n`)
}

function readAll(fd: number): Buffer {
  const { size } = fs.fstatSync(fd)
  const data = Buffer.alloc(size)
  return data.subarray(0, fs.readSync(fd, data, 0, size, 0))
}

function textOf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}

function isStillAt(file: string, fd: number): boolean {
  const own = fs.fstatSync(fd, { bigint: true })
  const there = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  return there !== undefined && there.ino === own.ino && there.dev === own.dev
}

function describe(file: string, claim: LockClaim | undefined): string {
  if (claim === undefined) return `${file}: other processes are trying to take it; try again`
  return `${file}: held by ${nameOf(claim)}${isFromElsewhere(claim) ? ', in another container or on another machine: its claim is kept fresh' : ''}; stop that one first, or give this one a directory of its own with --state-dir`
}

function nameOf({ pid, host, startedAtMs, command }: LockClaim): string {
  return `process ${pid} on ${host} since ${new Date(startedAtMs).toISOString()} (${command})`
}

function isFromElsewhere(claim: LockClaim): boolean {
  return judgeProcess(claim) === 'unknown'
}

function waitingFor(file: string, claim: LockClaim, staleMs: number): string {
  return `${file}: claimed by ${nameOf(claim)}, in another container or on another machine, or before this one was started again: whether it still runs cannot be asked here. Waiting up to ${Math.ceil(staleMs / 1000)} s for a sign of it; without one the lock is taken over`
}
