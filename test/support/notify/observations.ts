import { ETHER, type Token } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { noticesOf } from '../../../src/journal/events/outputs.ts'
import type { SlotsMissed } from '../../../src/journal/events/strategy/slots.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Notice } from '../../../src/journal/wording/notice.ts'
import type { TextContext } from '../../../src/journal/wording/text.ts'
import { noticesOfRuntime } from '../../../src/observe/observe.ts'
import {
  closed,
  executed,
  filled,
  filledOnPaper,
  type Happened,
  happened,
  isHappened,
  onRecord,
  reopened,
} from '../state/happened.ts'

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

export const ORDER = { strategy: 'weekly-eth', slotSeconds: SLOT }
const CLAIM = { strategy: 'claim-weekly', slotSeconds: SLOT }
export const SUBJECT = { strategy: 'weekly-eth', intentId: `weekly-eth:${SLOT}:0` } as const

const TRADED = {
  ...ORDER,
  sell: USDC,
  buy: WETH,
  paid: 25_000_000n,
  received: 9_980_123_456_789_012n,
  vsFeedBps: 12.34,
  durationMs: 1_400,
}

export const FILL = filled({ ...TRADED, txHash: HASH })

/** The same for another strategy and slot. */
export function fillBy(strategy: string, slotSeconds = SLOT): Happened {
  return filled({ ...TRADED, strategy, slotSeconds, txHash: HASH })
}

const REJECTED = { outcome: 'failed', reason: 'order-rejected' } as const

/** An order that failed. */
export function failureBy(strategy: string, detail: string): Happened {
  return closed({ strategy, slotSeconds: SLOT, ...REJECTED, detail })
}

export const FAILURE = failureBy(
  'weekly-eth',
  'the service said: no liquidity, see https://evil.example/help',
)

const SKIPPED = { type: 'slot-closed', ...ORDER, outcome: 'skipped' } as const
const PROGRAM = {
  type: 'program-ended',
  strategy: 'slices',
  slotSeconds: SLOT,
  program: 'one',
  token: USDC,
  total: baseUnits(60_000_000n),
  unsold: 1_500_000n,
} as const

