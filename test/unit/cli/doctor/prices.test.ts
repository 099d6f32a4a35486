import { expect, test } from 'vitest'
import { checkFeed } from '../../../../src/cli/commands/doctor/check-market.ts'
import type { FeedReading } from '../../../../src/domain/money/price.ts'
import { WETH_USDC } from '../../../simulation/stage.ts'
import { NOON_SECONDS } from '../../../support/builders.ts'

const FEED = { ...WETH_USDC, maxAgeSeconds: 3_600, sequencerFeed: undefined }
const READING: FeedReading = {
  answer: 2_500n * 10n ** 8n,
  decimals: 8,
  updatedAtSeconds: NOON_SECONDS - 60,
  sequencer: undefined,
}
const UP = { answer: 0n, startedAtSeconds: NOON_SECONDS - 86_400 }

function check(reading: Partial<FeedReading> | undefined, changes = {}, users = ['weekly']) {
  return checkFeed({
    feed: { ...FEED, ...changes },
    reading: reading && { ...READING, ...reading },
    nowSeconds: NOON_SECONDS,
    users,
  })
}

test('a feed that orders can use passes, with its price and age', () => {
  expect(check({})).toMatchObject({ verdict: 'fine', says: 'WETH/USDC: 2,500, 1m old' })
})

test('a feed that is about to become too old is a warning that names maxAge', () => {
  const { verdict, remedy } = check({ updatedAtSeconds: NOON_SECONDS - 3_500 })
  expect([verdict, remedy]).toEqual(['warning', expect.stringContaining('prices.WETH/USDC.maxAge')])
})

const WITH_SEQUENCER = { sequencerFeed: `0x${'5e'.repeat(20)}` }
test.each([
  ['that does not answer', undefined, {}, /no usable answer from 0x/],
  ['that is too old', { updatedAtSeconds: NOON_SECONDS - 7_200 }, {}, /2h old, the limit is 1h/],
  ['that answers nothing above zero', { answer: 0n }, {}, /answers 0 with 8 decimals/],
  ['whose decimals are no decimals', { decimals: 77 }, {}, /with 77 decimals/],
  [
    'whose round has no time',
    { updatedAtSeconds: 0 },
    {},
    /round is incomplete: it has no timestamp/,
  ],
  [
    'whose round is from the future',
    { updatedAtSeconds: NOON_SECONDS + 7_200 },
    {},
    /dated 2h after the newest block/,
  ],
  [
    'whose answer is carried over',
    { id: 9n, answeredInId: 8n },
    {},
    /carries over the answer of an earlier one/,
  ],
  [
    'whose sequencer has no start',
    { sequencer: { ...UP, startedAtSeconds: 0 } },
    WITH_SEQUENCER,
    /its sequencer feed is invalid: it has no start time/,
  ],
  [
    'whose sequencer is down',
    { sequencer: { ...UP, answer: 1n } },
    WITH_SEQUENCER,
    /reports the sequencer down/,
  ],
  [
    'whose sequencer is just back',
    { sequencer: { ...UP, startedAtSeconds: NOON_SECONDS - 60 } },
    WITH_SEQUENCER,
    /less than an hour/,
  ],
] as const)(
  'a feed %s is a fault that names the waiting strategies, and a warning if there are none',
  (_, reading, changes, message) => {
    const needed = check(reading, changes)
    expect(needed).toMatchObject({ id: 'feed', verdict: 'fault' })
    expect(needed.says).toMatch(message)
    expect(needed.says).toMatch(/weekly cannot trade/)
    expect(needed.remedy).not.toBe('')
    expect(check(reading, changes, []).verdict).toBe('warning')
  },
)
