import { getHeapSpaceStatistics } from 'node:v8'
import { acquireLock } from '../../../src/adapters/state/state-lock.ts'
import { keepHeapSmall } from '../../../src/cli/heap.ts'

/** Child process: keeps its heap small, takes the lock, and tells how large its young generation has become, in bytes. */
const [dir = ''] = process.argv.slice(2)
const GARBAGE_ROUNDS = 200
const GARBAGE_TOGETHER = 20_000

/** Survives for a while, as what a busy daemon holds does: that is what widens a young generation. */
function makeGarbage(): void {
  for (let round = 0; round < GARBAGE_ROUNDS; round += 1)
    Array.from({ length: GARBAGE_TOGETHER }, (_, at) => ({ round, text: `${round} ${at}` }))
}

function youngBytes(): number | undefined {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size
}

keepHeapSmall()
const holder = { pid: process.pid, command: 'small heap', startedAtMs: Date.now() }
const onThread = (): void => {
  keepHeapSmall()
  makeGarbage()
  process.send?.(youngBytes())
}
await acquireLock(dir, holder, { beatMs: 30, onThread })
process.on('disconnect', () => process.exit())
