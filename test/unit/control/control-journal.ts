import { onTestFinished } from 'vitest'
import { openHaltFile } from '../../../src/control/halt-file.ts'
import type { ControlPorts } from '../../../src/engine/daemon-control.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

/** What control acts on: a real journal with two strategies, the halt file, and a stopped clock. */
export async function controlJournal(startMs: number) {
  const dir = temporaryDirectory()
  const time = { nowMs: startMs }
  const clock = {
    now: () => time.nowMs,
    // Tests here never wait for real time.
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
  }
  const opened = await openJournal({
    dir,
    clock,
    onFatal: (error) => {
      throw error
    },
  })
  onTestFinished(() => opened.close())
  const { journal } = opened
  const haltFile = openHaltFile(dir)
  const ports: ControlPorts = { journal, haltFile }
  for (const strategy of ['weekly-eth', 'dip'])
    await journal.append({ type: 'strategy-scheduled', strategy, scheduleKey: 'x', fromSeconds: 0 })
  return { dir, time, clock, journal, haltFile, ports }
}
