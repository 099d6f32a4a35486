import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OrderState } from '../../src/domain/order/order.ts'
import type { DaemonState, OpenIntent } from '../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import { projectionOf } from '../../src/venues/projections.ts'
import { anIntent, BUY_WETH, ETH, SELL_USDC, usdc } from '../support/builders.ts'
import { callIntentOf } from '../support/state/journal-events.ts'

const STRATEGIES = ['one', 'two'] as const
const STATES: readonly OrderState[] = ['planned', 'exposed', 'filled']
const ASSETS = [SELL_USDC, BUY_WETH, ETH] as const

function anOpenIntent({ strategy, slot, sells, buys, amount }: Opening): OpenIntent {
  const nothing = { orderId: undefined, ended: undefined, died: undefined, settled: undefined }
  const base = { ...nothing, state: 'planned', attempt: 1, reopened: false, openedAtMs: 0 } as const
  const id = `${strategy}:${slot}:0` as const
  const asset = ASSETS[sells]
  const intent =
    asset === undefined
      ? { ...callIntentOf(slot), id, strategy, value: usdc(amount) }
      : anIntent({ id, strategy, sell: asset, buy: ASSETS[buys] ?? ETH, maxSell: usdc(amount) })
  return projectionOf(intent).opened(intent, base)
}

const opening = fc.record({
  strategy: fc.constantFrom(...STRATEGIES),
  slot: fc.integer({ min: 1, max: 6 }),
  // Beyond the assets: a call.
  sells: fc.integer({ min: 0, max: ASSETS.length }),
  buys: fc.integer({ min: 0, max: ASSETS.length - 1 }),
  amount: fc.integer({ min: 0, max: 5 }),
})
type Opening = typeof opening extends fc.Arbitrary<infer Value> ? Value : never

const change = fc.oneof(
  opening.map((from) => ({ type: 'set', from }) as const),
  fc.record({ type: fc.constant('delete' as const), at: fc.nat() }),
  fc.record({
    type: fc.constant('move' as const),
    at: fc.nat(),
    to: fc.constantFrom(...STATES),
  }),
  fc.constant({ type: 'clear' } as const),
)
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

test('open intents answer as a scan of them would', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const { intents } = emptyState()
      for (const each of changes) {
        apply(intents, each)
        expectScanned(intents)
      }
    }),
  )
})

function apply(intents: DaemonState['intents'], each: Change): void {
  if (each.type === 'clear') intents.clear()
  else if (each.type === 'set') {
    const open = anOpenIntent(each.from)
    intents.set(open.intent.id, open)
  } else {
    const open = [...intents.values()][each.at % intents.size]
    if (open === undefined) return
    if (each.type === 'move') intents.move(open, each.to)
    else intents.delete(open.intent.id)
  }
}

function expectScanned(intents: DaemonState['intents']): void {
  const all = [...intents.values()]
  for (const name of STRATEGIES) {
    const own = all.filter(({ intent }) => intent.strategy === name)
    expect(new Set(intents.of(name))).toEqual(new Set(own))
  }
  const ether = all.filter(
    ({ intent }) => 'sell' in intent && (intent.sell.native || intent.buy.native),
  )
  expect(new Set(intents.withEther)).toEqual(new Set(ether))
  const most = all
    .filter(({ state }) => state === 'planned')
    .map(({ intent }) => projectionOf(intent).mostOf(intent))
  for (const { token, shown } of most) {
    const sum = (of: typeof most): bigint => of.reduce((total, { amount }) => total + amount, 0n)
    const same = most.filter((each) => each.token.address === token.address)
    expect(intents.planned(token.address)).toBe(sum(same))
    const shownAlike = same.filter((each) => each.shown.address === shown.address)
    expect(intents.planned(token.address, shown.address)).toBe(sum(shownAlike))
  }
  if (most.length === 0)
    for (const { token } of ASSETS) expect(intents.planned(token.address)).toBe(0n)
}
