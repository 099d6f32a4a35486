import { expect, test } from 'vitest'
import { all, audit } from './books.ts'
import { everySecond, startRehearsal } from './rehearsal.ts'

test('orders that share settlements are booked at what the chain shows for each', async () => {
  const amounts = ['0.01', '0.01001', '0.01002']
  const files = amounts.map((buyAmount, n) =>
    everySecond(`exact-${n}`, {
      amount: undefined,
      buyAmount,
      schedule: { cron: '*/3 * * * * *' },
    }),
  )
  const rehearsal = await startRehearsal(Object.assign({}, ...files))
  // What becomes due at the same look at it is settled together.
  await rehearsal.fault([{ kind: 'lateFill', delayMs: 2_000 }])
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled exact-/, 9)
  expect((await daemon.stop()).code).toBe(0)
  const { discrepancies, events } = await audit(rehearsal)
  expect(discrepancies).toEqual([])
  const settlements = all(events, 'fill-proven').map(({ fill }) => fill.txHash)
  expect(new Set(settlements).size).toBeLessThan(settlements.length)
})
