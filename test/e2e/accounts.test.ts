import { expect, test } from 'vitest'
import { waitFor } from '../support/wait-for.ts'
import { audit, mentionsKey } from './books.ts'
import {
  adminCall,
  EXAMPLES,
  examples,
  metricsOf,
  metricsTextOf,
  startRehearsal,
} from './rehearsal.ts'

test('for all four example strategies the wallet moves on chain by exactly what the journal says', async () => {
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

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.fills).toBeGreaterThanOrEqual(8)
  expect(books.mined.approve).toBeGreaterThanOrEqual(3)
  expect(books.mined.wrap).toBeGreaterThanOrEqual(2)
  expect(books.mined.unwrap).toBeGreaterThanOrEqual(2)
  expect(mentionsKey(metrics, rehearsal.key)).toBe(false)
  expect(books.unfollowed).toBe(0)

  const gift = { address: rehearsal.report.trader, token: 'USDC', amount: '1' }
  await adminCall(rehearsal.report, 'POST', '/fund', gift)
  const [unexplained] = (await audit(rehearsal)).discrepancies
  expect(unexplained).toMatch(/^USDC moved by -?\d+ on chain, by -?\d+ in the journal$/)
})
