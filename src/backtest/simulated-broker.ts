import type { EventOf, Fill } from '../domain/book/journal.ts'
import type { OpenCall, OpenIntent, OpenSwap } from '../domain/book/state.ts'
import type { TrustedCall } from '../domain/call.ts'
import { clientOrderId, type IntentId, type SwapIntent } from '../domain/intent.ts'
import type { PermitRecord } from '../domain/permit.ts'
import { acceptPath } from '../domain/price.ts'
import { createRandom } from '../domain/random.ts'
import { baseUnits, type Hex, type Ratio, ZERO_ADDRESS } from '../domain/units.ts'
import { priceRefusal } from '../execute/authority/verify.ts'
import { capHit } from '../execute/authorization.ts'
import {
  type Closing,
  type End,
  endOf,
  failure,
  mayNotStart,
  refusal,
  type StartContext,
} from '../execute/close.ts'
import { tooCostly } from '../execute/swap/cost.ts'
import { notTriggered } from '../execute/swap/trigger.ts'
import { Agenda } from './agenda.ts'
import { costsOf, type ModelQuote, type OrderCosts, quoteOf, swappedAt } from './model.ts'
import type { World } from './world.ts'

/** What a fill moved, and what it cost. */
export type Filled = {
  readonly intent: SwapIntent
  readonly atSeconds: number
  readonly paid: bigint
  readonly received: bigint
  /** The market's price, sell base units per buy base unit. */
  readonly price: Ratio
  readonly costs: OrderCosts
}

/** Told what becomes of orders. */
export type DeskEars = {
  filled(fill: Filled): void
  called(call: {
    readonly strategy: string
    readonly value: bigint
    readonly charged: bigint
  }): void
  /** Gas of our own transactions, in wei. */
  gas(wei: bigint): void
  /** A slot whose last order is done. */
  closed(slot: EventOf<'slot-closed'>): void
  paused(event: EventOf<'strategy-paused'> | EventOf<'halted'>): void
}

type Step = { readonly id: IntentId; readonly does: 'sign' | 'fill' | 'die' }

/** A permit is known to be dead so long after its deadline. */
const DEATH_MS = 10_000
/** How often a call looks whether the account's other one is done. */
const TURN_MS = 1_000
const NO_HASH: Hex = '0x'

/**
 * Where orders are carried out as the model says: everything that the daemon checks is checked by its own code, and what services
 * and chains would have answered is made up.
 */
export class Desk {
  readonly #world: World
  readonly #ears: DeskEars
  readonly #orderEnded: () => void
  readonly #agenda = new Agenda<Step>()
  readonly #context: StartContext & { readonly account: World['input']['account'] }
  #transactions = 0
  #tankWei: bigint | undefined

  /** `orderEnded`: called as an order is done, of whatever slot. */
  constructor(world: World, ears: DeskEars, orderEnded: () => void) {
    this.#world = world
    this.#ears = ears
    this.#orderEnded = orderEnded
    const { policy, account, modules, model } = world.input
    this.#tankWei = model.tankWei
    const { state, strategies } = world
    const ports = { clock: { now: () => world.nowMs }, journal: { state }, modules }
    this.#context = { strategies, policy, account, ports }
  }

  get nextMs(): number {
    return this.#agenda.nextMs
  }

  /** Begins to carry out what a slot has decided. */
  launch(ids: readonly IntentId[]): void {
    const { nowMs, input } = this.#world
    for (const id of ids)
      this.#agenda.add(nowMs + input.model.quoteSeconds * 1000, { id, does: 'sign' })
  }

  /** Does one thing that is due; false where none is. */
  step(): boolean {
    const due = this.#agenda.takeDue(this.#world.nowMs)
    const open = due && this.#world.state.intents.get(due.id)
    if (due === undefined || open === undefined) return false
    if (open.venue === 'gasless') this.#stepSwap(open, due.does)
    else this.#stepCall(open, due.does)
    return true
  }

