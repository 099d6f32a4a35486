import { expect, test } from 'vitest'
import { type BaseUnits, baseUnits } from '../../../src/domain/money/units.ts'
import type { Verdict } from '../../../src/domain/order/manual-resolution.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { createObserver } from '../../../src/observe/observe.ts'
import { captureLog } from '../../support/capture-log.ts'
import { noticesOfAny } from '../../support/notify/observations.ts'
import {
  closed,
  executed,
  filled,
  filledOnPaper,
  type Happened,
  happened,
  isHappened,
  onRecord,
  tokenOf,
} from '../../support/state/happened.ts'
import { exposed, intentOf, opened } from '../../support/state/journal-events.ts'

const SLOT = 1_700_000_000
const HASH = `0x${'ab'.repeat(32)}` as const
const usdc = tokenOf('USDC', 6)
const weth = tokenOf('WETH', 18)
const CONTEXT = {
  timezone: 'UTC',
  swapChain: { name: 'base', explorer: undefined },
  callChain: undefined,
}
const order = { strategy: 'weekly-eth', slotSeconds: SLOT }
const intent = intentOf(SLOT, 'weekly-eth')
const own = { intentId: intent.id, attempt: 1 } as const
const subject = { strategy: 'weekly-eth', intentId: `weekly-eth:${SLOT}:0` } as const

function fill(paid: bigint, received: bigint): Happened {
  const swap = { ...order, sell: usdc, buy: weth, paid, received, vsFeedBps: undefined }
  return filled({ ...swap, txHash: HASH, durationMs: 1_400 })
}

async function rig(level = 'info') {
  const captured = await captureLog({ level })
  const metrics = createMetrics({ version: '1' })
  const notices: { readonly event: string; readonly details?: object }[] = []
  const observer = createObserver({ log: captured.log, metrics })
  const observe = (observation: RuntimeEvent | Happened): void => {
    if (isHappened(observation))
      observer.recorded(onRecord(observation, { seq: 1, atMs: SLOT * 1_000 + 2 }))
    else observer.observe(observation)
    for (const { event, strategy, intentId, sentence } of noticesOfAny(observation, CONTEXT))
      notices.push({
        event,
        ...sentence,
        ...(strategy && { strategy }),
        ...(intentId && { intentId }),
      })
  }
  return { observe, metrics, notices, ...captured }
}

test('a fill is one readable line with exact amounts in its fields', async () => {
  const { observe, lines, notices } = await rig()
  observe(fill(25_000_000n, 9_980_123_456_789_012n))
  expect(lines()).toEqual([
    expect.objectContaining({
      level: 'info',
      msg: 'filled weekly-eth: 25 USDC -> 0.00998012 WETH in 1.4 s',
      event: 'filled',
      ...subject,
      venue: 'gasless',
      paid: '25',
      received: '0.009980123456789012',
      txHash: HASH,
    }),
  ])
  expect(notices).toEqual([
    {
      event: 'filled',
      text: 'filled weekly-eth: 25 USDC -> 0.00998012 WETH in 1.4 s',
      ...subject,
      details: expect.objectContaining({ paid: '25', received: '0.009980123456789012' }),
    },
  ])
})

test.each([
  [1_234_567_891_234n, '1,234,567.89 USDC'],
  [123_456n, '0.123456 USDC'],
  [1_999_999n, '1.99999 USDC'],
  [1n, '0.000001 USDC'],
  [0n, '0 USDC'],
])('%s base units are truncated, never rounded up', async (paid, shown) => {
  const { observe, lines } = await rig()
  observe(fill(paid, 10n ** 18n))
  expect(lines()[0]?.['msg']).toContain(`: ${shown} -> 1 WETH`)
})

test('a fill counts once for its strategy and venue, and sets the time of the last fill', async () => {
  const { observe, metrics } = await rig()
  metrics.registerStrategies([{ name: 'weekly-eth' }])
  const before = Date.now() / 1_000
  observe(fill(1n, 1n))
  const text = await metrics.render()
  expect(text).toContain('tranched_fills_total{strategy="weekly-eth",venue="gasless"} 1')
  expect(text).toContain('tranched_order_duration_seconds_sum{venue="gasless"} 1.4')
  const [, at] =
    /tranched_last_fill_timestamp_seconds{strategy="weekly-eth"} ([\d.]+)/.exec(text) ?? []
  expect(Number(at)).toBeGreaterThanOrEqual(Math.floor(before))
  expect(Number(at)).toBeLessThanOrEqual(Date.now() / 1_000)
})

