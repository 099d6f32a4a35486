import { expect, test } from 'vitest'
import { renderProblem } from '../../../src/config/yaml/problem.ts'
import { KIND_NAMES } from '../../../src/strategies/registry.ts'
import { edit, STRATEGY, strategyProblems } from './config-fixture.ts'

/** The hints for a strategy file with one change. */
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
])('%s is answered with the correct key and the same number', (line, hint) => {
  expect(hints('amount: "25"\n', `amount: "25"\n${line}\n`)).toEqual([hint])
})

test('a take-profit on a buying strategy points to a strategy that sells its purchases', () => {
  expect(hints('amount: "25"\n', 'amount: "25"\ntakeProfit: 10%\n')).toEqual([
    expect.stringContaining('`kind: threshold` with `entryOf: weekly-eth`'),
  ])
})

test('a schedule with only a pattern gets the full form', () => {
  const schedule = 'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }'
  expect(hints(schedule, 'schedule: "0 7 * * 2"')).toEqual(['`schedule: { cron: "0 7 * * 2" }`'])
})

test('an invalid schedule gets a valid example', () => {
  const schedule = 'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }'
  expect(hints(schedule, 'schedule: "0 9 * * noon"')).toEqual(['`schedule: { cron: "0 9 * * 1" }`'])
})

test('a share without its sign gets one, and an amount with its token loses it', () => {
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
])('an unquoted pattern is one error that asks for quotes: %s', (written, mended) => {
  const problems = strategyProblems(edit(STRATEGY, '"0 9 * * 1"', written))
  expect(problems).toHaveLength(1)
  const [problem] = problems
  expect(problem?.expected).toBe('put the pattern in quotes')
  expect(renderProblem(problem as NonNullable<typeof problem>, { color: false })).toContain(
    `hint: \`cron: "${mended}"\``,
  )
})

test('an unquoted pattern that is invalid is not suggested', () => {
  const problems = strategyProblems(edit(STRATEGY, '"0 9 * * 1"', '*/5 99 * *'))
  expect(problems).toMatchObject([{ expected: 'put the pattern in quotes' }])
  expect(problems[0]?.hint).toBeUndefined()
})

test('a fault reached through several aliases is reported once', () => {
  const text = `${STRATEGY}limits: { perDay: &a [*none], perWeek: *a, total: *a }\n`
  const reported = strategyProblems(text).filter(({ message }) => message.includes('anchor'))
  expect(reported).toHaveLength(1)
})

/** Problems of a strategy file, one line each, without the file name. */
function reports(text: string): readonly string[] {
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
])('a boolean of another YAML dialect is corrected: enabled: %s', (word, meant) => {
  expect(reports(`${STRATEGY}enabled: ${word}\n`)).toEqual([
    `7:10 enabled: this is neither true nor false | ${meant}`,
  ])
})

test.each([
  ['0.5', '50'],
  ['0.5%', '50'],
  ['1%', '100'],
  ['30bps', '30'],
  ['30 bps', '30'],
])('basis points in another unit are corrected: %s', (written, meant) => {
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
    'a level in a kind without levels',
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
])('%s gets a hint to its place', (_, text, expected) => {
  expect(reports(text)).toEqual([expected])
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
])('an indicator gets the available conditions: %s', (_, text, expected) => {
  const [problem, ...more] = reports(text)
  expect(more).toEqual([])
  expect(problem).toMatch(expected)
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
])('a kind name of other programs gets the matching kind: %s', (kind, way) => {
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
])('a cron schedule for slices gets the keys that time them: %s', (line, expected) => {
  expect(reports(`${TWAP}${line}\n`)).toEqual([
    `${expected} | slices are no cron schedule: \`every: 1h\` is the time between two, \`start\` says when the first is due`,
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
])('a dip that is not a list gets the list form: %s', (line, expected) => {
  expect(reports(`${STRATEGY}${line}\n`)).toEqual([expected])
})

test('a dip for slices gets the key with that meaning', () => {
  expect(reports(`${TWAP}dip: drop\n`)).toEqual([
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
])('a list in place of a map gets the map form: %s', (_, text, expected) => {
  expect(reports(text)).toEqual([expected])
})

test('a map or text in place of a list gets the list form', () => {
  const map = edit(THRESHOLD, WHEN, 'ladder: { above: "4000", amount: "0.1" }')
  expect(reports(map)).toEqual([
    '7:9 ladder: this is a map | `ladder: [{ above: "4000", amount: "0.1" }]`',
  ])
  const text = `name: a\nkind: custom\nschedule: { cron: "0 9 * * 1" }\nmodule: ./m.mjs\ntokens: USDC, WETH\n`
  expect(reports(text)).toEqual(['5:9 tokens: this is a single value | `tokens: [USDC, WETH]`'])
})
