import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Token } from '../../../../src/domain/money/token.ts'
import { PAR, type Ratio } from '../../../../src/domain/money/units.ts'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import { accountStatusOf } from '../../../../src/journal/ledger/account-status.ts'
import { Positions } from '../../../../src/journal/ledger/positions.ts'
import { readStrategyFile } from '../../../../src/strategies/files/load-strategies.ts'
import type { Strategy } from '../../../../src/strategies/registry.ts'
import type { HoldingsRange, StrategyDetail } from '../../../../src/ui/page/model.ts'
import { aCall } from '../../../support/builders.ts'
import { type APage, aPage, said } from '../../../support/page/a-page.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  filledSlot,
  intentOf,
  scheduled,
} from '../../../support/state/journal-events.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { edit, settingsOf } from '../../config/config-fixture.ts'

const SETTINGS = settingsOf()
const USDC = tokenOf('USDC')
const WETH = tokenOf('WETH')

function tokenOf(symbol: string): Token {
  const token = SETTINGS.tokens.get(symbol)
  if (token === undefined) throw new Error(`the fixture has no ${symbol}`)
  return token
}

const BOUGHT = `name: weekly-eth
kind: dca
schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }
sell: USDC
buy: WETH
amount: "25"
price: { max: "4000" }
`
const SOLD = `name: take-profit
kind: threshold
schedule: { cron: "*/5 * * * *", timezone: UTC }
sell: WETH
buy: USDC
amount: 50%
takeProfit: "3600"
stopLoss: "2000"
`
const BALANCED = `name: balance
kind: rebalance
schedule: { cron: "0 9 * * 1", timezone: UTC }
targets: { WETH: 60%, USDC: 40% }
quote: USDC
band: 5%
to: target
minTrade: "10"
`

/** A page of one strategy's file. */
async function daemonOf(text: string): Promise<APage & { readonly file: string }> {
  const file = join(temporaryDirectory(), 'one.yaml')
  writeFileSync(file, text)
  const { strategy, problems } = readStrategyFile(file, SETTINGS)
  if (strategy === undefined) throw new Error(problems.map(({ message }) => message).join('\n'))
  return { ...(await daemonWith(strategy)), file }
}

async function daemonWith(strategy: Strategy): Promise<APage> {
  const dir = temporaryDirectory()
  const settings = { ...SETTINGS, stateDir: dir, http: { ...SETTINGS.http, page: true } }
  const daemon = await aPage({ dir, strategies: [strategy], settings })
  await daemon.journal.append(BOUND, scheduled(strategy.name))
  return daemon
}

async function detailOf(
  { page }: APage,
  name: string,
  query: { readonly range?: HoldingsRange; readonly pair?: string } = {},
): Promise<StrategyDetail> {
  const answer = await page.strategy({ name, range: 'day', ...query })
  if (answer === undefined) throw new Error(`there is no ${name}`)
  return said<StrategyDetail>(answer)
}

const usdcPerWeth = (price: number) => ({ num: BigInt(price) * 10n ** 6n, den: 10n ** 18n })

function skippedAt(slotSeconds: number, price: number, strategy: string): JournalEvent {
  return {
    type: 'slot-closed',
    ...{ strategy, slotSeconds, outcome: 'skipped', reason: 'not-triggered', detail: '' },
    inputs: {
      ...{ blockNumber: 1n, blockTimeSeconds: slotSeconds, available: {}, memory: {} },
      prices: { 'USDC/WETH': { ...usdcPerWeth(price), updatedAtSeconds: slotSeconds, feeds: [] } },
    },
  }
}

/** A reading of the wallet, as the daemon makes one each minute. */
function observe({ page }: APage, price: number): void {
  const held = (token: Token, amount: bigint, value: bigint, ratio: Ratio) => ({
    ...{ token: token.symbol, decimals: token.decimals, address: token.address },
    ...{ amount, value, price: ratio, pricedAtSeconds: undefined },
  })
  page.observe({
    type: 'portfolio',
    valueToken: USDC,
    holdings: [
      held(USDC, 1_000_000_000n, 1_000_000_000n, PAR),
      held(WETH, 10n ** 18n, BigInt(price) * 1_000_000n, usdcPerWeth(price)),
    ],
  })
}

