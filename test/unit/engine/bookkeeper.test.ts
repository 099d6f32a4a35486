import { expect, test } from 'vitest'
import type { Fact } from '../../../src/domain/book/fact.ts'
import type { Told } from '../../../src/domain/book/tell.ts'
import type { Standing } from '../../../src/domain/ledger/standing.ts'
import type { Observation } from '../../../src/domain/observation.ts'
import type { Token } from '../../../src/domain/token.ts'
import { baseUnits } from '../../../src/domain/units.ts'
import { Bookkeeper } from '../../../src/engine/bookkeeper.ts'
import { bytes32 } from '../../support/state/journal-story.ts'

const USDC: Token = {
  ...{ symbol: 'USDC', chain: 'base', chainId: 8453, decimals: 6 },
  address: `0x${'b2'.repeat(20)}`,
}
const WETH: Token = { ...USDC, symbol: 'WETH', address: `0x${'c3'.repeat(20)}`, decimals: 18 }
const ETH = 10n ** 18n

type Side = { readonly token: Token; readonly amount: bigint }

function filled(slot: number, sold: Side, bought: Side, isFinal = false): Fact {
  return {
    ...{ type: 'filled', venue: 'gasless', strategy: 'dca', intentId: `dca:${slot}:0` },
    ...{ sell: sold.token, buy: bought.token, durationMs: 1_000, vsFeedBps: undefined },
    ...{ paid: baseUnits(sold.amount), received: baseUnits(bought.amount), txHash: bytes32(slot) },
    ...(isFinal ? { isFinal } : {}),
  }
}

const buy = (slot: number, usdc: bigint, eth: bigint, isFinal = false): Fact =>
  filled(slot, { token: USDC, amount: usdc * 1_000_000n }, { token: WETH, amount: eth }, isFinal)
const sale = (slot: number, eth: bigint, usdc: bigint): Fact =>
  filled(slot, { token: WETH, amount: eth }, { token: USDC, amount: usdc * 1_000_000n })

function undone(slot: number): Fact {
  return {
    ...{ type: 'fill-reopened', strategy: 'dca', intentId: `dca:${slot}:0`, attempt: 1 },
    ...{ venue: 'gasless', blockNumber: 9n, moved: { paid: '', received: '' } },
  }
}

function final(...slots: readonly number[]): Fact {
  const orders = slots.map((slot) => ({ strategy: 'dca', intentId: `dca:${slot}:0` }) as const)
  return { type: 'fills-final', orders, blockNumber: 9n }
}

/** The price of one ether in whole USDC. */
function portfolio(price: bigint | undefined): Observation {
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
  const told: Standing[] = []
  const keeper = new Bookkeeper({
    valueToken: USDC,
    observe: (event) => {
      if (event.type === 'profit') told.push(event)
    },
  })
  return { keeper, told }
}

async function* journalOf(...facts: readonly Fact[]): AsyncGenerator<Told> {
  const rest = { prev: bytes32(1), hash: bytes32(2), event: { type: 'halt-lifted' } } as const
  for (const [at, fact] of facts.entries())
    yield { record: { seq: at + 1, atMs: at, ...rest }, fact }
}

/** Cost, realised and unrealised, in whole USDC. */
function figures({ cost, realised, unrealised }: Standing) {
  return [cost, realised, unrealised].map((each) =>
    each === undefined ? undefined : Number(each) / 1e6,
  )
}

test('what was bought before a start and after it is one position, whose profit follows the price', async () => {
  const { keeper, told } = aBookkeeper()
  await keeper.readBack(journalOf(buy(1, 2_000n, ETH), buy(2, 4_000n, ETH)), 2)
  keeper.saw(portfolio(3_500n))
  expect(figures(told.at(-1) as Standing)).toEqual([6_000, 0, 1_000])
  keeper.told(sale(3, ETH, 3_400n), 10)
  expect(figures(told.at(-1) as Standing)).toEqual([3_000, 400, 500])
  keeper.saw(portfolio(undefined))
  expect(figures(told.at(-1) as Standing)).toEqual([3_000, 400, undefined])
})

test('nothing is told before the journal was read, and what came meanwhile is counted once', async () => {
  const { keeper, told } = aBookkeeper()
  keeper.saw(portfolio(3_000n))
  keeper.told(buy(2, 1_000n, ETH), 5)
  expect(told).toEqual([])
  // The file has gone on beside whoever reads it.
  await keeper.readBack(journalOf(buy(1, 2_000n, ETH), buy(2, 1_000n, ETH)), 1)
  expect(figures(told.at(-1) as Standing)).toEqual([3_000, 0, 3_000])
})

test('a fill that a reorganisation took back is no position, also among later ones that stay', async () => {
  const { keeper, told } = aBookkeeper()
  await keeper.readBack(journalOf(), 0)
  keeper.told(buy(1, 2_000n, ETH), 1)
  keeper.told(buy(2, 3_000n, ETH), 2)
  keeper.told(sale(3, ETH / 2n, 2_000n), 3)
  keeper.told(final(2, 3), 4)
  keeper.told(undone(1), 5)
  expect(figures(told.at(-1) as Standing).slice(0, 2)).toEqual([1_500, 500])
  keeper.told(buy(1, 2_000n, ETH), 6)
  keeper.told(final(1), 7)
  expect(figures(told.at(-1) as Standing).slice(0, 2)).toEqual([3_500, 500])
})

test('what is final at once waits for nothing', async () => {
  const { keeper, told } = aBookkeeper()
  await keeper.readBack(journalOf(buy(1, 2_000n, ETH, true)), 1)
  keeper.told(undone(1), 2)
  expect(figures(told.at(-1) as Standing)[0]).toBe(2_000)
})