test('refusals and failures carry their reason to log, metric and webhook', async () => {
  const { observe, metrics, lines, notices } = await rig()
  const refused = { outcome: 'refused', reason: 'digest-mismatch' } as const
  observe(closed({ ...order, ...refused, detail: '0x1 is not 0x2' }))
  const failed = { outcome: 'failed', reason: 'insufficient-gas' } as const
  observe(closed({ ...order, ...failed, detail: 'wallet is empty' }))
  const text = await metrics.render()
  expect(text).toContain(
    'tranched_refusals_total{strategy="weekly-eth",reason="digest-mismatch"} 1',
  )
  expect(text).toContain(
    'tranched_failures_total{strategy="weekly-eth",venue="gasless",reason="insufficient-gas"} 1',
  )
  expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'refused weekly-eth: digest-mismatch, 0x1 is not 0x2'],
    ['error', 'failed weekly-eth: insufficient-gas, wallet is empty'],
  ])
  expect(notices.map(({ event }) => event)).toEqual(['refused', 'failed', 'low-funds'])
})

test('a blocked top-up is a warning and a notification, and an indexed deposit is a log line', async () => {
  const { observe, lines, notices } = await rig()
  observe({ type: 'top-up-barred', account: 'operator', message: 'no GasTank answers at 0x01' })
  observe(happened({ type: 'deposit-indexed', id: 'deposit:0x01:3' }, { amount: 5n * 10n ** 16n }))
  const text = 'the GasTank of operator is not topped up: no GasTank answers at 0x01'
  expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', text],
    ['info', 'the service has the deposit of 0.05 ETH'],
  ])
  expect(notices).toEqual([{ event: 'low-funds', text, details: { account: 'operator' } }])
})

test('a run of missed slots counts each slot and is one notification', async () => {
  const { observe, metrics, lines, notices } = await rig()
  const run = { firstSeconds: SLOT, lastSeconds: SLOT + 11 * 60, count: 12 }
  observe(happened({ type: 'slots-missed', strategy: 'weekly-eth', ...run }))
  const text = await metrics.render()
  expect(text).toContain('tranched_slots_total{strategy="weekly-eth",outcome="missed"} 12')
  expect(lines()[0]).toMatchObject({
    level: 'warn',
    msg: 'missed weekly-eth 12 slots from 2023-11-14T22:13:20.000Z to 2023-11-14T22:24:20.000Z',
    slotSeconds: SLOT + 11 * 60,
  })
  const details = { slotSeconds: SLOT + 11 * 60, reason: 'missed', count: 12 }
  expect(notices).toEqual([expect.objectContaining({ event: 'missed', details })])
})

test('a paper fill is marked in the log and in the notification', async () => {
  const { observe, lines, notices } = await rig()
  const moved = { paid: '25 USDC', received: '0.01 WETH' }
  const swap = { ...order, sell: usdc, buy: weth, paid: 1n, received: 1n, vsFeedBps: undefined }
  observe(filledOnPaper({ ...swap, moved, durationMs: 300 }))
  expect(lines()[0]).toMatchObject({ event: 'paper-filled', paper: true, durationMs: 300 })
  expect(notices[0]?.details).toEqual({ venue: 'gasless', paper: 'yes' })
})

test('a strategy without a next slot has no next-slot series', async () => {
  const { observe, metrics } = await rig()
  const scheduled = {
    type: 'next-slot',
    strategy: 'weekly-eth',
    lastFillAtMs: undefined,
    paused: false,
    held: false,
  } as const
  observe({ ...scheduled, nextSlotSeconds: SLOT })
  observe({ ...scheduled, nextSlotSeconds: undefined })
  expect(await metrics.render()).not.toContain('tranched_next_slot_timestamp_seconds{')
})

test('a schedule exposes the times of its next slot and last fill, after a restart too', async () => {
  const { observe, metrics } = await rig()
  observe({
    type: 'next-slot',
    strategy: 'weekly-eth',
    nextSlotSeconds: SLOT + 60,
    paused: false,
    held: false,
    lastFillAtMs: SLOT * 1_000,
  })
  const text = await metrics.render()
  expect(text).toContain(`tranched_next_slot_timestamp_seconds{strategy="weekly-eth"} ${SLOT + 60}`)
  expect(text).toContain(`tranched_last_fill_timestamp_seconds{strategy="weekly-eth"} ${SLOT}`)
})

