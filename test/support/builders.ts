import type { FeedReading } from '../../src/domain/money/price.ts'
import type { Asset, Token } from '../../src/domain/money/token.ts'
import { type BaseUnits, baseUnits } from '../../src/domain/money/units.ts'
import type { SwapIntent } from '../../src/domain/order/intent.ts'
import type { Permit } from '../../src/domain/order/permit.ts'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import type { Schedule } from '../../src/domain/schedule/schedule.ts'
import { type Caps, NO_CAPS, type StrategyLimits } from '../../src/domain/strategy.ts'
import type { ChainView } from '../../src/ports.ts'
import type { CallStrategy } from '../../src/strategies/call/call-kind.ts'
import type { CustomStrategy } from '../../src/strategies/custom/custom-kind.ts'
import type { DcaStrategy } from '../../src/strategies/dca/dca-kind.ts'
import { makeOffer, type Offer } from '../simulation/gasless/offer.ts'
import { PERMIT2, SIMULATED_CHAIN_ID, SPENDER, USDC, WALLET, WETH } from '../simulation/stage.ts'

export const MINUTE = 60_000
export const HOUR = 3_600_000

/** Whole USDC as base units. */
export function usdc(amount: number): BaseUnits {
  return baseUnits(BigInt(amount) * 10n ** 6n)
}

/** Thousandths of a WETH as base units. */
export function milliWeth(amount: number): BaseUnits {
  return baseUnits(BigInt(amount) * 10n ** 15n)
}

export const SELL_USDC: Asset = { token: USDC, native: false }
export const BUY_WETH: Asset = { token: WETH, native: false }
/** A strategy that uses ETH. */
export const ETH: Asset = { token: WETH, native: true }

type CronSchedule = Extract<Schedule, { type: 'cron' }>

export function aSchedule(cron: string, changes: Partial<CronSchedule> = {}): CronSchedule {
  const parsed = parseCron(cron)
  if (!parsed.ok) throw new Error(`${cron}: ${parsed.message}`)
  return {
    type: 'cron',
    cron,
    pattern: parsed.pattern,
    timezone: 'UTC',
    missed: 'latest',
    maxLatenessMs: HOUR,
    jitterMs: 0,
    overlap: 'allow',
    ...changes,
  }
}

/** No caps at all, and three slots in flight. */
export const OPEN: StrategyLimits = {
  perOrder: NO_CAPS,
  perHour: NO_CAPS,
  perDay: NO_CAPS,
  perWeek: NO_CAPS,
  total: NO_CAPS,
  cooldownMs: 0,
  maxOpenIntents: 3,
  maxFailures: undefined,
  drawdownBps: undefined,
}

/** A cap for one token. */
export function capOf(token: Token, amount: BaseUnits): Caps {
  return new Map([[token.address, amount]])
}

/** 25 USDC into WETH at every full hour, without strategy caps. */
export function aStrategy(changes: Partial<DcaStrategy> = {}): DcaStrategy {
  return {
    kind: 'dca',
    name: 'hourly',
    file: 'hourly.yaml',
    enabled: true,
    schedule: aSchedule('0 * * * *'),
    slippageBps: 50,
    maxDeviationBps: 200,
    priceCheck: 'feed',
    dips: [],
    dipWindowMs: 0,
    limits: OPEN,
    sell: SELL_USDC,
    buy: BUY_WETH,
    size: { side: 'sell', amount: usdc(25) },
    price: { min: undefined, max: undefined },
    ...changes,
  }
}

/** One contract call at every tenth minute, without ether. */
export function aCall(changes: Partial<CallStrategy> = {}): CallStrategy {
  const { file, enabled, limits } = aStrategy()
  return {
    ...{ file, enabled, limits },
    name: 'poke',
    kind: 'call',
    schedule: aSchedule('*/10 * * * *'),
    target: `0x${'a7'.repeat(20)}`,
    calldata: '0xabcdef01',
    value: baseUnits(0n),
    gasLimit: 90_000n,
    label: 'poke()',
    ...changes,
  }
}

