import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { IntentId } from '../../../src/domain/order/intent.ts'
import { nextSlot } from '../../../src/domain/schedule/calendar.ts'
import {
  type FillProven,
  fillProven,
  fillReopened,
} from '../../../src/journal/events/order/fills.ts'
import { intentClosed, orderSettled } from '../../../src/journal/events/order/outcomes.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { slotClosed, slotOpened, slotsMissed } from '../../../src/journal/events/strategy/slots.ts'
import { strategyScheduled } from '../../../src/journal/events/strategy/strategies.ts'
import type { Fill } from '../../../src/journal/records.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { scheduleOf } from '../../../src/strategies/spending/slots-ahead.ts'
import { type MinedTransaction, type SettlementItem, settlementInput } from '../chain/ledger.ts'
import type { Simulation } from '../simulation.ts'
import { GAS } from '../stage.ts'
import { capsPassedEver } from './caps.ts'
import { recordedPermits } from './watch.ts'

/** One executed permit. */
type Spending = {
  readonly intentId: IntentId | undefined
  readonly strategy: string
  readonly nonce: bigint
  readonly token: Address
  /** The amount that left the wallet for it, and the permitted maximum. */
  readonly amount: bigint
  readonly most: bigint
  /**
   * Whether its transaction delivered the full minimum: in a transaction that cheats one order, another's share may be
   * taken for its own.
   */
  readonly isFair: boolean
  readonly timeMs: number
  readonly mined: MinedTransaction
}

/** Every violated invariant of a simulation, as text; empty for a sound one. */
export function violationsOf(sim: Simulation): readonly string[] {
  const events = sim.disk.events()
  const spendings = spendingsOf(sim)
  const state = sim.disk.reducedState()
  return [
    ...sim.watch.violations,
    ...sim.aggregation.watch.all(sim.disk),
    ...doubleFills(spendings),
    ...wrongSettlements(sim),
    ...wrongRecords(events, knownTo(events, spendings)),
    ...passedCaps(sim, spendings),
    ...gasAboveDay(sim),
    ...sim.strategies.flatMap((strategy) =>
      brokenSlots({ name: strategy.name, schedule: scheduleOf(state, strategy) }, events),
    ),
  ]
}

/** Spendings whose permit the journal has: permits that an operator gave up are not recorded. */
function knownTo(
  events: readonly JournalEvent[],
  spendings: readonly Spending[],
): readonly Spending[] {
  const nonces = new Set(recordedPermits(events).map(({ permit }) => permit.nonce))
  return spendings.filter(({ nonce }) => nonces.has(nonce))
}

function spendingsOf({ disk, ledger }: Simulation): readonly Spending[] {
  const ever = disk.history().map(({ event }) => event)
  const owners = new Map(
    recordedPermits(ever).map(({ intentId, permit }) => [permit.nonce, intentId]),
  )
  return ledger.transactions.flatMap((mined) =>
    mined.settled.map(({ permit, paid }) => {
      const { nonce, token } = permit
      const intentId = owners.get(nonce)
      const strategy = intentId?.split(':')[0] ?? ''
      const timeMs = mined.timeSeconds * 1000
      const isFair = mined.settled.every(isFairItem)
      return {
        intentId,
        strategy,
        nonce,
        token,
        amount: paid,
        most: permit.amount,
        isFair,
        timeMs,
        mined,
      }
    }),
  )
}

function isFairItem({ permit, received }: SettlementItem): boolean {
  return received >= permit.minAmountOut
}

