import { expect, test } from 'vitest'
import { percent, positiveDecimal } from '../../../src/config/amount-scalars.ts'
import {
  address,
  duration,
  flag,
  integer,
  serviceAddress,
  timezone,
  webAddress,
} from '../../../src/config/scalars.ts'

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['10m', 600_000],
  ['6h', 21_600_000],
  ['1d', 86_400_000],
])('the duration %s is %i ms', (text, ms) => {
  expect(duration({ min: '0s', max: '30d' }).parse(text)).toBe(ms)
})

test.each(['10', '10 m', '-1s', '1.5h', 'm', '1h30m', '31d', '0s'])(
  '%j is not a duration in range',
  (text) => {
    expect(duration({ min: '1s', max: '30d' }).safeParse(text).success).toBe(false)
  },
)

test.each([
  ['5%', 500],
  ['0.25%', 25],
  ['12.5%', 1_250],
  ['100%', 10_000],
])('%s is %i basis points', (text, bps) => {
  expect(percent({ minBps: 1, maxBps: 10_000 }).parse(text)).toBe(bps)
})

test.each(['5', '5 %', '0.255%', '101%', '0%', '-1%'])(
  '%j is not a percentage in range',
  (text) => {
    expect(percent({ minBps: 1, maxBps: 10_000 }).safeParse(text).success).toBe(false)
  },
)

test.each(['0x10', '1e3', '1.0', '01', '-1', '', '+1', '99999999999999999999', '11'])(
  '%j is not a whole number up to 10',
  (text) => {
    expect(integer({ min: 0, max: 10 }).safeParse(text).success).toBe(false)
  },
)

test.each(['0', '-1', '1e3', '1,000', '.5', '5.', '0x10', 'Infinity', `1${'0'.repeat(80)}`])(
  '%j is not a positive decimal',
  (text) => {
    expect(positiveDecimal.safeParse(text).success).toBe(false)
  },
)

test('a flag accepts only true and false', () => {
  expect(flag.parse('true')).toBe(true)
  expect(flag.parse('false')).toBe(false)
  for (const text of ['yes', 'True', '1', '']) expect(flag.safeParse(text).success).toBe(false)
})

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

test('an address is accepted in lower case or with its checksum, and becomes lower case', () => {
  expect(address.parse(USDC)).toBe(USDC.toLowerCase())
  expect(address.parse(USDC.toLowerCase())).toBe(USDC.toLowerCase())
})

test.each([
  ['with one wrong capital', USDC.replace('fCD', 'fcD')],
  ['with one wrong digit', USDC.replace('0x83', '0x84')],
  ['that is too short', USDC.slice(0, -1)],
  ['that is zero', `0x${'0'.repeat(40)}`],
  ['without 0x', USDC.slice(2)],
])('an address %s is rejected', (_, text) => {
  expect(address.safeParse(text).success).toBe(false)
})

test('only http and https are web addresses', () => {
  expect(webAddress.parse('http://127.0.0.1:8545')).toBe('http://127.0.0.1:8545')
  for (const text of ['rpc.example', 'ws://rpc.example', 'file:///etc/passwd', 'https://'])
    expect(webAddress.safeParse(text).success).toBe(false)
})

test('a service address loses its trailing slash and rejects the path prefix', () => {
  expect(serviceAddress.parse('https://swap.example/base/')).toBe('https://swap.example/base')
  for (const text of ['https://swap.example/api/v1', 'https://swap.example/?a=1'])
    expect(serviceAddress.safeParse(text).success).toBe(false)
})

test.each([
  ['Berlin', 'Europe/Berlin'],
  ['Europe/Berln', 'Europe/Berlin'],
  ['new york', 'America/New_York'],
  ['UTZ', 'UTC'],
])('the time zone %s suggests %s', (text, suggestion) => {
  const parsed = timezone.safeParse(text)
  expect(parsed.error?.issues[0]).toMatchObject({ params: { suggestion } })
})