describe('the chart of a strategy', () => {
  test('has the prices of recorded decisions and of the last readings, oldest first', async () => {
    const daemon = await daemonOf(BOUGHT)
    for (const price of [3_000, 3_100, 2_950]) {
      daemon.clock.nowMs += 3_600_000
      const slot = Math.floor(daemon.clock.nowMs / 1000)
      await daemon.journal.append(skippedAt(slot, price, 'weekly-eth'))
    }
    daemon.clock.nowMs += 3_600_000
    observe(daemon, 3_200)
    const { chart } = await detailOf(daemon, 'weekly-eth')
    expect(chart?.pair).toBe('WETH/USDC')
    expect(chart?.prices.map(Math.round)).toEqual([3_000, 3_100, 2_950, 3_200])
    expect(chart?.atSeconds).toEqual(chart?.atSeconds.toSorted((a, b) => a - b))
    expect(chart?.whole).toBe(true)
    await daemon.close()
  })

  test('leaves out what is older than its range', async () => {
    const daemon = await daemonOf(BOUGHT)
    await daemon.journal.append(skippedAt(1_799_999_000, 3_000, 'weekly-eth'))
    daemon.clock.nowMs += 3 * 86_400_000
    observe(daemon, 3_200)
    const prices = async (range: HoldingsRange) =>
      (await detailOf(daemon, 'weekly-eth', { range })).chart?.prices.map(Math.round)
    expect(await prices('day')).toEqual([3_200])
    expect(await prices('week')).toEqual([3_000, 3_200])
    await daemon.close()
  })

  test('has at most some hundred points, the newest of each stretch', async () => {
    const daemon = await daemonOf(BOUGHT)
    for (let slot = 1; slot <= 1_500; slot += 1) {
      daemon.clock.nowMs += 60_000
      await daemon.journal.append(skippedAt(1_800_000_000 + slot * 60, 2_000 + slot, 'weekly-eth'))
    }
    const { chart } = await detailOf(daemon, 'weekly-eth')
    expect(chart?.prices.length).toBeGreaterThan(300)
    expect(chart?.prices.length).toBeLessThanOrEqual(401)
    expect(Math.round(chart?.prices.at(-1) ?? 0)).toBe(3_500)
    await daemon.close()
  })

  test('shows the bounds of a file as levels that do not trade', async () => {
    const daemon = await daemonOf(BOUGHT)
    observe(daemon, 3_200)
    const { chart } = await detailOf(daemon, 'weekly-eth')
    expect(chart?.levels).toMatchObject([{ name: 'price.max', kind: 'bound' }])
    expect(chart?.levels[0]?.price).toBeCloseTo(4_000)
    expect(chart?.levels[0]?.awayPercent).toBeCloseTo(25)
    expect(chart?.next).toBeNull()
    await daemon.close()
  })

  test('names the level that is nearest in percent as the next trigger, or one that is reached', async () => {
    const daemon = await daemonOf(SOLD)
    const next = async () => {
      const { chart } = await detailOf(daemon, 'take-profit')
      const level = chart?.levels[chart.next ?? -1]
      return level && [Math.round(level.price), Math.round(level.awayPercent ?? 0)]
    }
    expect(await next()).toBeUndefined()
    observe(daemon, 3_200)
    expect(await next()).toEqual([3_600, 13])
    daemon.clock.nowMs += 60_000
    observe(daemon, 2_500)
    expect(await next()).toEqual([2_000, -20])
    const isReached = async () =>
      (await detailOf(daemon, 'take-profit')).chart?.levels.map((level) => level.isReached)
    expect(await isReached()).toEqual([false, false])
    daemon.clock.nowMs += 60_000
    observe(daemon, 1_990)
    expect(await next()).toEqual([2_000, 1])
    expect(await isReached()).toEqual([false, true])
    await daemon.close()
  })

  test('shows the target weights and bands of a portfolio, and its weights now', async () => {
    const daemon = await daemonOf(BALANCED)
    observe(daemon, 3_000)
    const { chart } = await detailOf(daemon, 'balance')
    expect(chart?.weights).toEqual([
      { token: 'WETH', target: 60, band: 5, now: 75 },
      { token: 'USDC', target: 40, band: 5, now: 25 },
    ])
    await daemon.close()
  })
})

test('its fills are those of its range, with its figures of the ledger', async () => {
  const daemon = await daemonOf(BOUGHT)
  for (const slot of [1_800_000_000, 1_800_000_600]) {
    daemon.clock.nowMs = slot * 1000
    await daemon.journal.append(...filledSlot(slot, 'weekly-eth'))
  }
  const positions = new Positions('average', USDC)
  const trade = { strategy: 'weekly-eth', sell: USDC, buy: WETH }
  positions.take({ ...trade, paid: 25_000_000n, received: 10n ** 16n })
  positions.take({ ...trade, paid: 35_000_000n, received: 10n ** 16n })
  positions.take({ ...trade, strategy: 'other', paid: 1n, received: 1n })
  const status = accountStatusOf(positions, USDC, () => undefined)
  expect((await detailOf(daemon, 'weekly-eth')).profit).toBeNull()
  daemon.page.observe({ type: 'profit', ...status, days: [] })
  const { profit, traded, chart } = await detailOf(daemon, 'weekly-eth')
  expect(profit?.realised).toEqual({ amount: '0', token: 'USDC' })
  expect(traded).toEqual([
    {
      fills: 2,
      sold: { amount: '60', token: 'USDC' },
      bought: { amount: '0.02', token: 'WETH' },
      price: '3000',
    },
  ])
  expect(chart?.fills.map(({ slotSeconds }) => slotSeconds)).toEqual([1_800_000_000, 1_800_000_600])
  expect(chart?.fills[0]?.sold).toEqual({ amount: '24.9', token: 'USDC' })
  await daemon.close()
})

