import { expect, test } from 'vitest'
import { all, audit } from './audit.ts'
import { everySecond, startRehearsalInside } from './rehearsal.ts'

test('an unfilled order is signed again only after its permit has died on chain', async () => {
  const files = everySecond('buy-weth', { limits: { perDay: '100000', maxOpenIntents: 2 } })
  const rehearsal = await startRehearsalInside(files, { gasless: { quoteLifetime: 14 } })
  await rehearsal.fault([{ kind: 'neverFill', count: 1 }])
  const daemon = rehearsal.daemon()
  await daemon.sees(/placed buy-weth/)
  await rehearsal.fault([{ kind: 'revertFill', count: 1 }])
  await daemon.sees(/"event":"order-accepted".*"attempt":2/, 2)
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.orders.map(({ status }) => status)).toEqual(
    expect.arrayContaining(['expired', 'failed', 'filled']),
  )
  const deaths = all(audited.events, 'authorization-dead')
  expect(deaths.map(({ how }) => how)).toEqual(['expired', 'expired'])
  for (const { intentId, attempt, blockTimeSeconds } of deaths) {
    const [first, second] = all(audited.events, 'permit-recorded').filter(
      (event) => event.intentId === intentId,
    )
    expect(attempt).toBe(1)
    expect(first?.permit.deadlineSeconds).toBeLessThan(blockTimeSeconds)
    expect(second?.permit.attempt).toBe(2)
  }
})
