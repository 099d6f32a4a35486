import type { Asset } from '../../../src/domain/money/token.ts'
import { type Address, minOf } from '../../../src/domain/money/units.ts'
import { clientOrderId, type SwapIntent } from '../../../src/domain/order/intent.ts'
import { authorizationDead } from '../../../src/journal/events/order/authorizations.ts'
import { fillProven, fillReopened } from '../../../src/journal/events/order/fills.ts'
import { intentClosed, orderSettled } from '../../../src/journal/events/order/outcomes.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { slotOpened } from '../../../src/journal/events/strategy/slots.ts'
import { isSwap } from '../../../src/venues/swap/swap-projection.ts'
import type { SettlementItem } from '../chain/ledger.ts'
import type { Simulation } from '../simulation.ts'
import { WETH } from '../stage.ts'
import { type RecordedPermit, recordedPermits } from './watch.ts'

/**
 * Imbalances of a simulation without open orders: the journal's spending against the chain's, and WETH that was wrapped
 * for an order, or bought by a strategy that wants ETH, and is still WETH. Movements come from the ledger; the journal
 * contributes only the owner of each permit.
 */
export function imbalances(sim: Simulation): readonly string[] {
  // Without the old records, the purpose of each wrap is unknown.
  return sim.watch.hasForgiven ? wrongSpending(sim) : [...wrongSpending(sim), ...forgottenWeth(sim)]
}

/** The journal must record everything that left the wallet, and nothing beyond the permitted amounts. */
function wrongSpending(sim: Simulation): string[] {
  const real = new Map<Address, bigint>()
  const most = new Map<Address, bigint>()
  const add = (sums: Map<Address, bigint>, token: Address, amount: bigint): void => {
    sums.set(token, (sums.get(token) ?? 0n) + amount)
  }
  for (const { settled } of sim.ledger.transactions) {
    for (const { permit, paid } of settled) {
      if (sim.watch.isForgiven(permit.nonce)) continue
      add(real, permit.token, paid)
      add(most, permit.token, permit.amount)
    }
  }
  for (const { permit } of cancelledPermits(sim)) add(most, permit.token, permit.amount)
  const recorded = recordedSpending(sim.disk.events())
  return [...new Set([...real.keys(), ...recorded.keys()])].flatMap((token) => {
    const [is, left, allowed] = [recorded, real, most].map((sums) => sums.get(token) ?? 0n)
    const isSound = is !== undefined && is >= (left ?? 0n) && is <= (allowed ?? 0n)
    return isSound ? [] : [`${token}: ${is} is recorded, ${left} left the wallet of ${allowed}`]
  })
}

/** Its nonce was used, and it is recorded at its maximum: by the evidence found, or by an operator's instruction. */
function isUsedUp(event: JournalEvent): boolean {
  if (authorizationDead.is(event)) return event.how === 'cancelled'
  return orderSettled.is(event) && event.as === 'executed'
}

/** Spending in the journal, by token: proven fills, and permits used up without a proof at their maximum. */
export function recordedSpending(events: readonly JournalEvent[]): ReadonlyMap<Address, bigint> {
  const permits = new Map(
    recordedPermits(events).map(({ permit }) => [permit.clientOrderId, permit] as const),
  )
  const recorded = new Map<string, { readonly token: Address; readonly amount: bigint }>()
  for (const event of events) {
    if (!('intentId' in event && 'attempt' in event)) continue
    const key = clientOrderId(event.intentId, event.attempt)
    const permit = permits.get(key)
    if (permit === undefined) continue
    const { token } = permit
    if (fillProven.is(event)) recorded.set(key, { token, amount: event.fill.paid })
    if (fillReopened.is(event)) recorded.delete(key)
    if (isUsedUp(event)) recorded.set(key, { token, amount: permit.amount })
  }
  const sums = new Map<Address, bigint>()
  for (const { token, amount } of recorded.values())
    sums.set(token, (sums.get(token) ?? 0n) + amount)
  return sums
}

/** Permits used up by their owner: nothing left the wallet for them, and they are recorded as if it had. */
function cancelledPermits(sim: Simulation): readonly RecordedPermit[] {
  const nonces = new Set(sim.ledger.invalidations.map(({ nonce }) => nonce))
  return recordedPermits(sim.disk.events()).filter(({ permit }) => nonces.has(permit.nonce))
}

function forgottenWeth(sim: Simulation): string[] {
  let expected = sim.initialWeth
  const swaps = swapsOf(sim)
  const owners = new Map(
    recordedPermits(sim.disk.events()).map(({ intentId, permit }) => [permit.nonce, intentId]),
  )
  for (const { settled } of sim.ledger.transactions) {
    for (const item of settled) {
      const isFair = item.received >= item.permit.minAmountOut
      const intent = swaps.get(owners.get(item.permit.nonce) ?? '')
      expected += isFair ? wethMoved(intent, item) : stolenWeth(intent, item)
    }
  }
  for (const intent of revertedSwaps(sim)) if (intent.sell.native) expected += intent.maxSell
  const held = sim.balance(WETH.address)
  const tolerance = mistakable(sim)
  const isSound = held >= expected - tolerance && held <= expected + tolerance
  return isSound ? [] : [`the wallet holds ${held} WETH, ${expected} is expected`]
}

/**
 * WETH that may be left wrapped, or unwrapped with another order's, because one transaction delivered to several
 * orders: each may be taken for the one that got least, and then another for the one that got more.
 */
function mistakable({ ledger }: Simulation): bigint {
  let sum = 0n
  for (const { settled } of ledger.transactions) {
    const got = settled.filter(({ permit }) => permit.tokenOut === WETH.address)
    const least = got.reduce((min, { received }) => minOf(received, min), 10n ** 30n)
    for (const { received } of got) sum += received - least
  }
  return sum
}

/** Closed as filled, and undone: their wrapped ETH stays wrapped. */
function revertedSwaps(sim: Simulation): readonly SwapIntent[] {
  const swaps = swapsOf(sim)
  return sim.disk.events().flatMap((event) => {
    if (!intentClosed.is(event) || event.reason !== 'fill-reverted') return []
    return swaps.get(event.intentId) ?? []
  })
}

/** Effect of a cheating settlement on the wallet's WETH: WETH wrapped for it and not taken stays WETH. */
function stolenWeth(
  intent: SwapIntent | undefined,
  { permit, paid, received }: SettlementItem,
): bigint {
  const got = permit.tokenOut === WETH.address ? received : 0n
  if (permit.token !== WETH.address || intent === undefined) return got
  return intent.sell.native ? got + intent.maxSell - paid : got - paid
}

function swapsOf(sim: Simulation): ReadonlyMap<string, SwapIntent> {
  const intents = sim.disk.events().flatMap((event) => (slotOpened.is(event) ? event.intents : []))
  return new Map(intents.filter(isSwap).map((intent) => [intent.id, intent]))
}

/** Permanent effect of a fill on the wallet's WETH; an order that uses ETH leaves none. */
function wethMoved(
  intent: SwapIntent | undefined,
  fill: Pick<SettlementItem, 'paid' | 'received'>,
): bigint {
  if (intent === undefined) return 0n
  const isWeth = ({ token, native }: Asset): boolean => token.address === WETH.address && !native
  const received = isWeth(intent.buy) ? fill.received : 0n
  return isWeth(intent.sell) ? received - fill.paid : received
}
