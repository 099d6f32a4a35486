import { expect, test } from 'vitest'
import { renderProblem } from '../../../src/config/yaml/problem.ts'
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
