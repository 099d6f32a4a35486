import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Token } from '../../../src/domain/money/token.ts'
import { baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import type { SwapIntent } from '../../../src/domain/order/intent.ts'
import {
  type EventOf,
  type JournalEvent,
  type JournalRecord,
  reduceRecorded,
} from '../../../src/journal/events/registry.ts'
import type { DecisionInputs, TransactionRecord } from '../../../src/journal/records.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { timelineOf } from '../../../src/journal/timeline.ts'
import {
  BOUND,
  bytes32,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  permitFor,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'
import { legalEvents } from '../../support/state/state-moves.ts'

const SLOT = 2_000
const intent: SwapIntent = {
  ...intentOf(SLOT),
  price: { min: undefined, max: { num: 4_200n, den: 10n ** 12n } },
}
const own = { intentId: intent.id, attempt: 1 } as const
const { token: usdc } = intent.sell
const { token: weth } = intent.buy
const fill = fillOf(intent)

const INPUTS: DecisionInputs = {
  ...{ blockNumber: 77n, blockTimeSeconds: 1_990, memory: {} },
  available: { USDC: 1_000_000_000n, ETH: 3n * 10n ** 17n },
  prices: {
    'USDC/WETH': {
      ...{ num: 4_100n, den: 10n ** 12n, updatedAtSeconds: 1_950, feeds: ['WETH/USDC'] },
    },
  },
}

/** Timeline of the records after the first two, as an operator reads it. */
function timeline(
  events: readonly JournalEvent[],
  known: readonly Token[] = [],
  /** Time between two records. */
  everyMs = 1,
): readonly string[] {
  const state = emptyState()
  const records = [BOUND, scheduled(), ...events].map((event, index) => {
    const atMs = SLOT * 1_000 + index * everyMs
    const record: JournalRecord = { seq: index + 1, atMs, event, prev: '0x', hash: '0x' }
    return reduceRecorded(state, event, record)
  })
  return timelineOf(records.slice(2), known).flatMap(({ title, messages: sentences }) => [
    title,
    ...sentences.map((each) => `  ${each}`),
  ])
}

const OPENED = { ...opened(intent), inputs: INPUTS }
const PERMIT: EventOf<'permit-recorded'> = {
  ...{ type: 'permit-recorded', intentId: intent.id },
  permit: {
    ...permitFor(intent),
    ...{ feed: { num: 4_150n, den: 10n ** 12n }, fee: baseUnits(12_450n) },
  },
}
const ORDER =
  'Order weekly-eth:2000:0: sell 25 USDC for WETH, slippage at most 0.3 %, not above 4,200 USDC per WETH.'

/** Ends an order and its slot with the same outcome. */
function ended(
  outcome: 'refused' | 'failed' | 'expired',
  reason: EventOf<'slot-closed'>['reason'],
  detail: string,
): readonly JournalEvent[] {
  const end = { outcome, reason, detail }
  return [
    { type: 'intent-closed', intentId: intent.id, ...end },
    { type: 'slot-closed', strategy: STRATEGY, slotSeconds: SLOT, ...end },
  ]
}

test('time without a record before something is signed is accounted for, and only that', () => {
  const texts = timeline([OPENED, PERMIT, ...filledSlot(SLOT).slice(2)], [], 107_000)
  expect(texts.filter((text) => text.startsWith('  No record'))).toEqual([
    '  No record for 1m 47s: nothing was signed. It waited for a quote, a node or its turn, or the daemon was down; the log of that time says which.',
  ])
  expect(texts.findIndex((text) => text.startsWith('  No record'))).toBe(
    texts.findIndex((text) => text.startsWith('attempt 1 recorded')) + 1,
  )
  const retried = timeline(
    [
      ...[OPENED, PERMIT, { ...own, type: 'authorization-withdrawn', reason: 'quote-stale' }],
      { ...PERMIT, permit: { ...permitFor(intent, 2) } },
    ] as JournalEvent[],
    [],
    10_000,
  )
  expect(retried.filter((text) => text.startsWith('  No record for 10s'))).toHaveLength(2)
})

test('a filled swap shows its prices, checks, outcome and fill price', () => {
  const [, , ...rest] = filledSlot(SLOT)
  const final = { type: 'fills-final', orders: [`${intent.id}:1`], blockNumber: 13_000n } as const
  expect(timeline([OPENED, PERMIT, ...rest, final])).toEqual([
    'opened in time, 1 order',
    `  ${ORDER}`,
    '  Price by WETH/USDC: 4,100 USDC per WETH, 40 s old.',
    '  Read at block 77, 00:33:10 UTC; free balances: 1,000 USDC, 0.3 ETH.',
    'attempt 1 recorded, ready to sign, valid until 1970-01-01T00:43:20Z',
    `  Checked: it sells at most 25 USDC for at least 0.006 WETH, to ${intent.recipient}, with spender ${PERMIT.permit.spender}.`,
    '  By the feeds when it was signed: 4,150 USDC per WETH.',
    '  The quote names a fee of 0.01245 USDC, which its price includes.',
    'attempt 1 accepted as order-2000',
    'filled: 24.9 USDC for 0.0061 WETH, 166.66 bps better than the feed',
    '  Price: 4,081.96 USDC per WETH.',
    `  Proven by transfers in block 12350, transaction ${fill.txHash}.`,
    'filled',
    'final by block 13000',
  ])
})

test('an order triggered by a price names its trigger, and the purchases it sells with their entry price', () => {
  const level = { num: 3_696n, den: 10n ** 12n }
  const sale: SwapIntent = {
    ...{ ...intent, sell: intent.buy, buy: intent.sell, maxSell: baseUnits(10n ** 16n) },
    size: { side: 'sell', amount: baseUnits(10n ** 16n) },
    price: { min: undefined, max: undefined },
    trigger: {
      ...{ pair: 'WETH/USDC', base: weth, quote: usdc, atLeast: level, atMost: undefined },
      rungs: ['gain 10%'],
    },
    entry: { of: 'weekly-eth', paidIn: usdc },
  }
  const entry = {
    ...{ of: 'weekly-eth', bought: weth, amount: 25n * 10n ** 15n },
    ...{ paidIn: usdc, cost: 84_000_000n },
  }
  const texts = timeline([{ ...opened(sale), inputs: { ...INPUTS, entry } }])
  expect(texts.slice(2, 4)).toEqual([
    '  Set off by gain 10%: WETH/USDC at least 3,696.',
    '  It sells WETH that weekly-eth has bought, and no other.',
  ])
  expect(texts).toContain(
    '  Entry: weekly-eth holds 0.025 WETH that it has bought, at 3,360 USDC per WETH on average.',
  )
  const nothing = { ...INPUTS, entry: { ...entry, amount: 0n, cost: 0n } }
  expect(timeline([{ ...opened(sale), inputs: nothing }])).toContain(
    '  Entry: weekly-eth holds no WETH that it has bought.',
  )
  const older = { ...sale, trigger: sale.trigger && { ...sale.trigger, rungs: undefined } }
  expect(timeline([opened(older)])).toContain('  Set off by WETH/USDC at least 3,696.')
})

test('native ETH is named ETH, and an exact output names its maximum input', () => {
  const native = { ...intent, sell: { token: weth, native: true }, buy: intent.sell }
  const amount = baseUnits(10n ** 16n)
  const sale: SwapIntent = {
    ...{ ...native, maxSell: amount, size: { side: 'sell', amount } },
    price: { min: { num: 10n ** 12n, den: 4_200n }, max: undefined },
  }
  expect(timeline([opened(sale)])[1]).toBe(
    '  Order weekly-eth:2000:0: sell 0.01 ETH for USDC, slippage at most 0.3 %, not above 4,200 USDC per WETH.',
  )
  const exact: SwapIntent = {
    ...{ ...intent, buy: { token: weth, native: true }, size: { side: 'buy', amount } },
    price: { min: undefined, max: undefined },
  }
  expect(timeline([opened(exact)])[1]).toBe(
    '  Order weekly-eth:2000:0: buy 0.01 ETH with USDC, at most 25 USDC, slippage at most 0.3 %.',
  )
})

test('a call shows its target, value, gas, execution and cost', () => {
  const value = baseUnits(10n ** 15n)
  const call = { ...callIntentOf(SLOT), value }
  const record = callFor(call, { attempt: 1, nonce: 4n })
  const costs = { charged: 2n * 10n ** 15n, direct: 3n * 10n ** 15n }
  const execution = { ...executionOf(call), costs }
  expect(
    timeline([
      opened(call),
      { type: 'call-recorded', intentId: call.id, call: record },
      { type: 'call-signed', ...own, hash: bytes32(5) },
      { type: 'call-proven', ...own, execution },
    ]),
  ).toEqual([
    'opened in time, 1 order',
    '  Order weekly-eth:2000:0: call poke(), carrying 0.001 ETH, gas limit 90000.',
    'attempt 1 recorded, ready to sign, valid until 1970-01-01T00:43:20Z',
    `  Checked: it calls ${call.target} with 0.001 ETH, only with nonce 4 of the account.`,
    '  Simulated: 60000 gas if sent directly; its gas limit is 90000.',
    'attempt 1 signed, with its transaction for the service',
    `  Transaction ${bytes32(5)}.`,
    'executed: poke() (aggregated), charged 0.002 ETH, saved 0.001 ETH against direct',
    `  In block 12350, transaction ${execution.txHash}.`,
  ])
})

describe('a slot without an order', () => {
  const DETAIL =
    'the price is 4,100 USDC per WETH, and price.max says not above 4,000 USDC per WETH'
  const skipped: EventOf<'slot-closed'> = {
    ...{ type: 'slot-closed', strategy: STRATEGY, slotSeconds: SLOT, outcome: 'skipped' },
    ...{ reason: 'price-outside-bounds', detail: DETAIL, inputs: INPUTS },
  }

  test('states its reason, the remedy, and the market snapshot', () => {
    expect(timeline([skipped], [usdc, weth])).toEqual([
      'skipped: price-outside-bounds',
      `  The price is outside its bounds: ${DETAIL}.`,
      '  What to do: wait for the price, or change price.min and price.max.',
      '  Price by WETH/USDC: 4,100 USDC per WETH, 40 s old.',
      '  Read at block 77, 00:33:10 UTC; free balances: 1,000 USDC, 0.3 ETH.',
    ])
  })

  test('shows no amount in base units if its token is unknown', () => {
    const [, , , price, snapshot] = timeline([skipped])
    expect(price).toBe('  A price of USDC/WETH by WETH/USDC, 40 s old.')
    expect(snapshot).toMatch(/free balances: an amount of USDC, 0\.3 ETH\.$/)
  })

  test('states why a price was refused', () => {
    const inputs = { ...INPUTS, prices: { 'USDC/WETH': { refused: 'price-stale' } } }
    expect(timeline([{ ...skipped, reason: 'price-stale', detail: undefined, inputs }])).toEqual([
      'skipped: price-stale',
      '  The price is too old.',
      "  What to do: wait for the feed's update; its maxAge must be longer than its heartbeat.",
      '  No price of USDC/WETH: the price is too old.',
      '  Read at block 77, 00:33:10 UTC; free balances: an amount of USDC, 0.3 ETH.',
    ])
  })

  const missed = {
    ...({ type: 'slots-missed', strategy: STRATEGY } as const),
    ...{ firstSeconds: SLOT, lastSeconds: SLOT + 60, count: 2 },
  }

  test('that was missed states what the daemon recorded about it', () => {
    const detail = 'chain base could not be read; `missed: latest` runs only the newest slot'
    expect(timeline([{ ...missed, detail }])[1]).toBe(
      '  Chain base could not be read; `missed: latest` runs only the newest slot.',
    )
  })

  test('that an older version missed states what the cause may be', () => {
    expect(timeline([missed])).toEqual([
      '2 slots missed',
      '  The daemon did not run, was too slow or could not read its chain, and the strategy file does not run missed slots later.',
      '  What to do: keep the daemon running and its nodes reachable; schedule.missed sets which slots it runs later.',
    ])
  })
})

test('a refusal states its reason and remedy once for the order and its slot', () => {
  expect(timeline([opened(intent), ...ended('refused', 'price-deviation', '3 % off')])).toEqual([
    'opened in time, 1 order',
    `  ${ORDER}`,
    'refused to sign: price-deviation',
    '  The quote is too far from the independent price: 3 % off.',
    '  What to do: raise limits.maxDeviationBps, or wait until the market is closer to the feed.',
    'refused: price-deviation',
  ])
})

test("an expired order shows the service's message and the time after which it cannot execute", () => {
  const lines = timeline([
    ...[opened(intent), PERMIT],
    { type: 'order-accepted', ...own, orderId: 'o-1' },
    { type: 'order-ended', ...own, status: 'expired', message: 'no solver' },
    { type: 'authorization-dead', ...own, how: 'expired', blockNumber: 9n, blockTimeSeconds: 9 },
    ...ended('expired', 'order-expired', 'no solver'),
  ])
  expect(lines.slice(-8)).toEqual([
    'the service says that attempt 1 is expired',
    '  The service says: no solver',
    'attempt 1 can no longer execute: expired',
    '  By block 9.',
    'not filled: order-expired',
    '  The order was not settled in time: no solver.',
    '  What to do: no action needed; if it happens often, raise slippageBps.',
    'expired: order-expired',
  ])
})

test('a reorganisation appears between the removed fill and its outcome', () => {
  const lines = timeline([
    ...filledSlot(SLOT),
    { type: 'fill-reopened', ...own, blockNumber: 12_350n, blockHash: bytes32(2) },
    { type: 'authorization-dead', ...own, how: 'expired', blockNumber: 9n, blockTimeSeconds: 9 },
    ...ended('failed', 'fill-reverted', ''),
  ])
  expect(lines.slice(-8)).toEqual([
    'filled',
    'a reorganisation at block 12350 removed the fill',
    'attempt 1 can no longer execute: expired',
    '  By block 9.',
    'not filled: fill-reverted',
    '  The chain reverted its fill, and it was not filled again.',
    '  What to do: no action needed.',
    'failed: fill-reverted',
  ])
})

test('wallet transactions state their purpose and amount', () => {
  const id = `${intent.id}:wrap`
  const transaction: TransactionRecord = {
    ...{ id, intentId: intent.id, chainId: 8453, from: intent.owner, nonce: 3 },
    ...{ to: weth.address, data: '0xd0e30db0', value: 10n ** 16n, gas: 50_000n },
    ...{ purpose: 'wrap', maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
  }
  const ends = {
    status: 'mined',
    hash: bytes32(8),
    blockNumber: 9n,
    fee: 21n * 10n ** 13n,
  } as const
  const lines = timeline([
    opened(intent),
    { type: 'transaction-recorded', transaction },
    { type: 'transaction-ended', id, ...ends },
  ])
  expect(lines.slice(2)).toEqual([
    'own transaction (wrap) recorded',
    '  It turns ETH into WETH; nonce 3, with 0.01 ETH.',
    'own transaction (wrap) mined, it cost 0.00021 ETH',
    `  Transaction ${bytes32(8)}.`,
  ])
})

const HEX: RegExp = /0x[0-9a-f]+/g
/** Amounts in the records of a random daemon that must appear only in whole tokens. */
const BASE_UNITS = [25_000_000n, 24_900_000n, 6_100_000_000_000_000n, 10n ** 18n]

test('every timeline text of a random daemon is a sentence without base units or missing values', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 30, maxLength: 60 }), (choices) => {
      const state = emptyState()
      const records = choices.flatMap((choice, index) => {
        const events = legalEvents(state, 1_000 + index)
        const event = events[choice % events.length]
        if (event === undefined) return []
        const hash: Hex = '0x'
        const record = { seq: index + 1, atMs: (1_000 + index) * 1_000, event, prev: hash, hash }
        return [reduceRecorded(state, event, record)]
      })
      for (const { record, messages: sentences } of timelineOf(records, [])) {
        if (sentences.length > 0) seen.add(record.event.type)
        for (const text of sentences) {
          expect(text).toMatch(/^[A-Z][^\n]+$/)
          expect(text).not.toMatch(/undefined|null|NaN|\[object/)
          const withoutHashes = text.replaceAll(HEX, '')
          for (const amount of BASE_UNITS) expect(withoutHashes).not.toContain(`${amount}`)
        }
      }
    }),
    { numRuns: 200 },
  )
  expect(seen.size).toBeGreaterThan(10)
})

test('an exposure without a fill states its maximum amount', () => {
  expect(timeline([opened(intent), exposed(intent)]).slice(-2)).toEqual([
    `  Checked: it sells at most 25 USDC for at least 0.006 WETH, to ${intent.recipient}, with spender ${permitFor(intent).spender}.`,
    '  No feed gave a price when it was signed.',
  ])
})