test('skipped slots are logged at info, and notified only for missing funds or a halt', async () => {
  const { observe, lines, notices } = await rig()
  const skip = { type: 'slot-closed', ...order, outcome: 'skipped' } as const
  observe(happened({ ...skip, reason: 'price-outside-bounds', detail: '4100 above 4000' }))
  observe(happened({ ...skip, reason: 'insufficient-balance' }))
  observe(happened({ ...skip, reason: 'halted' }))
  expect(lines().map(({ level }) => level)).toEqual(['info', 'info', 'info'])
  expect(lines()[0]?.['msg']).toBe(
    'skipped weekly-eth 2023-11-14T22:13:20.000Z (price-outside-bounds): 4100 above 4000',
  )
  expect(notices.map(({ event }) => event)).toEqual(['low-funds', 'halted'])
})

test('requests are measured, and logged only at debug', async () => {
  const request = {
    type: 'request',
    service: 'gasless',
    route: 'quote',
    status: '200',
    durationMs: 12,
  } as const
  const quiet = await rig('info')
  quiet.observe(request)
  expect(quiet.lines()).toEqual([])
  expect(await quiet.metrics.render()).toContain(
    'tranched_requests_total{service="gasless",route="quote",status="200"} 1',
  )
  const loud = await rig('debug')
  loud.observe(request)
  expect(loud.lines()[0]).toMatchObject({ level: 'debug', msg: 'gasless quote: 200 in 12.0 ms' })
})

test('retries count by service, route and cause', async () => {
  const { observe, metrics } = await rig()
  const retries = [
    ['gasless', 'submit', 'unavailable'],
    ['gasless', 'submit', 'unavailable'],
    ['gasless', 'poll', 'notFound'],
    ['rpc', 'view', 'unavailable'],
    ['aggregator', 'sendRawTransaction', 'rateLimited'],
  ] as const
  for (const [service, route, cause] of retries) observe({ type: 'retry', service, route, cause })
  const text = await metrics.render()
  const samples = text.split('\n').filter((line) => line.startsWith('tranched_retries_total{'))
  expect(samples).toEqual([
    'tranched_retries_total{service="gasless",route="submit",cause="unavailable"} 2',
    'tranched_retries_total{service="gasless",route="poll",cause="notFound"} 1',
    'tranched_retries_total{service="rpc",route="view",cause="unavailable"} 1',
    'tranched_retries_total{service="aggregator",route="sendRawTransaction",cause="rateLimited"} 1',
  ])
})

test('ids in a route or status never become label values', async () => {
  const { observe, metrics } = await rig()
  for (let id = 0; id < 50; id += 1)
    observe({
      type: 'request',
      service: 'rpc',
      route: `orders/${id}-${HASH}`,
      status: `0x${id}`,
      durationMs: 1,
    })
  expect(await metrics.render()).toContain(
    'tranched_requests_total{service="rpc",route="other",status="other"} 50',
  )
})

test.each([
  [
    'spread',
    /are not sold, and no slice is left; `tranched trigger slices` sells it now$/,
    ['unsold'],
  ],
  ['drop', /are not sold, which `unsold: drop` gives up$/, []],
] as const)(
  'a TWAP that ended short is a warning, and under %s its notifications follow the rule',
  async (rule, text, events) => {
    const { observe, metrics, notices, lines } = await rig()
    const amounts = { token: usdc, total: baseUnits(60_000_007n), unsold: 1_500_000n }
    const program = { strategy: 'slices', slotSeconds: SLOT, program: 'one' }
    observe(happened({ type: 'program-ended', ...program, ...amounts, rule }))
    expect(lines()).toEqual([
      expect.objectContaining({ level: 'warn', msg: expect.stringMatching(text), unsold: '1.5' }),
    ])
    expect(lines()[0]?.['msg']).toContain('1.5 of 60.000007 USDC')
    expect(notices.map(({ event }) => event)).toEqual(events)
    const unsold = { type: 'unsold', strategy: 'slices', token: 'USDC', decimals: 6 } as const
    observe({ ...unsold, amount: 1_500_000n })
    expect(await metrics.render()).toContain('tranched_unsold{strategy="slices",token="USDC"} 1.5')
  },
)

