import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPrng } from '../../src/sandbox/market/prng.ts'
import { startProxy } from '../support/proxy.ts'
import { audit } from './books.ts'
import { examples, redirect, startRehearsalInside } from './rehearsal.ts'

for (const seed of (process.env['SEEDS'] ?? '1').split(',').map(Number)) {
  test(`stress ${seed}`, async () => {
    const r = await startRehearsalInside(examples('* * * * * *'), {
      quoteLifetimeSeconds: 20,
      seed,
    })
    const odds = { seed, probability: 0.06, delayMsMax: 500 }
    const s = await startProxy({ ...odds, target: r.report.gaslessUrl })
    const n = await startProxy({ ...odds, target: r.report.rpcUrl })
    redirect(r.config, { gaslessUrl: s.url, rpcUrl: n.url })
    const kinds = [
      { kind: 'lateFill', delayMs: 3000 },
      { kind: 'neverFill' },
      { kind: 'revertFill' },
      { kind: 'lieFailed' },
      { kind: 'lieFilled' },
      { kind: 'notFoundYet', forMs: 4000 },
      { kind: 'errorAfter' },
      { kind: 'dropAfter' },
      { kind: 'tamper', tampering: 'higherAmount' },
      { kind: 'tamper', tampering: 'foreignRecipient' },
      { kind: 'slow', delayMs: 2000 },
      { kind: 'rateLimit', retryAfterSeconds: 1 },
    ]
    await r.fault(kinds.map((k) => ({ ...k, probability: 0.07 })))
    const prng = createPrng(seed, 'stress')
    for (let i = 0; i < 25; i += 1) {
      const d = r.daemon()
      await sleep(300 + prng.next() * (i % 5 === 0 ? 9000 : 2500))
      await d.killHard()
    }
    await r.fault([])
    s.calm()
    n.calm()
    const last = r.daemon()
    await sleep(26_000)
    const { code } = await last.stop()
    const books = await audit(r)
    const counts: Record<string, number> = {}
    for (const o of books.orders) counts[o.status] = (counts[o.status] ?? 0) + 1
    process.stderr.write(
      `seed ${seed}: ${JSON.stringify({ code, fills: books.fills, counts, live: books.livePermits, mined: books.mined })}\n`,
    )
    expect(books.discrepancies).toEqual([])
    expect(code).toBe(0)
  }, 400_000)
}
