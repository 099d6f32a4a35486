import { expect, test } from 'vitest'
import { renderProblem } from '../../../src/config/yaml/problem.ts'
import { KIND_NAMES } from '../../../src/strategies/registry.ts'
import { edit, STRATEGY, strategyProblems } from './config-fixture.ts'

/** The hints of a strategy file that was changed in one place. */
function hints(from: string, to: string): readonly (string | undefined)[] {
  return strategyProblems(edit(STRATEGY, from, to)).map(({ hint }) => hint)
}

test.each([
  ['slippage: 0.3%', 'in basis points it is `slippageBps: 30`'],
  ['slippage: 0.3', '`slippageBps: 30` if you mean 0.3 %'],
  [
    'slippage: 30',
    '`slippageBps: 30` if you mean basis points, `slippageBps: 3000` if you mean 30 %',
  ],
  ['maxSlippage: 1%', 'in basis points it is `slippageBps: 100`'],
  ['slippageBps: 0.5%', 'in basis points it is `slippageBps: 50`'],
  ['price: 3500', '`price: { max: "3500" }` for the most that is paid, or `min`'],
  ['limits: 100', '`limits: { perDay: "100" }`'],
  ['cron: "0 9 * * 1"', 'it belongs to schedule, as in `schedule: { cron: "0 9 * * 1" }`'],
])('%s is answered with what to write instead, in the same numbers', (line, hint) => {
  expect(hints('amount: "25"\n', `amount: "25"\n${line}\n`)).toEqual([hint])
})

test('a take-profit on a strategy that buys is pointed to one that sells what it buys', () => {
  expect(hints('amount: "25"\n', 'amount: "25"\ntakeProfit: 10%\n')).toEqual([
    expect.stringContaining('`kind: threshold` with `entryOf: weekly-eth`'),
  ])
})

test('a schedule that is the pattern alone is shown where the pattern goes', () => {
  const schedule = 'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }'
  expect(hints(schedule, 'schedule: "0 7 * * 2"')).toEqual(['`schedule: { cron: "0 7 * * 2" }`'])
})

test('a schedule that is no pattern is answered with one that is', () => {
  const schedule = 'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }'
  expect(hints(schedule, 'schedule: "0 9 * * noon"')).toEqual(['`schedule: { cron: "0 9 * * 1" }`'])
})

test('a share without its sign is shown with it, an amount with its token without it', () => {
  const rebalance = `name: a\nkind: rebalance\nschedule: { cron: "0 9 * * 1" }\ntargets: { WETH: 60%, USDC: 40% }\nband: 5\nminTrade: "10"\nquote: USDC\n`
  expect(strategyProblems(rebalance).map(({ hint }) => hint)).toEqual(['with its sign: `5%`'])
  const weights = rebalance.replace('USDC: 40%', 'USDC: 40').replace('band: 5', 'band: 5%')
  expect(strategyProblems(weights).map(({ hint }) => hint)).toEqual(['with its sign: `40%`'])
  expect(hints('amount: "25"', 'amount: 25 USDC')).toEqual([
    'the number alone, as in `amount: "25"`: which token it is follows from `sell`',
  ])
  for (const written of ['.inf', '.NaN', '1.2.3 USDC'])
    expect(hints('amount: "25"', `amount: ${written}`)).toEqual([undefined])
})

test.each([
  ['*/5 * * * *', '*/5 * * * *'],
  ['* * * * *', '* * * * *'],
  ['* 9 L * mon-fri', '* 9 L * mon-fri'],
  ['* 9 * * 5#2', '* 9 * * 5#2'],
])('a pattern without quotes is one error that says so: %s', (written, mended) => {
  const problems = strategyProblems(edit(STRATEGY, '"0 9 * * 1"', written))
  expect(problems).toHaveLength(1)
  const [problem] = problems
  expect(problem?.expected).toBe('put the pattern in quotes')
  expect(renderProblem(problem as NonNullable<typeof problem>, { color: false })).toContain(
    `hint: \`cron: "${mended}"\``,
  )
})

test('a pattern without quotes that would be refused is not suggested', () => {
  const problems = strategyProblems(edit(STRATEGY, '"0 9 * * 1"', '*/5 99 * *'))
  expect(problems).toMatchObject([{ expected: 'put the pattern in quotes' }])
  expect(problems[0]?.hint).toBeUndefined()
})

test('a fault that several aliases lead to is told once', () => {
  const text = `${STRATEGY}limits: { perDay: &a [*none], perWeek: *a, total: *a }\n`
  const told = strategyProblems(text).filter(({ message }) => message.includes('anchor'))
  expect(told).toHaveLength(1)
})