  #stepSwap(open: OpenSwap, does: Step['does']): void {
    if (does === 'sign') this.#attempt(open)
    else if (does === 'fill') this.#fill(open)
    else this.#die(open)
  }

  /** One attempt: quote, verify, record. */
  #attempt(open: OpenSwap): void {
    const barred = mayNotStart(this.#context, open) ?? this.#sign(open)
    if (barred !== undefined) this.#close(open, barred)
  }

  #sign(open: OpenSwap): Closing | undefined {
    const world = this.#world
    const { intent, attempt } = open
    const { pricePath, account, model } = world.input
    const view = world.view()
    const unwanted = notTriggered(intent, view, pricePath)
    if (unwanted !== undefined) return unwanted
    const price = world.marketPrice(intent.sell.token, intent.buy.token)
    if (price === undefined)
      return failure('quote-unavailable', 'no past price says what the market would have given')
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
    const hit = capHit(this.#context, open, { amount, nowMs: world.nowMs })
    if (hit !== undefined) return hit
    const fair = acceptPath(path, view.readings, view.blockTimeSeconds)
    const permit = this.#permit(open, quote, fair.ok ? fair.price.ratio : undefined)
    if (intent.sell.native) this.#wrap(intent, amount)
    world.apply(
      { type: 'permit-recorded', intentId: intent.id, permit },
      { type: 'order-accepted', intentId: intent.id, attempt, orderId: permit.clientOrderId },
    )
    const fails = createRandom(`${model.seed} ${permit.clientOrderId}`).chance(
      model.failurePpm / 1_000_000,
    )
    const fillMs = world.nowMs + model.fillSeconds * 1000
    if (fails || fillMs > permit.deadlineSeconds * 1000) this.#await(open, permit)
    else this.#agenda.add(fillMs, { id: intent.id, does: 'fill' })
    return undefined
  }

  #costsOf({ sell, buy, size }: SwapIntent): OrderCosts {
    const { token } = size.side === 'sell' ? sell : buy
    return costsOf(this.#world.input.model, this.#world.worth(token, size.amount))
  }

  /** Whether the wallet holds what an order may take, and the gas for wrapping it. */
  #cover({ sell }: SwapIntent, { sellAmount }: ModelQuote): Closing | undefined {
    const { wallet, input } = this.#world
    if (!sell.native)
      return wallet.of(sell.token.address) >= sellAmount
        ? undefined
        : failure('insufficient-balance', 'the wallet holds less than the permit takes')
    return wallet.nativeBalance >= sellAmount + input.model.wrapWei
      ? undefined
      : failure('insufficient-gas', 'the wallet holds too little ETH to wrap it')
  }

  #permit({ intent, attempt }: OpenSwap, quote: ModelQuote, feed: Ratio | undefined): PermitRecord {
    const { nowSeconds, input } = this.#world
    return {
      chainId: 0,
      permit2: ZERO_ADDRESS,
      owner: intent.owner,
      token: intent.sell.token.address,
      amount: quote.sellAmount,
      spender: ZERO_ADDRESS,
      nonce: 0n,
      deadlineSeconds: nowSeconds + input.model.validSeconds,
      recipient: intent.recipient,
      tokenOut: intent.buy.token.address,
      minAmountOut: quote.minBuyAmount,
      attempt,
      clientOrderId: clientOrderId(intent.id, attempt),
      quoteId: '',
      digest: NO_HASH,
      fromBlock: 0n,
      feed,
      fee: undefined,
    }
  }

  /** By what the market is when the order reaches the chain: filled, or not for less than its minimum. */
  #fill(open: OpenSwap): void {
    const world = this.#world
    const { intent, permit, attempt } = open
    if (permit === undefined) return
    const price = world.marketPrice(intent.sell.token, intent.buy.token)
    const costs = this.#costsOf(intent)
    const { paid, received } = price === undefined ? NOTHING : swappedAt(intent, price, costs)
    const isGood = paid > 0n && paid <= permit.amount && received >= permit.minAmountOut
    if (price === undefined || !isGood) {
      this.#await(open, permit)
      return
    }
    const { sell, buy } = intent
    world.wallet.add(sell.token.address, -paid)
    world.wallet.add(buy.token.address, received)
    const fill: Fill = {
      txHash: this.#nextHash(),
      blockNumber: BigInt(world.nowSeconds),
      paid: baseUnits(paid),
      received: baseUnits(received),
      transfers: [],
    }
    const executedBySeconds = world.nowSeconds
    world.apply({ type: 'fill-proven', intentId: intent.id, attempt, fill, executedBySeconds })
    if (buy.native) this.#wrap({ sell: buy }, -received)
    if (sell.native && permit.amount > paid) this.#wrap(intent, paid - permit.amount)
    this.#ears.filled({ intent, atSeconds: world.nowSeconds, paid, received, price, costs })
    this.#close(open, { outcome: 'filled', reason: 'filled' })
  }

  /** Below zero it is an unwrapping. */
  #wrap({ sell }: Pick<SwapIntent, 'sell'>, amount: bigint): void {
    const { wrapWei } = this.#world.input.model
    this.#world.wallet.wrap(sell, amount, wrapWei)
    this.#ears.gas(wrapWei)
  }

  /** Nothing fills it any more: it is waited for until it is known to be dead. */
  #await({ intent }: OpenSwap, { deadlineSeconds }: PermitRecord): void {
    this.#agenda.add(deadlineSeconds * 1000 + DEATH_MS, { id: intent.id, does: 'die' })
  }

  /** Its permit is past its deadline and unused: another attempt, or the end. */
  #die(open: OpenSwap): void {
    const { nowSeconds } = this.#world
    const { attempt, permit, intent } = open
    if (intent.sell.native && permit !== undefined) this.#wrap(intent, -permit.amount)
    this.#world.apply({
      type: 'authorization-dead',
      intentId: intent.id,
      attempt,
      how: 'expired',
      blockNumber: BigInt(nowSeconds),
      blockTimeSeconds: nowSeconds,
    })
    this.#attempt(open)
  }

  #stepCall(open: OpenCall, does: Step['does']): void {
    if (does === 'sign') this.#tryCall(open)
    else this.#executeCall(open)
  }

  #tryCall(open: OpenCall): void {
    const world = this.#world
    const { intent, attempt } = open
    const { model } = world.input
    const isBusy = [...world.state.intents.values()].some(
      (other) => other !== open && other.venue === 'aggregated' && other.call !== undefined,
    )
    const barred =
      mayNotStart(this.#context, open) ??
      capHit(this.#context, open, { amount: intent.value, nowMs: world.nowMs }) ??
      (this.#tankWei !== undefined && this.#tankWei < model.callWei ? TANK_EMPTY : undefined)
    if (barred !== undefined) {
      this.#close(open, barred)
      return
    }
    if (isBusy) {
      this.#agenda.add(world.nowMs + TURN_MS, { id: intent.id, does: 'sign' })
      return
    }
    world.apply({ type: 'call-recorded', intentId: intent.id, call: callOf(open) })
    const orderId = clientOrderId(intent.id, attempt)
    world.apply({ type: 'order-accepted', intentId: intent.id, attempt, orderId })
    this.#agenda.add(world.nowMs + model.fillSeconds * 1000, { id: intent.id, does: 'fill' })
  }

  #executeCall(open: OpenCall): void {
    const world = this.#world
    const { intent, attempt } = open
    const { callWei: charged } = world.input.model
    if (this.#tankWei !== undefined) this.#tankWei -= charged
    world.apply({
      type: 'call-proven',
      intentId: intent.id,
      attempt,
      blockTimeSeconds: world.nowSeconds,
      execution: {
        txHash: this.#nextHash(),
        blockNumber: BigInt(world.nowSeconds),
        via: 'aggregated',
        costs: { charged, direct: undefined },
      },
    })
    this.#ears.called({ strategy: intent.strategy, value: intent.value, charged })
    this.#close(open, { outcome: 'filled', reason: 'filled' })
  }

  #close(open: OpenIntent, { outcome, reason, detail }: End): void {
    const events = endOf(this.#context, open, { outcome, reason, detail })
    this.#world.apply(...events)
    this.#orderEnded()
    for (const event of events) {
      if (event.type === 'slot-closed') this.#ears.closed(event)
      else if (event.type === 'strategy-paused' || event.type === 'halted') this.#ears.paused(event)
    }
  }

  /** No two fills are in one transaction. */
  #nextHash(): Hex {
    this.#transactions += 1
    return `0x${this.#transactions.toString(16).padStart(64, '0')}`
  }
}

const NOTHING = { paid: 0n, received: 0n }

const TANK_EMPTY = failure('call-reverts', 'the GasTank holds too little for the call')

function callOf({ intent, attempt }: OpenCall): TrustedCall {
  return {
    trust: 'trusted',
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    chainId: 0,
    account: intent.owner,
    target: intent.target,
    value: intent.value,
    calldata: intent.calldata,
    gasLimit: intent.gasLimit,
    fromBlock: 0n,
    directGas: 0n,
    availableWei: undefined,
    envelope: {
      to: intent.target,
      nonce: 0,
      gas: intent.gasLimit,
      value: intent.value,
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: 0n,
    },
  }
}
