import { expect, test } from 'vitest'
import { type Running, run } from '../support/process/cli.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
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
  // A rate limit only slows polls down; a quote is the kind of request that is retried.
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

/** Waits until every rule of the sandbox has been applied this often. */
async function untilApplied(rehearsal: Rehearsal, times: number): Promise<void> {
  const least = async () =>
    Math.min(...(await appliedRules(rehearsal)).map(({ applied }) => applied))
  await waitFor(`${times} uses of each rule`, least, (applied) => applied >= times)
}

/** Waits until the daemon's metrics count a retried request with such labels. */
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

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.fills).toBeGreaterThanOrEqual(3)
})

test('a service outage fails no slot that may be late, and the wait is logged', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  await rehearsal.fault([{ kind: 'dropBefore' }])
  await daemon.sees(/buy-weth waits, until .* at most: quote-unavailable/)
  const shown = async (command: string, ...more: readonly string[]) =>
    (await run([command, ...more, '--config', rehearsal.config])).stdout
  const waits =
    /buy-weth:\d+:0:? .*waits, until \S+Z at most: quote-unavailable, connection failed \(\w+\)/
  const status = await shown('status')
  expect(status).toMatch(waits)
  expect(status).toMatch(/^NOT READY: gasless did not answer \(connection failed\)$/m)
  const [, order = ''] = /(buy-weth:\d+):0:? .*waits, until/.exec(status) ?? []
  expect(await shown('why', order)).toMatch(waits)
  await untilApplied(rehearsal, 5)
  await rehearsal.fault([])
  await daemon.sees(/buy-weth stopped waiting after [\s\S]*filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const ends = all(audited.events, 'slot-closed').map(({ outcome }) => outcome)
  expect(new Set(ends)).toEqual(new Set(['filled']))
})

test('the chain overrides a service that lies about its orders, hides them or fills them late', async () => {
  const rehearsal = await rehearse(twoStrategies())
  await rehearsal.fault(LIES.map((rule) => ({ ...rule, probability: 0.3 })))
  const daemon = rehearsal.daemon()
  await untilApplied(rehearsal, 2)
  await rehearsal.fault([])
  await daemon.stop()

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.fills).toBeGreaterThanOrEqual(3)
  expect(audited.livePermits).toBe(0)
})

test('the chain proves an order that the service loses, long before its permit expires, and retries are counted', async () => {
  // A permit that outlives every wait here.
  const rehearsal = await startRehearsalInside(everySecond('buy-weth'), {
    gasless: { quoteLifetime: 3_600 },
  })
  await rehearsal.fault([
    { kind: 'notFoundYet', forMs: 3_600_000 },
    // Without it the first read of the chain is enough, and no poll is retried.
    { kind: 'lateFill', delayMs: 4_000 },
    { kind: 'errorAfter', route: 'orders', count: 1 },
  ])
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  await untilRetried(daemon, 'service="gasless",route="poll",cause="notFound"')
  await untilRetried(daemon, 'service="gasless",route="submit",cause="unavailable"')
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(audited.livePermits).toBe(0)
})