/** What is said of a strategy file besides its place, one problem a line. */
function told(text: string): readonly string[] {
  return strategyProblems(text).map(({ line, column, path, message, suggestion, hint }) =>
    [`${line}:${column} ${path}: ${message}`, suggestion, hint]
      .filter((part) => part !== undefined)
      .join(' | '),
  )
}

const THRESHOLD = `name: a
kind: threshold
schedule: { cron: "* * * * *" }
sell: WETH
buy: USDC
amount: "0.5"
when: { above: "4000" }
`
const TWAP = `name: a
kind: twap
sell: USDC
buy: WETH
amount: "240"
slices: 24
every: 1h
`
const REBALANCE = `name: a
kind: rebalance
schedule: { cron: "0 9 * * 1" }
targets: { WETH: 60%, USDC: 40% }
band: 5%
minTrade: "10"
quote: USDC
`
const WHEN = 'when: { above: "4000" }'

test.each([
  ['yes', 'true'],
  ['On', 'true'],
  ['True', 'true'],
  ['1', 'true'],
  ['no', 'false'],
  ['off', 'false'],
])(
  'a switch of another dialect of YAML is answered with the word for it: enabled: %s',
  (word, meant) => {
    expect(told(`${STRATEGY}enabled: ${word}\n`)).toEqual([
      `7:10 enabled: this is neither true nor false | ${meant}`,
    ])
  },
)

test.each([
  ['0.5', '50'],
  ['0.5%', '50'],
  ['1%', '100'],
  ['30bps', '30'],
  ['30 bps', '30'],
])('basis points that are written as something else are shown as such: %s', (written, meant) => {
  const [problem] = strategyProblems(`${STRATEGY}slippageBps: ${written}\n`)
  expect(problem).toMatchObject({
    line: 7,
    column: 14,
    path: 'slippageBps',
    suggestion: meant,
    expected: 'basis points, a whole number from 1 to 2000: 50 is 0.5%',
  })
})

test.each([
  [
    'a level that is not in when',
    edit(THRESHOLD, WHEN, 'trailing: 5%'),
    '7:1 trailing: unknown key | it belongs to when, as in `when: { trailing: 5% }`',
  ],
  [
    'a level beside another key',
    `${THRESHOLD}price: { trailing: 5% }\n`,
    '8:10 price.trailing: unknown key | it belongs to when, as in `when: { trailing: 5% }`',
  ],
  [
    'a price that is not in when',
    edit(THRESHOLD, WHEN, 'above: 4100'),
    '7:1 above: unknown key | it belongs to when, as in `when: { above: "4100" }`',
  ],
  [
    'a level of a kind that waits for none',
    `${STRATEGY}trailing: 5%\n`,
    '7:1 trailing: unknown key | `kind: threshold` waits for a level, as in `when: { above: "4000" }`',
  ],
  [
    'when in a rung',
    edit(THRESHOLD, WHEN, `ladder: [{ ${WHEN}, amount: "1" }]`),
    '7:12 ladder[0].when: unknown key | a rung has its level itself, as in `{ above: "4000", amount: "0.1" }`',
  ],
  [
    'an amount in when',
    edit(THRESHOLD, '"4000" }', '"4000", amount: "2" }'),
    '7:24 when.amount: unknown key | it stands beside `when`, as in `amount: "2"`; levels with amounts of their own are a `ladder`',
  ],
  [
    'a take-profit in when',
    edit(THRESHOLD, 'above:', 'takeProfit:'),
    '7:9 when.takeProfit: unknown key | it stands beside `when`, as in `takeProfit: "4000"`',
  ],
  [
    'when as a price alone',
    edit(THRESHOLD, WHEN, 'when: 4000'),
    '7:7 when: this is a single value | `when: { above: "4000" }`, or `below`',
  ],
])('%s is led to where it works', (_, text, says) => {
  expect(told(text)).toEqual([says])
})

test.each([
  [
    'in when',
    edit(THRESHOLD, '"4000" }', '"4000", indicator: rsi }'),
    /^7:24 when\.indicator: unknown key \| /,
  ],
  ['beside it', `${THRESHOLD}indicator: { rsi: 14 }\n`, /^8:1 indicator: unknown key \| /],
  ['as `only`', `${STRATEGY}only: { rsi: WETH/USDC }\n`, /^7:1 only: unknown key \| /],
  [
    'as a level',
    edit(THRESHOLD, '"4000"', '"sma(200d)"'),
    /^7:16 when\.above: this is not a plain decimal \| /,
  ],
])('an indicator is answered with the conditions that there are: %s', (_, text, says) => {
  const [problem, ...more] = told(text)
  expect(more).toEqual([])
  expect(problem).toMatch(says)
  for (const way of ['`price: {', '`dip`', '`kind: threshold`', '`kind: custom`'])
    expect(problem).toContain(way)
})

