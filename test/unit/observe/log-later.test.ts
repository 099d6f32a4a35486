import { expect, test } from 'vitest'
import { createLog } from '../../../src/observe/log.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'

test('a log that writes after the turn joins its lines, and one that fails costs no other', () => {
  const written: string[] = []
  const tasks: (() => void)[] = []
  const scrubber = createScrubber()
  const log = createLog({
    level: 'info',
    format: 'json',
    destination: { write: (text) => written.push(text) },
    scrubber: {
      ...scrubber,
      text(raw) {
        if (raw === 'broken') throw new Error('broken')
        return scrubber.text(raw)
      },
    },
    later: (task) => tasks.push(task),
  })
  for (const message of ['one', 'broken', 'two', 'broken']) log.info(message)
  expect(written).toEqual([])
  expect(tasks).toHaveLength(1)
  for (const task of tasks.splice(0)) task()
  const lines = written.join('').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['one', 'two'])
  log.info('three')
  expect(tasks).toHaveLength(1)
})
