import { expect, test } from 'vitest'
import { createMetrics } from '../../src/adapters/tell/metrics.ts'
import { createObserver } from '../../src/adapters/tell/observe.ts'
import type { Observation } from '../../src/domain/observation.ts'
import type { Token } from '../../src/domain/token.ts'
import { baseUnits } from '../../src/domain/units.ts'
import { captureLog } from '../support/capture-log.ts'
import { findBinary } from './binary.ts'
import { runProcess } from './process.ts'

const NAMES = ['weekly-eth', 'daily-dai', 'x'.repeat(63)]

test('promtool finds nothing wrong with an empty exposition', async () => {
  const metrics = createMetrics({ version: '0.1.0' })
  expect(await lint(await metrics.render())).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('promtool finds nothing wrong with an exposition that holds values of every kind', async () => {
  const metrics = createMetrics({ version: '1.0.0-rc.1+"quoted\\"' })
  metrics.registerStrategies(NAMES.map((name) => ({ name, kind: 'dca' })))
  const { log } = await captureLog({ level: 'error' })
  const observe = createObserver({ log, metrics })
  for (const strategy of NAMES) for (const event of dayOf(strategy)) observe(event)
  const text = await metrics.render()
  expect(text).toContain('tranched_fills_total{strategy="weekly-eth",venue="gasless"} 1')
  expect(text).toContain('reason="attempts-exhausted"')
  expect(await lint(text)).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('promtool is awake: a gauge that calls itself a total is found', async () => {
  const { code, stderr } = await lint('# HELP a_total x\n# TYPE a_total gauge\na_total 1\n')
  expect(code).not.toBe(0)
  expect(stderr).toContain('a_total')
})

function lint(exposition: string): ReturnType<typeof runProcess> {
  return runProcess(findBinary('promtool'), ['check', 'metrics'], { input: exposition })
}

function token(symbol: string, decimals: number): Token {
  return { symbol, chain: 'base', chainId: 8453, address: `0x${'11'.repeat(20)}`, decimals }
}

/** Something of everything that reaches the metrics. */
function dayOf(strategy: string): Observation[] {
  const slotSeconds = 1_700_000_000
  const subject = { strategy, intentId: `${strategy}:${slotSeconds}:0` } as const
  const closed = {
    type: 'slot-closed',
    strategy,
    slotSeconds,
    lastSeconds: slotSeconds,
    count: 1,
  } as const
  return [
    {
      type: 'next-slot',
      strategy,
      nextSlotSeconds: slotSeconds,
      lastFillAtMs: undefined,
      paused: false,
      held: false,
    },
    { type: 'slot-opened', strategy, slotSeconds, latenessMs: 12, intents: 1 },
    {
      type: 'filled',
      ...subject,
      venue: 'gasless',
      sell: token('USDC', 6),
      buy: token('WETH', 18),
      paid: baseUnits(25_000_000n),
      received: baseUnits(9_980_000_000_000_000n),
      vsFeedBps: 3.5,
      txHash: `0x${'ab'.repeat(32)}`,
      durationMs: 1_400,
    },
    { ...closed, outcome: 'filled', reason: 'filled' },
    { type: 'refused', ...subject, reason: 'digest-mismatch', detail: '' },
    { type: 'failed', ...subject, venue: 'gasless', reason: 'attempts-exhausted', detail: '' },
    { ...closed, outcome: 'failed', reason: 'attempts-exhausted' },
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