test.each([
  ['grid', '`ladder`'],
  ['limit-order', '`kind: threshold`'],
  ['trailing-stop', '`kind: threshold`'],
  ['vwap', '`kind: twap`'],
  ['market', '`kind: dca`'],
  ['portfolio', '`kind: rebalance`'],
  ['signal', '`kind: custom`'],
])('a kind of other programs is answered with the one that does it here: %s', (kind, way) => {
  const [problem, ...more] = strategyProblems(edit(STRATEGY, 'kind: dca', `kind: ${kind}`))
  expect(more).toEqual([])
  expect(problem).toMatchObject({
    line: 2,
    column: 7,
    message: 'there is no such kind of strategy',
    expected: `one of: ${KIND_NAMES.join(', ')}`,
    hint: expect.stringContaining(way),
  })
})

test.each([
  ['schedule: { cron: "0 * * * *" }', '8:13 schedule.cron: unknown key'],
  ['schedule: { timezone: UTC }', '8:13 schedule.timezone: unknown key'],
  ['schedule: "0 * * * *"', '8:11 schedule: this is a single value'],
])('a schedule of slices is answered with what times them: %s', (line, says) => {
  expect(told(`${TWAP}${line}\n`)).toEqual([
    `${says} | slices are no cron schedule: \`every: 1h\` is the time between two, \`start\` says when the first is due`,
  ])
})

test.each([
  [
    'dip: drop',
    '7:6 dip: this is a single value | `dip: [{ drop: 10%, amount: "50" }]`: how far the price fell, and what is sold then',
  ],
  [
    'dip: 15%',
    '7:6 dip: this is a single value | `dip: [{ drop: 15%, amount: "50" }]`: how far the price fell, and what is sold then',
  ],
  [
    'dip: { drop: 10%, amount: "40" }',
    '7:6 dip: this is a map | `dip: [{ drop: 10%, amount: "40" }]`',
  ],
])('a dip that is no list of dips is shown as one: %s', (line, says) => {
  expect(told(`${STRATEGY}${line}\n`)).toEqual([says])
})

test('a dip of slices is answered with what they have of the kind', () => {
  expect(told(`${TWAP}dip: drop\n`)).toEqual([
    '8:1 dip: unknown key | `unsold: drop` gives up what slices did not sell',
  ])
})

test.each([
  [
    'limits',
    `${STRATEGY}limits:\n  - perDay: "100"\n  - total: "900"\n`,
    '8:3 limits: this is a list | `limits: { perDay: "100", total: "900" }`',
  ],
  [
    'a cap',
    `${STRATEGY}limits: { perDay: [USDC: "100"] }\n`,
    '7:19 limits.perDay: this is a list | `perDay: { USDC: "100" }`',
  ],
  [
    'a schedule',
    edit(
      STRATEGY,
      'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }',
      'schedule:\n  - cron: "0 9 * * 1"\n  - timezone: Europe/Berlin',
    ),
    '4:3 schedule: this is a list | `schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }`',
  ],
  [
    'targets',
    edit(REBALANCE, '{ WETH: 60%, USDC: 40% }', '[WETH: 60%, USDC: 40%]'),
    '4:10 targets: this is a list | `targets: { WETH: 60%, USDC: 40% }`',
  ],
  [
    'a whole file',
    `- ${STRATEGY.replaceAll('\n', '\n  ').trimEnd()}\n`,
    '1:1 : this is a list | without the `-`, and one strategy a file',
  ],
])('a list for a map is shown as the map: %s', (_, text, says) => {
  expect(told(text)).toEqual([says])
})

test('a map and a text for a list are shown as the list', () => {
  const map = edit(THRESHOLD, WHEN, 'ladder: { above: "4000", amount: "0.1" }')
  expect(told(map)).toEqual([
    '7:9 ladder: this is a map | `ladder: [{ above: "4000", amount: "0.1" }]`',
  ])
  const text = `name: a\nkind: custom\nschedule: { cron: "0 9 * * 1" }\nmodule: ./m.mjs\ntokens: USDC, WETH\n`
  expect(told(text)).toEqual(['5:9 tokens: this is a single value | `tokens: [USDC, WETH]`'])
})
