import { expect, test } from 'vitest'
import { audit } from '../e2e/audit.ts'
import { examples, startRehearsal } from '../e2e/rehearsal.ts'
import { killAt, type Moment, markJournal, untilJournaled } from '../support/process/kill.ts'

/** Kill points along an order's life: decided, before and after the signature is sent, in flight, proven, cleanup. */
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

test('a daemon killed eleven times during its orders loses none and repeats none', async () => {
  const rehearsal = await startRehearsal(examples('* * * * * *'))
  const { stateDir } = rehearsal
  await killAt(MOMENTS, { seed: SEED, stateDir, start: () => rehearsal.daemon() })
  const mark = markJournal(stateDir)
  const last = rehearsal.daemon()
  await untilJournaled(mark, 'fill-proven', FILLS_AT_LAST)
  const { code } = await last.stop()
  expect(code).toBe(0)

  const report = await audit(rehearsal)
  expect(report.discrepancies).toEqual([])
  expect(report.fills).toBeGreaterThanOrEqual(FILLS_AT_LAST)
  expect(report.orders.filter(({ status }) => status !== 'filled')).toEqual([])
})
