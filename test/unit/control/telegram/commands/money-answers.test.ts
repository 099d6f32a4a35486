import { expect, test } from 'vitest'
import {
  createMoneyAnswers,
  type MoneyInput,
} from '../../../../../src/control/telegram/commands/money-answers.ts'
import { NO_CAPS } from '../../../../../src/domain/strategy.ts'
import {
  type JournalEvent,
  type JournalRecord,
  postingOf,
  reduce,
  reduceRecorded,
} from '../../../../../src/journal/events/registry.ts'
import type { Posted } from '../../../../../src/journal/segment-summary.ts'
import { emptyState } from '../../../../../src/journal/state/state-image.ts'
import { createAccountWatch } from '../../../../../src/observe/notify/digest/digest-figures.ts'
import {
  BOUND,
  bytes32,
  filledSlot,
  intentOf,
  scheduled,
} from '../../../../support/state/journal-events.ts'

const DAY_MS = 86_400_000
const NOON = Date.UTC(2026, 0, 6, 12)
const { token: USDC } = intentOf(1).sell
const { token: WETH } = intentOf(1).buy

/** Answers over a journal in memory, at noon of 6 January. */
function rigOf(days: readonly (readonly [atMs: number, ...events: JournalEvent[]])[]) {
  const state = emptyState()
  const records: JournalRecord[] = []
  for (const [atMs, ...events] of days)
    for (const event of events) {
      reduce(state, event, atMs)
      records.push({ seq: records.length + 1, atMs, event, prev: bytes32(1), hash: bytes32(2) })
    }
  const watch = createAccountWatch()
  const limits = {
    perOrder: NO_CAPS,
    perHour: NO_CAPS,
    perDay: NO_CAPS,
    perWeek: NO_CAPS,
    total: NO_CAPS,
  }
  const daemon = {
    state,
    strategies: () => [],
    account: limits as unknown as Parameters<typeof watch.status>[0]['account'],
    tokens: [USDC, WETH],
  }
  const abort = new AbortController()
  let rests = 0
  const input: MoneyInput = {
    journal: {
      state,
      async *records() {
        yield* records
      },
    },
    readPosted: (task) => task(postedIn(records)),
    status: () => watch.status(daemon, NOON),
    fills: async () => [],
    valueToken: USDC,
    wallet: 'trader',
    timezone: 'UTC',
    clock: {
      now: () => NOON,
      async sleep() {
        rests += 1
      },
    },
    signal: abort.signal,
  }
  return { input, watch, abort, money: createMoneyAnswers(input), rests: () => rests }
}

async function* postedIn(records: readonly JournalRecord[]): AsyncGenerator<Posted> {
  const state = emptyState()
  for (const record of records) {
    const posting = postingOf(reduceRecorded(state, record.event, record))
    if (posting !== undefined) yield [record.seq, posting]
  }
}

const DAYS = [
  [NOON - 9 * DAY_MS, BOUND, scheduled(), ...filledSlot(1_500)],
  [NOON - DAY_MS, ...filledSlot(2_000)],
  [NOON - 3_600_000, ...filledSlot(2_001), ...filledSlot(2_002)],
] as const

test('/daily shows what today traded, and the last days with one line each', async () => {
  const { money } = rigOf(DAYS)
  expect((await money.daily()).split('\n')).toEqual([
    'Today (UTC): 2 fills',
    'weekly-eth: 2 fills, sold 49.8 USDC, bought 0.0122 WETH, 4,081.96 USDC per WETH on average',
    'spent 49.8 USDC',
    '',
    'Days before:',
    '2026-01-05: 1 fill; spent 24.9 USDC',
  ])
})

test('/daily of a day without trades says so', async () => {
  const { money } = rigOf([[NOON - 9 * DAY_MS, BOUND, scheduled()]])
  expect(await money.daily()).toBe('Today (UTC): nothing was traded')
})

