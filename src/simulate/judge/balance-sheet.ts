import type { Fill } from '../../domain/book/journal.ts'
import { isSwap } from '../../domain/book/swaps.ts'
import type { SwapIntent } from '../../domain/intent.ts'
import type { Asset } from '../../domain/token.ts'
import type { Address } from '../../domain/units.ts'
import { WALLET, WETH } from '../stage.ts'
import type { World } from '../world.ts'

/**
 * What does not add up in a world where nothing is open, in words: the journal's spending against the chain's, and
 * WETH that was wrapped for an order, or bought by a strategy that wants ETH, and is still WETH.
 */
export function imbalances(world: World): readonly string[] {
  return [...wrongSpending(world), ...forgottenWeth(world)]
}

function wrongSpending(world: World): string[] {
  const real = new Map<Address, bigint>()
  for (const { settled, transfers } of world.ledger.transactions) {
    if (settled.length === 0) continue
    for (const { token, from, amount } of transfers)
      if (from === WALLET) real.set(token, (real.get(token) ?? 0n) + amount)
  }
  const booked = new Map<Address, bigint>()
  for (const { spent } of world.state.strategies.values())
    for (const [token, amount] of spent) booked.set(token, (booked.get(token) ?? 0n) + amount)
  return [...new Set([...real.keys(), ...booked.keys()])]
    .filter((token) => real.get(token) !== booked.get(token))
    .map((token) => `${token}: ${booked.get(token)} is booked, ${real.get(token)} left the wallet`)
}

function forgottenWeth(world: World): string[] {
  let expected = world.initialWeth
  const swaps = swapsOf(world)
  for (const event of world.disk.events())
    if (event.type === 'fill-proven') expected += wethMoved(swaps.get(event.intentId), event.fill)
  for (const mined of world.ledger.transactions) {
    const stolen = mined.transfers.filter(({ to, amount }) => to === WALLET && amount === 1n)
    for (const { token } of stolen) if (token === WETH.address) expected += 1n
  }
  const held = world.balance(WETH.address)
  return held === expected ? [] : [`the wallet holds ${held} WETH, ${expected} is expected`]
}

function swapsOf(world: World): ReadonlyMap<string, SwapIntent> {
  const intents = world.disk
    .events()
    .flatMap((event) => (event.type === 'slot-opened' ? event.intents : []))
  return new Map(intents.filter(isSwap).map((intent) => [intent.id, intent]))
}

/** What a fill adds to the wallet's WETH for good; an order that names ETH leaves none. */
function wethMoved(intent: SwapIntent | undefined, fill: Pick<Fill, 'paid' | 'received'>): bigint {
  if (intent === undefined) return 0n
  const isWeth = ({ token, native }: Asset): boolean => token.address === WETH.address && !native
  const received = isWeth(intent.buy) ? fill.received : 0n
  return isWeth(intent.sell) ? received - fill.paid : received
}
