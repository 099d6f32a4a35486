import type { Observation } from '../../../src/domain/observation.ts'
import { ETHER, type Token } from '../../../src/domain/token.ts'
import { baseUnits } from '../../../src/domain/units.ts'

/** Mon 5 Jan 2026, 08:00:00 UTC: a slot of the examples. */
export const SLOT = 1_767_600_000
export const AT_MS = SLOT * 1_000

export const HASH = `0x${'ab'.repeat(32)}` as const

export const USDC: Token = {
  symbol: 'USDC',
  chain: 'base',
  chainId: 8453,
  address: `0x${'11'.repeat(20)}`,
  decimals: 6,
}
export const WETH: Token = {
  ...USDC,
  symbol: 'WETH',
  address: `0x${'22'.repeat(20)}`,
  decimals: 18,
}

export const SUBJECT = { strategy: 'weekly-eth', intentId: `weekly-eth:${SLOT}:0` } as const
const CLAIM = { strategy: 'claim-weekly', intentId: `claim-weekly:${SLOT}:0` } as const

export const FILL = {
  type: 'filled',
  ...SUBJECT,
  venue: 'gasless',
  sell: USDC,
  buy: WETH,
  paid: baseUnits(25_000_000n),
  received: baseUnits(9_980_123_456_789_012n),
  vsFeedBps: 12.34,
  txHash: HASH,
  durationMs: 1_400,
} as const satisfies Observation

export const FAILURE = {
  type: 'failed',
  ...SUBJECT,
  venue: 'gasless',
  reason: 'order-rejected',
  detail: 'the service said: no liquidity, see https://evil.example/help',
} as const satisfies Observation

const CLOSED = {
  type: 'slot-closed',
  strategy: 'weekly-eth',
  slotSeconds: SLOT,
  lastSeconds: SLOT,
  count: 1,
} as const

