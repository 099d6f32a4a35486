import { expect, test } from 'vitest'
import { briefDecimal } from '../../../../src/domain/text/grouped.ts'
import {
  basisPoints,
  changeText,
  chartNumber,
  fullAmount,
  isNothing,
  money,
  percent,
  roughMoney,
  shareText,
  shortAmount,
  shortAmountsIn,
} from '../../../../src/ui/parts/wording/amounts.ts'

test('a full amount keeps every digit and is grouped', () => {
  expect(fullAmount('12345678.123456789012345678')).toBe('12,345,678.123456789012345678')
  expect(fullAmount('-1000')).toBe('−1,000')
})

test.each([
  ['25', '25'],
  ['25.000000', '25'],
  ['25.123456', '25.1234'],
  ['1234.5678', '1,234.56'],
  ['123456789.987654', '123,456,789.98'],
  ['0.008312736400000000', '0.00831273'],
  ['0.999999999', '0.999999'],
  ['0', '0'],
  ['0.000', '0'],
])('the short form of %s is %s, as in a terminal', (text, short) => {
  expect(shortAmount(text)).toBe(short)
  expect(briefDecimal(text).replace('-', '−')).toBe(short)
})

test('only zero is shown as zero', () => {
  expect(shortAmount('0.000000000000000001')).toBe('<0.000001')
  expect(money('0.004')).toBe('<0.01')
  expect(money('0')).toBe('0.00')
  expect(percent(0.00001)).toBe('<0.1 %')
})

test('an amount beyond float precision is cut by its digits', () => {
  expect(money('9007199254740993.019')).toBe('9,007,199,254,740,993.01')
})

test('text that is not a number is shown unchanged', () => {
  for (const text of ['<b>1</b>', '', '1e5', 'NaN'])
    expect([fullAmount(text), shortAmount(text), money(text)]).toEqual([text, text, text])
})

test('a share just below full is never shown as full', () => {
  expect(percent(0.9999)).toBe('99 %')
  expect(percent(1)).toBe('100 %')
  expect(percent(1.25)).toBe('125 %')
  expect(percent(0.042)).toBe('4.2 %')
})

test('basis points always carry their sign', () => {
  expect([3.24, -12.4, 0, -0.04, 1_520].map(basisPoints)).toEqual([
    '+3.2 bps',
    '−12 bps',
    '0 bps',
    '0 bps',
    '+1,520 bps',
  ])
})

test('a change from zero has no percentage', () => {
  expect(changeText(0, 10)).toBeUndefined()
  expect(changeText(100, 98.5)).toBe('−1.50 %')
  expect(changeText(100, 100)).toBe('0 %')
})

test('amounts are nothing by value, not by text', () => {
  expect(['0', '0.00', '-0.0'].map(isNothing)).toEqual([true, true, true])
  expect(['0.000000000000000001', '-1', 'nothing'].map(isNothing)).toEqual([false, false, false])
})

test('chart numbers have no exponent', () => {
  expect(chartNumber(0.0000123)).toBe('0.0000123')
  expect(chartNumber(11_969.7213)).toBe('11,969.72')
  expect(chartNumber(-0)).toBe('0')
})

test('a chart number shows no 9 that only its float has', () => {
  expect(chartNumber(35_736_183.97)).toBe('35,736,183.97')
  expect(chartNumber(0.1 + 0.2)).toBe('0.3')
  expect(chartNumber((3 * 0.1 - 0.3) / -10)).toBe('0')
  expect(chartNumber(2_999.9999999999995)).toBe('3,000')
})

test('a cap with any use is never shown as unused', () => {
  expect(shareText({ share: 0, used: '0.01' })).toBe('<0.1 %')
  expect(shareText({ share: 0, used: '0' })).toBe('0 %')
  expect(shareText({ share: 0.5, used: '1' })).toBe('50 %')
})

test('rough amounts above a million have no cents', () => {
  expect(roughMoney('35793482.54')).toBe('35,793,482')
  expect(roughMoney('999999.994')).toBe('999,999.99')
})

test('amounts and prices inside a sentence have separators and no excess digits', () => {
  const said = 'sells 25000.000000000000000001 AERO of x:1795735987:0 at block 1234567, 2998.87 now'
  expect(shortAmountsIn(said)).toBe(
    'sells 25,000 AERO of x:1795735987:0 at block 1234567, 2,998.87 now',
  )
})

test('amounts inside a sentence that have separators already keep every digit', () => {
  const said =
    'free balances: 9,999,975 USDC, 1,000 WETH. Price: 3,000.781 USDC per WETH, 1,001.0686063 DAI, 3,000.29'
  expect(shortAmountsIn(said)).toBe(
    'free balances: 9,999,975 USDC, 1,000 WETH. Price: 3,000.78 USDC per WETH, 1,001.06 DAI, 3,000.29',
  )
})