test('an unread balance has no gauge, neither 0 nor the previous value', async () => {
  const { observe, metrics } = await rig()
  const balance = { type: 'wallet-balance', wallet: 'trader', token: 'USDC', decimals: 6 } as const
  observe({ ...balance, amount: 5_000_000n })
  expect(await metrics.render()).toContain('tranched_wallet_balance{wallet="trader"')
  observe({ ...balance, amount: undefined })
  expect(await metrics.render()).not.toContain('tranched_wallet_balance{wallet="trader"')
})

test('balances are whole tokens as floats, and negative waits are zero', async () => {
  const { observe, metrics } = await rig()
  observe({
    type: 'wallet-balance',
    wallet: 'trader',
    token: 'USDC',
    amount: 1_234_500_000n,
    decimals: 6,
  })
  observe({ type: 'queue-wait', route: 'quote', waitMs: -5 })
  observe({ type: 'queue-depth', route: 'quote', depth: 3 })
  observe({ type: 'rate-limit', service: 'gasless', route: 'quote', remaining: 7 })
  observe({ type: 'journal-appended', records: 4, durationMs: 0.2 })
  observe({ type: 'open-orders', openPermits: 2, unresolvedIntents: 5 })
  const text = await metrics.render()
  for (const line of [
    'tranched_wallet_balance{wallet="trader",token="USDC"} 1234.5',
    'tranched_queue_wait_seconds_sum{route="quote"} 0',
    'tranched_queue_depth{route="quote"} 3',
    'tranched_ratelimit_remaining{service="gasless",route="quote"} 7',
    'tranched_journal_records_total 4',
    'tranched_open_permits 2',
    'tranched_unresolved_intents 5',
  ])
    expect(text).toContain(line)
})

test('a lasting failure causes one warning, and a different failure another', async () => {
  const { observe, lines } = await rig()
  for (let tick = 0; tick < 100; tick += 1)
    observe({ type: 'chain-trouble', doing: 'reading the market', message: `timeout ${tick}` })
  observe({ type: 'chain-trouble', doing: 'sending a transaction', message: 'timeout' })
  expect(lines().map(({ msg }) => msg)).toEqual([
    'chain failure while reading the market: timeout 0',
    'chain failure while sending a transaction: timeout',
  ])
})

function settled(verdict: Verdict, booked: bigint): Happened {
  const seen = { evidence: 'its nonce is used', blockNumber: 9n, blockTimeSeconds: 9 }
  return happened(
    { type: 'order-settled', ...own, ...seen, ...verdict },
    { intent, token: usdc, booked },
  )
}

const typeOf = (observation: RuntimeEvent | Happened): string =>
  isHappened(observation) ? observation.event.type : observation.type

