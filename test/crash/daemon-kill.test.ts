import { expect, test } from 'vitest'
import { audit } from '../e2e/audit.ts'
import { examples, startRehearsal } from '../e2e/rehearsal.ts'
import { killAt, type Moment, markJournal, untilJournaled } from '../support/process/kill.ts'

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
const FILLS_AT_LAST = 5

test('a daemon killed eleven times in the middle of its orders loses none and doubles none', async () => {
  const rehearsal = await startRehearsal(examples('* * * * * *'))
  const { stateDir } = rehearsal
  await killAt(MOMENTS, { seed: SEED, stateDir, start: () => rehearsal.daemon() })
  const mark = markJournal(stateDir)
  const last = rehearsal.daemon()
  await untilJournaled(mark, 'fill-proven', FILLS_AT_LAST)
  const { code } = await last.stop()
  expect(code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.fills).toBeGreaterThanOrEqual(FILLS_AT_LAST)
  expect(audited.orders.filter(({ status }) => status !== 'filled')).toEqual([])
})
