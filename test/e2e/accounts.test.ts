import { expect, test } from 'vitest'
import { waitFor } from '../support/wait-for.ts'
import { audit, mentionsKey } from './audit.ts'
import {
  adminCall,
  EXAMPLES,
  examples,
  metricsOf,
  metricsTextOf,
  startRehearsal,
} from './rehearsal.ts'

test('the wallet moves on chain by exactly what the journal records for all four example strategies', async () => {
  const rehearsal = await startRehearsal(examples('*/2 * * * * *'))
  const daemon = rehearsal.daemon(['--log-level', 'debug'])
  const fills = async () => {
    const samples = await metricsOf(daemon)
    const nameOf = (strategy: string) =>
      `tranched_fills_total{strategy="${strategy}",venue="gasless"}`
    return EXAMPLES.map((strategy) => samples.get(nameOf(strategy)) ?? 0)
  }
  await waitFor('two fills of each strategy', fills, (counts) => Math.min(...counts) >= 2)
  const metrics = await metricsTextOf(daemon)
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.fills).toBeGreaterThanOrEqual(8)
  expect(audited.mined.approve).toBeGreaterThanOrEqual(3)
  expect(audited.mined.wrap).toBeGreaterThanOrEqual(2)
  expect(audited.mined.unwrap).toBeGreaterThanOrEqual(2)
  expect(mentionsKey(metrics, rehearsal.key)).toBe(false)
  expect(audited.unfollowed).toBe(0)

  const gift = { address: rehearsal.report.trader, token: 'USDC', amount: '1' }
  await adminCall(rehearsal.report, 'POST', '/fund', gift)
  const [unexplained] = (await audit(rehearsal)).discrepancies
  expect(unexplained).toMatch(/^USDC moved by -?\d+ on chain, by -?\d+ in the journal$/)
})
