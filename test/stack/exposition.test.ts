import { expect, test } from 'vitest'
import type { RuntimeEvent } from '../../src/journal/runtime-event.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createObserver } from '../../src/observe/observe.ts'
import { captureLog } from '../support/capture-log.ts'
import { runProcess } from '../support/process/programs.ts'
import {
  closed,
  filled,
  type Happened,
  happened,
  isHappened,
  onRecord,
  tokenOf,
} from '../support/state/happened.ts'
import { intentOf, opened } from '../support/state/journal-events.ts'
import { findBinary } from './binary.ts'

const SLOT = 1_700_000_000
const NAMES = ['weekly-eth', 'daily-dai', 'x'.repeat(63)]

test('promtool accepts an empty exposition', async () => {
  const metrics = createMetrics({ version: '0.1.0' })
  expect(await lint(await metrics.render())).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('promtool accepts an exposition with values of every kind', async () => {
  const metrics = createMetrics({ version: '1.0.0-rc.1+"quoted\\"' })
  metrics.registerStrategies(NAMES.map((name) => ({ name })))
  const { log } = await captureLog({ level: 'error' })
  const observer = createObserver({ log, metrics })
  for (const strategy of NAMES)
    for (const each of dayOf(strategy))
      if (isHappened(each)) observer.recorded(onRecord(each, { seq: 1, atMs: SLOT * 1_000 + 12 }))
      else observer.observe(each)
  const text = await metrics.render()
  expect(text).toContain('tranched_fills_total{strategy="weekly-eth",venue="gasless"} 1')
  expect(text).toContain('reason="attempts-exhausted"')
  expect(await lint(text)).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('promtool accepts an exposition of more strategies than have every series of their own', async () => {
  const metrics = createMetrics({ version: '1' })
  for (let at = 0; at < 600; at += 1) {
    metrics.againstFeed.observe({ strategy: `strategy-${at}` }, at)
    metrics.volume.inc({ strategy: `strategy-${at}`, token: 'USDC', side: 'sell' }, 1)
  }
  const text = await metrics.render()
  expect(text).toContain('tranched_execution_vs_feed_bps_bucket{le="200"}')
  expect(await lint(text)).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('promtool rejects a gauge that calls itself a total', async () => {
  const { code, stderr } = await lint('# HELP a_total x\n# TYPE a_total gauge\na_total 1\n')
  expect(code).not.toBe(0)
  expect(stderr).toContain('a_total')
})

function lint(exposition: string): ReturnType<typeof runProcess> {
  return runProcess(findBinary('promtool'), ['check', 'metrics'], { input: exposition })
}

/** Updates every metric with some value. */
function dayOf(strategy: string): (RuntimeEvent | Happened)[] {
  const order = { strategy, slotSeconds: SLOT }
  const attempts = { outcome: 'failed', reason: 'attempts-exhausted' } as const
  const intent = intentOf(SLOT, strategy)
  return [
    {
      type: 'next-slot',
      strategy,
      nextSlotSeconds: SLOT,
      lastFillAtMs: undefined,
      paused: false,
      held: false,
    },
    happened(opened(intent)),
    filled({
      ...{ ...order, sell: tokenOf('USDC', 6), buy: tokenOf('WETH', 18), paid: 25_000_000n },
      ...{ received: 9_980_000_000_000_000n, vsFeedBps: 3.5, durationMs: 1_400 },
      txHash: `0x${'ab'.repeat(32)}`,
    }),
    happened({ type: 'slot-closed', ...order, outcome: 'filled', reason: 'filled' }),
    closed({ ...order, outcome: 'refused', reason: 'digest-mismatch', detail: '' }),
    closed({ ...order, ...attempts, detail: '' }),
    happened({ type: 'slot-closed', ...order, ...attempts }),
    { type: 'request', service: 'gasless', route: 'quote', status: '200', durationMs: 31 },
    { type: 'request', service: 'rpc', route: 'eth_call', status: 'timeout', durationMs: 5_000 },
    { type: 'retry', service: 'gasless', route: 'quote', cause: 'rateLimited' },
    { type: 'queue-wait', route: 'submit', waitMs: 4 },
    { type: 'queue-depth', route: 'submit', depth: 2 },
    { type: 'rate-limit', service: 'gasless', route: 'poll', remaining: 40 },
    { type: 'journal-appended', records: 3, durationMs: 0.2 },
    { type: 'wallet-balance', wallet: 'trader', token: 'ETH', amount: 10n ** 30n, decimals: 18 },
    { type: 'open-orders', openPermits: 1, unresolvedIntents: 1 },
  ]
}
