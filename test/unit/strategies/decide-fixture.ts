import type { Decision, MarketView } from '../../../src/decide/decision.ts'
import type { StrategyMemory } from '../../../src/domain/book/memory.ts'
import type { SwapIntent } from '../../../src/domain/intent.ts'
import type { PairPriceAnswer } from '../../../src/domain/price.ts'
import type { IntervalRecurrence } from '../../../src/domain/schedule/schedule.ts'
import type { Rung, ThresholdStrategy, TwapStrategy } from '../../../src/domain/strategy.ts'
import type { BaseUnits, Ratio } from '../../../src/domain/units.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../../src/simulate/stage.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  milliWeth,
  NOON_SECONDS,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'

/** USDC base units per WETH base unit at a price of whole USDC per WETH. */
export function usdcPerWeth(price: number): Ratio {
  return { num: BigInt(price) * 10n ** 6n, den: 10n ** 18n }
}

/** A feed that is told at noon, in both directions. */
export function feedAt(price: number): ReadonlyMap<string, PairPriceAnswer> {
  const { num, den } = usdcPerWeth(price)
  const read = { pairs: [WETH_USDC.pair], updatedAtSeconds: NOON_SECONDS }
  return new Map([
    ['USDC/WETH', { ok: true, price: { ...read, ratio: { num, den } } }],
    ['WETH/USDC', { ok: true, price: { ...read, ratio: { num: den, den: num } } }],
  ])
}

/** A feed that gives nothing, for a reason. */
export function feedWithout(
  reason: Extract<PairPriceAnswer, { ok: false }>['reason'],
): ReadonlyMap<string, PairPriceAnswer> {
  const answer = { ok: false, reason, pair: WETH_USDC.pair } as const
  return new Map([
    ['USDC/WETH', answer],
    ['WETH/USDC', answer],
  ])
}

/** Noon, WETH at 2,500, ten WETH and 10,000 USDC in the wallet, nothing remembered. */
export function aMarket(changes: Partial<MarketView> = {}): MarketView {
  return {
    slotSeconds: NOON_SECONDS,
    nowSeconds: NOON_SECONDS,
    startSeconds: undefined,
    owner: WALLET,
    available: new Map([
      [USDC.address, usdc(10_000)],
      [WETH.address, milliWeth(10_000)],
    ]),
    prices: feedAt(2_500),
    orderCaps: new Map(),
    memory: {},
    spent: new Map(),
    promised: new Map(),
    held:
      changes.available ??
      new Map([
        [USDC.address, usdc(10_000)],
        [WETH.address, milliWeth(10_000)],
      ]),
    ...changes,
  }
}

const { kind: _, size: _size, dips: _dips, dipWindowMs: _window, ...base } = aStrategy()

export function above(price: number, amount: BaseUnits = milliWeth(100)): Rung {
  const trigger = { type: 'above', level: usdcPerWeth(price) } as const
  return { id: `above ${price}`, trigger, size: { type: 'amount', amount } }
}

export function below(price: number, amount: BaseUnits = milliWeth(100)): Rung {
  const trigger = { type: 'below', level: usdcPerWeth(price) } as const
  return { id: `below ${price}`, trigger, size: { type: 'amount', amount } }
}

export function trailing(bps: number, amount: BaseUnits = milliWeth(100)): Rung {
  const trigger = { type: 'trailing', bps } as const
  return { id: `trailing ${bps / 100}%`, trigger, size: { type: 'amount', amount } }
}

/** The same rung, of a share of what is free. */
export function ofShare(rung: Rung, bps: number): Rung {
  return { ...rung, size: { type: 'share', bps } }
}

/** Every minute: sells 0.1 WETH when it costs 2,000 USDC or less, armed again 5% above. */
export function aThreshold(changes: Partial<ThresholdStrategy> = {}): ThresholdStrategy {
  return {
    ...base,
    kind: 'threshold',
    name: 'stop',
    schedule: aSchedule('* * * * *', { overlap: 'skip' }),
    sell: BUY_WETH,
    buy: SELL_USDC,
    watch: { pair: 'WETH/USDC', base: WETH, quote: USDC },
    rungs: [below(2_000)],
    rearmBps: 500,
    once: false,
    fireAtOnce: false,
    ...changes,
  }
}

/** 24 slices of 100 USDC, hourly from noon. */
export function aTwap(
  changes: Partial<Omit<TwapStrategy, 'schedule'>> = {},
  recurrence: Partial<IntervalRecurrence> = {},
): TwapStrategy {
  return {
    ...base,
    kind: 'twap',
    name: 'slices',
    schedule: {
      type: 'interval',
      everySeconds: 3_600,
      count: 24,
      startSeconds: NOON_SECONDS,
      missed: 'latest',
      maxLatenessMs: 3_600_000,
      jitterMs: 0,
      overlap: 'skip',
      ...recurrence,
    },
    total: usdc(2_400),
    unsold: 'spread',
    ...changes,
  }
}

/** The reason of a skip, or `trade`. */
export function reasonOf(decision: Decision): string {
  return decision.tag === 'skip' ? decision.reason : 'trade'
}

/** What the one order of a decision sells; nothing when it is a skip. */
export function soldBy(decision: Decision): bigint {
  if (decision.tag === 'skip') return 0n
  return decision.intents.reduce((sum, intent) => sum + swapOf(intent).maxSell, 0n)
}

function swapOf(intent: Extract<Decision, { tag: 'trade' }>['intents'][number]): SwapIntent {
  if (intent.venue !== 'gasless') throw new Error(`${intent.id} is no swap`)
  return intent
}

/** What is remembered after a slot, when its orders were filled or were not. */
export function remembered(
  before: StrategyMemory,
  decision: Decision,
  isFilled: boolean,
): StrategyMemory {
  const onFill = decision.tag === 'trade' && isFilled ? decision.memoryOnFill : undefined
  return onFill ?? decision.memory ?? before
}
