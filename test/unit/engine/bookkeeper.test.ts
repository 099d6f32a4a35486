import { expect, test } from 'vitest'
import type { Token } from '../../../src/domain/money/token.ts'
import { Bookkeeper } from '../../../src/engine/accounts/bookkeeper.ts'
import { postingOf } from '../../../src/journal/events/registry.ts'
import type { AccountStatus } from '../../../src/journal/ledger/account-status.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Posted } from '../../../src/journal/segment-summary.ts'
import { filled, final, type Happened, onRecord, reopened } from '../../support/state/happened.ts'
import { bytes32 } from '../../support/state/journal-events.ts'

const USDC: Token = {
  ...{ symbol: 'USDC', chain: 'base', chainId: 8453, decimals: 6 },
  address: `0x${'b2'.repeat(20)}`,
}
const WETH: Token = { ...USDC, symbol: 'WETH', address: `0x${'c3'.repeat(20)}`, decimals: 18 }
const ETH = 10n ** 18n

type Side = { readonly token: Token; readonly amount: bigint }

type Dated = { isFinal: boolean; vsFeedBps?: number; atMs?: number }

function swapped(
  slot: number,
  sold: Side,
  bought: Side,
  { isFinal, vsFeedBps, atMs = 0 }: Dated = { isFinal: false },
): Happened {
  return filled({
    ...{ strategy: 'dca', slotSeconds: slot, txHash: bytes32(slot), vsFeedBps, atMs },
    ...{ sell: sold.token, buy: bought.token, paid: sold.amount, received: bought.amount },
    ...{ durationMs: 1_000, isFinal },
  })
}

const buy = (slot: number, usdc: bigint, eth: bigint, isFinal = false): Happened =>
  swapped(
    slot,
    { token: USDC, amount: usdc * 1_000_000n },
    { token: WETH, amount: eth },
    { isFinal },
  )
const sale = (slot: number, eth: bigint, usdc: bigint): Happened =>
  swapped(slot, { token: WETH, amount: eth }, { token: USDC, amount: usdc * 1_000_000n })

function reorganised(slot: number): Happened {
  return reopened({ strategy: 'dca', slotSeconds: slot })
}

function finalised(...slots: readonly number[]): Happened {
  return final(...slots.map((slotSeconds) => ({ strategy: 'dca', slotSeconds })))
}

/** Price of one ether in whole USDC. */
function portfolio(price: bigint | undefined): RuntimeEvent {
  return {
    type: 'portfolio',
    valueToken: USDC,
    holdings: [
      {
        ...{ token: 'WETH', decimals: 18, address: WETH.address, amount: ETH, value: undefined },
        pricedAtSeconds: undefined,
        price: price === undefined ? undefined : { num: price * 1_000_000n, den: ETH },
      },
    ],
  }
}

function aBookkeeper() {
  const published: Extract<RuntimeEvent, { type: 'profit' }>[] = []
  const keeper = new Bookkeeper({
    valueToken: USDC,
    observe: (event) => {
      if (event.type === 'profit') published.push(event)
    },
  })
  return { keeper, published }
}

/** Changes to the ledger by records, numbered from 1. */
async function* postedBy(...happened: readonly Happened[]): AsyncGenerator<Posted> {
  for (const [at, each] of happened.entries()) {
    const posting = postingOf(onRecord(each, { seq: at + 1, atMs: at }))
    if (posting !== undefined) yield [at + 1, posting]
  }
}

/** Cost, realised and unrealised profit, in whole USDC. */
function figures({ cost, realised, unrealised }: AccountStatus) {
  return [cost, realised, unrealised].map((each) =>
    each === undefined ? undefined : Number(each) / 1e6,
  )
}

test('purchases before and after a start form one position, whose profit follows the price', async () => {
  const { keeper, published } = aBookkeeper()
  await keeper.readBack(postedBy(buy(1, 2_000n, ETH), buy(2, 4_000n, ETH)), 2)
  keeper.saw(portfolio(3_500n))
  expect(figures(published.at(-1) as AccountStatus)).toEqual([6_000, 0, 1_000])
  keeper.recorded(onRecord(sale(3, ETH, 3_400n)))
  expect(figures(published.at(-1) as AccountStatus)).toEqual([3_000, 400, 500])
  keeper.saw(portfolio(undefined))
  expect(figures(published.at(-1) as AccountStatus)).toEqual([3_000, 400, undefined])
})

test('publishes nothing before the journal is read, and counts fills recorded meanwhile once', async () => {
  const { keeper, published } = aBookkeeper()
  keeper.saw(portfolio(3_000n))
  keeper.recorded(onRecord(buy(2, 1_000n, ETH)))
  expect(published).toEqual([])
  // The file has grown while it was read.
  await keeper.readBack(postedBy(buy(1, 2_000n, ETH), buy(2, 1_000n, ETH)), 1)
  expect(figures(published.at(-1) as AccountStatus)).toEqual([3_000, 0, 3_000])
})

test('a fill removed by a reorganisation leaves the position, and later fills stay', async () => {
  const { keeper, published } = aBookkeeper()
  await keeper.readBack(postedBy(), 0)
  keeper.recorded(onRecord(buy(1, 2_000n, ETH)))
  keeper.recorded(onRecord(buy(2, 3_000n, ETH)))
  keeper.recorded(onRecord(sale(3, ETH / 2n, 2_000n)))
  keeper.recorded(onRecord(finalised(2, 3)))
  keeper.recorded(onRecord(reorganised(1)))
  expect(figures(published.at(-1) as AccountStatus).slice(0, 2)).toEqual([1_500, 500])
  keeper.recorded(onRecord(buy(1, 2_000n, ETH)))
  keeper.recorded(onRecord(finalised(1)))
  expect(figures(published.at(-1) as AccountStatus).slice(0, 2)).toEqual([3_500, 500])
})

test('a fill that is final at once cannot be removed', async () => {
  const { keeper, published } = aBookkeeper()
  await keeper.readBack(postedBy(buy(1, 2_000n, ETH, true)), 1)
  keeper.recorded(onRecord(reorganised(1)))
  expect(figures(published.at(-1) as AccountStatus)[0]).toBe(2_000)
})

test('each UTC day has its realised profit and its gain against the feeds, until a fill is undone', async () => {
  const DAY_MS = 86_400_000
  const { keeper, published } = aBookkeeper()
  await keeper.readBack(postedBy(), 0)
  keeper.saw(portfolio(3_000n))
  const usdc = (whole: bigint): Side => ({ token: USDC, amount: whole * 1_000_000n })
  const weth = (amount: bigint): Side => ({ token: WETH, amount })
  const trade = { isFinal: false, vsFeedBps: -5, atMs: 1_000 }
  keeper.recorded(onRecord(swapped(1, usdc(2_000n), weth(ETH), trade)))
  const next = { ...trade, vsFeedBps: 10, atMs: DAY_MS + 1_000 }
  keeper.recorded(onRecord(swapped(2, weth(ETH / 2n), usdc(1_500n), next)))
  const days = () =>
    published.at(-1)?.days.map(({ day, fills, ...sums }) => {
      return [day, fills, Number(sums.realised) / 1e6, Number(sums.againstFeed) / 1e6]
    })
  // 5 bps of 2,000 USDC, and 10 bps of half an ether at 3,000 USDC.
  expect(days()).toEqual([
    ['1970-01-01', 1, 0, -1],
    ['1970-01-02', 1, 500, 1.5],
  ])
  keeper.recorded(onRecord(reorganised(2)))
  expect(days()).toEqual([['1970-01-01', 1, 0, -1]])
})
