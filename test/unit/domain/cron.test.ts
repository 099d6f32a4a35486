import { describe, expect, test } from 'vitest'
import { type CronPattern, cronWarnings, parseCron } from '../../../src/domain/schedule/cron.ts'

function pattern(text: string): CronPattern {
  const parsed = parseCron(text)
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.pattern
}

function faultOf(text: string): { message: string; marked: string } {
  const parsed = parseCron(text)
  if (parsed.ok) throw new Error(`${text} was accepted`)
  return {
    message: parsed.message,
    marked: text.slice(parsed.offset, parsed.offset + parsed.length),
  }
}

describe('accepted patterns', () => {
  test('five fields run at second 0', () => {
    expect(pattern('30 9 1 2 *')).toEqual({
      text: '30 9 1 2 *',
      seconds: [0],
      minutes: [30],
      hours: [9],
      daysOfMonth: [1],
      months: [2],
      daysOfWeek: [0, 1, 2, 3, 4, 5, 6],
      dayRule: 'both',
      timing: 'fixed',
    })
  })

  test('a sixth field at the front holds the seconds', () => {
    const six = pattern('*/20 30 9 * * *')
    expect([six.seconds, six.minutes, six.hours]).toEqual([[0, 20, 40], [30], [9]])
  })

  test.each([
    ['0-10/5', [0, 5, 10]],
    ['50-59/4', [50, 54, 58]],
    ['5,1,5,1-3', [1, 2, 3, 5]],
    ['*/25', [0, 25, 50]],
    ['*/60', [0]],
    ['07', [7]],
    ['1-3,*/30,59', [0, 1, 2, 3, 30, 59]],
  ])('minute field %s', (text, minutes) => {
    expect(pattern(`${text} * * * *`).minutes).toEqual(minutes)
  })

  test.each([
    ['jan', [1]],
    ['JAN,Dec', [1, 12]],
    ['june-august', [6, 7, 8]],
    ['mar-dec/3', [3, 6, 9, 12]],
  ])('month field %s', (text, months) => {
    expect(pattern(`0 0 1 ${text} *`).months).toEqual(months)
  })

  test.each([
    ['7', [0]],
    ['0,7', [0]],
    ['mon-fri', [1, 2, 3, 4, 5]],
    ['5-7', [0, 5, 6]],
    ['sat-sun', [0, 6]],
    ['sun-tue', [0, 1, 2]],
    ['0-7', [0, 1, 2, 3, 4, 5, 6]],
    ['Wednesday', [3]],
    ['*/2', [0, 2, 4, 6]],
    ['1-7/3', [0, 1, 4]],
    ['7-1', [0, 1]],
    ['7-7', [0]],
    ['7-5/2', [0, 2, 4]],
  ])('day-of-week field %s', (text, days) => {
    expect(pattern(`0 0 * * ${text}`).daysOfWeek).toEqual(days)
  })

  test.each([
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@Hourly', '0 * * * *'],
  ])('%s means %s', (macro, meaning) => {
    expect(pattern(macro)).toEqual({ ...pattern(meaning), text: macro })
  })

  test('blanks around and between fields are ignored', () => {
    expect(pattern('  0\t9  * * 1 ').hours).toEqual([9])
  })

  test('? stands for any day in the day fields', () => {
    expect(pattern('0 9 ? * 1')).toMatchObject({ daysOfWeek: [1], dayRule: 'both' })
    expect(pattern('0 9 1 * ?')).toMatchObject({ daysOfMonth: [1], dayRule: 'both' })
  })

  const DAILY = [0, 1, 2, 3, 4, 5, 6]
  test.each([
    ['L', [], [{ type: 'before-last', days: 0 }]],
    ['l-3', [], [{ type: 'before-last', days: 3 }]],
    ['15W', [], [{ type: 'nearest-weekday', to: 15 }]],
    ['lw', [], [{ type: 'nearest-weekday', to: 'last' }]],
    [
      '1,L,15w',
      [1],
      [
        { type: 'before-last', days: 0 },
        { type: 'nearest-weekday', to: 15 },
      ],
    ],
  ])('day-of-month field %s', (text, daysOfMonth, ofMonth) => {
    const relativeDays = { ofMonth, ofWeek: [] }
    expect(pattern(`0 9 ${text} * *`)).toMatchObject({
      ...{ daysOfMonth, relativeDays, daysOfWeek: DAILY, dayRule: 'both' },
    })
  })

  test.each([
    ['5#2', [], [{ weekday: 5, nth: 2 }]],
    ['5L', [], [{ weekday: 5, nth: 'last' }]],
    ['friL', [], [{ weekday: 5, nth: 'last' }]],
    ['FRI#L', [], [{ weekday: 5, nth: 'last' }]],
    ['sunday#1', [], [{ weekday: 0, nth: 1 }]],
    ['7#5', [], [{ weekday: 0, nth: 5 }]],
    ['1,5L', [1], [{ weekday: 5, nth: 'last' }]],
    [
      'sat-sun#L,tue#3',
      [],
      [
        { weekday: 6, nth: 'last' },
        { weekday: 0, nth: 'last' },
        { weekday: 2, nth: 3 },
      ],
    ],
  ])('day-of-week field %s', (text, daysOfWeek, ofWeek) => {
    const relativeDays = { ofMonth: [], ofWeek }
    expect(pattern(`0 9 * * ${text}`)).toMatchObject({ daysOfWeek, relativeDays, dayRule: 'both' })
  })

  test.each([
    ['0 9 L * 1', 'either'],
    ['0 9 ? * 5L', 'both'],
    ['0 9 1 * 1', 'either'],
    ['0 9 1-31 * 1', 'either'],
    ['0 9 * * 1', 'both'],
    ['0 9 1 * *', 'both'],
    ['0 9 */2 * 1', 'both'],
    ['0 9 1 * */2', 'both'],
  ])('the day rule of %s is %s', (text, rule) => {
    expect(pattern(text).dayRule).toBe(rule)
  })

  test.each([
    ['30 2 * * *', 'fixed'],
    ['0,30 1-3 * * *', 'fixed'],
    ['0-59/10 0-23/2 * * *', 'fixed'],
    ['* 2 * * *', 'interval'],
    ['30 * * * *', 'interval'],
    ['0 */2 * * *', 'interval'],
    ['* 30 2 * * *', 'interval'],
  ])('%s is a %s pattern', (text, timing) => {
    expect(pattern(text).timing).toBe(timing)
  })

  test('accepts 29 February, and an impossible date combined with a day of the week', () => {
    expect(pattern('0 0 29 2 *').months).toEqual([2])
    expect(pattern('0 0 30 2 1').dayRule).toBe('either')
  })
})

