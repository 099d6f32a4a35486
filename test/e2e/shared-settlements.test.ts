import { expect, test } from 'vitest'
import { all, audit } from './audit.ts'
import { everySecond, startRehearsal } from './rehearsal.ts'

test('orders that share a settlement are recorded with the amounts that the chain shows for each', async () => {
  const amounts = ['0.01', '0.01001', '0.01002']
  const files = amounts.map((buyAmount, n) =>
    everySecond(`exact-${n}`, {
      amount: undefined,
      buyAmount,
      schedule: { cron: '*/3 * * * * *' },
    }),
  )
  const rehearsal = await startRehearsal(Object.assign({}, ...files))
  // Orders that are due at the same service tick settle together.
  await rehearsal.fault([{ kind: 'lateFill', delayMs: 2_000 }])
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled exact-/, 9)
  expect((await daemon.stop()).code).toBe(0)
  const { discrepancies, events } = await audit(rehearsal)
  expect(discrepancies).toEqual([])
  const settlements = all(events, 'fill-proven').map(({ fill }) => fill.txHash)
  expect(new Set(settlements).size).toBeLessThan(settlements.length)
})
