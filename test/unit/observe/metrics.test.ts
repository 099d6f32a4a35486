import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { closedLabels } from '../../../src/observe/observers.ts'
import {
  AGGREGATOR_SHARES,
  GASLESS_SHARES,
  routesOf,
} from '../../../src/venues/queue/route-shares.ts'

test('the exposition starts with the build version and the process metrics', async () => {
  const text = await createMetrics({ version: '1.2.3' }).render()
  expect(text).toContain('tranched_build_info{version="1.2.3"} 1')
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m)
  expect(text).toMatch(/^process_start_time_seconds \d+/m)
})

test('gauges named as totals are left out', async () => {
  const text = await createMetrics({ version: '1' }).render()
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map((match) => match[1])
  expect(gauges.length).toBeGreaterThan(5)
  expect(gauges.filter((name) => name?.endsWith('_total'))).toEqual([])
})

test('registered strategies count every outcome and orders without a fill from zero, and nothing else', async () => {
  const metrics = createMetrics({ version: '1' })
  metrics.registerStrategies([{ name: 'weekly-eth' }])
  const text = await metrics.render()
  const series = text.split('\n').filter((line) => line.includes('strategy="'))
  expect(series).toEqual([
    ...['filled', 'skipped', 'refused', 'failed', 'expired', 'missed'].map(
      (outcome) => `tranched_slots_total{strategy="weekly-eth",outcome="${outcome}"} 0`,
    ),
    'tranched_unfilled_total{strategy="weekly-eth"} 0',
  ])
})

test('an unused queue has depth zero', async () => {
  const text = await createMetrics({ version: '1' }).render()
  for (const route of [...routesOf(GASLESS_SHARES), ...routesOf(AGGREGATOR_SHARES)])
    expect(text).toContain(`tranched_queue_depth{route="${route}"} 0`)
})

test('registering a strategy again keeps its counts', async () => {
  const metrics = createMetrics({ version: '1' })
  metrics.registerStrategies([{ name: 'weekly-eth' }])
  metrics.fills.inc({ strategy: 'weekly-eth', venue: 'gasless' })
  metrics.registerStrategies([{ name: 'weekly-eth' }])
  expect(await metrics.render()).toContain(
    'tranched_fills_total{strategy="weekly-eth",venue="gasless"} 1',
  )
})

test('two registries in one process do not share values', async () => {
  const [one, two] = [createMetrics({ version: '1' }), createMetrics({ version: '1' })]
  one.openPermits.set(3)
  expect(await one.render()).toContain('tranched_open_permits 3')
  expect(await two.render()).toContain('tranched_open_permits 0')
})

test('each of a thousand strategies is rendered', async () => {
  const metrics = createMetrics({ version: '1' })
  metrics.registerStrategies(
    Array.from({ length: 1_000 }, (_, index) => ({ name: `strategy-${index}` })),
  )
  const text = await metrics.render()
  for (const name of ['strategy-0', 'strategy-999'])
    expect(text).toContain(`tranched_unfilled_total{strategy="${name}"} 0`)
})

function metricsOf(count: number) {
  const metrics = createMetrics({ version: '1' })
  const names = Array.from({ length: count }, (_, index) => `strategy-${10_000 + index}`)
  metrics.registerStrategies(names.map((name) => ({ name })))
  for (const strategy of names) metrics.nextSlot.set({ strategy }, 1_800_000_000)
  return { metrics, names }
}

/** Text of strategies that all have filled once, at these basis points against the feed. */
async function filledBy(count: number, bpsOf: (index: number) => number): Promise<string> {
  const { metrics, names } = metricsOf(count)
  for (const [index, strategy] of names.entries()) {
    metrics.slots.inc({ strategy, outcome: 'filled' })
    metrics.fills.inc({ strategy, venue: 'gasless' })
    metrics.lastFill.set({ strategy }, 1_800_000_000.123)
    metrics.volume.inc({ strategy, token: 'USDC', side: 'sell' }, 25)
    metrics.volume.inc({ strategy, token: 'WETH', side: 'buy' }, 0.009_912_345_678_912_3)
    metrics.againstFeed.observe({ strategy }, bpsOf(index))
  }
  return metrics.render()
}

test('ten thousand strategies that all have skipped take at most 3 MB', async () => {
  const { metrics, names } = metricsOf(10_000)
  for (const strategy of names) {
    metrics.slots.inc({ strategy, outcome: 'skipped' }, 12)
    metrics.skips.inc({ strategy, reason: 'price-outside-bounds' }, 12)
  }
  expect((await metrics.render()).length).toBeLessThan(3_000_000)
})

test('ten thousand strategies that all have filled take at most 4.5 MB beside their caps', async () => {
  expect((await filledBy(10_000, () => 3)).length).toBeLessThan(4_500_000)
})

test.each([400, 600])(
  'sums of the buckets of %i strategies count every fill at every bound',
  async (count) => {
    const bpsOf = (index: number): number => (index % 9) * 5 - 20
    const text = await filledBy(count, bpsOf)
    const summed = new Map<string, number>()
    for (const [, le = '', value] of text.matchAll(/_vs_feed_bps_bucket{.*?le="(.+)"} (\d+)$/gm))
      summed.set(le, (summed.get(le) ?? 0) + Number(value))
    const bounds = [-500, -200, -100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200]
    const fills = Array.from({ length: count }, (_, index) => bpsOf(index))
    expect([...summed]).toEqual(
      [...bounds, Number.POSITIVE_INFINITY].map((bound) => [
        Number.isFinite(bound) ? `${bound}` : '+Inf',
        fills.filter((bps) => bps <= bound).length,
      ]),
    )
  },
)

test('strategies after the first 500 begin with what happens, and have no volume or prices of their own', async () => {
  const text = await filledBy(502, () => 3)
  expect(text).toContain('tranched_slots_total{strategy="strategy-10499",outcome="missed"} 0\n')
  expect(text).toContain(
    'tranched_execution_vs_feed_bps_sum{strategy="strategy-10499"} 3\ntranched_execution_vs_feed_bps_count{strategy="strategy-10499"} 1\n',
  )
  expect(text.match(/^\w+{strategy="strategy-10501".*$/gm)).toEqual([
    'tranched_slots_total{strategy="strategy-10501",outcome="filled"} 1',
    'tranched_unfilled_total{strategy="strategy-10501"} 0',
    'tranched_fills_total{strategy="strategy-10501",venue="gasless"} 1',
    'tranched_last_fill_timestamp_seconds{strategy="strategy-10501"} 1800000000.123',
    'tranched_next_slot_timestamp_seconds{strategy="strategy-10501"} 1800000000',
  ])
  expect(text).toContain('tranched_volume_total{token="USDC",side="sell"} 50\n')
  expect(text).toContain('tranched_execution_vs_feed_bps_bucket{le="5"} 2\n')
  expect(text).toContain(
    'tranched_execution_vs_feed_bps_sum 6\ntranched_execution_vs_feed_bps_count 2\n',
  )
})

test('label values that look like ids become other', () => {
  const route = closedLabels()
  expect(route('eth_call')).toBe('eth_call')
  expect(route('quote')).toBe('quote')
  for (const id of ['0xabc', 'order-1234567', 'a b', 'deadbeefdeadbeef', '', 'x'.repeat(41)])
    expect(route(id)).toBe('other')
})

test('a label keeps its first 64 values', () => {
  const route = closedLabels()
  const shown = new Set(Array.from({ length: 1_000 }, (_, index) => route(`route-${index}`)))
  expect(shown.size).toBe(65)
  expect(shown.has('other')).toBe(true)
  expect(route('route-0')).toBe('route-0')
})
