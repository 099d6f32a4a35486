import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StateLockedError } from '../../../src/domain/errors.ts'
import { acquireLock, type HeldLock } from '../../../src/store/lock/state-lock.ts'

/** Child process: takes and releases the lock repeatedly, and reports if another process ever held it too. */
const [dir = '', cycles = '0'] = process.argv.slice(2)
const marker = join(dir, 'marker')

async function take(): Promise<HeldLock> {
  for (;;) {
    try {
      return await acquireLock(dir, { pid: process.pid, command: 'cycler', startedAtMs: 0 })
    } catch (error) {
      if (!(error instanceof StateLockedError)) throw error
    }
  }
}

async function cycle(): Promise<string> {
  for (let n = 0; n < Number(cycles); n += 1) {
    const lock = await take()
    try {
      writeFileSync(marker, '', { flag: 'wx' })
    } catch {
      return 'another process held it, too'
    }
    rmSync(marker)
    lock.release()
  }
  return 'done'
}

process.send?.(await cycle())
process.disconnect()
