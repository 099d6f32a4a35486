import type { Asset, Token } from '../../src/domain/money/token.ts'
import {
  type Address,
  type BaseUnits,
  baseUnits,
  type Ratio,
} from '../../src/domain/money/units.ts'
import { type MarketView, pairKey } from '../../src/strategies/decision/decision.ts'
import type { RebalanceStrategy } from '../../src/strategies/rebalance/rebalance-kind.ts'
import type { Rung, ThresholdStrategy } from '../../src/strategies/threshold/rungs.ts'
import type { TwapStrategy } from '../../src/strategies/twap/twap-kind.ts'
import { USDC, WALLET, WETH } from '../simulation/stage.ts'
import { aSchedule, aStrategy, BUY_WETH, NOON_SECONDS, SELL_USDC, usdc } from './builders.ts'

/** Hundredths of a whole USDC per whole WETH, as base units of USDC per base unit of WETH. */
export function usdcPerWeth(cents: bigint): Ratio {
  return { num: cents * 10n ** 4n, den: 10n ** 18n }
}

type Quoted = { readonly sell: Token; readonly buy: Token; readonly ratio: Ratio }

/** A snapshot at noon; prices are given as sell base units per buy base unit. */
export function aMarketView(
  given: {
    readonly balances?: ReadonlyMap<Token, bigint>
    readonly prices?: readonly Quoted[]
  } & Partial<Omit<MarketView, 'prices' | 'available'>> = {},
): MarketView {
  const { balances = new Map<Token, bigint>(), prices = [], ...changes } = given
  return {
    slotSeconds: NOON_SECONDS,
    nowSeconds: NOON_SECONDS,
    startSeconds: undefined,
    owner: WALLET,
    available: new Map([...balances].map(([{ address }, amount]) => [address, amount])),
    prices: new Map(
      prices.map(({ sell, buy, ratio }) => [
        pairKey(sell, buy),
        { ok: true, price: { ratio, updatedAtSeconds: NOON_SECONDS, pairs: [] } },
      ]),
    ),
    held: new Map([...balances].map(([{ address }, amount]) => [address, amount])),
    orderCaps: new Map<Address, BaseUnits>(),
    memory: {},
    spent: new Map<Address, BaseUnits>(),
    promised: new Map<Address, BaseUnits>(),
    ...changes,
  }
}

const { kind: _, size: __, dips: ___, dipWindowMs: ____, ...trade } = aStrategy()
const serial = { ...aSchedule('0 * * * *'), overlap: 'skip' } as const

/** Sells WETH for USDC by the price of WETH. */
export function aThreshold(
  rungs: readonly Rung[],
  changes: Partial<ThresholdStrategy> = {},
): ThresholdStrategy {
  const sell: Asset = { ...BUY_WETH }
  return {
    ...trade,
    kind: 'threshold',
    name: 'threshold',
    schedule: serial,
    sell,
    buy: SELL_USDC,
    watch: { pair: 'WETH/USDC', base: WETH, quote: USDC },
    rungs,
    rearmBps: 300,
    once: false,
    fireAtOnce: false,
    ...changes,
  }
}

/** 100 USDC into WETH in ten slices, one an hour. */
export function aTwap(changes: Partial<TwapStrategy> = {}): TwapStrategy {
  return {
    ...trade,
    kind: 'twap',
    name: 'twap',
    schedule: {
      type: 'interval',
      everySeconds: 3_600,
      count: 10,
      startSeconds: undefined,
      missed: 'skip',
      maxLatenessMs: 3_600_000,
      jitterMs: 0,
      overlap: 'skip',
    },
    total: usdc(100),
    unsold: 'spread',
    ...changes,
  }
}

/** 60 % WETH and 40 % USDC, with a band of 5 percentage points. */
export function aRebalance(changes: Partial<RebalanceStrategy> = {}): RebalanceStrategy {
  const { sell: _sell, buy: _buy, price: _price, ...swap } = trade
  return {
    ...swap,
    kind: 'rebalance',
    name: 'rebalance',
    schedule: serial,
    targets: [
      { token: WETH, weightBps: 6_000 },
      { token: USDC, weightBps: 4_000 },
    ],
    bandBps: 500,
    to: 'target',
    quote: USDC,
    minTrade: baseUnits(0n),
    maxCostBps: undefined,
    ...changes,
  }
}
