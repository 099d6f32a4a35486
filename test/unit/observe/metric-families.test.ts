import { expect, test } from 'vitest'
import { FAILURE_REASONS, REFUSAL_REASONS } from '../../../src/domain/order/reason.ts'
import { createClosedCounter, createReadGauge } from '../../../src/observe/metrics/family.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'

function counter() {
  return createClosedCounter({
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

test('every failure and refusal reason is exposed at 0 for every strategy from the start', async () => {
  const metrics = createMetrics({ version: '1' })
  metrics.registerStrategies([
    { name: 'buy', venue: 'gasless', trades: ['USDC', 'WETH'] },
    { name: 'claim', venue: 'aggregated' },
  ])
  const text = await metrics.render()
  for (const reason of FAILURE_REASONS) {
    expect(text).toContain(
      `tranched_failures_total{strategy="buy",venue="gasless",reason="${reason}"} 0\n`,
    )
    expect(text).toContain(
      `tranched_failures_total{strategy="claim",venue="aggregated",reason="${reason}"} 0\n`,
    )
  }
  for (const reason of REFUSAL_REASONS)
    expect(text).toContain(`tranched_refusals_total{strategy="claim",reason="${reason}"} 0\n`)
  expect(text).toContain('tranched_skips_total{strategy="buy",reason="insufficient-balance"} 0\n')
  expect(text).toContain('tranched_volume_total{strategy="buy",token="WETH",side="buy"} 0\n')
  expect(text).toContain('tranched_fees_total{venue="aggregated",token="ETH",what="charge"} 0\n')
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

test('other work gets its turns while metrics of a thousand strategies are rendered', async () => {
  const metrics = createMetrics({ version: '1' })
  metrics.registerStrategies(
    Array.from({ length: 1_000 }, (_, index) => ({ name: `strategy-${index}`, venue: 'gasless' })),
  )
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