const others: readonly (readonly [string, RuntimeEvent | Happened, string?])[] = [
  [
    `started in live mode: 3 strategies, wallet 0x${'11'.repeat(20)}, 1 open order to resolve`,
    {
      type: 'daemon-started',
      mode: 'live',
      owner: usdc.address,
      strategies: 3,
      openIntents: 1,
      halted: undefined,
    },
  ],
  [
    'stopping (SIGTERM), 1 open order',
    { type: 'daemon-stopping', cause: 'SIGTERM', openIntents: 1 },
  ],
  ['stopped, nothing left open', { type: 'daemon-stopped', openIntents: 0, mode: 'live' }],
  [
    'stopped with 1 open order; the next start resolves what is open',
    { type: 'daemon-stopped', openIntents: 1, mode: 'live' },
  ],
  [
    'stopped with 2 open orders; the sandbox ends with its chains, and the next start begins new ones',
    { type: 'daemon-stopped', openIntents: 2, mode: 'sandbox' },
  ],
  ['opened weekly-eth 2023-11-14T22:13:20.000Z: 1 intent', happened(opened(intent))],
  [
    `verified a quote for weekly-eth:${SLOT}:0`,
    {
      type: 'quote-verified',
      ...subject,
      sellAmount: 1n as BaseUnits,
      minAmountOut: 1n as BaseUnits,
      deadlineSeconds: SLOT,
    },
  ],
  [
    'placed weekly-eth: order o-1',
    happened({ type: 'order-accepted', ...own, orderId: 'o-1' }, { intent }),
  ],
  [
    'order of weekly-eth expired: too late',
    happened({ type: 'order-ended', ...own, status: 'expired', message: 'too late' }, { intent }),
  ],
  [
    `weekly-eth waits, until ${new Date(SLOT * 1_000).toISOString()} at most: quote-unavailable, no answer`,
    {
      type: 'order-waits',
      ...subject,
      reason: 'quote-unavailable',
      detail: 'no answer',
      startBeforeMs: SLOT * 1_000,
    },
  ],
  [
    'weekly-eth stopped waiting after 4.2 s (quote-unavailable)',
    { type: 'order-waited', ...subject, reason: 'quote-unavailable', waitedMs: 4_200 },
  ],
  [
    'outcome of weekly-eth unknown, resolving it: timeout',
    { type: 'order-unknown', ...subject, attempt: 1, message: 'timeout' },
  ],
  [
    'fill of weekly-eth not proven by the chain: no transfer',
    { type: 'proof-failed', ...subject, detail: 'no transfer' },
  ],
  [
    'permit of weekly-eth is dead (expired)',
    happened(
      { type: 'authorization-dead', ...own, how: 'expired', blockNumber: 9n, blockTimeSeconds: 9 },
      { intent, token: usdc, booked: 0n },
    ),
  ],
  [
    'an operator resolved weekly-eth: it executed in an unknown transaction; 25 USDC is recorded for it',
    settled({ as: 'executed', txHash: undefined }, 25_000_000n),
  ],
  [
    'an operator resolved weekly-eth: it did not execute; 0 USDC is recorded for it',
    settled({ as: 'dead' }, 0n),
  ],
  [
    'approve transaction of weekly-eth lost',
    happened(
      { type: 'transaction-ended', id: 'a', status: 'lost', hash: HASH, blockNumber: undefined },
      { intentId: intent.id, purpose: 'approve', status: 'lost', hash: HASH },
    ),
    'transaction',
  ],
  [
    'retrying gasless quote: rateLimited',
    { type: 'retry', service: 'gasless', route: 'quote', cause: 'rateLimited' },
  ],
  [
    'attempt 2 of weekly-eth was not signed: halted',
    happened({ type: 'authorization-withdrawn', ...own, attempt: 2, reason: 'halted' }, { intent }),
  ],
  [
    `recorded the authorization of weekly-eth:${SLOT}:0, attempt 1`,
    happened(exposed(intent), { intent }),
    'authorization-recorded',
  ],
  [
    'slots of weekly-eth count from 2023-11-14T22:13:20.000Z on',
    happened({
      ...{ type: 'strategy-scheduled', strategy: 'weekly-eth' },
      ...{ scheduleKey: 'x', fromSeconds: SLOT },
    }),
  ],
  [
    `closed weekly-eth:${SLOT}:0: skipped`,
    closed({ ...order, outcome: 'skipped', reason: 'cooldown' }),
  ],
  ['clock failure: 3 s ahead', { type: 'clock-trouble', detail: '3 s ahead' }],
]

test.each(others.map(([message, event, name = typeOf(event)]) => [message, event, name] as const))(
  'is logged as "%s"',
  async (message, event, name) => {
    const { observe, lines } = await rig('debug')
    observe(event)
    expect(lines()).toHaveLength(1)
    expect(lines()[0]).toMatchObject({ msg: message, event: name })
  },
)

test('a fault in a receiver is logged and never reaches the caller', async () => {
  const { log, lines } = await captureLog()
  const metrics = createMetrics({ version: '1' })
  metrics.fills.inc = () => {
    throw new Error('queue broken')
  }
  const { recorded } = createObserver({ log, metrics })
  expect(() => recorded(onRecord(fill(1n, 1n)))).not.toThrow()
  expect(lines().at(-1)).toMatchObject({
    level: 'error',
    msg: 'could not report filled',
    err: { message: 'queue broken' },
  })
})

test('an unknown event or an invalid number never reaches the caller', async () => {
  const { observe, lines } = await rig()
  observe({ type: 'from-the-future', amount: 1n } as unknown as RuntimeEvent)
  observe({ type: 'queue-wait', route: 'quote', waitMs: Number.NaN })
  expect(lines().map(({ msg }) => msg)).toEqual([
    'could not report from-the-future',
    'could not report queue-wait',
  ])
})

