import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { StatusReport } from '../../src/cli/commands/inspect/status.ts'
import type { EntryData, ReportData } from '../../src/cli/json/money-outputs.ts'
import { parseAmount } from '../../src/domain/money/units.ts'
import type { Running } from '../support/process/cli.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Funds, type Operator, setUpAccount } from './operator.ts'
import {
  balancesOf,
  everySecond,
  metricsOf,
  nodeCall,
  type StrategyFiles,
  startRehearsal,
} from './rehearsal.ts'

const ORDERS = 500
const OF_EACH_VENUE = 50
/** Each wait is for a number of further fills: the machine's speed decides the total time. */
const ORDERS_PER_WAIT = 50
const LEASH = ['--for', '20m'] as const
/** Covers the charges of some hundreds of calls, so that no top-up happens meanwhile. */
const ETHER_DEPOSITED = '1'

const DEMO_CALL = {
  ...{ kind: 'call', to: 'demo', function: 'record(bytes32)', args: [`0x${'74'.repeat(32)}`] },
  ...{ value: '0.00001', gasLimit: '150000', limits: { perDay: '10' } },
  ...{ sell: undefined, buy: undefined, amount: undefined },
}

/** Both venues, ETH on either side, both sides of an amount, and orders with several legs. */
const FILES: StrategyFiles = {
  ...everySecond('buy-weth'),
  ...everySecond('sell-weth', { sell: 'WETH', buy: 'USDC', amount: '0.006' }),
  ...everySecond('buy-exact', { amount: undefined, buyAmount: '0.005' }),
  ...everySecond('dai-to-eth', { sell: 'DAI', buy: 'ETH', amount: '10' }),
  ...everySecond('eth-to-usdc', {
    ...{ sell: 'ETH', amount: '0.002', buy: 'USDC', slippageBps: 100 },
    limits: { perDay: '10' },
  }),
  ...everySecond('rebalance', {
    ...{ kind: 'rebalance', targets: { AERO: '50%', DAI: '50%' }, quote: 'USDC' },
    ...{ band: '0.01%', minTrade: '0.1', sell: undefined, buy: undefined, amount: undefined },
    limits: { perDay: { AERO: '900000', DAI: '900000' } },
  }),
  ...everySecond('call', DEMO_CALL),
}

/** Fills so far, from the daemon's own metrics. */
async function filled(daemon: Running) {
  const counts = [...(await metricsOf(daemon))].flatMap(([name, count]) => {
    const [, strategy = '', venue = ''] =
      /^tranched_fills_total\{strategy="([^"]+)",venue="([^"]+)"\}$/.exec(name) ?? []
    return strategy === '' ? [] : [{ strategy, isSwap: venue === 'gasless', count }]
  })
  const sum = (of: typeof counts) => of.reduce((total, { count }) => total + count, 0)
  return {
    all: sum(counts),
    swaps: sum(counts.filter(({ isSwap }) => isSwap)),
    calls: sum(counts.filter(({ isSwap }) => !isSwap)),
    strategies: new Set(counts.filter(({ count }) => count > 0).map(({ strategy }) => strategy)),
  }
}

/** Trades until enough of each kind has filled, then lets the orders under way end. */
async function tradeFully({ rehearsal, command }: Operator): Promise<void> {
  const daemon = rehearsal.daemon([...LEASH])
  for (let orders = ORDERS_PER_WAIT; orders <= ORDERS; orders += ORDERS_PER_WAIT)
    await waitFor(`${orders} fills`, async () => (await filled(daemon)).all >= orders)
  const done = () => filled(daemon)
  await waitFor(
    'enough of both venues and of each strategy',
    done,
    ({ swaps, calls, strategies }) =>
      Math.min(swaps, calls) >= OF_EACH_VENUE && strategies.size === Object.keys(FILES).length,
  )
  await command('pause')
  const open = async () => (await metricsOf(daemon)).get('tranched_unresolved_intents')
  await waitFor('no open order', open, (count) => count === 0)
  expect((await daemon.stop()).code).toBe(0)
}

/** Sums of base units by name. */
class Sums {
  readonly #sums = new Map<string, bigint>()

  add(name: string, amount: bigint): this {
    this.#sums.set(name, this.of(name) + amount)
    return this
  }

  of(name: string): bigint {
    return this.#sums.get(name) ?? 0n
  }

  [Symbol.iterator](): Iterator<[string, bigint]> {
    return [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1))[Symbol.iterator]()
  }
}

type Amount = { readonly amount: string; readonly token: string }

function baseUnitsOf({ amount, token }: Amount): bigint {
  const units = parseAmount(amount, token === 'USDC' ? 6 : 18)
  if (units === undefined) throw new Error(`${amount} is no amount of ${token}`)
  return units
}

type Receipt = Readonly<Record<'status' | 'gasUsed' | 'effectiveGasPrice', string>>

/** Names on the chain of the calls; all others are on that of the swaps. */
function isOfAccount({ type, what }: EntryData): boolean {
  return type === 'call' || what === 'deposit' || what === 'call'
}