/** A strategy on USDC and WETH with a module. */
export function aCustomStrategy(changes: Partial<CustomStrategy> = {}): CustomStrategy {
  const { file, enabled, limits, slippageBps, maxDeviationBps } = aStrategy()
  return {
    ...{ file, enabled, limits, slippageBps, maxDeviationBps },
    name: 'own',
    kind: 'custom',
    schedule: aSchedule('0 * * * *', { overlap: 'skip' }),
    priceCheck: 'feed',
    module: '/strategies/modules/own.mjs',
    assets: new Map([
      ['USDC', SELL_USDC],
      ['WETH', BUY_WETH],
    ]),
    params: {},
    ...changes,
  }
}

export const NOON_SECONDS = Date.UTC(2027, 2, 1, 12) / 1000

export function anIntent(changes: Partial<SwapIntent> = {}): SwapIntent {
  return {
    venue: 'gasless',
    id: `hourly:${NOON_SECONDS}:0`,
    strategy: 'hourly',
    slotSeconds: NOON_SECONDS,
    leg: 0,
    owner: WALLET,
    recipient: WALLET,
    sell: SELL_USDC,
    buy: BUY_WETH,
    size: { side: 'sell', amount: usdc(25) },
    maxSell: usdc(25),
    slippageBps: 50,
    price: { min: undefined, max: undefined },
    maxDeviationBps: 200,
    priceCheck: 'feed',
    maxCostBps: undefined,
    startBeforeMs: NOON_SECONDS * 1000 + HOUR,
    ...changes,
  }
}

/** 25 USDC for at least 9.9 thousandths of a WETH, for a minute from noon. */
export function aPermit(changes: Partial<Permit> = {}): Permit {
  return {
    chainId: SIMULATED_CHAIN_ID,
    permit2: PERMIT2,
    owner: WALLET,
    token: USDC.address,
    amount: usdc(25),
    spender: SPENDER,
    nonce: 0xfeed_0001_0002_0003_0004_0005n,
    deadlineSeconds: NOON_SECONDS + 60,
    recipient: WALLET,
    tokenOut: WETH.address,
    minAmountOut: baseUnits(9_900_000_000_000_000n),
    ...changes,
  }
}

/** A WETH/USDC price of 2,500, as fresh as a price can be at noon. */
export function aReading(changes: Partial<FeedReading> = {}): FeedReading {
  const answer = 2_500n * 10n ** 8n
  return { answer, decimals: 8, updatedAtSeconds: NOON_SECONDS, sequencer: undefined, ...changes }
}

/** A block at noon in which the wallet has ample balances and all allowances. */
export function aView(changes: Partial<ChainView> = {}): ChainView {
  const plenty = 10n ** 24n
  const amounts = new Map([
    [USDC.address, plenty],
    [WETH.address, plenty],
  ])
  return {
    blockNumber: 1_000n,
    blockTimeSeconds: NOON_SECONDS,
    nativeBalance: plenty,
    ownerHasCode: false,
    balances: amounts,
    allowances: amounts,
    readings: new Map([['WETH/USDC', aReading()]]),
    permitNonceUsed: false,
    ...changes,
  }
}

/** An honest service's quote for an intent at noon, at 2,500, valid for a minute. */
export function anOffer(intent: SwapIntent = anIntent()): Offer {
  return makeOffer({
    request: {
      from: intent.owner,
      receiver: intent.recipient,
      sellToken: intent.sell.token.address,
      buyToken: intent.buy.token.address,
      size: intent.size,
      slippageBps: intent.slippageBps,
    },
    id: 'quote-1',
    price: { num: 2_500n * 10n ** 6n, den: 10n ** 18n },
    nonce: 0xfeed_0001_0002_0003_0004_0005n,
    chainId: SIMULATED_CHAIN_ID,
    permit2: PERMIT2,
    spender: SPENDER,
    nowMs: NOON_SECONDS * 1000,
    lifetimeMs: 60_000,
  })
}
