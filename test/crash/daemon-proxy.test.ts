import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { createRandom } from '../../src/domain/random.ts'
import { all, audit } from '../e2e/books.ts'
import { examples, metricsOf, redirect, startRehearsal } from '../e2e/rehearsal.ts'
import { markJournal, untilJournaled } from '../support/process/kill.ts'
import { startProxy } from '../support/process/proxy.ts'

const SEED = 11
const KILLS = 3
const ORDERED_WITHIN_MS = 5_000
const FILLS_AT_LAST = 10

test('a connection that loses, delays and repeats requests and replies costs time, but neither an order nor a double', async () => {
  const rehearsal = await startRehearsal(examples('* * * * * *'))
  const odds = { seed: SEED, probability: 0.06, delayMsMax: 300 }
  const service = await startProxy({ ...odds, target: rehearsal.report.gaslessUrl })
  const node = await startProxy({ ...odds, target: rehearsal.report.rpcUrl })
  redirect(rehearsal.config, { gaslessUrl: service.url, rpcUrl: node.url })
  const random = createRandom(`${SEED}`).fork('kill')
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const mark = markJournal(rehearsal.stateDir)
    const daemon = rehearsal.daemon()
    // A lost request may keep it from getting so far; then it dies where it is.
    await untilJournaled(mark, 'permit-recorded', ORDERED_WITHIN_MS)
    await sleep(random.next() * 200)
    await daemon.killHard()
  }
  const mark = markJournal(rehearsal.stateDir)
  const last = rehearsal.daemon()
  expect(await untilJournaled(mark, 'fill-proven', 120_000, FILLS_AT_LAST), last.output()).toBe(
    true,
  )
  await vi.waitFor(
    async () => {
      for (const { happened } of [service, node])
        for (const times of Object.values(happened)) expect(times).toBeGreaterThanOrEqual(3)
      expect((await metricsOf(last)).get('tranched_journal_records_total')).toBeGreaterThan(50)
    },
    { timeout: 120_000, interval: 200 },
  )
  service.calm()
  node.calm()
  expect((await last.stop()).code).toBe(0)

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.fills).toBeGreaterThanOrEqual(FILLS_AT_LAST)
  expect(books.orders.filter(({ status }) => status !== 'filled')).toEqual([])
  const sent = new Set(all(books.events, 'permit-recorded').map(({ intentId }) => intentId))
  expect(books.orders.length).toBeLessThanOrEqual(sent.size)
})