describe('rejected patterns name the field, its range and the position', () => {
  test.each([
    ['60 * * * *', 'minute must be 0-59, here is "60"', '60'],
    ['0 24 * * *', 'hour must be 0-23, here is "24"', '24'],
    ['60 0 0 * * *', 'second must be 0-59, here is "60"', '60'],
    ['0 0 0 * *', 'day-of-month must be 1-31, here is "0"', '0'],
    ['0 0 1,32 * *', 'day-of-month must be 1-31, here is "32"', '32'],
    ['0 0 * 13 *', 'month must be 1-12 or jan-dec, here is "13"', '13'],
    ['0 0 * foo *', 'month must be 1-12 or jan-dec, here is "foo"', 'foo'],
    ['0 0 * * 1-8', 'day-of-week must be 0-7 or sun-sat, here is "8"', '8'],
    ['jan * * * *', 'minute must be 0-59, here is "jan"', 'jan'],
    ['1.5 * * * *', 'minute must be 0-59, here is "1.5"', '1.5'],
    ['1,,2 * * * *', 'minute has an empty list item', ','],
    ['1- * * * *', 'minute range "1-" needs a value on both sides', '1-'],
    ['-1 * * * *', 'minute range "-1" needs a value on both sides', '-1'],
    ['1-2-3 * * * *', 'minute must be 0-59, here is "2-3"', '2-3'],
    ['0 22-2 * * *', 'hour range 22-2 runs backwards: write 22-23,0-2', '22-2'],
    ['0 0 * * 5-1', 'day-of-week range 5-1 runs backwards: write 5-6,0-1', '5-1'],
    ['*/0 * * * *', 'a step in minute must be 1-60, here is "0"', '0'],
    ['*/90 * * * *', 'a step in minute must be 1-60, here is "90"', '90'],
    ['0 */x * * *', 'a step in hour must be 1-24, here is "x"', 'x'],
    ['*/5/5 * * * *', 'a step in minute must be 1-60, here is "5/5"', '5/5'],
    ['5/15 * * * *', 'a step in minute needs a range: write 5-59/15', '5/15'],
    [
      '? * * * *',
      '? stands for any day only in day-of-month and day-of-week: write * in minute',
      '?',
    ],
    ['0 22-3/3 * * *', 'hour range 22-3 runs backwards: write 22-23/3,1-3/3', '22-3/3'],
    ['0 0 1 oct-feb/9 *', 'month range oct-feb runs backwards: write oct-12/9', 'oct-feb/9'],
    ['5/90 * * * *', 'a step in minute must be 1-60, here is "90"', '90'],
    ['0 0 * * 7/2', 'a step in day-of-week needs a range: write 0-6/2', '7/2'],
    ['0 0 30/2 2 *', 'a step in day-of-month needs a range', '30/2'],
    [
      '0 0 L-31 * *',
      'day-of-month must be 1-31, here is "L-31" (L, L-1 to L-30, 1W to 31W and LW are allowed here; 5L and 5#2 in day-of-week)',
      'L-31',
    ],
    ['0 0 32W * *', expect.stringContaining('1W to 31W'), '32W'],
    ['0 0 10-15W * *', expect.stringContaining('1W to 31W'), '15W'],
    ['0 0 5L * *', expect.stringContaining('5L and 5#2 in day-of-week'), '5L'],
    [
      '0 0 * * L',
      'day-of-week must be 0-7 or sun-sat, here is "L" (5L and 5#1 to 5#5 are allowed here; L, L-3, 15W and LW in day-of-month)',
      'L',
    ],
    ['0 0 * * 15W', expect.stringContaining('LW in day-of-month'), '15W'],
    ['0 0 * * 5#6', '# in day-of-week must be followed by 1-5 or L, here is "6"', '6'],
    ['0 0 * * 5-1#2', '# and L take one weekday, or a range of them that runs forwards', '5-1#2'],
    [
      'L * * * *',
      'minute must be 0-59, here is "L" (L, W and # are allowed in the day fields only)',
      'L',
    ],
    ['0 0 L-29 2 *', 'never occurs: no Feb has a day L-29', 'L-29'],
    ['0 0 31W 2,4 *', 'never occurs: no Feb or Apr has a day 31W', '31W'],
    ['0 0 */31 * 5#2', 'never occurs: no month has a day */31 that is 5#2', '*/31'],
    ['0 0 30 2 *', 'never occurs: no Feb has a day 30', '30'],
    ['0 0 31 4,6 *', 'never occurs: no Apr or Jun has a day 31', '31'],
    ['0 0 30 feb */2', 'never occurs: no Feb has a day 30', '30'],
    ['0 9 * *', expect.stringContaining('here are 4'), '0 9 * *'],
    ['0 0 0 1 1 * 2027', expect.stringContaining('at most six fields'), '2027'],
    ['@reboot', expect.stringContaining('unknown macro "@reboot": use @yearly'), '@reboot'],
    ['@constructor', expect.stringContaining('unknown macro'), '@constructor'],
  ])('%s', (text, message, marked) => {
    expect(faultOf(text)).toEqual({ message, marked })
  })

  test('rejects an empty text', () => {
    expect(parseCron('  ')).toMatchObject({ ok: false, offset: 0, length: 1 })
  })

  test('the position counts from the start of the original text', () => {
    expect(parseCron('   0  99 * * *')).toMatchObject({ ok: false, offset: 6, length: 2 })
  })
})

