import type { SeededRandom } from '../../../src/domain/random.ts'
import type { LimitRow, StrategyRow } from '../../../src/ui/page/model.ts'

/** Seeded strategies, in the shapes that a daemon serves. */

const KINDS = [
  ['dca', 'dca 25 USDC -> WETH', '"0 9 * * 1" Europe/Berlin'],
  ['dca', 'dca USDC -> 0.005 WETH', '"*/10 * * * * *" UTC'],
  [
    'threshold',
    'threshold WETH -> USDC when WETH/USDC is above-3001, below-2999',
    '"*/3 * * * *" UTC',
  ],
  ['rebalance', 'rebalance 50% AERO, 50% DAI', '"0 */4 * * *" America/New_York'],
  ['twap', 'twap 1200 USDC -> cbBTC', '24 slices every 1h'],
  ['call', 'call claim(address) of claims', '"0 6 * * 1" UTC'],
  ['custom', 'custom buy-below-average.mjs with USDC, WETH', '"*/4 * * * *" Asia/Kolkata'],
] as const

const NAMES = [
  'weekly-eth',
  'buy-exact-weth',
  'take-profit',
  'balance-aero',
  'slices',
  'claim-weekly',
  'below-average',
]

const OUTCOMES: readonly (readonly [string, string | null, string | null])[] = [
  ['filled', null, null],
  ['filled', null, null],
  ['filled', null, null],
  ['skipped', 'inside-band', 'AERO is 50.4 %, DAI 49.6 %'],
  ['skipped', 'price-outside-bounds', '4,112.03 is above 4,000'],
  ['failed', 'order-expired', 'no fill before its deadline, twice'],
  ['refused', 'price-deviation', '312 bps from the feed, 200 are allowed'],
  ['missed', 'too-late', 'the daemon was not running'],
]

const SKIPS: readonly (readonly [string, string | null])[] = [
  ['inside-band', 'AERO is 50.4 %, DAI 49.6 %'],
  ['price-outside-bounds', '4,112.03 is above 4,000'],
  ['limit-per-day', '100 USDC of 100 USDC are used until 09:00'],
  ['not-triggered', null],
  ['insufficient-balance', 'has 3.20 USDC, needs 25'],
]

export function strategyRows(count: number, nowMs: number, random: SeededRandom): StrategyRow[] {
  return Array.from({ length: count }, (_, index) => strategyRow(index, nowMs, random))
}

function strategyRow(index: number, nowMs: number, random: SeededRandom): StrategyRow {
  const nowSeconds = Math.floor(nowMs / 1_000)
  const [kind, does, schedule] = KINDS[index % KINDS.length] ?? KINDS[0]
  const name = NAMES[index] ?? `${NAMES[index % NAMES.length]}-${String(index).padStart(4, '0')}`
  const isPaused = index % 23 === 3
  const isOff = index % 41 === 40
  const [outcome, reason, detail] = OUTCOMES[index < 3 ? 0 : random.between(0, 7)] ?? [
    'filled',
    null,
    null,
  ]
  const [skip, skipDetail] = SKIPS[random.between(0, 4)] ?? ['paused', null]
  const slotSeconds = nowSeconds - random.between(5, 40_000)
  return {
    name,
    kind,
    does,
    schedule,
    state: stateOf(isPaused, isOff),
    nextSlotSeconds: isOff ? null : nowSeconds + random.between(3, index < 4 ? 90 : 500_000),
    paused: isPaused
      ? {
          sinceMs: nowMs - 8_000_000,
          cause: 'failure-streak',
          detail: 'three slots in a row failed; the last as order-expired',
        }
      : null,
    waits: index % 29 === 5 ? 'a slot before it is still open' : null,
    lastSlot: { slotSeconds, outcome, reason, detail },
    lastSkip:
      index % 3 === 0
        ? null
        : { slotSeconds: slotSeconds - 7_200, reason: skip, detail: skipDetail },
    fills: random.between(0, 900),
    lastFillAtMs: nowMs - random.between(4_000, 90_000_000),
  }
}

function stateOf(isPaused: boolean, isOff: boolean): StrategyRow['state'] {
  if (isPaused) return 'paused'
  return isOff ? 'disabled' : 'active'
}

export function limitRows(
  strategies: readonly StrategyRow[],
  nowMs: number,
  random: SeededRandom,
): LimitRow[] {
  const account = [
    limit({ strategy: null, token: 'USDC', window: 'day', cap: 1_000, share: 0.62 }),
    limit({ strategy: null, token: 'WETH', window: 'week', cap: 5, share: 0.081 }),
  ]
  const own = strategies.map(({ name }, index) =>
    limit({
      strategy: name,
      token: index % 3 === 0 ? 'WETH' : 'USDC',
      window: index % 5 === 4 ? 'total' : 'day',
      cap: index % 3 === 0 ? 2 : 100,
      share: index === 0 ? 1 : random.between(0, 900) / 1_000,
    }),
  )
  function limit(
    of: Pick<LimitRow, 'strategy' | 'token' | 'window' | 'share'> & { cap: number },
  ): LimitRow {
    const { cap, share, window } = of
    const freesAtMs =
      window === 'total' || share === 0 ? null : nowMs + random.between(60, 50_000) * 1_000
    return { ...of, cap: String(cap), used: (cap * share).toFixed(6), freesAtMs }
  }
  return [...account, ...own]
}
