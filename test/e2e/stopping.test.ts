import { expect, test } from 'vitest'
import { audit } from './audit.ts'
import { everySecond, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} in the middle of an order finishes that order, takes no new slot, and exits with 0`, async () => {
    const rehearsal = await rehearse(everySecond('buy-weth'))
    await rehearsal.fault([{ kind: 'lateFill', delayMs: 2_500 }])
    const daemon = rehearsal.daemon()
    await daemon.sees(/placed buy-weth/)
    daemon.signal(signal)
    const { code, stdout } = await daemon.ended()

    expect(code).toBe(0)
    const stopping = stdout.indexOf(`stopping (${signal})`)
    expect(stopping).toBeGreaterThan(0)
    expect(stdout.slice(stopping)).toMatch(/filled buy-weth/)
    expect(stdout.slice(stopping)).not.toMatch(/opened buy-weth/)
    const audited = await audit(rehearsal)
    expect(audited.discrepancies).toEqual([])
    expect(audited.livePermits).toBe(0)
  })
}

test('a second signal ends the daemon at once, and the next start finishes the order without signing again', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  await rehearsal.fault([{ kind: 'lateFill', delayMs: 6_000 }])
  const daemon = rehearsal.daemon()
  await daemon.sees(/placed buy-weth/)
  daemon.signal('SIGTERM')
  await daemon.sees(/stopping \(SIGTERM\)/)
  daemon.signal('SIGTERM')
  expect((await daemon.ended()).code).toBe(1)
  const left = await audit(rehearsal)
  expect(left.livePermits).toBeGreaterThan(0)
  expect(left.fills).toBe(0)

  await rehearsal.fault([])
  const next = rehearsal.daemon()
  await next.sees(/filled buy-weth/)
  expect((await next.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.livePermits).toBe(0)
  expect(audited.orders.every(({ clientOrderId }) => clientOrderId?.endsWith(':1'))).toBe(true)
})

const HOLDS = [
  [
    'a rate limit delays the quotes',
    { kind: 'rateLimit', route: 'quote', retryAfterSeconds: 3_600 },
  ],
  ['quotes hang', { kind: 'slow', route: 'quote', delayMs: 3_600_000 }],
] as const

for (const [name, rule] of HOLDS) {
  test(`SIGTERM while ${name} ends within seconds, and the next start resumes the decided slot`, async () => {
    const rehearsal = await rehearse(everySecond('buy-weth'))
    await rehearsal.fault([rule])
    const daemon = rehearsal.daemon()
    await daemon.sees(/opened buy-weth/)
    const { code, stdout } = await daemon.stop()
    expect(code).toBe(0)
    const [, left] = /stopped with (\d+) open orders?/.exec(stdout) ?? []
    expect(Number(left)).toBeGreaterThan(0)
    expect((await audit(rehearsal)).orders).toEqual([])

    await rehearsal.fault([])
    const next = rehearsal.daemon()
    await next.sees(/filled buy-weth/)
    expect((await next.stop()).code).toBe(0)
    const audited = await audit(rehearsal)
    expect(audited.discrepancies).toEqual([])
    expect(audited.livePermits).toBe(0)
  })
}
