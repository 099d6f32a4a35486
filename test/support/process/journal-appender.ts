import { writeSync } from 'node:fs'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { scheduled } from '../state/journal-events.ts'
import { PLAIN_KEY } from '../state/plain-journal-key.ts'

/**
 * Child process: appends as fast as it can with four writers until it is killed, every fifth time two events at once,
 * and prints each event's name only after the journal has it. Synchronous, so that no output is lost.
 */
const [dir = '', run = ''] = process.argv.slice(2)

const { journal } = await openJournal({
  dir,
  clock: { now: () => Date.now() },
  key: PLAIN_KEY,
  snapshotEvery: 25,
  // A file fills in a few milliseconds, so that kills also fall between two files.
  segmentBytes: 5_000,
  onFatal: (error) => {
    throw error
  },
})

async function write(writer: number): Promise<void> {
  for (let n = 0; ; n += 1) {
    const name = `run-${run}-${writer}-${n}`
    const names = n % 5 === 0 ? [name, `${name}-also`] : [name]
    await journal.append(...names.map((each) => scheduled(each)))
    writeSync(1, `${names.join('\n')}\n`)
  }
}

await Promise.all([0, 1, 2, 3].map(write))
