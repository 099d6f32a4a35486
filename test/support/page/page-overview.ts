import type { SeededRandom } from '../../../src/domain/random.ts'
import type { Overview, StrategyRow } from '../../../src/ui/page/model.ts'
import { orderRows } from './page-fills.ts'
import { limitRows } from './page-strategies.ts'

const TRADER = '0x52908400098527886E0F7030069857D2E4169EE7'
const OPERATOR = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'

/** A daemon that has just started in a new folder. */
export function emptyOverview(nowMs: number): Overview {
  return {
    revision: 1,
    atMs: nowMs,
    version: '0.1.0',
    mode: 'dry-run',
    startedAtMs: nowMs - 2_000,
    ready: {
      ok: false,
      reasons: ['the swap service has not answered yet', 'the chain has not been compared yet'],
    },
    halted: null,
    control: false,
    stale: null,
    wallets: [{ name: 'trader', address: TRADER, explorerUrl: null }],
    valueToken: null,
    totalValue: null,
    holdings: [],
    readAtMs: null,
    profit: null,
    gasTank: null,
    limits: [],
    tradedToday: null,
    maxDeviationBps: 30,
    orders: [],
    counts: {
      strategies: 0,
      active: 0,
      finished: 0,
      paused: 0,
      fills: 0,
      unresolved: 0,
      overdue: 0,
    },
  }
}

type Known = {
  readonly strategies: readonly StrategyRow[]
  readonly nowMs: number
  readonly random: SeededRandom
}

/** A daemon that has been trading for two days. */
export function fullOverview(
  options: { readonly mode?: string; readonly fills: number; readonly orders: number },
  { strategies, nowMs, random }: Known,
): Overview {
  const orders = orderRows(options.orders, strategies, nowMs)
  const inState = (wanted: StrategyRow['state']) =>
    strategies.filter(({ state }) => state === wanted).length
  return {
    ...emptyOverview(nowMs),
    mode: options.mode ?? 'live',
    startedAtMs: nowMs - 190_000_000,
    ready: { ok: true, reasons: [] },
    wallets: [
      {
        name: 'trader',
        address: TRADER,
        explorerUrl: `https://explorer.example/address/${TRADER}`,
      },
      { name: 'operator', address: OPERATOR, explorerUrl: null },
    ],
    valueToken: 'USDC',
    totalValue: '12048.331905',
    readAtMs: nowMs - 7_000,
    tradedToday: '-3.204118',
    holdings: [
      { token: 'USDC', amount: '5651.201188', value: '5651.201188', pricedAtMs: nowMs },
      {
        token: 'WETH',
        amount: '2.052113890421990172',
        value: '6179.672103',
        pricedAtMs: nowMs - 41_000,
      },
      { token: 'AERO', amount: '1250.25', value: '217.458614', pricedAtMs: nowMs - 5_400_000 },
      { token: 'DAI', amount: '0.000000000000000031', value: null, pricedAtMs: null },
      { token: 'cbBTC', amount: null, value: null, pricedAtMs: null },
    ],
    profit: {
      token: 'USDC',
      cost: '6020.5',
      realised: '-12.318004',
      unrealised: '159.172103',
      held: [
        {
          ...{ token: 'WETH', amount: '2.002113890421990172', cost: '5870.25', profit: '158.87' },
          unknownCost:
            '0.023319881138123456 WETH bought at unknown cost: paid with DAI that was not bought here',
        },
        {
          ...{ token: 'AERO', amount: '125.5', cost: '150.25', profit: null },
          unknownCost: '',
        },
      ],
      days: [
        { day: '2026-11-20', fills: 1_204, realised: '1843.2', againstFeed: '-38.12' },
        { day: '2026-11-22', fills: 31, realised: '-20.5', againstFeed: null },
        { day: '2026-11-23', fills: 12, realised: '8.181996', againstFeed: '-0.9' },
      ],
    },
    gasTank: {
      account: OPERATOR,
      balance: '0.0512',
      outstanding: '0.00213',
      available: '0.04907',
      runwaySeconds: 1_980_000,
      alertBelow: '0.02',
      unknown: null,
    },
    limits: limitRows(strategies, nowMs, random).slice(0, 60),
    orders,
    counts: {
      strategies: strategies.length,
      active: inState('active'),
      finished: inState('finished'),
      paused: inState('paused'),
      fills: options.fills,
      unresolved: orders.length,
      overdue: orders.filter(({ overdue }) => overdue).length,
    },
  }
}