describe('warnings', () => {
  test.each([
    ...['0 9 * * 1', '*/15 * * * *', '* * * * * *', '@daily', '0 9 1,15 * *', '0 0 29 1 *'],
    ...['0 9 L * *', '0 9 LW * *', '0 9 31,L * *', '0 9 28W * *', '0 9 * * 5#4', '0 9 ? * friL'],
  ])('%s has no warning', (text) => {
    expect(cronWarnings(pattern(text))).toEqual([])
  })

  test.each([
    ['0 9 1 * 1', 'runs on days that match either of them'],
    ['0 9 */31 * 1', 'runs only on days that match both'],
    ['0 9 31 * *', 'day-of-month starts at 31: does not run in Feb, Apr, Jun, Sep, Nov'],
    ['0 9 30 * *', 'day-of-month starts at 30: does not run in Feb'],
    ['0 9 29 * *', 'does not run in Feb except in leap years'],
    ['0 9 31W * *', '31W in day-of-month: does not run in Feb, Apr, Jun, Sep, Nov'],
    ['0 9 L-28 * *', 'L-28 in day-of-month: does not run in Feb except in leap years'],
    ['0 9 * * 5#5', 'does not run in months without a fifth one'],
    ['0 9 L * 1', 'runs on days that match either of them'],
    ['* 9 * * *', 'runs in all 60 minutes of each matching hour'],
    ['* 0 9 * * *', 'runs 60 times in each matching minute'],
    ['*/45 * * * *', '*/45 in minute starts again at 0 in each hour'],
    ['0 */5 * * *', '*/5 in hour starts again at 0 in each day'],
    ['*/7 * * * * *', '*/7 in second starts again at 0 in each minute'],
    ['0 0 */2 * *', '*/2 in day-of-month starts again at 1 in each month'],
  ])('%s: %s', (text, part) => {
    const warnings = cronWarnings(pattern(text))
    expect(warnings.filter((warning) => warning.includes(part))).toHaveLength(1)
  })
})
