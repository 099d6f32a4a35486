import { expect, test } from 'vitest'
import { OUTCOMES } from '../../../src/domain/order/intent.ts'
import {
  createReadGauge,
  createStrategyHistogram,
  createStrategySeries,
} from '../../../src/observe/metrics/family.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'

function counter() {
  return createStrategySeries({
    type: 'counter',
    name: 'x_total',
    help: 'What is counted.',
    labelNames: ['strategy', 'reason'],
  })
}

test('a started series is exposed at 0 with help and type before any count', () => {
  const counted = counter()
  counted.start('a', [{ reason: 'late' }, { reason: 'broke' }])
  expect([...counted.text()].join('')).toBe(
    '# HELP x_total What is counted.\n# TYPE x_total counter\nx_total{strategy="a",reason="late"} 0\nx_total{strategy="a",reason="broke"} 0\n\n',
  )
})

test('a count belongs to one strategy, and stays if the strategy is started again', () => {
  const counted = counter()
  const series = [{ reason: 'late' }]
  counted.start('a', series)
  counted.start('b', series)
  counted.inc({ strategy: 'a', reason: 'late' }, 3)
  counted.start('a', series)
  const text = [...counted.text()].join('')
  expect(text).toContain('{strategy="a",reason="late"} 3\n')
  expect(text).toContain('{strategy="b",reason="late"} 0\n')
})

test('a count without a start adds its series once', () => {
  const counted = counter()
  counted.start('a', [{ reason: 'late' }])
  counted.inc({ strategy: 'a', reason: 'odd' })
  counted.inc({ strategy: 'a', reason: 'odd' })
  expect([...counted.text()].join('').match(/reason="odd"} \d/g)).toEqual(['reason="odd"} 2'])
})

test('label values are escaped', () => {
  const gauge = createReadGauge({
    name: 'g',
    help: 'h',
    read: () => [[{ what: 'a"b\\c\nd' }, 1]],
  })
  expect([...gauge.text()].join('')).toContain('g{what="a\\"b\\\\c\\nd"} 1\n')
})

test('a read gauge is read at each scrape, and drops absent series', () => {
  let pairs: readonly string[] = ['WETH/USDC']
  const gauge = createReadGauge({
    name: 'g',
    help: 'h',
    read: () => pairs.map((pair) => [{ pair }, 2]),
  })
  expect([...gauge.text()].join('')).toContain('pair="WETH/USDC"')
  pairs = []
  expect([...gauge.text()].join('')).toBe('# HELP g h\n# TYPE g gauge\n\n')
})

test('a removed series is absent until its next value', () => {
  const gauge = createStrategySeries({
    ...{ type: 'gauge', name: 'g', help: 'h', labelNames: ['strategy'] },
  })
  gauge.set({ strategy: 'a' }, 5)
  gauge.set({ strategy: 'b' }, 0)
  gauge.remove({ strategy: 'a' })
  expect([...gauge.text()].join('')).toBe('# HELP g h\n# TYPE g gauge\ng{strategy="b"} 0\n\n')
  gauge.set({ strategy: 'a' }, 6)
  expect([...gauge.text()].join('')).toContain('g{strategy="a"} 6\n')
})

test('a gauge that begins above 0 shows a 0 only after another value', () => {
  const gauge = createStrategySeries({
    ...{ type: 'gauge', name: 'g', help: 'h', labelNames: ['strategy'], beginsAbove0: true },
  })
  gauge.set({ strategy: 'a' }, 0)
  expect([...gauge.text()].join('')).not.toContain('strategy')
  gauge.set({ strategy: 'a' }, 1)
  gauge.set({ strategy: 'a' }, 0)
  expect([...gauge.text()].join('')).toContain('g{strategy="a"} 0\n')
})

test('a histogram of a strategy begins with its first observation and counts each in every bucket above it', () => {
  const histogram = createStrategyHistogram({ name: 'h', help: 'x', buckets: [-5, 0, 10] })
  expect([...histogram.text()].join('')).toBe('# HELP h x\n# TYPE h histogram\n\n')
  for (const value of [-7, 0, 4, 99.5]) histogram.observe({ strategy: 'a' }, value)
  expect([...histogram.text()].join('').split('\n').slice(2, -2)).toEqual([
    'h_bucket{strategy="a",le="-5"} 1',
    'h_bucket{strategy="a",le="0"} 2',
    'h_bucket{strategy="a",le="10"} 3',
    'h_bucket{strategy="a",le="+Inf"} 4',
    'h_sum{strategy="a"} 96.5',
    'h_count{strategy="a"} 4',
  ])
})

test('concurrent scrapes share one text', async () => {
  const metrics = createMetrics({ version: '1' })
  let reads = 0
  metrics.add(
    createReadGauge({
      name: 'g',
      help: 'h',
      read: () => {
        reads += 1
        return [[{}, reads]]
      },
    }),
  )
  const [one, other] = await Promise.all([metrics.render(), metrics.render()])
  expect(one).toBe(other)
  expect(await metrics.render()).toContain('g 2\n')
})

test('other work gets its turns while metrics of thousands of strategies are rendered', async () => {
  const metrics = createMetrics({ version: '1' })
  const names = Array.from({ length: 30_000 }, (_, index) => `strategy-${index}`)
  metrics.registerStrategies(names.map((name) => ({ name })))
  for (const strategy of names)
    for (const outcome of OUTCOMES) metrics.slots.inc({ strategy, outcome })
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await metrics.render()
  isDone = true
  expect(turns).toBeGreaterThan(3)
})