/** One example of each notification, by name. */
export const NOTIFIED: Readonly<Record<string, RuntimeEvent | Happened>> = {
  'a fill': FILL,
  'a fill worse than the feed, the other way round': filled({
    ...{ ...TRADED, txHash: HASH, vsFeedBps: -50 },
    ...{ sell: WETH, buy: USDC, paid: TRADED.received, received: TRADED.paid },
  }),
  'a fill on paper': filledOnPaper({
    ...{ ...TRADED, vsFeedBps: 0, durationMs: 900 },
    moved: { paid: '25 USDC', received: '0.00998 WETH' },
  }),
  'a call': executed({
    ...{ ...CLAIM, via: 'aggregated', label: 'claims.claim', txHash: HASH, durationMs: 42_000 },
    costs: { charged: 120_000_000_000_000n, direct: 160_000_000_000_000n },
  }),
  'a call sent directly': executed({
    ...{ ...CLAIM, via: 'direct', label: 'claims.claim', txHash: HASH, durationMs: 200_000 },
    costs: { charged: undefined, direct: undefined },
  }),
  'a failure': FAILURE,
  'a failure for want of funds': closed({
    ...{ ...ORDER, outcome: 'failed', reason: 'insufficient-balance' },
    detail: '10 USDC of 25 USDC are there',
  }),
  'a failed call': closed({
    ...{ ...CLAIM, venue: 'aggregated', outcome: 'failed', reason: 'call-reverts', detail: '' },
  }),
  'a refusal': closed({
    ...{ ...ORDER, outcome: 'refused', reason: 'price-deviation' },
    detail: 'the quote is 3.1 % off the feed, 2 % are allowed',
  }),
  'a missed slot': happened(missed(SLOT, 1)),
  'a run of missed slots': happened(missed(SLOT + 660, 12)),
  'a slot skipped for want of funds': happened({
    ...{ ...SKIPPED, reason: 'insufficient-balance' },
    detail: '3 USDC of 25 USDC are there',
  }),
  'a slot skipped while halted': happened({ ...SKIPPED, reason: 'halted' }),
  'a halt by a person': happened({
    ...{ type: 'halted', cause: 'operator', detail: 'halted by the operator' },
  }),
  'a halt by a streak': happened({
    ...{ type: 'halted', cause: 'failure-streak', detail: '5 slots in a row failed' },
  }),
  'a halt by evidence': happened({
    ...{ type: 'halted', cause: 'evidence' },
    detail: 'wallet 0x1111 paid 25 USDC in a transaction that no record explains',
  }),
  'a pause by a person': happened({
    ...{ type: 'strategy-paused', strategy: 'weekly-eth', cause: 'operator' },
    detail: 'paused by the operator',
  }),
  'a pause by a streak': happened({
    ...{ type: 'strategy-paused', strategy: 'weekly-eth', cause: 'failure-streak' },
    detail: '3 slots in a row failed',
  }),
  'a pause by a drawdown': happened({
    ...{ type: 'strategy-paused', strategy: 'weekly-eth', cause: 'drawdown' },
    detail: 'its value fell by 12 % from its peak',
  }),
  'a hold until an approval': happened({
    ...{ type: 'strategy-held', strategy: 'weekly-eth', terms: 'aa' },
    detail: 'below 2600 fires at once: WETH/USDC is 2500',
  }),
  'the end of a hold': happened({
    ...{ type: 'hold-lifted', strategy: 'weekly-eth', terms: 'aa', cause: 'operator' },
    detail: 'approved by the operator',
  }),
  'the end of a halt': happened({ type: 'halt-lifted' }),
  'the end of a pause': happened({ type: 'strategy-resumed', strategy: 'weekly-eth' }),
  'a program that has not sold all': happened({ ...PROGRAM, rule: 'spread' }),
  'a fill taken back': reopened(ORDER),
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
  'a top-up that is blocked': {
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
  'a bot with a second listener': {
    ...{ type: 'remote-link', link: 'conflict' },
    detail: 'Telegram says that another program asks for what is sent to this bot',
  },
  'a bot that Telegram does not know': {
    ...{ type: 'remote-link', link: 'refused' },
    detail: 'Telegram refuses the token',
  },
  'the end of a halt from afar': happened({
    ...{ type: 'halt-lifted', detail: 'resumed by Telegram user 4711' },
  }),
  'a fresh beginning': happened({ type: 'begun-anew', detail: 'by `state new`' }),
  'an accepted loss': happened({
    ...{ type: 'loss-accepted', detail: 'records 812 to 901 are lost' },
  }),
  'a start': {
    ...{ type: 'daemon-started', mode: 'live', owner: `0x${'33'.repeat(20)}` },
    ...{ strategies: 3, openIntents: 1, halted: undefined },
  },
  'a stop': { type: 'daemon-stopped', openIntents: 0, mode: 'live' },
  'a stop with orders open': { type: 'daemon-stopped', openIntents: 2, mode: 'live' },
}

function missed(lastSeconds: number, count: number): SlotsMissed {
  return { type: 'slots-missed', strategy: 'weekly-eth', firstSeconds: SLOT, lastSeconds, count }
}

/** Notices of any event. */
export function noticesOfAny(what: RuntimeEvent | Happened, texts: TextContext): readonly Notice[] {
  return isHappened(what)
    ? noticesOf(onRecord(what, { seq: 1, atMs: AT_MS }), texts)
    : noticesOfRuntime(what, texts)
}

/** Events that cause no notification. */
export const SILENT: readonly (RuntimeEvent | Happened)[] = [
  { type: 'request', service: 'gasless', route: 'quote', status: '200', durationMs: 12 },
  happened({ ...SKIPPED, reason: 'price-outside-bounds' }),
  happened({ ...SKIPPED, outcome: 'filled', reason: 'filled' }),
  {
    ...{ type: 'disbelieved', ...SUBJECT, service: 'gasless', what: 'filled' },
    ...{ detail: 'the chain has its nonce unused', moneyWaits: false },
  },
  {
    ...{ type: 'wallet-balance', wallet: 'trader', token: ETHER.symbol, amount: 1n },
    decimals: ETHER.decimals,
  },
  { type: 'files-stale', files: 0, detail: '' },
  happened({ ...PROGRAM, rule: 'drop' }),
  { type: 'chain-trouble', doing: 'reading the market', message: 'no answer' },
]