test('unknown funds have no gauge, and the log says why', async () => {
  const { observe, metrics, lines } = await rig()
  const account = 'operator'
  observe({
    type: 'gas-tank',
    account,
    balance: 5n,
    outstanding: 0n,
    runwaySeconds: 9,
    alertBelow: undefined,
    isLow: false,
  })
  expect(await metrics.render()).toContain('tranched_gastank_available_ether{account="operator"}')
  observe({ type: 'gas-tank-unknown', account, isLogin: true, message: 'bad signature' })
  const text = await metrics.render()
  expect(text).not.toMatch(/tranched_gastank_\w+_ether\{/)
  expect(text).not.toContain('resource="gastank"')
  expect(lines().at(-1)).toMatchObject({
    level: 'warn',
    msg: expect.stringMatching(/does not accept the login of its wallet: bad signature/),
  })
})

test.each([
  [
    { charged: 3n * 10n ** 13n, direct: 4n * 10n ** 13n },
    'charged 0.00003 ETH, saved 0.00001 ETH against direct',
  ],
  [
    { charged: 3n * 10n ** 13n, direct: 1n, saved: 0n, blob: 10n ** 13n },
    'charged 0.00003 ETH (0.00001 ETH of it for blobs), saved nothing against direct',
  ],
  [
    { charged: 10n ** 13n, direct: 10n ** 13n, fall: 2n * 10n ** 13n },
    'charged 0.00001 ETH, saved nothing against direct, although its funds fell by 0.00002 ETH',
  ],
  [{ charged: undefined, direct: 5n }, 'in 1.4 s'],
])('an executed call is logged with its cost: %o', async (costs, text) => {
  const { observe, lines } = await rig()
  const call = { label: 'claim()', txHash: HASH, costs, durationMs: 1_400 }
  observe(executed({ ...order, via: 'aggregated', ...call }))
  expect(lines()[0]?.['msg']).toMatch(new RegExp(`${text.replace(/[()]/g, '\\$&')}$`))
})

const REJECTED_CLAIM = {
  type: 'disbelieved',
  ...subject,
  service: 'gasless',
  what: 'filled',
  detail: 'the chain has its nonce unused',
  moneyWaits: false,
} as const

test('a rejected claim is counted each time, logged once a minute, and notified if money waits', async () => {
  const { observe, metrics, notices, lines } = await rig()
  const before = await metrics.render()
  expect(before).toContain('tranched_disbelieved_total{service="gasless",what="filled"} 0')
  expect(before).toContain('tranched_disbelieved_total{service="aggregator",what="login"} 0')
  observe(REJECTED_CLAIM)
  observe(REJECTED_CLAIM)
  expect(notices).toEqual([])
  observe({ ...REJECTED_CLAIM, moneyWaits: true })
  observe({ ...REJECTED_CLAIM, moneyWaits: true })
  expect(await metrics.render()).toContain(
    'tranched_disbelieved_total{service="gasless",what="filled"} 4',
  )
  expect(lines()).toHaveLength(1)
  expect(new Set(notices.map(({ event }) => event))).toEqual(new Set(['disbelieved']))
})

test('a refused login is counted as a rejected claim, and notified', async () => {
  const { observe, metrics, notices } = await rig()
  const refused = { type: 'gas-tank-unknown', account: 'operator', message: 'no' } as const
  observe({ ...refused, isLogin: false })
  for (let reads = 0; reads < 3; reads += 1) observe({ ...refused, isLogin: true })
  expect(await metrics.render()).toContain(
    'tranched_disbelieved_total{service="aggregator",what="login"} 3',
  )
  for (const notice of notices)
    expect(notice).toMatchObject({ event: 'low-funds', details: { account: 'operator' } })
})

test('costs and profit are gauges in the value token, and unknown figures have none', async () => {
  const { observe, metrics } = await rig()
  const profit = {
    type: 'profit',
    valueToken: usdc,
    cost: 20_000_000n,
    realised: -1_500_000n,
    proceedsOfUnknownCost: 0n,
    strategies: new Map(),
    days: [],
  } as const
  const held = {
    ...{ token: weth, amount: 10n ** 16n, ofUnknownCost: 0n, paidWith: [] },
    ...{ cost: 20_000_000n, value: 25_000_000n, profit: 5_000_000n },
  }
  observe({ ...profit, held: [held], unrealised: 5_000_000n })
  const text = await metrics.render()
  expect(text).toContain('tranched_cost_basis{token="WETH"} 20\n')
  expect(text).toContain('tranched_profit{kind="realised"} -1.5\n')
  expect(text).toContain('tranched_profit{kind="unrealised"} 5\n')
  observe({ ...profit, held: [], unrealised: undefined })
  const later = await metrics.render()
  expect(later).not.toContain('tranched_cost_basis{')
  expect(later).not.toContain('kind="unrealised"')
})
