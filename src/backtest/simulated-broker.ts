import { acceptPath } from '../domain/money/price.ts'
import { baseUnits, type Hex, type Ratio } from '../domain/money/units.ts'
import { clientOrderId, type IntentId, type SwapIntent } from '../domain/order/intent.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import { createRandom } from '../domain/random.ts'
import {
  authorizationDead,
  callRecorded,
  permitRecorded,
} from '../journal/events/order/authorizations.ts'
import { callProven, fillProven } from '../journal/events/order/fills.ts'
import { orderAccepted } from '../journal/events/order/outcomes.ts'
import { type SlotClosed, slotClosed } from '../journal/events/strategy/slots.ts'
import {
  type StrategyPaused,
  strategyPaused,
  type TradingHalted,
  tradingHalted,
} from '../journal/events/strategy/stops.ts'
import type { Fill } from '../journal/records.ts'
import type { OpenCall, OpenIntent, OpenSwap } from '../journal/state/daemon-state.ts'
import { priceRefusal } from '../signing/verify.ts'
import { capHit } from '../venues/authorization.ts'
import { callOf } from '../venues/call/call-projection.ts'
import {
  type Closing,
  type End,
  endOf,
  failure,
  mayNotStart,
  refusal,
  type StartContext,
} from '../venues/close.ts'
import { tooCostly } from '../venues/swap/cost.ts'
import { swapOf } from '../venues/swap/swap-projection.ts'
import { notTriggered } from '../venues/swap/trigger.ts'
import { costsOf, type ModelQuote, type OrderCosts, quoteOf, swappedAt } from './model.ts'
import { callRecordOf, permitOf } from './simulated-records.ts'
import type { Simulation } from './simulation.ts'

export type Filled = {
  readonly intent: SwapIntent
  readonly atSeconds: number
  readonly paid: bigint
  readonly received: bigint
  /** The market's price, sell base units per buy base unit. */
  readonly price: Ratio
  readonly costs: OrderCosts
}

export type OrderListener = {
  filled(fill: Filled, sim: Simulation): void
  called(call: {
    readonly strategy: string
    readonly value: bigint
    readonly charged: bigint
  }): void
  /** Gas of our own transactions, in wei. */
  gas(wei: bigint): void
  /** A slot whose last order has ended. */
  closed(slot: SlotClosed): void
  paused(event: StrategyPaused | TradingHalted): void
}

type Step = { readonly atMs: number; readonly id: IntentId; readonly does: 'sign' | 'fill' | 'die' }

/** Time from a permit's deadline until it is known to be dead. */
const DEATH_MS = 10_000
/** Interval between checks for the end of the account's other call. */
const TURN_MS = 1_000

/** Executes orders by the model: the daemon's own code makes all checks, and the model replaces services and chains. */
export class SimulatedBroker {
  readonly #sim: Simulation
  readonly #listener: OrderListener
  readonly #orderEnded: () => void
  /** Soonest first. Steps of one time keep the order of their entry. */
  readonly #steps: Step[] = []
  readonly #context: StartContext & { readonly account: Simulation['input']['account'] }
  #transactions = 0
  #tankWei: bigint | undefined

  /** `orderEnded` is called when any order has ended. */
  constructor(sim: Simulation, listener: OrderListener, orderEnded: () => void) {
    this.#sim = sim
    this.#listener = listener
    this.#orderEnded = orderEnded
    const { policy, account, modules, model } = sim.input
    this.#tankWei = model.tankWei
    const { state, strategies } = sim
    const ports = { clock: { now: () => sim.nowMs }, journal: { state }, modules }
    this.#context = { strategies, policy, account, ports }
  }

  get nextMs(): number {
    return this.#steps[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  /** Starts the orders of a slot. */
  launch(ids: readonly IntentId[]): void {
    const { nowMs, input } = this.#sim
    for (const id of ids) this.#add(nowMs + input.model.quoteSeconds * 1000, id, 'sign')
  }

  /** Inserts in order of time; few orders are pending, so the list is short. */
  #add(atMs: number, id: IntentId, does: Step['does']): void {
    const after = this.#steps.findLastIndex((step) => step.atMs <= atMs)
    this.#steps.splice(after + 1, 0, { atMs, id, does })
  }

  /** Takes one due step; false if none is due. */
  step(): boolean {
    const due = this.nextMs <= this.#sim.nowMs ? this.#steps.shift() : undefined
    const open = due && this.#sim.state.intents.get(due.id)
    if (due === undefined || open === undefined) return false
    const { does } = due
    const [swap, call] = [swapOf(open), callOf(open)]
    if (swap !== undefined) this.#stepSwap(swap, does)
    if (call !== undefined) this.#stepCall(call, does)
    return true
  }

