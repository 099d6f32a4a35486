import { expect, test, vi } from 'vitest'
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
  await vi.waitFor(
    async () => {
      const samples = await metricsOf(daemon)
      for (const strategy of EXAMPLES) {
        const fills = samples.get(`tranched_fills_total{strategy="${strategy}",venue="gasless"}`)
        expect(fills, strategy).toBeGreaterThanOrEqual(2)
      }
    },
    { timeout: 120_000, interval: 200 },
  )
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
