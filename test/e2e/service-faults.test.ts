import { expect, test } from 'vitest'
import type { Running } from '../support/process/cli.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './books.ts'
import {
  adminCall,
  everySecond,
  metricsOf,
  type Rehearsal,
  sharedSandbox,
  startRehearsalInside,
} from './rehearsal.ts'

const rehearse = sharedSandbox()

const BAD_LUCK = [
  { kind: 'rateLimit', retryAfterSeconds: 1 },
  // Polls just slow down when they are limited; a quote is the kind of request that is tried again.
  { kind: 'rateLimit', route: 'quote', retryAfterSeconds: 1, probability: 0.5 },
  { kind: 'errorBefore' },
  { kind: 'errorAfter' },
  { kind: 'dropBefore' },
  { kind: 'dropAfter' },
  { kind: 'slow', delayMs: 400 },
]

const LIES = [
  { kind: 'lieFailed' },
  { kind: 'lieFilled' },
  { kind: 'notFoundYet', forMs: 1_500 },
  { kind: 'lateFill', delayMs: 2_000 },
]

/** Two strategies, so that orders of one wallet are in flight side by side. */
function twoStrategies() {
  return {
    ...everySecond('buy-weth'),
    ...everySecond('sell-weth', { sell: 'WETH', buy: 'USDC', amount: '0.01' }),
  }
}

/** Waits until every rule of the sandbox has been applied so often. */
async function untilApplied(rehearsal: Rehearsal, times: number): Promise<void> {
  const least = async () =>
    Math.min(...(await appliedRules(rehearsal)).map(({ applied }) => applied))
  await waitFor(`${times} uses of each rule`, least, (applied) => applied >= times)
}

/** Waits until the daemon's metrics count a request that was made again, with labels like these. */
async function untilRetried(daemon: Running, ...labels: readonly string[]): Promise<void> {
  await waitFor(`retries of ${labels}`, async () =>
    [...(await metricsOf(daemon)).keys()].some(
      (name) =>
        name.startsWith('tranched_retries_total') && labels.every((label) => name.includes(label)),
    ),
  )
}

async function appliedRules({ report }: Rehearsal): Promise<readonly { applied: number }[]> {
  const { rules } = await adminCall<{ rules: { applied: number }[] }>(report, 'GET', '/faults')
  return rules
}

test('limits, errors, lost and slow replies on every route leave the accounts in balance', async () => {
  const rehearsal = await rehearse(twoStrategies())
  await rehearsal.fault(BAD_LUCK.map((rule) => ({ probability: 0.06, ...rule })))
  const daemon = rehearsal.daemon()
  await untilApplied(rehearsal, 3)
  await untilRetried(daemon, 'cause="rateLimited"')
  await rehearsal.fault([])
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.fills).toBeGreaterThanOrEqual(3)
})

test('a service that is gone for a while fails no slot that may be late, and is waited for in words', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  await rehearsal.fault([{ kind: 'dropBefore' }])
  await daemon.sees(/buy-weth waits, until .* at most: quote-unavailable/)
  await untilApplied(rehearsal, 5)
  await rehearsal.fault([])
  await daemon.sees(/buy-weth waits no longer, after [\s\S]*filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  const ends = all(books.events, 'slot-closed').map(({ outcome }) => outcome)
  expect(new Set(ends)).toEqual(new Set(['filled']))
})

test('a service that lies about its orders, hides them or fills them late is not believed against the chain', async () => {
  const rehearsal = await rehearse(twoStrategies())
  await rehearsal.fault(LIES.map((rule) => ({ ...rule, probability: 0.3 })))
  const daemon = rehearsal.daemon()
  await untilApplied(rehearsal, 2)
  await rehearsal.fault([])
  await daemon.stop()

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.fills).toBeGreaterThanOrEqual(3)
  expect(books.livePermits).toBe(0)
})

test('an order that the service never finds again is proven by the chain long before its permit is over, and the requests made again are counted', async () => {
  // A permit that lives longer than anything is waited for here.
  const rehearsal = await startRehearsalInside(everySecond('buy-weth'), {
    quoteLifetimeSeconds: 3_600,
  })
  await rehearsal.fault([
    { kind: 'notFoundYet', forMs: 3_600_000 },
    // Without it the first look at the chain is enough, and no poll is made again.
    { kind: 'lateFill', delayMs: 4_000 },
    { kind: 'errorAfter', route: 'orders', count: 1 },
  ])
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  await untilRetried(daemon, 'service="gasless",route="poll",cause="notFound"')
  await untilRetried(daemon, 'service="gasless",route="submit",cause="unavailable"')
  expect((await daemon.stop()).code).toBe(0)

  const books = await audit(rehearsal)
  expect(books.discrepancies).toEqual([])
  expect(books.livePermits).toBe(0)
})
