import { baseUnits } from '../../src/domain/money/units.ts'
import type { RuntimeEvent } from '../../src/journal/runtime-event.ts'
import { HASH, SLOT, SUBJECT, USDC, WETH } from '../support/notify/observations.ts'

type Examples = {
  readonly [Type in RuntimeEvent['type']]: readonly Omit<
    Extract<RuntimeEvent, { type: Type }>,
    'type'
  >[]
}

const OWNER = `0x${'33'.repeat(20)}` as const
const HALT = { atMs: SLOT * 1_000, cause: 'operator', detail: 'halted by the operator' } as const
const ROUTE = { service: 'gasless', route: 'quote' } as const
const TANK = { account: 'operator', balance: 10n ** 17n, outstanding: 10n ** 15n } as const

/** Examples of every runtime event. */
const EXAMPLES: Examples = {
  'daemon-started': [
    { mode: 'live', owner: OWNER, strategies: 1, openIntents: 0, halted: undefined },
    { mode: 'dry-run', owner: OWNER, strategies: 3, openIntents: 2, halted: HALT },
  ],
  'daemon-stopping': [{ cause: 'SIGTERM', openIntents: 1 }],
  'daemon-stopped': [
    { openIntents: 0, mode: 'live' },
    { openIntents: 2, mode: 'live' },
  ],
  implausible: [{ strategy: 'ladder', detail: 'price.max lies more than tenfold above the price' }],
  'next-slot': [
    { strategy: 'a', nextSlotSeconds: SLOT, lastFillAtMs: 1_000, paused: true, held: false },
    {
      strategy: 'b',
      nextSlotSeconds: undefined,
      lastFillAtMs: undefined,
      paused: false,
      held: true,
    },
  ],
  unsold: [{ strategy: 'slices', token: 'USDC', amount: 1_500_000n, decimals: 6 }],
  'slot-waiting': [
    { strategy: 'weekly-eth', slotSeconds: SLOT, reason: 'price-stale', detail: 'WETH/USDC' },
  ],
  'quote-verified': [
    {
      ...SUBJECT,
      sellAmount: baseUnits(25_000_000n),
      minAmountOut: baseUnits(6n * 10n ** 15n),
      deadlineSeconds: SLOT + 600,
    },
  ],
  'order-waits': [
    { ...SUBJECT, reason: 'gas-too-dear', detail: '40 gwei', startBeforeMs: SLOT * 1_000 + 60_000 },
  ],
  'order-waited': [{ ...SUBJECT, reason: 'gas-too-dear', waitedMs: 30_000 }],
  'order-unknown': [{ ...SUBJECT, attempt: 1, message: 'timeout' }],
  'proof-failed': [{ ...SUBJECT, detail: 'no transfer of it is found' }],
  'transaction-sent': [
    { intentId: SUBJECT.intentId, purpose: 'approve', hash: HASH },
    { intentId: undefined, purpose: 'deposit', hash: HASH },
  ],
  request: [
    { ...ROUTE, status: '200', durationMs: 12 },
    { service: 'aggregator', route: 'accountInfo', status: 'timeout', durationMs: 5_000 },
    { service: 'rpc', route: 'eth_call', status: '503', durationMs: 40 },
  ],
  retry: [{ ...ROUTE, cause: 'rateLimited' }],
  'queue-wait': [{ route: 'submit', waitMs: 250 }],
  'queue-depth': [{ route: 'submit', depth: 3 }],
  'rate-limit': [{ ...ROUTE, remaining: 4 }],
  'journal-archived': [{ files: 2, dir: '/mnt/nas/journal' }],
  'archive-trouble': [{ dir: '/mnt/nas/journal', message: 'ENOSPC: no space left' }],
  'journal-appended': [{ records: 2, durationMs: 3 }],
  'wallet-balance': [
    { wallet: 'trader', token: 'USDC', amount: 312_500_000n, decimals: 6 },
    { wallet: 'trader', token: 'WETH', amount: undefined, decimals: 18 },
  ],
  'open-orders': [{ openPermits: 2, unresolvedIntents: 3 }],
  'gas-tank': [
    { ...TANK, runwaySeconds: 86_400, alertBelow: 10n ** 16n, isLow: false },
    { ...TANK, runwaySeconds: undefined, alertBelow: undefined, isLow: true },
  ],
  'gas-tank-unknown': [
    { account: 'operator', isLogin: true, message: 'unauthenticated' },
    { account: 'operator', isLogin: false, message: 'timeout' },
  ],
  'gas-tank-low': [{ account: 'operator', available: 12_300_000_000_000_000n }],
  'top-up-capped': [{ account: 'operator' }],
  'top-up-barred': [{ account: 'operator', message: 'its last deposit is not shown' }],
  'service-note': [{ service: 'gasless', note: 'quotes name no fee' }],
  'files-stale': [
    { files: 1, detail: 'strategies/a.yaml:12:3 schedule.timezon: unknown key' },
    { files: 0, detail: '' },
  ],
  disbelieved: [
    {
      ...SUBJECT,
      service: 'gasless',
      what: 'filled',
      detail: 'its nonce is unused',
      moneyWaits: true,
    },
    { service: 'gasless', what: 'tokens', detail: 'USDC has 18 decimals', moneyWaits: false },
    { service: 'aggregator', what: 'login', detail: 'refused', moneyWaits: true },
    { service: 'rpc', what: 'code', detail: 'tokens.USDC has other code', moneyWaits: true },
  ],
  'nodes-disagree': [{ doing: 'reading a receipt', message: 'two answers' }],
  finality: [{ chain: 'base', lagBlocks: 12 }],
  'feed-read': [
    { pair: 'WETH/USDC', updatedAtSeconds: SLOT, maxAgeSeconds: 3_600 },
    { pair: 'DAI/WETH', updatedAtSeconds: undefined, maxAgeSeconds: 3_600 },
  ],
  portfolio: [
    {
      valueToken: USDC,
      holdings: [
        {
          token: 'WETH',
          decimals: 18,
          amount: 10n ** 18n,
          value: 2_500_000_000n,
          pricedAtSeconds: SLOT,
          address: WETH.address,
          price: { num: 2_500n, den: 10n ** 12n },
        },
      ],
    },
  ],
  profit: [
    {
      valueToken: USDC,
      held: [
        {
          ...{ token: WETH, amount: 10n ** 18n, ofUnknownCost: 0n, paidWith: [] },
          ...{ cost: 2_400_000_000n, value: 2_500_000_000n, profit: 100_000_000n },
        },
      ],
      cost: 2_400_000_000n,
      realised: 5_000_000n,
      unrealised: 100_000_000n,
      proceedsOfUnknownCost: 0n,
      strategies: new Map(),
      days: [],
    },
  ],
  'wallet-needed': [{ wallet: 'trader', token: 'USDC', amount: 75_000_000n, decimals: 6 }],
  'clock-offset': [{ source: 'base', offsetMs: -1_500 }],
  'chain-trouble': [{ doing: 'reading the market', message: 'no answer' }],
  'clock-trouble': [{ detail: 'the newest block is 287 s old' }],
  'remote-message': [
    { outcome: 'obeyed', user: 4_711, detail: 'halted by Telegram user 4711' },
    { outcome: 'stranger', user: 666, detail: 'a message of a stranger' },
    { outcome: 'unreadable', user: undefined, detail: 'no message' },
  ],
  'remote-link': [
    { link: 'listening', detail: 'listens as @bot' },
    { link: 'silent', detail: 'Telegram does not answer' },
    { link: 'conflict', detail: 'another program asks for its messages' },
    { link: 'refused', detail: 'Telegram refuses the token' },
  ],
  'token-listing': [
    { token: 'USDC', isListed: false, strategies: ['weekly-eth', 'dip'] },
    { token: 'USDC', isListed: true, strategies: ['weekly-eth', 'dip'] },
    { token: 'DAI', isListed: false, strategies: [] },
  ],
  'remote-unsent': [{ detail: 'an answer did not get there: timeout' }],
  // It has no output here: only `/readyz` shows it.
  'account-delegation': [],
}

export const OCCURRENCES: readonly RuntimeEvent[] = Object.entries(EXAMPLES).flatMap(
  ([type, examples]) => examples.map((example) => ({ ...example, type }) as RuntimeEvent),
)
