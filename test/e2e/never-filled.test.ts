import { expect, test } from 'vitest'
import { all, audit } from './books.ts'
import { everySecond, startRehearsalInside } from './rehearsal.ts'

test('an order that is never filled is signed again only after its permit has died on chain', async () => {
  const files = everySecond('buy-weth', { limits: { perDay: '100000', maxOpenIntents: 2 } })
  const rehearsal = await startRehearsalInside(files, { quoteLifetimeSeconds: 14 })
  await rehearsal.fault([{ kind: 'neverFill', count: 1 }])
  const daemon = rehearsal.daemon()
  await daemon.sees(/placed buy-weth/)
  await rehearsal.fault([{ kind: 'revertFill', count: 1 }])
  await daemon.sees(/"event":"order-accepted".*"attempt":2/, 2)
  expect((await daemon.stop()).code).toBe(0)

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.orders.map(({ status }) => status)).toEqual(
    expect.arrayContaining(['expired', 'failed', 'filled']),
  )
  const deaths = all(books.events, 'authorization-dead')
  expect(deaths.map(({ how }) => how)).toEqual(['expired', 'expired'])
  for (const { intentId, attempt, blockTimeSeconds } of deaths) {
    const [first, second] = all(books.events, 'permit-recorded').filter(
      (event) => event.intentId === intentId,
    )
    expect(attempt).toBe(1)
    expect(first?.permit.deadlineSeconds).toBeLessThan(blockTimeSeconds)
    expect(second?.permit.attempt).toBe(2)
  }
})
