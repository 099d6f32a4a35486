import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { JournalEvent } from '../../src/domain/book/journal.ts'
import { createRandom } from '../../src/domain/random.ts'
import { audit } from '../e2e/books.ts'
import { examples, startRehearsal } from '../e2e/rehearsal.ts'
import { markJournal, untilJournaled } from '../support/process/kill.ts'

type Moment = {
  /** The daemon dies this long at most after such an event is on disk, or after its start. */
  readonly after: JournalEvent['type'] | 'start'
  readonly delayMsMax: number
}

/** Along an order's life: decided, before and after the signature leaves, on the way, proven, cleaning up. */
const MOMENTS: readonly Moment[] = [
  { after: 'slot-opened', delayMsMax: 0 },
  { after: 'transaction-recorded', delayMsMax: 0 },
  { after: 'permit-recorded', delayMsMax: 0 },
  { after: 'order-accepted', delayMsMax: 0 },
  { after: 'fill-proven', delayMsMax: 0 },
  { after: 'slot-opened', delayMsMax: 15 },
  { after: 'permit-recorded', delayMsMax: 6 },
  { after: 'permit-recorded', delayMsMax: 40 },
  { after: 'order-accepted', delayMsMax: 900 },
  { after: 'start', delayMsMax: 800 },
  { after: 'slot-opened', delayMsMax: 2_500 },
]
const SEED = 7
const JOURNALED_WITHIN_MS = 120_000
const FILLS_AT_LAST = 5

test('a daemon killed eleven times in the middle of its orders loses none and doubles none', async () => {
  const rehearsal = await startRehearsal(examples('* * * * * *'))
  const random = createRandom(`${SEED}`).fork('kill')
  for (const { after, delayMsMax } of MOMENTS) {
    const mark = markJournal(rehearsal.stateDir)
    const daemon = rehearsal.daemon()
    if (after !== 'start')
      expect(await untilJournaled(mark, after, JOURNALED_WITHIN_MS), daemon.output()).toBe(true)
    await sleep(random.next() * delayMsMax)
    await daemon.killHard()
  }
  const mark = markJournal(rehearsal.stateDir)
  const last = rehearsal.daemon()
  expect(
    await untilJournaled(mark, 'fill-proven', JOURNALED_WITHIN_MS, FILLS_AT_LAST),
    last.output(),
  ).toBe(true)
  const { code } = await last.stop()
  expect(code).toBe(0)

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.fills).toBeGreaterThanOrEqual(FILLS_AT_LAST)
  expect(books.orders.filter(({ status }) => status !== 'filled')).toEqual([])
})