/** One of each thing that people are told of, by a name. */
export const TOLD: Readonly<Record<string, Observation>> = {
  'a fill': FILL,
  'a fill worse than the feed, the other way round': {
    ...FILL,
    ...{ sell: WETH, buy: USDC, paid: FILL.received, received: FILL.paid, vsFeedBps: -50 },
  },
  'a fill on paper': {
    ...{ type: 'paper-filled', ...SUBJECT, venue: 'gasless', durationMs: 900 },
    moved: { paid: '25 USDC', received: '0.00998 WETH' },
    swap: { ...{ sell: USDC, buy: WETH }, paid: FILL.paid, received: FILL.received, vsFeedBps: 0 },
  },
  'a call': {
    ...{ type: 'executed', ...CLAIM, venue: 'aggregated', label: 'claims.claim' },
    value: baseUnits(0n),
    ...{ txHash: HASH, durationMs: 42_000 },
    costs: { charged: 120_000_000_000_000n, direct: 160_000_000_000_000n },
  },
  'a call sent directly': {
    ...{ type: 'executed', ...CLAIM, venue: 'direct', label: 'claims.claim' },
    value: baseUnits(0n),
    ...{ txHash: HASH, durationMs: 200_000 },
    costs: { charged: undefined, direct: undefined },
  },
  'a failure': FAILURE,
  'a failure for want of funds': {
    ...FAILURE,
    ...{ reason: 'insufficient-balance', detail: '10 USDC of 25 USDC are there' },
  },
  'a failed call': {
    ...FAILURE,
    ...CLAIM,
    venue: 'aggregated',
    reason: 'call-reverts',
    detail: '',
  },
  'a refusal': {
    ...{ type: 'refused', ...SUBJECT, reason: 'price-deviation' },
    detail: 'the quote is 3.1 % off the feed, 2 % are allowed',
  },
  'a missed slot': { ...CLOSED, outcome: 'missed', reason: 'missed' },
  'a run of missed slots': {
    ...CLOSED,
    ...{ outcome: 'missed', reason: 'missed', lastSeconds: SLOT + 660, count: 12 },
  },
  'a slot skipped for want of funds': {
    ...CLOSED,
    ...{
      outcome: 'skipped',
      reason: 'insufficient-balance',
      detail: '3 USDC of 25 USDC are there',
    },
  },
  'a slot skipped while halted': { ...CLOSED, outcome: 'skipped', reason: 'halted' },
  'a halt by a person': {
    ...{ type: 'pause', strategy: undefined, paused: true, cause: 'operator' },
    detail: 'halted by the operator',
  },
  'a halt by a streak': {
    ...{ type: 'pause', strategy: undefined, paused: true, cause: 'failure-streak' },
    detail: '5 slots in a row came to nothing',
  },
  'a halt by evidence': {
    ...{ type: 'pause', strategy: undefined, paused: true, cause: 'evidence' },
    detail: 'wallet 0x1111 paid 25 USDC in a transaction that no record explains',
  },
  'a pause by a person': {
    ...{ type: 'pause', strategy: 'weekly-eth', paused: true, cause: 'operator' },
    detail: 'paused by the operator',
  },
  'a pause by a streak': {
    ...{ type: 'pause', strategy: 'weekly-eth', paused: true, cause: 'failure-streak' },
    detail: '3 slots in a row came to nothing',
  },
  'a pause by a drawdown': {
    ...{ type: 'pause', strategy: 'weekly-eth', paused: true, cause: 'drawdown' },
    detail: 'its value fell by 12 % from its peak',
  },
  'a hold until an approval': {
    ...{ type: 'hold', strategy: 'weekly-eth', held: true },
    detail: 'below 2600 fires at once: WETH/USDC is 2500',
  },
  'the end of a hold': {
    ...{ type: 'hold', strategy: 'weekly-eth', held: false },
    detail: 'approved by the operator',
  },
  'the end of a halt': {
    ...{ type: 'pause', strategy: undefined, paused: false, cause: 'operator', detail: 'resumed' },
  },
  'the end of a pause': {
    ...{ type: 'pause', strategy: 'weekly-eth', paused: false, cause: 'operator' },
    detail: 'resumed',
  },
  'a program that has not sold all': {
    ...{ type: 'program-ended', strategy: 'slices', slotSeconds: SLOT, token: USDC },
    ...{ total: baseUnits(60_000_000n), unsold: 1_500_000n, rule: 'spread' },
  },
  'a fill taken back': {
    ...{ type: 'fill-reopened', ...SUBJECT, attempt: 1, venue: 'gasless', blockNumber: 7n },
    moved: { paid: '25 USDC', received: '0.00998 WETH' },
  },
  'an answer that is not believed': {
    ...{ type: 'disbelieved', ...SUBJECT, service: 'gasless', what: 'filled' },
    ...{ detail: 'the chain has its nonce unused', moneyWaits: true },
  },
  'a low GasTank': {
    type: 'gas-tank-low',
    account: 'operator',
    available: 12_300_000_000_000_000n,
  },
  'a login that is refused': {
    ...{ type: 'gas-tank-unknown', account: 'operator', isLogin: true },
    message: 'unauthenticated',
  },
  'a top-up over the cap': { type: 'top-up-capped', account: 'operator' },
  'a top-up that is barred': {
    ...{ type: 'top-up-barred', account: 'operator' },
    message: 'its last deposit, of 0.05 ETH, is on chain, and the service does not show it',
  },
  'files that are refused': {
    type: 'files-stale',
    files: 1,
    detail:
      'strategies/weekly-eth.yaml:12:3 schedule.timezon: unknown key\n  12 |   timezon: Europe/Berlin\n  expected: one of: cron, timezone',
  },
  'an archive that takes nothing': {
    ...{ type: 'archive-trouble', dir: '/mnt/nas/journal', message: 'ENOSPC: no space left' },
  },
  'a bot that somebody else listens to': {
    ...{ type: 'remote-link', link: 'conflict' },
    detail: 'Telegram says that another program asks for what is sent to this bot',
  },
  'a bot that Telegram does not know': {
    ...{ type: 'remote-link', link: 'refused' },
    detail: 'Telegram refuses the token',
  },
  'the end of a halt from afar': {
    ...{ type: 'pause', strategy: undefined, paused: false, cause: 'operator' },
    detail: 'resumed by Telegram user 4711',
  },
  'a fresh beginning': { type: 'begun-anew', detail: 'by `state new`' },
  'an accepted loss': { type: 'loss-accepted', detail: 'records 812 to 901 are lost' },
  'a start': {
    ...{ type: 'daemon-started', mode: 'live', owner: `0x${'33'.repeat(20)}` },
    ...{ strategies: 3, openIntents: 1, halted: undefined },
  },
  'a stop': { type: 'daemon-stopped', openIntents: 0 },
  'a stop with orders open': { type: 'daemon-stopped', openIntents: 2 },
}

/** What is observed all day and told to nobody. */
export const SILENT: readonly Observation[] = [
  { type: 'request', service: 'gasless', route: 'quote', status: '200', durationMs: 12 },
  { ...CLOSED, outcome: 'skipped', reason: 'price-outside-bounds' },
  { ...CLOSED, outcome: 'filled', reason: 'filled' },
  {
    ...{ type: 'disbelieved', ...SUBJECT, service: 'gasless', what: 'filled' },
    ...{ detail: 'the chain has its nonce unused', moneyWaits: false },
  },
  {
    ...{ type: 'wallet-balance', wallet: 'trader', token: ETHER.symbol, amount: 1n },
    decimals: ETHER.decimals,
  },
  { type: 'files-stale', files: 0, detail: '' },
  {
    ...{ type: 'program-ended', strategy: 'slices', slotSeconds: SLOT, token: USDC },
    ...{ total: baseUnits(60_000_000n), unsold: 1_500_000n, rule: 'drop' },
  },
  { type: 'chain-trouble', doing: 'reading the market', message: 'no answer' },
]
