import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

type HeartbeatPlace = {
  readonly file: string
  /** An open descriptor, used to detect that the file was replaced. */
  readonly fd: number
  readonly at: number
  readonly everyMs: number
}

export const BEAT_DIGITS = 10
/** Delay before the thread starts, because shorter-lived processes need none. */
const THREAD_AFTER_MS = 1_000
const STOP = 0
const COUNT = 1
const LAST_BYTES = 8

/**
 * The thread waits without an event loop, and opens the file itself so that it never writes to a reused descriptor. A failed
 * write is retried at the next beat; `ageMs` shows the gap.
 */
const THREAD = `
const { workerData: { file, ino, at, everyMs, digits, shared } } = require('node:worker_threads')
const fs = require('node:fs')
const numbers = new Int32Array(shared, 0, 2)
const last = new BigInt64Array(shared, ${LAST_BYTES}, 1)
const fd = fs.openSync(file, 'r+')
const isOwn = String(fs.fstatSync(fd, { bigint: true }).ino) === ino
while (isOwn && Atomics.wait(numbers, ${STOP}, 0, everyMs) === 'timed-out') {
  const count = Atomics.add(numbers, ${COUNT}, 1) + 1
  try {
    fs.writeSync(fd, String(count).padStart(digits, '0'), at)
    Atomics.store(last, 0, process.hrtime.bigint())
  } catch {}
}
fs.closeSync(fd)
`

/**
 * Overwrites a field of a file every few seconds while this process runs. A thread beats even if the main thread is busy.
 * Falls back to a timer if threads are unavailable.
 */
export function startHeartbeat({ file, fd, at, everyMs }: HeartbeatPlace) {
  const shared = new SharedArrayBuffer(LAST_BYTES + BigInt64Array.BYTES_PER_ELEMENT)
  const numbers = new Int32Array(shared, 0, 2)
  const last = new BigInt64Array(shared, LAST_BYTES, 1)
  const { ino } = fstatSync(fd, { bigint: true })
  const own = openOwn(file, ino)
  Atomics.store(last, 0, process.hrtime.bigint())
  const beat = (): void => {
    const count = Atomics.add(numbers, COUNT, 1) + 1
    writeSync(own, String(count).padStart(BEAT_DIGITS, '0'), at)
    Atomics.store(last, 0, process.hrtime.bigint())
  }
  const stopThread = startThread(
    { file, ino: String(ino), at, everyMs, digits: BEAT_DIGITS, shared },
    Math.min(THREAD_AFTER_MS, everyMs),
    () => beatByTimer(beat, everyMs),
  )
  return {
    beat,
    /** Age of the last successful write, by the monotonic clock. */
    ageMs: (): number => Number((process.hrtime.bigint() - Atomics.load(last, 0)) / 1_000_000n),
    stop(): void {
      Atomics.store(numbers, STOP, 1)
      Atomics.notify(numbers, STOP)
      stopThread()
      closeSync(own)
    },
  }
}

/** Opens the file and checks its identity: bytes of another file must never be overwritten. */
function openOwn(file: string, ino: bigint): number {
  const fd = openSync(file, 'r+')
  if (fstatSync(fd, { bigint: true }).ino === ino) return fd
  closeSync(fd)
  throw new Error(`${file}: was replaced`)
}

/** Returns a function that stops the thread, or the fallback that replaced it. */
function startThread(workerData: object, afterMs: number, otherwise: () => () => void): () => void {
  let stopOther: (() => void) | undefined
  const instead = (): void => {
    stopOther ??= otherwise()
  }
  const timer = setTimeout(() => {
    const limits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 }
    try {
      new Worker(THREAD, { eval: true, workerData, env: {}, execArgv: [], resourceLimits: limits })
        .once('error', instead)
        .unref()
    } catch {
      instead()
    }
  }, afterMs).unref()
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    stopOther?.()
    stopOther = () => undefined
  }
}

function beatByTimer(beat: () => void, everyMs: number): () => void {
  const timer = setInterval(() => {
    try {
      beat()
    } catch {
      // Ignored, because the lock check detects the beat's age.
    }
  }, everyMs).unref()
  return () => clearInterval(timer)
}
