import { encodeFunctionData, type Hex, type Log, parseEventLogs } from 'viem'
import { settlementAbi } from '../evm/abi.ts'
import type { Receipt, Sender } from '../evm/sender.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { Market } from '../market/market.ts'
import type { GaslessSettings } from '../options.ts'
import type { Order } from './order-store.ts'
import { executionOf } from './quotes.ts'
import type { Route } from './routing.ts'

type Fill = { readonly order: Order; readonly execution: Route }

const GAS_PER_ORDER = 400_000n

export function createSettlementWorker(
  settings: GaslessSettings,
  deps: { market: Market; operator: Sender; settlement: Hex; during: During; log: SandboxLog },
) {
  const ready: Order[] = []
  const waiting = new Set<Order>()
  let running: Promise<void> | undefined
  let stopped = false

  const settleOnce = async (): Promise<void> => {
    const fills: Fill[] = []
    for (const order of takeBatch(ready, settings)) {
      if (expire(order, Date.now())) continue
      const execution = plannedExecution(order, deps.market, settings.feeBps)
      if (execution === undefined) waiting.add(order)
      else fills.push({ order, execution })
    }
    if (fills.length > 0) await settleTogether(fills)
  }
  const settleTogether = async (fills: readonly Fill[]): Promise<void> => {
    const receipt = await deps.operator.send({
      to: deps.settlement,
      data: callData(fills),
      gas: GAS_PER_ORDER * BigInt(fills.length) + GAS_PER_ORDER,
    })
    if (receipt.status !== '0x1' && fills.length > 1) {
      // One bad order reverts the whole batch, so each order is retried alone.
      for (const fill of fills) await settleTogether([fill])
      return
    }
    record(fills, receipt, deps.market)
    deps.log('gasless.settled', { orders: fills.length, txHash: receipt.transactionHash })
  }
  const run = async (): Promise<void> => {
    while (ready.length > 0 && !stopped) await deps.during(settleOnce)
  }
  const start = (): void => {
    if (running !== undefined || stopped) return
    running = run()
      .catch((error: unknown) => {
        if (!stopped) deps.log('gasless.settlementBroken', { error: String(error) })
      })
      .finally(() => {
        running = undefined
        if (ready.length > 0) start()
      })
  }
  const isDue = (order: Order, nowMs: number): boolean =>
    !order.faults.some(
      (fault) =>
        fault.kind === 'neverFill' ||
        (fault.kind === 'lateFill' && nowMs < order.acceptedAtMs + fault.delayMs),
    )
  return {
    add(order: Order): void {
      if (isDue(order, Date.now())) ready.push(order)
      else waiting.add(order)
      if (ready.length > 0) start()
    },
    /** Retries orders that wait for a better price or a late fill, and expires orders past their deadline. */
    tick(nowMs: number): void {
      for (const order of waiting) {
        if (expire(order, nowMs)) waiting.delete(order)
        else if (isDue(order, nowMs)) {
          waiting.delete(order)
          ready.push(order)
        }
      }
      if (ready.length > 0) start()
    },
    /** Resolves after the transaction in flight. */
    async stop(): Promise<void> {
      stopped = true
      await running
    },
  }
}

/** Takes the oldest orders. Unless `sameOwnerInTransaction` is set, it stops before the second order of an owner. */
function takeBatch(ready: Order[], settings: GaslessSettings): Order[] {
  const batch: Order[] = []
  const owners = new Set<Hex>()
  while (batch.length < settings.ordersPerTransaction) {
    const [next] = ready
    if (next === undefined) break
    if (owners.has(next.quote.owner) && !settings.sameOwnerInTransaction) break
    // An order that must revert is sent alone.
    if (batch.length > 0 && mustRevert(next)) break
    ready.shift()
    batch.push(next)
    owners.add(next.quote.owner)
    if (mustRevert(next)) break
  }
  return batch
}

function mustRevert(order: Order): boolean {
  return order.faults.some((fault) => fault.kind === 'revertFill')
}

function expire(order: Order, nowMs: number): boolean {
  if (nowMs / 1000 <= order.quote.permit.deadline) return false
  order.status = 'expired'
  order.error = { code: 'EXPIRED', message: 'the permit expired before the fill' }
  return true
}

function plannedExecution(order: Order, market: Market, feeBps: number): Route | undefined {
  const { permit, tamperedTypedData } = order.quote
  const taken = { sellAmount: permit.amount, ownSellAmount: 0n, ownBuyAmount: 0n }
  if (mustRevert(order)) return { ...taken, buyAmount: 0n }
  if (tamperedTypedData === undefined) return executionOf(market, order.quote, feeBps)
  // A tampered quote is settled dishonestly: the most that the permit allows, for the least that it requires.
  return { ...taken, buyAmount: permit.minAmountOut }
}

function callData(fills: readonly Fill[]): Hex {
  const all = fills.map(fillArgument)
  const [first] = all
  return first !== undefined && all.length === 1
    ? encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args: [first] })
    : encodeFunctionData({ abi: settlementAbi, functionName: 'settleBatch', args: [all] })
}

function fillArgument({ order, execution }: Fill) {
  const { permit, owner } = order.quote
  return {
    owner,
    permit: {
      permitted: { token: lower(permit.token), amount: permit.amount },
      nonce: permit.nonce,
      deadline: BigInt(permit.deadline),
    },
    witness: {
      recipient: lower(permit.recipient),
      tokenOut: lower(permit.tokenOut),
      minAmountOut: permit.minAmountOut,
    },
    signature: order.signature,
    sellAmount: execution.sellAmount,
    buyAmount: execution.buyAmount,
  }
}

/** viem refuses mixed case without a valid checksum. */
function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}

function record(fills: readonly Fill[], receipt: Receipt, market: Market): void {
  const logs = receipt.logs as unknown as Log[]
  const events = parseEventLogs({ abi: settlementAbi, eventName: 'Filled', logs })
  const executed = new Map(events.map(({ args }) => [args.nonce, args]))
  for (const { order, execution } of fills) {
    const event = executed.get(order.quote.permit.nonce)
    order.txHash = receipt.transactionHash
    if (event === undefined) {
      order.error = { code: 'SETTLEMENT_FAILED', message: 'the settlement transaction reverted' }
      order.status = 'failed'
      continue
    }
    order.executedSellAmount = event.sellAmount
    order.executedBuyAmount = event.buyAmount
    order.status = 'filled'
    market.applyOwnFill(order.quote.pair, execution.ownSellAmount, execution.ownBuyAmount)
  }
}