function doubleFills(spendings: readonly Spending[]): string[] {
  const counts = new Map<string, number>()
  for (const { intentId } of spendings) {
    const key = intentId ?? 'an order without a record'
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const unknown = counts.has('an order without a record') ? ['an unrecorded order executed'] : []
  const doubled = [...counts].filter(([, count]) => count > 1)
  return [...unknown, ...doubled.map(([id, count]) => `${id} executed ${count} times`)]
}

/**
 * Each proof must name the transaction of its own order, and record no less than what left the wallet for it and no
 * more than could have: exactly that if the transaction states its amounts and all of its orders are proven. Each
 * execution must be proven in the end. A proof that a reorganisation took away does not count.
 */
function wrongRecords(events: readonly JournalEvent[], spendings: readonly Spending[]): string[] {
  const found: string[] = []
  const { closed, proven, settledByOperator } = projectionOf(events)
  const provenIn = new Map(
    spendings.map(({ nonce, intentId }) => [nonce, intentId && proven.get(intentId)?.fill.txHash]),
  )
  for (const { intentId, fill } of proven.values()) {
    const real = spendings.find((each) => each.intentId === intentId)
    if (real?.mined.hash !== fill.txHash)
      found.push(`${intentId} is proven by a transaction that is not its own`)
    else if (!isRecordedRight(fill, real, provenIn))
      found.push(`${intentId} is recorded at ${fill.paid}, and ${real.amount} left the wallet`)
  }
  for (const { intentId, isFair } of spendings) {
    if (intentId === undefined || !closed.has(intentId) || proven.has(intentId)) continue
    if (settledByOperator.has(intentId)) continue
    if (isFair) found.push(`${intentId} was closed as not filled, but it executed`)
  }
  return found
}

/** `provenIn`: the transaction by which the journal has each nonce proven. */
function isRecordedRight(
  { paid }: Fill,
  { amount, most, mined }: Spending,
  provenIn: ReadonlyMap<bigint, Hex | undefined>,
): boolean {
  const { hash, input, settled } = mined
  const isProven = settled.every(({ permit }) => provenIn.get(permit.nonce) === hash)
  const isExact = isProven && input === settlementInput(settled)
  return isExact ? paid === amount : paid >= amount && paid <= most
}

/** Each intent by the journal: closed, filled by which proof, or executed by an operator's instruction. */
function projectionOf(events: readonly JournalEvent[]): {
  readonly closed: ReadonlySet<IntentId>
  readonly proven: ReadonlyMap<IntentId, FillProven>
  readonly settledByOperator: ReadonlySet<IntentId>
} {
  const closed = new Set<IntentId>()
  const proven = new Map<IntentId, FillProven>()
  const settledByOperator = new Set<IntentId>()
  for (const event of events) {
    if (intentClosed.is(event)) closed.add(event.intentId)
    if (fillProven.is(event)) proven.set(event.intentId, event)
    if (orderSettled.is(event) && event.as === 'executed') settledByOperator.add(event.intentId)
    if (!fillReopened.is(event)) continue
    proven.delete(event.intentId)
    closed.delete(event.intentId)
  }
  return { closed, proven, settledByOperator }
}

/**
 * Checks everything that left the wallet, through whichever daemon; permits that an operator gave up count for no cap.
 */
function passedCaps(sim: Simulation, spendings: readonly Spending[]): string[] {
  const sold = spendings.filter(({ nonce }) => !sim.watch.isForgiven(nonce))
  return capsPassedEver([...sold, ...sim.aggregation.watch.outflows()], sim.filesEver)
}

/** Gas costs of the wallet in any 24 hours, whatever its nodes suggested. */
function gasAboveDay({ ledger }: Simulation): string[] {
  const paid = ledger.transactions.filter(({ fee }) => fee > 0n)
  for (const [last, { timeSeconds }] of paid.entries()) {
    const day = paid.slice(0, last + 1).filter((each) => timeSeconds - each.timeSeconds < 86_400)
    const wei = day.reduce((sum, { fee }) => sum + fee, 0n)
    if (wei > GAS.perDay) return [`gas of ${wei} wei in the day before ${timeSeconds}`]
  }
  return []
}

/** Only allowed spenders settle, and only for the owner. */
function wrongSettlements(sim: Simulation): string[] {
  const { spenders } = sim.gasless
  return sim.ledger.transactions.flatMap(({ settled }) =>
    settled.flatMap(({ permit: { spender, recipient, owner, nonce } }) => {
      const isAllowed = spenders.includes(spender) && recipient === owner
      return isAllowed ? [] : [`permit ${nonce} was settled by ${spender} for ${recipient}`]
    }),
  )
}

/** The journal accounts for the slots of a strategy in order, without gaps or repetitions. */
function brokenSlots(
  { name, schedule }: Pick<Strategy, 'name' | 'schedule'>,
  events: readonly JournalEvent[],
): string[] {
  const found: string[] = []
  const open = new Set<number>()
  let last: number | undefined
  const advance = (first: number, until: number): void => {
    const expected = last === undefined ? undefined : nextSlot(schedule, last)
    const isDue = first === expected || isTriggered(schedule, { first, last, expected })
    if (!isDue) found.push(`${name}: slot ${first} follows ${last}, not ${expected}`)
    last = until
  }
  for (const event of events) {
    for (const slot of reopenedSlots(name, event)) open.add(slot)
    if (!('strategy' in event) || event.strategy !== name) continue
    if (strategyScheduled.is(event)) last = event.fromSeconds
    else if (slotsMissed.is(event)) advance(event.firstSeconds, event.lastSeconds)
    else if (slotOpened.is(event)) {
      advance(event.slotSeconds, event.slotSeconds)
      open.add(event.slotSeconds)
    } else if (slotClosed.is(event) && !open.delete(event.slotSeconds))
      advance(event.slotSeconds, event.slotSeconds)
  }
  return found
}

/** An operator's trigger lies between the slots of the calendar. */
function isTriggered(
  schedule: Strategy['schedule'],
  { first, last, expected }: Record<'first' | 'last' | 'expected', number | undefined>,
): boolean {
  if (first === undefined || last === undefined || first <= last) return false
  const isBefore = expected === undefined || first < expected
  return isBefore && nextSlot(schedule, first - 1) !== first
}

/** An accounted slot that is open again. */
function reopenedSlots(name: string, event: JournalEvent): readonly number[] {
  if (!fillReopened.is(event)) return []
  const [strategy, slotSeconds] = event.intentId.split(':')
  return strategy === name ? [Number(slotSeconds)] : []
}