  #stepSwap(open: OpenSwap, does: Step['does']): void {
    if (does === 'sign') this.#attempt(open)
    else if (does === 'fill') this.#fill(open)
    else this.#die(open)
  }

  #stepCall(open: OpenCall, does: Step['does']): void {
    if (does === 'sign') this.#tryCall(open)
    else this.#executeCall(open)
  }

  /** One attempt: quote, verify, record. */
  #attempt(open: OpenSwap): void {
    const blocked = mayNotStart(this.#context, open) ?? this.#sign(open)
    if (blocked !== undefined) this.#close(open, blocked)
  }

  #sign(open: OpenSwap): Closing | undefined {
    const sim = this.#sim
    const { intent, attempt } = open
    const { pricePath, account, model } = sim.input
    const view = sim.view()
    const unwanted = notTriggered(intent, view, pricePath)
    if (unwanted !== undefined) return unwanted
    const price = sim.marketPrice(intent.sell.token, intent.buy.token)
    if (price === undefined)
      return failure('quote-unavailable', 'there is no past price for this pair')
    const quote = quoteOf(intent, price, this.#costsOf(intent))
    const path = pricePath(intent.sell.token, intent.buy.token)
    const maxDeviationBps = Math.min(account.maxDeviationBps, intent.maxDeviationBps)
    if (quote.sellAmount > intent.maxSell)
      return refusal('amount-above-limit', 'the quote takes more than was decided')
    const refused = priceRefusal({ intent, quote, view, path, maxDeviationBps }, quote.sellAmount)
    if (refused !== undefined) return refusal(refused.reason, refused.detail)
    const costly = tooCostly(intent, quote, { view, path })
    if (costly !== undefined) return costly
    const short = this.#cover(intent, quote)
    if (short !== undefined) return short
    const amount = quote.sellAmount
    const hit = capHit(this.#context, open, { amount, nowMs: sim.nowMs })
    if (hit !== undefined) return hit
    const fair = acceptPath(path, view.readings, view.blockTimeSeconds)
    const feed = fair.ok ? fair.price.ratio : undefined
    const permit = permitOf(open, quote, {
      deadlineSeconds: sim.nowSeconds + model.validSeconds,
      feed,
    })
    if (intent.sell.native) this.#wrap(intent, amount)
    sim.apply(
      permitRecorded({ intentId: intent.id, permit }),
      orderAccepted({ intentId: intent.id, attempt, orderId: permit.clientOrderId }),
    )
    const fails = createRandom(`${model.seed} ${permit.clientOrderId}`).chance(
      model.failurePpm / 1_000_000,
    )
    const fillMs = sim.nowMs + model.fillSeconds * 1000
    if (fails || fillMs > permit.deadlineSeconds * 1000) this.#await(open, permit)
    else this.#add(fillMs, intent.id, 'fill')
    return undefined
  }

  #costsOf({ sell, buy, size }: SwapIntent): OrderCosts {
    const { token } = size.side === 'sell' ? sell : buy
    return costsOf(this.#sim.input.model, this.#sim.worth(token, size.amount))
  }

  /** Reports a wallet that lacks the order's maximum, or the gas for wrapping it. */
  #cover({ sell }: SwapIntent, { sellAmount }: ModelQuote): Closing | undefined {
    const { wallet, input } = this.#sim
    if (!sell.native)
      return wallet.of(sell.token.address) >= sellAmount
        ? undefined
        : failure('insufficient-balance', 'the wallet holds less than the permit takes')
    return wallet.nativeBalance >= sellAmount + input.model.wrapWei
      ? undefined
      : failure('insufficient-gas', 'the wallet holds too little ETH to wrap it')
  }

  /** Fills at the price when the order reaches the chain, unless that gives less than the minimum. */
  #fill(open: OpenSwap): void {
    const sim = this.#sim
    const { intent, permit, attempt } = open
    if (permit === undefined) return
    const price = sim.marketPrice(intent.sell.token, intent.buy.token)
    const costs = this.#costsOf(intent)
    const { paid, received } = price === undefined ? NOTHING : swappedAt(intent, price, costs)
    const isGood = paid > 0n && paid <= permit.amount && received >= permit.minAmountOut
    if (price === undefined || !isGood) {
      this.#await(open, permit)
      return
    }
    const { sell, buy } = intent
    sim.wallet.add(sell.token.address, -paid)
    sim.wallet.add(buy.token.address, received)
    const executedBySeconds = sim.nowSeconds
    const fill: Fill = {
      txHash: this.#nextHash(),
      blockNumber: BigInt(sim.nowSeconds),
      paid: baseUnits(paid),
      received: baseUnits(received),
      transfers: [],
    }
    sim.apply(fillProven({ intentId: intent.id, attempt, fill, executedBySeconds }))
    if (buy.native) this.#wrap({ sell: buy }, -received)
    if (sell.native && permit.amount > paid) this.#wrap(intent, paid - permit.amount)
    this.#listener.filled({ intent, atSeconds: sim.nowSeconds, paid, received, price, costs }, sim)
    this.#close(open, { outcome: 'filled', reason: 'filled' })
  }

  /** A negative amount unwraps. */
  #wrap({ sell }: Pick<SwapIntent, 'sell'>, amount: bigint): void {
    const { wrapWei } = this.#sim.input.model
    this.#sim.wallet.wrap(sell, amount, wrapWei)
    this.#listener.gas(wrapWei)
  }

  /** Waits until the permit is known to be dead. */
  #await({ intent }: OpenSwap, { deadlineSeconds }: PermitRecord): void {
    this.#add(deadlineSeconds * 1000 + DEATH_MS, intent.id, 'die')
  }

  /** The permit is unused past its deadline: makes another attempt, or ends. */
  #die(open: OpenSwap): void {
    const { nowSeconds } = this.#sim
    const { attempt, permit, intent } = open
    if (intent.sell.native && permit !== undefined) this.#wrap(intent, -permit.amount)
    this.#sim.apply(
      authorizationDead({
        intentId: intent.id,
        attempt,
        how: 'expired',
        blockNumber: BigInt(nowSeconds),
        blockTimeSeconds: nowSeconds,
      }),
    )
    this.#attempt(open)
  }

  #tryCall(open: OpenCall): void {
    const sim = this.#sim
    const { intent, attempt } = open
    const { model } = sim.input
    const isBusy = [...sim.state.intents.values()].some(
      (other) => other !== open && callOf(other)?.call !== undefined,
    )
    const blocked =
      mayNotStart(this.#context, open) ??
      capHit(this.#context, open, { amount: intent.value, nowMs: sim.nowMs }) ??
      (this.#tankWei !== undefined && this.#tankWei < model.callWei ? TANK_EMPTY : undefined)
    if (blocked !== undefined) {
      this.#close(open, blocked)
      return
    }
    if (isBusy) {
      this.#add(sim.nowMs + TURN_MS, intent.id, 'sign')
      return
    }
    sim.apply(callRecorded({ intentId: intent.id, call: callRecordOf(open) }))
    const orderId = clientOrderId(intent.id, attempt)
    sim.apply(orderAccepted({ intentId: intent.id, attempt, orderId }))
    this.#add(sim.nowMs + model.fillSeconds * 1000, intent.id, 'fill')
  }

  #executeCall(open: OpenCall): void {
    const sim = this.#sim
    const { intent, attempt } = open
    const { callWei: charged } = sim.input.model
    if (this.#tankWei !== undefined) this.#tankWei -= charged
    sim.apply(
      callProven({
        intentId: intent.id,
        attempt,
        blockTimeSeconds: sim.nowSeconds,
        execution: {
          txHash: this.#nextHash(),
          blockNumber: BigInt(sim.nowSeconds),
          via: 'aggregated',
          costs: { charged, direct: undefined },
        },
      }),
    )
    this.#listener.called({ strategy: intent.strategy, value: intent.value, charged })
    this.#close(open, { outcome: 'filled', reason: 'filled' })
  }

  #close(open: OpenIntent, end: End): void {
    const events = endOf(this.#context, open, end)
    this.#sim.apply(...events)
    this.#orderEnded()
    for (const event of events) {
      if (slotClosed.is(event)) this.#listener.closed(event)
      else if (strategyPaused.is(event) || tradingHalted.is(event)) this.#listener.paused(event)
    }
  }

  /** Every fill has its own transaction. */
  #nextHash(): Hex {
    this.#transactions += 1
    return `0x${this.#transactions.toString(16).padStart(64, '0')}`
  }
}

const NOTHING = { paid: 0n, received: 0n }

const TANK_EMPTY = failure('call-reverts', 'the GasTank holds too little for the call')
