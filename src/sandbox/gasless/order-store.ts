import { randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import type { WireOrder } from '../../venues/swap/client/gasless-wire.ts'
import type { OrderFault } from '../faults.ts'
import type { Quote } from './quotes.ts'

/** An accepted order. The last block of fields changes; the rest is fixed at acceptance. */
export type Order = {
  readonly id: string
  readonly clientOrderId: string | undefined
  readonly quote: Quote
  readonly signature: Hex
  readonly acceptedAtMs: number
  readonly faults: readonly OrderFault[]

  status: WireOrder['status']
  executedSellAmount: bigint | undefined
  executedBuyAmount: bigint | undefined
  txHash: Hex | undefined
  error: { code: string; message: string } | undefined
}

/** A snapshot that another store can resume from. */
export type OrderStoreState = {
  readonly quotes: readonly Quote[]
  readonly orders: readonly Order[]
}

/** For this long an expired quote is reported as expired, not as unknown. */
const QUOTE_KEPT_SECONDS = 600
const QUOTES_MAX = 200_000

export type OrderStore = ReturnType<typeof createOrderStore>

/** Quotes and orders of one service. Keeps all orders, and quotes until they cannot be used. */
export function createOrderStore(former: OrderStoreState = { quotes: [], orders: [] }) {
  const quotes = new Map<string, Quote>()
  const orders = new Map<string, Order>()
  const byQuote = new Map<string, Order>()
  const byKey = new Map<string, Order>()
  const keyOf = (owner: Hex, clientOrderId: string): string => `${owner} ${clientOrderId}`
  const enter = (order: Order): void => {
    orders.set(order.id, order)
    byQuote.set(order.quote.id, order)
    if (order.clientOrderId !== undefined)
      byKey.set(keyOf(order.quote.owner, order.clientOrderId), order)
  }
  for (const quote of former.quotes) quotes.set(quote.id, quote)
  for (const order of former.orders) enter(order)
  return {
    addQuote(quote: Quote): void {
      quotes.set(quote.id, quote)
      // Only a flooding client reaches this bound.
      const [oldest] = quotes.size > QUOTES_MAX ? quotes.keys() : []
      if (oldest !== undefined) quotes.delete(oldest)
    },
    quote: (id: string): Quote | undefined => quotes.get(id) ?? byQuote.get(id)?.quote,
    byClientOrderId: (owner: Hex, clientOrderId: string | undefined): Order | undefined =>
      clientOrderId === undefined ? undefined : byKey.get(keyOf(owner, clientOrderId)),
    byQuote: (quoteId: string): Order | undefined => byQuote.get(quoteId),
    byId: (orderId: string): Order | undefined => orders.get(orderId),
    accept(
      accepted: Pick<Order, 'clientOrderId' | 'quote' | 'signature' | 'faults'>,
      nowMs: number,
    ): Order {
      const order: Order = {
        ...accepted,
        id: randomUUID(),
        acceptedAtMs: nowMs,
        status: 'pending',
        executedSellAmount: undefined,
        executedBuyAmount: undefined,
        txHash: undefined,
        error: undefined,
      }
      enter(order)
      quotes.delete(order.quote.id)
      return order
    },
    all: (): Iterable<Order> => orders.values(),
    /** Removes quotes that expired some time ago and were never ordered. */
    sweep(nowMs: number): void {
      const keptFrom = nowMs / 1000 - QUOTE_KEPT_SECONDS
      for (const [id, quote] of quotes) if (quote.validTo < keptFrom) quotes.delete(id)
    },
    state: (): OrderStoreState => ({ quotes: [...quotes.values()], orders: [...orders.values()] }),
  }
}

const FOREIGN_TX_HASH: Hex = `0x${'f0'.repeat(32)}`

/**
 * The order as the REST interface shows it; undefined while a fault hides it. A filled order has the executed amounts and
 * the hash. A failed order has the error and the hash of a reverted transaction. An expired order has the error.
 */
export function wireOrderOf(order: Order, nowMs: number): WireOrder | undefined {
  const { quote } = order
  const shown: WireOrder = {
    orderId: order.id,
    quoteId: quote.id,
    status: order.status,
    sellToken: quote.pair.sell.address,
    buyToken: quote.pair.buy.address,
    sellAmount: quote.sellAmount.toString(),
    buyAmount: quote.buyAmount.toString(),
    executedSellAmount: order.executedSellAmount?.toString(),
    executedBuyAmount: order.executedBuyAmount?.toString(),
    txHash: order.txHash,
    error: order.error,
  }
  return order.faults.reduce<WireOrder | undefined>(
    (seen, fault) =>
      seen === undefined ? seen : distorted(seen, fault, nowMs - order.acceptedAtMs),
    shown,
  )
}

function distorted(order: WireOrder, fault: OrderFault, ageMs: number): WireOrder | undefined {
  const unsettled = {
    executedSellAmount: undefined,
    executedBuyAmount: undefined,
    txHash: undefined,
  }
  if (fault.kind === 'notFoundYet') return ageMs < fault.forMs ? undefined : order
  if (fault.kind === 'lieFailed' && order.status === 'filled') {
    const error = { code: 'SETTLEMENT_FAILED', message: 'not filled' }
    return { ...order, ...unsettled, status: 'failed', error }
  }
  if (fault.kind !== 'lieFilled') return order
  return {
    ...order,
    status: 'filled',
    executedSellAmount: order.sellAmount,
    executedBuyAmount: order.buyAmount,
    txHash: FOREIGN_TX_HASH,
    error: undefined,
  }
}

export type OrderRecord = ReturnType<typeof recordOf>

/** The true order, for the admin port, regardless of faults in the REST interface. */
export function recordOf(order: Order) {
  const { quote } = order
  return {
    orderId: order.id,
    owner: quote.owner,
    clientOrderId: order.clientOrderId ?? null,
    quoteId: quote.id,
    status: order.status,
    nonce: quote.permit.nonce.toString(),
    deadline: quote.permit.deadline,
    sellToken: quote.pair.sell.address,
    buyToken: quote.pair.buy.address,
    acceptedAtMs: order.acceptedAtMs,
    txHash: order.txHash ?? null,
    executedSellAmount: order.executedSellAmount?.toString() ?? null,
    executedBuyAmount: order.executedBuyAmount?.toString() ?? null,
    error: order.error ?? null,
  }
}
