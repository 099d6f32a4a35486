import { expect, test } from 'vitest'
import { createPeopleLines } from '../../../src/observe/log.ts'

const TIME = '2026-11-23T10:35:55.123Z'

function line(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ level: 'info', time: TIME, ...fields })}\n`
}

function reader(options: Partial<Parameters<typeof createPeopleLines>[0]> = {}) {
  const read = createPeopleLines({ colour: false, verbose: false, ...options })
  return (fields: Readonly<Record<string, unknown>>) => read(line(fields))
}

/** The text without its time, which depends on the machine's time zone. */
function withoutTime(text: string | undefined): string | undefined {
  return text?.replace(/^.*? (UTC|[+-]\d\d:\d\d) {2}/, '').trimEnd()
}

test('a line has its date, time and zone', () => {
  const text = reader()({ msg: 'hello' }) ?? ''
  const [, day, time, zone] = /^(\S+) (\S+) (\S+) {2}hello\n$/.exec(text) ?? []
  const offset = zone === 'UTC' ? 'Z' : zone
  expect(Date.parse(`${day}T${time}${offset}`)).toBe(Date.parse('2026-11-23T10:35:55Z'))
})

test('a fill is one line; earlier steps appear only in the JSON log and at debug', () => {
  const steps = ['slot-opened', 'order-accepted', 'transaction'].map((event) => ({
    event,
    msg: event,
  }))
  const [quiet, verbose] = [reader(), reader({ verbose: true })]
  expect(steps.map(quiet)).toEqual([undefined, undefined, undefined])
  expect(steps.map(verbose).map(withoutTime)).toEqual([
    'slot-opened',
    'order-accepted',
    'transaction',
  ])
  expect(withoutTime(quiet({ event: 'filled', strategy: 'a', msg: 'filled a' }))).toBe('filled a')
  const lost = { level: 'warn', event: 'transaction', msg: 'lost' }
  expect(withoutTime(quiet(lost))).toBe('WARN  lost')
})

test('a skip is logged if its reason changes, or after another event', () => {
  const read = reader()
  const skip = (strategy: string, reason: string) =>
    read({ event: 'slot-closed', strategy, outcome: 'skipped', reason, msg: reason })
  expect(withoutTime(skip('a', 'cooldown'))).toBe('cooldown')
  expect(skip('a', 'cooldown')).toBeUndefined()
  expect(withoutTime(skip('b', 'cooldown'))).toBe('cooldown')
  expect(withoutTime(skip('a', 'paused'))).toBe('paused')
  read({ event: 'filled', strategy: 'a', msg: 'filled' })
  expect(withoutTime(skip('a', 'paused'))).toBe('paused')
  read({ event: 'slot-closed', strategy: 'a', outcome: 'failed', level: 'warn', msg: 'failed' })
  expect(withoutTime(skip('a', 'paused'))).toBe('paused')
})

test('the first code of a contract appears only in the JSON log and at debug, a change always', () => {
  const code = { event: 'contract-code', msg: 'code' }
  expect(reader()({ ...code, status: 'seen' })).toBeUndefined()
  expect(withoutTime(reader({ verbose: true })({ ...code, status: 'seen' }))).toBe('code')
  expect(withoutTime(reader()({ ...code, status: 'accepted' }))).toBe('code')
  expect(withoutTime(reader()({ ...code, level: 'error', status: 'changed' }))).toBe('ERROR code')
})

test('warnings and errors are marked, with or without colour, and include the error message', () => {
  expect(withoutTime(reader()({ level: 'error', msg: 'no', err: { message: 'disk' } }))).toBe(
    'ERROR no: disk',
  )
  expect(withoutTime(reader()({ level: 'error', msg: 'no: disk', err: { message: 'disk' } }))).toBe(
    'ERROR no: disk',
  )
  expect(reader()({ level: 'warn', msg: 'careful' })).not.toContain('\u001b')
  expect(reader({ colour: true })({ level: 'warn', msg: 'careful' })).toContain('\u001b[33mWARN')
})
