import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { isSound, proveState } from '../../src/store/maintenance/state-proof.ts'
import { childScript } from '../support/process/child-script.ts'
import { PLAIN_KEY } from '../support/state/plain-journal-key.ts'
import { collect, temporaryDirectory } from '../support/state/state-directory.ts'

const KILLS = 20
const LINES_MIN = 20
const LINES_MORE = 40

test('a journal killed 20 times at random moments has every acknowledged record and no partial append', async () => {
  const appender = await childScript('test/support/process/journal-appender.ts')
  const dir = temporaryDirectory()
  const acknowledged = new Set<string>()
  let unacknowledged = 0
  const key = PLAIN_KEY
  for (let run = 0; run < KILLS; run += 1) {
    const child = appender(dir, String(run))
    if (child.stdout === null) throw new Error('the child has no standard output')
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    const ended = once(child.stdout, 'close')
    // Kills by lines written, not by time, so that a slow disk is killed at as many points as a fast one.
    const enough = LINES_MIN + Math.random() * LINES_MORE
    while (printed.split('\n').length <= enough && child.exitCode === null) await sleep(1)
    await sleep(Math.random() * 3)
    child.kill('SIGKILL')
    await ended
    const lines = printed.split('\n').slice(0, -1)
    expect(lines.length).toBeGreaterThanOrEqual(LINES_MIN)
    for (const line of lines) acknowledged.add(line)

    const beside = await readJournal(dir)
    const opened = await openJournal({
      dir,
      key,
      clock: { now: () => Date.now() },
      onFatal: (error) => {
        throw error
      },
    })
    const { state } = opened.journal
    const records = await collect(opened.journal.records())
    await opened.close()
    const names = new Set(records.map(({ event }) => 'strategy' in event && event.strategy))
    expect([...acknowledged].filter((name) => !names.has(name))).toEqual([])
    expect(new Set(state.strategies.keys())).toEqual(names)
    expect(beside.state).toEqual(state)
    const halves = [...state.strategies.keys()].filter(
      (name) => /-\d*[05]$/.test(name) && !state.strategies.has(`${name}-also`),
    )
    expect(halves).toEqual([])
    unacknowledged = names.size - acknowledged.size
  }
  expect(readdirSync(join(dir, 'journal')).length).toBeGreaterThan(KILLS)
  expect(isSound(await proveState(dir, { key }))).toBe(true)
  // Each kill may leave one append per writer on disk but not acknowledged.
  expect(unacknowledged).toBeLessThanOrEqual(KILLS * 8)
})
