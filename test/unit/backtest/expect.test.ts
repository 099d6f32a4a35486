import { expect, test } from 'vitest'
import {
  checkExpectation,
  METRIC_NAMES,
  parseExpectation,
} from '../../../src/backtest/report/expect.ts'
import type { BacktestResult, StrategyResult } from '../../../src/backtest/report/result.ts'

const strategy = {
  ...{ slots: 200, filled: 180, skipped: 10, failed: 8, missed: 2, calls: 3 },
  trades: [{ fills: 120 }, { fills: 60 }],
} as unknown as StrategyResult

const RESULT = {
  begin: { value: { amount: '1000', token: 'USDC' }, holdings: [] },
  figures: {
    ...{ returnPercent: 12.5, yearlyPercent: null, turnoverPercent: 80 },
    drawdown: { percent: 30 },
    costs: { total: { amount: '5', token: 'USDC' } },
  },
  against: [{ name: 'holding', returnPercent: 20 }],
  strategies: [strategy, strategy],
} as unknown as BacktestResult

function checked(text: string) {
  const parsed = parseExpectation(text)
  if ('message' in parsed) throw new Error(parsed.message)
  const { holds, actual } = checkExpectation(RESULT, parsed)
  return [holds, actual]
}

test.each([
  ['return>10%', true, '12.5'],
  ['return < 10%', false, '12.5'],
  ['drawdown<30%', false, '30'],
  ['drawdown<=30%', true, '30'],
  ['costs<1%', true, '0.5'],
  ['turnover>=80%', true, '80'],
  ['beats>-10%', true, '-7.5'],
  ['fills=360', true, '360'],
  ['calls=6', true, '6'],
  ['slots>399', true, '400'],
  ['filled>=90%', true, '90'],
  ['skipped<5%', false, '5'],
  ['skipped<=20', true, '20'],
  ['failed<5%', true, '4'],
  ['missed=4', true, '4'],
])('%s', (text, holds, actual) => expect(checked(text)).toEqual([holds, actual]))

test('an expectation does not hold if the result has no such figure', () => {
  expect(checked('yearly>-100%')).toEqual([false, null])
})

test.each([
  ['drawdawn<30%', 'did you mean `drawdown`'],
  ['<30%', 'names no figure'],
  ['drawdown<30', ''],
  ['fills>5%', ''],
  ['drawdown 30%', ''],
  ['drawdown<much%', ''],
])('rejects %s and suggests a valid expectation', (text, message) => {
  const parsed = parseExpectation(text)
  expect(parsed).toMatchObject({ message: expect.stringContaining(message) })
  expect('expected' in parsed && parsed.expected.length).toBeGreaterThan(5)
})

test('an expectation accepts every metric name', () => {
  for (const name of METRIC_NAMES)
    expect([`${name}>0%`, `${name}>0`].map(parseExpectation).some((each) => 'metric' in each)).toBe(
      true,
    )
})
