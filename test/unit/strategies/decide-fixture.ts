import type { PairPriceAnswer } from '../../../src/domain/money/price.ts'
import type { BaseUnits, Ratio } from '../../../src/domain/money/units.ts'
import type { SwapIntent } from '../../../src/domain/order/intent.ts'
import type { IntervalRecurrence } from '../../../src/domain/schedule/schedule.ts'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import type { Decision, MarketView } from '../../../src/strategies/decision/decision.ts'
import type { Rung, ThresholdStrategy } from '../../../src/strategies/threshold/rungs.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aSchedule, milliWeth, NOON_SECONDS, usdc } from '../../support/builders.ts'
import { aThreshold as theThreshold, aTwap as theTwap } from '../../support/market-view.ts'

/** USDC base units per WETH base unit at a price of whole USDC per WETH. */
export function usdcPerWeth(price: number): Ratio {
  return { num: BigInt(price) * 10n ** 6n, den: 10n ** 18n }
}

/** A feed reading at noon, in both directions. */
export function feedAt(price: number): ReadonlyMap<string, PairPriceAnswer> {
  const { num, den } = usdcPerWeth(price)
  const read = { pairs: [WETH_USDC.pair], updatedAtSeconds: NOON_SECONDS }
  return new Map([
    ['USDC/WETH', { ok: true, price: { ...read, ratio: { num, den } } }],
    ['WETH/USDC', { ok: true, price: { ...read, ratio: { num: den, den: num } } }],
  ])
}

/** A feed without a price, for this reason. */
export function feedWithout(
  reason: Extract<PairPriceAnswer, { ok: false }>['reason'],
): ReadonlyMap<string, PairPriceAnswer> {
  const answer = { ok: false, reason, pair: WETH_USDC.pair } as const
  return new Map([
    ['USDC/WETH', answer],
    ['WETH/USDC', answer],
  ])
}

/** Noon, WETH at 2,500 USDC, ten WETH and 10,000 USDC in the wallet, empty memory. */
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

/** The same rung for a share of the available balance. */
export function ofShare(rung: Rung, bps: number): Rung {
  return { ...rung, size: { type: 'share', bps } }
}

/** Every minute: sells 0.1 WETH at 2,000 USDC or less, rearmed 5% above. */
export function aThreshold(changes: Partial<ThresholdStrategy> = {}): ThresholdStrategy {
  const schedule = aSchedule('* * * * *', { overlap: 'skip' })
  return theThreshold([below(2_000)], { name: 'stop', schedule, rearmBps: 500, ...changes })
}

/** 24 slices of 100 USDC, hourly from noon. */
export function aTwap(
  changes: Partial<Omit<TwapStrategy, 'schedule'>> = {},
  recurrence: Partial<IntervalRecurrence> = {},
): TwapStrategy {
  const own = { count: 24, startSeconds: NOON_SECONDS, missed: 'latest' } as const
  const schedule = { ...theTwap().schedule, ...own, ...recurrence } as TwapStrategy['schedule']
  return theTwap({ name: 'slices', schedule, total: usdc(2_400), ...changes })
}

/** Reason of a skip, or `trade`. */
export function reasonOf(decision: Decision): string {
  return decision.tag === 'skip' ? decision.reason : 'trade'
}

/** Amount sold by a decision; zero for a skip. */
export function soldBy(decision: Decision): bigint {
  if (decision.tag === 'skip') return 0n
  return decision.intents.reduce((sum, intent) => sum + swapOf(intent).maxSell, 0n)
}

function swapOf(intent: Extract<Decision, { tag: 'trade' }>['intents'][number]): SwapIntent {
  if (intent.venue !== 'gasless') throw new Error(`${intent.id} is no swap`)
  return intent
}

/** Memory after a slot whose orders were filled or not. */
export function remembered(
  before: StrategyMemory,
  decision: Decision,
  isFilled: boolean,
): StrategyMemory {
  const onFill = decision.tag === 'trade' && isFilled ? decision.memoryOnFill : undefined
  return onFill ?? decision.memory ?? before
}
