import { decodeEventLog, encodeFunctionData, type Hex } from 'viem'
import { settlementAbi } from '../evm/abi.ts'
import type { Receipt, Sender } from '../evm/sender.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { Market } from '../market/market.ts'
import type { Order } from './orders.ts'
import { executionOf } from './quotes.ts'

export type SettlementSettings = {
  readonly settlement: Hex
  readonly feeBps: number
  /** Orders in one transaction at most. */
  readonly ordersPerTransaction: number
  /** Whether one transaction may hold several orders of one owner. */
  readonly sameOwnerInTransaction: boolean
}

/** Settles accepted orders on the chain, or lets them expire. */
export type SettlementWorker = {
  add(order: Order): void
  /** Looks again at orders that wait for a better price, for a late fill or for their end. */
  tick(nowMs: number): void
  /** Resolves after the transaction in flight. */
  stop(): Promise<void>
}

type Execution = NonNullable<ReturnType<typeof executionOf>>
type Fill = { readonly order: Order; readonly execution: Execution }

const GAS_PER_ORDER = 400_000n

export function createSettlementWorker(
  settings: SettlementSettings,
  deps: { market: Market; operator: Sender; during: During; log: SandboxLog },
): SettlementWorker {
  const ready: Order[] = []
  const waiting = new Set<Order>()
  let running: Promise<void> | undefined
  let stopped = false

  const settleOnce = async (): Promise<void> => {
    const batch = takeBatch(ready, settings)
    const fills: Fill[] = []
    for (const order of batch) {
      if (expire(order, Date.now())) continue
      const execution = plannedExecution(order, deps.market, settings.feeBps)
      if (execution === undefined) waiting.add(order)
      else fills.push({ order, execution })
    }
    if (fills.length > 0) await settleTogether(fills)
  }
  const settleTogether = async (fills: readonly Fill[]): Promise<void> => {
    const receipt = await deps.operator.send({
      to: settings.settlement,
      data: callData(fills),
      gas: GAS_PER_ORDER * BigInt(fills.length) + GAS_PER_ORDER,
    })
    if (receipt.status !== '0x1' && fills.length > 1) {
      // One bad order takes the others down with it: each shows alone whether it is the one.
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
    add(order) {
      if (!isDue(order, Date.now())) {
        waiting.add(order)
        return
      }
      ready.push(order)
      start()
    },
    tick(nowMs) {
      for (const order of waiting) {
        if (expire(order, nowMs)) waiting.delete(order)
        else if (isDue(order, nowMs)) {
          waiting.delete(order)
          ready.push(order)
        }
      }
      if (ready.length > 0) start()
    },
    async stop() {
      stopped = true
      await running
    },
  }
}

/** Takes the oldest orders, and at most one of each owner if so told. */
function takeBatch(ready: Order[], settings: SettlementSettings): Order[] {
  const batch: Order[] = []
  const owners = new Set<Hex>()
  while (batch.length < settings.ordersPerTransaction) {
    const [next] = ready
    if (next === undefined) break
    if (owners.has(next.quote.owner) && !settings.sameOwnerInTransaction) break
    // An order that is meant to revert goes alone, or it would take others down.
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

function plannedExecution(order: Order, market: Market, feeBps: number): Execution | undefined {
  const { permit, tamperedTypedData } = order.quote
  if (mustRevert(order)) {
    return { sellAmount: permit.amount, buyAmount: 0n, ownSellAmount: 0n, ownBuyAmount: 0n }
  }
  if (tamperedTypedData === undefined) return executionOf(market, order.quote, feeBps)
  // Whoever signs a tampered quote gets what a dishonest service would do with it: everything that the
  // permit allows is taken, and the least that it asks for is paid.
  return {
    sellAmount: permit.amount,
    buyAmount: permit.minAmountOut,
    ownSellAmount: 0n,
    ownBuyAmount: 0n,
  }
}

function callData(fills: readonly Fill[]): Hex {
  const [first, ...others] = fills.map(fillArgument)
  if (first !== undefined && others.length === 0) {
    return encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args: [first] })
  }
  const all = first === undefined ? [] : [first, ...others]
  return encodeFunctionData({ abi: settlementAbi, functionName: 'settleBatch', args: [all] })
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

/** viem refuses mixed case without a right checksum; callers may write addresses as they like. */
function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}

function record(fills: readonly Fill[], receipt: Receipt, market: Market): void {
  const executed = filledEvents(receipt)
  for (const { order, execution } of fills) {
    const event = executed.get(order.quote.permit.nonce)
    if (event !== undefined) {
      order.executedSellAmount = event.sellAmount
      order.executedBuyAmount = event.buyAmount
      order.txHash = receipt.transactionHash
      order.status = 'filled'
      market.applyOwnFill(order.quote.pair, execution.ownSellAmount, execution.ownBuyAmount)
      continue
    }
    order.txHash = receipt.transactionHash
    order.error = { code: 'SETTLEMENT_FAILED', message: 'the settlement transaction reverted' }
    order.status = 'failed'
  }
}

function filledEvents(receipt: Receipt): Map<bigint, { sellAmount: bigint; buyAmount: bigint }> {
  const found = new Map<bigint, { sellAmount: bigint; buyAmount: bigint }>()
  for (const log of receipt.logs) {
    const event = decodeSettlementEvent(log)
    if (event?.eventName === 'Filled') found.set(event.args.nonce, event.args)
  }
  return found
}

function decodeSettlementEvent(log: Receipt['logs'][number]) {
  try {
    return decodeEventLog({
      abi: settlementAbi,
      data: log.data,
      topics: log.topics as [Hex, ...Hex[]],
    })
  } catch {
    // Transfers of the tokens themselves are in the same receipt and are not ours to decode.
    return undefined
  }
}