test('/profit shows realised profit by strategy, and unrealised profit as valued last', async () => {
  const { money, watch } = rigOf(DAYS)
  expect((await money.profit()).split('\n').slice(0, 5)).toEqual([
    'Realised 0 USDC',
    'Unrealised unknown: a price is missing',
    '',
    'Realised by strategy:',
    'weekly-eth: 0 USDC',
  ])
  watch.observe({
    ...{ type: 'profit', days: [], valueToken: USDC, held: [], cost: 6_000_000_000n },
    ...{
      realised: 0n,
      unrealised: 1_400_000_000n,
      proceedsOfUnknownCost: 0n,
      strategies: new Map(),
    },
  })
  expect(await money.profit()).toContain('Unrealised +1,400 USDC; holdings cost 6,000 USDC')
})

test('/profit without a price feed says why it is unknown', async () => {
  const { input } = rigOf(DAYS)
  expect(await createMoneyAnswers({ ...input, valueToken: undefined }).profit()).toBe(
    'Profit is unknown: the config has no price feed.',
  )
})

test('/balance shows holdings with their value, other wallets, and the GasTank', () => {
  const { money, watch } = rigOf(DAYS)
  expect(money.balance()).toBe('No balance was read yet.')
  const known = { pricedAtSeconds: undefined, price: undefined }
  watch.observe({
    type: 'portfolio',
    valueToken: USDC,
    holdings: [
      {
        ...known,
        token: 'USDC',
        decimals: 6,
        address: USDC.address,
        amount: 12_345_670_000n,
        value: 12_345_670_000n,
      },
      {
        ...known,
        token: 'WETH',
        decimals: 18,
        address: WETH.address,
        amount: 10n ** 18n,
        value: 3_000_000_000n,
      },
    ],
  })
  watch.observe({
    type: 'wallet-balance',
    wallet: 'trader',
    token: 'USDC',
    amount: 1n,
    decimals: 6,
  })
  watch.observe({
    type: 'wallet-balance',
    wallet: 'operator',
    token: 'ETH',
    amount: 10n ** 17n,
    decimals: 18,
  })
  watch.observe({
    ...{ type: 'gas-tank', account: 'operator', balance: 5n * 10n ** 16n, outstanding: 10n ** 16n },
    ...{ runwaySeconds: 12 * 86_400, alertBelow: undefined, isLow: true },
  })
  expect(money.balance().split('\n')).toEqual([
    'Wallet trader: 15,345.67 USDC in all',
    '  12,345.67 USDC',
    '  1 WETH (3,000 USDC)',
    'Wallet operator: 0.1 ETH',
    'GasTank: 0.04 ETH, lasts 12d, LOW',
  ])
})

test('/fills shows the newest fills, one per line', async () => {
  const { input } = rigOf([])
  const row = {
    ...{ intentId: 'weekly-eth:1:0', slotSeconds: 1, atMs: NOON, venue: 'gasless', paper: false },
    ...{
      call: null,
      vsFeedBps: null,
      charged: null,
      txHash: null,
      explorerUrl: null,
      undone: false,
    },
  }
  const sold = { amount: '12500.5', token: 'USDC' }
  const bought = { amount: '3.123456789', token: 'WETH' }
  const fills = async () => [
    { ...row, strategy: 'weekly-eth', sold, bought },
    { ...row, strategy: 'claim', sold: null, bought: null, call: 'claim()', undone: true },
  ]
  expect(await createMoneyAnswers({ ...input, fills }).fills(2)).toBe(
    [
      'Newest fills (UTC):',
      '01-06 12:00 weekly-eth: 12,500.5 USDC -> 3.12345 WETH',
      '01-06 12:00 claim: claim() (reverted by the chain)',
    ].join('\n'),
  )
})

test('a long journal is read in slices, and closing ends the read', async () => {
  const many = Array.from({ length: 4_000 }, (_, at) => filledSlot(10_000 + at)).flat()
  const { money, rests, abort } = rigOf([[NOON - DAY_MS, BOUND, scheduled(), ...many]])
  const text = await money.daily()
  expect(text).toContain('2026-01-05: 4000 fills')
  expect(text.length).toBeLessThan(4_096)
  expect(rests()).toBeGreaterThan(1)
  abort.abort(new Error('closed'))
  await expect(money.profit()).rejects.toThrow('closed')
})