function receiptOf(operator: Operator, each: EntryData): Promise<Receipt> {
  const [method, params] = ['eth_getTransactionReceipt', [each.txHash]] as const
  return isOfAccount(each)
    ? operator.sepolia<Receipt>(method, params)
    : nodeCall<Receipt>(operator.rehearsal.report, method, params)
}

async function holdingsOf({ rehearsal, account, sepolia, data }: Operator) {
  const { available } = await data<Funds>('gastank status')
  return {
    trader: await balancesOf(rehearsal.report, rehearsal.config),
    account: BigInt(await sepolia<string>('eth_getBalance', [account, 'latest'])),
    tank: baseUnitsOf(available),
  }
}

/** Net movement of the trader's balances by the entries, wraps and unwraps included. */
function movedBy(entries: readonly EntryData[]): Sums {
  const moved = new Sums()
  for (const each of entries) {
    const { sold, bought } = each
    if (sold !== null) moved.add(sold.token, -baseUnitsOf(sold))
    if (bought !== null) moved.add(bought.token, baseUnitsOf(bought))
    moved.add('ETH', -costOf(each))
  }
  return moved
}

function costOf({ cost }: EntryData): bigint {
  return cost === null ? 0n : baseUnitsOf(cost)
}

/** Sums of the entries by category: a name such as `trade -USDC` for sold amounts. */
function sumsOf(entries: readonly EntryData[]): Sums {
  const sums = new Sums()
  for (const each of entries) {
    const { type, sold, bought } = each
    sums.add(`${type} cost`, costOf(each))
    if (type === 'gas') continue
    if (sold !== null) sums.add(`${type} -${sold.token}`, baseUnitsOf(sold))
    if (bought !== null) sums.add(`${type} +${bought.token}`, baseUnitsOf(bought))
    sums.add(type, 1n)
  }
  return sums
}

/** The same sums from the report's total. */
function totalsOf({ total }: ReportData): Sums {
  const sums = new Sums()
  for (const { sold, bought } of total.trades)
    sums
      .add(`trade -${sold.token}`, baseUnitsOf(sold))
      .add(`trade +${bought.token}`, baseUnitsOf(bought))
  return sums
    .add('trade', BigInt(total.fills))
    .add('call', BigInt(total.calls))
    .add('call cost', baseUnitsOf(total.charged))
    .add('call -ETH', baseUnitsOf(total.carried))
    .add('gas cost', baseUnitsOf(total.gas))
}

test(`the report equals the chains to the base unit over ${ORDERS} orders of both venues`, async () => {
  const flags = ['--block-interval', '500ms', '--aggregator-traffic-every', '0s']
  const operator = await setUpAccount(await startRehearsal(FILES, [...LEASH, ...flags]))
  const { command, data } = operator
  await command(`gastank deposit ${ETHER_DEPOSITED} --yes`)
  // Whole seconds: the deposit and its gas belong to the time before.
  await sleep(1_000)
  const since = `--since ${new Date().toISOString().slice(0, 19)}Z`
  const before = await holdingsOf(operator)
  await tradeFully(operator)
  const after = await holdingsOf(operator)
  expect((await data<StatusReport>('status')).openIntents).toEqual([])

  const report = await data<ReportData>(`report ${since} --by strategy`)
  const lines = (await command(`export --format jsonl ${since}`)).trimEnd().split('\n')
  const entries = lines.map((line): EntryData => JSON.parse(line))
  const { total } = report
  expect(total.fills + total.calls).toBeGreaterThanOrEqual(ORDERS)
  expect(total).toMatchObject({ callsWithoutCharge: 0, unproven: { orders: 0, amounts: [] } })

  const gas = entries.filter(({ type }) => type === 'gas')
  const ofTrader = entries.filter((each) => !isOfAccount(each))
  expect(ofTrader.map(({ what }) => what)).toEqual(expect.arrayContaining(['wrap', 'unwrap']))
  const moved = movedBy(ofTrader)
  for (const [symbol, balance] of after.trader)
    expect([symbol, (before.trader.get(symbol) ?? 0n) + moved.of(symbol)]).toEqual([
      symbol,
      balance,
    ])
  expect(before.tank - baseUnitsOf(total.charged)).toBe(after.tank)
  const paid = gas.filter(isOfAccount).reduce((sum, each) => sum + costOf(each), 0n)
  expect(before.account - baseUnitsOf(total.carried) - paid).toBe(after.account)

  expect([...sumsOf(entries)].filter(([, sum]) => sum !== 0n)).toEqual(
    [...totalsOf(report)].filter(([, sum]) => sum !== 0n),
  )
  const groups = report.groups.filter(({ key }) => key !== '(account)')
  expect(groups.map(({ key }) => key)).toEqual(Object.keys(FILES).sort())
  expect(groups.reduce((sum, { fills, calls }) => sum + fills + calls, 0)).toBe(
    total.fills + total.calls,
  )
  for (const { token, amount } of report.portfolio.holdings)
    expect(amount && baseUnitsOf(amount)).toBe(after.trader.get(token))

  for (const each of entries) {
    const { status, gasUsed, effectiveGasPrice } = await receiptOf(operator, each)
    const fee = BigInt(gasUsed) * BigInt(effectiveGasPrice)
    if (each.type === 'gas') expect(costOf(each)).toBe(fee)
    else expect(status).toBe('0x1')
  }
})