test('what a strategy bought with another token than the value token is held, at its price in that token', async () => {
  const daemon = await daemonOf(BOUGHT)
  daemon.clock.nowMs = 1_800_000_000_000
  await daemon.journal.append(...filledSlot(1_800_000_000, 'weekly-eth'))
  // Values are in another token than the USDC that this strategy pays with.
  const other = { ...USDC, symbol: 'EURC', address: `0x${'e1'.repeat(20)}` } as const
  const positions = new Positions('average', other)
  const { sell, buy } = intentOf(1_800_000_000, 'weekly-eth')
  const fill = { sell: sell.token, buy: buy.token, paid: 24_900_000n, received: 61n * 10n ** 14n }
  positions.take({ strategy: 'weekly-eth', ...fill })
  const status = accountStatusOf(positions, other, () => 7n)
  daemon.page.observe({ type: 'profit', ...status, days: [] })
  const { profit, held } = await detailOf(daemon, 'weekly-eth')
  expect(held).toMatchObject({
    amount: { amount: '0.0061', token: 'WETH' },
    cost: { amount: '24.9', token: 'USDC' },
  })
  expect(profit).toMatchObject({ realised: { token: 'EURC' }, unrealised: null })
  await daemon.close()
})

test('a call strategy has its target, function and average charge instead of a chart', async () => {
  const daemon = await daemonWith(aCall({ name: 'poke' }))
  const intent = callIntentOf(1_799_999_900, 'poke')
  const own = { intentId: intent.id, attempt: 1 }
  await daemon.journal.append(
    { type: 'slot-opened', strategy: 'poke', slotSeconds: 1_799_999_900, intents: [intent] },
    {
      type: 'call-recorded',
      intentId: intent.id,
      call: callFor(intent, { attempt: 1, nonce: 1n }),
    },
    { type: 'call-proven', ...own, execution: executionOf(intent) },
  )
  const { call, chart } = await detailOf(daemon, 'poke')
  expect(chart).toBeNull()
  expect(call).toMatchObject({
    target: `0x${'a7'.repeat(20)}`,
    function: 'poke()',
    charge: { amount: '0.000000000000000007', token: 'ETH' },
    calls: 1,
  })
  await daemon.close()
})

describe('the file of a strategy', () => {
  test('is shown as it is on disk', async () => {
    const daemon = await daemonOf(BOUGHT)
    const { file } = await detailOf(daemon, 'weekly-eth')
    expect(file).toEqual({
      name: 'one.yaml',
      text: BOUGHT,
      isCut: false,
      differs: false,
      problems: [],
    })
    await daemon.close()
  })

  test('that has changed since is said to differ, unless only a comment did', async () => {
    const daemon = await daemonOf(BOUGHT)
    const differs = async () => (await detailOf(daemon, 'weekly-eth')).file?.differs
    writeFileSync(daemon.file, `# a note\n${BOUGHT}`)
    expect(await differs()).toBe(false)
    writeFileSync(daemon.file, edit(BOUGHT, '"25"', '"26"'))
    expect(await differs()).toBe(true)
    await daemon.close()
  })

  test('that is refused has its problem, with a caret under it', async () => {
    const daemon = await daemonOf(BOUGHT)
    writeFileSync(daemon.file, edit(BOUGHT, 'amount:', 'amuont:'))
    const { file } = await detailOf(daemon, 'weekly-eth')
    expect(file?.text).toContain('amuont')
    expect(file?.differs).toBe(false)
    expect(file?.problems.find(({ frame }) => frame.includes('^'))?.line).toBe(6)
    await daemon.close()
  })

  test('that is gone has a problem and no text', async () => {
    const daemon = await daemonWith(aCall({ name: 'poke', file: '/nowhere/poke.yaml' }))
    const { file } = await detailOf(daemon, 'poke')
    expect(file).toMatchObject({ text: null, problems: [{ message: 'there is no such file' }] })
    await daemon.close()
  })

  test('is cut if it is very long', async () => {
    const daemon = await daemonOf(`${BOUGHT}${'# long\n'.repeat(20_000)}`)
    const { file } = await detailOf(daemon, 'weekly-eth')
    expect(file?.isCut).toBe(true)
    expect(file?.text).toHaveLength(65_536)
    await daemon.close()
  })
})

test('an unknown name has no detail', async () => {
  const daemon = await daemonOf(BOUGHT)
  expect(await daemon.page.strategy({ name: 'nobody', range: 'day' })).toBeUndefined()
  await daemon.close()
})
