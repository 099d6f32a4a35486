import { expect, test } from 'vitest'
import { all, audit } from '../e2e/audit.ts'
import { examples, metricsOf, redirect, startRehearsal } from '../e2e/rehearsal.ts'
import { killAt, type Moment, markJournal, untilJournaled } from '../support/process/kill.ts'
import { startProxy } from '../support/process/proxy.ts'
import { waitFor } from '../support/wait-for.ts'

const SEED = 11
const MOMENTS: readonly Moment[] = Array(3).fill({ after: 'permit-recorded', delayMsMax: 200 })
const FILLS_AT_LAST = 10

test('a connection that loses, delays and repeats requests and replies neither loses nor repeats an order', async () => {
  const rehearsal = await startRehearsal(examples('* * * * * *'))
  const odds = { seed: SEED, probability: 0.06, delayMsMax: 300 }
  const service = await startProxy({ ...odds, target: rehearsal.report.gaslessUrl })
  const node = await startProxy({ ...odds, target: rehearsal.report.rpcUrl })
  redirect(rehearsal.config, { gaslessUrl: service.url, rpcUrl: node.url })
  const { stateDir } = rehearsal
  await killAt(MOMENTS, { seed: SEED, stateDir, start: () => rehearsal.daemon() })
  const mark = markJournal(stateDir)
  const last = rehearsal.daemon()
  await untilJournaled(mark, 'fill-proven', FILLS_AT_LAST)
  const counts = () => [service, node].flatMap(({ happened }) => Object.values(happened))
  await waitFor('three mishaps of each kind', counts, (all) => Math.min(...all) >= 3)
  const records = async () => (await metricsOf(last)).get('tranched_journal_records_total') ?? 0
  await waitFor('more than 50 records', records, (count) => count > 50)
  service.calm()
  node.calm()
  expect((await last.stop()).code).toBe(0)

  const report = await audit(rehearsal)
  expect(report.discrepancies).toEqual([])
  expect(report.fills).toBeGreaterThanOrEqual(FILLS_AT_LAST)
  expect(report.orders.filter(({ status }) => status !== 'filled')).toEqual([])
  const sent = new Set(all(report.events, 'permit-recorded').map(({ intentId }) => intentId))
  expect(report.orders.length).toBeLessThanOrEqual(sent.size)
})
