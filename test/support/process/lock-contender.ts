import { StateLockedError } from '../../../src/domain/errors.ts'
import { acquireLock } from '../../../src/store/lock/state-lock.ts'

/** Child process: waits for a start time, tries to take the lock then, reports the result, and keeps the lock. */
const [dir = ''] = process.argv.slice(2)

async function contend(startAtMs: number): Promise<string> {
  while (Date.now() < startAtMs) {
    // Spins, so that all contenders start within microseconds.
  }
  try {
    await acquireLock(dir, { pid: process.pid, command: 'contender', startedAtMs: startAtMs })
    return 'held'
  } catch (error) {
    return error instanceof StateLockedError ? error.message : `failed: ${error}`
  }
}

process.on('message', async (startAtMs: number) => {
  process.send?.(await contend(startAtMs))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
