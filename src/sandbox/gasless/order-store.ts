import { randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import type { WireOrder } from '../../wire/gasless.ts'
import type { OrderFault } from '../faults.ts'
import type { Quote } from './quotes.ts'

/** An accepted order. Everything but the last block is fixed at acceptance. */
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

/** What the admin port tells of an order: the truth, whatever the REST interface was told to say. */
export type OrderRecord = {
  readonly orderId: string
  readonly owner: Hex
  readonly clientOrderId: string | null
  readonly quoteId: string
  readonly status: WireOrder['status']
  readonly nonce: string
  readonly deadline: number
  readonly sellToken: Hex
  readonly buyToken: Hex
  readonly acceptedAtMs: number
  readonly txHash: Hex | null
  readonly executedSellAmount: string | null
  readonly executedBuyAmount: string | null
  readonly error: { code: string; message: string } | null
}

/** All of a book, so that another one can go on from there. */
export type BookState = { readonly quotes: readonly Quote[]; readonly orders: readonly Order[] }

/** Quotes and orders of one service. Orders are kept for ever; quotes until nobody can use them. */
export type OrderBook = {
  addQuote(quote: Quote): void
  quote(id: string): Quote | undefined
  /** The order of an owner under its idempotency key. */
  byClientOrderId(owner: Hex, clientOrderId: string | undefined): Order | undefined
  byQuote(quoteId: string): Order | undefined
  byId(orderId: string): Order | undefined
  accept(
    order: Pick<Order, 'clientOrderId' | 'quote' | 'signature' | 'faults'>,
    nowMs: number,
  ): Order
  all(): Iterable<Order>
  /** Forgets quotes that expired a while ago and were never ordered. */
  sweep(nowMs: number): void
  state(): BookState
}

/** An expired quote is still answered as expired, instead of as unknown, for this long. */
const QUOTE_KEPT_SECONDS = 600
const QUOTES_MAX = 200_000

export function createOrderBook(former: BookState = { quotes: [], orders: [] }): OrderBook {
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
    addQuote(quote) {
      quotes.set(quote.id, quote)
      // The oldest goes first; with a bound this high it can only be one of a client that floods.
      const [oldest] = quotes.size > QUOTES_MAX ? quotes.keys() : []
      if (oldest !== undefined) quotes.delete(oldest)
    },
    quote: (id) => quotes.get(id) ?? byQuote.get(id)?.quote,
    byClientOrderId: (owner, clientOrderId) =>
      clientOrderId === undefined ? undefined : byKey.get(keyOf(owner, clientOrderId)),
    byQuote: (quoteId) => byQuote.get(quoteId),
    byId: (orderId) => orders.get(orderId),
    accept(accepted, nowMs) {
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
    all: () => orders.values(),
    sweep(nowMs) {
      const keptFrom = nowMs / 1000 - QUOTE_KEPT_SECONDS
      for (const [id, quote] of quotes) if (quote.validTo < keptFrom) quotes.delete(id)
    },
    state: () => ({ quotes: [...quotes.values()], orders: [...orders.values()] }),
  }
}

const FOREIGN_TX_HASH: Hex = `0x${'f0'.repeat(32)}`

/**
 * The order as the REST interface shows it; undefined while a fault hides it. Executed amounts and the
 * hash appear when filled, the error when failed (with the hash, if a transaction reverted) or expired.
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
    ...(order.executedSellAmount === undefined
      ? {}
      : { executedSellAmount: order.executedSellAmount.toString() }),
    ...(order.executedBuyAmount === undefined
      ? {}
      : { executedBuyAmount: order.executedBuyAmount.toString() }),
    ...(order.txHash === undefined ? {} : { txHash: order.txHash }),
    ...(order.error === undefined ? {} : { error: order.error }),
  }
  return order.faults.reduce<WireOrder | undefined>(
    (seen, fault) =>
      seen === undefined ? seen : distorted(seen, fault, nowMs - order.acceptedAtMs),
    shown,
  )
}

function distorted(order: WireOrder, fault: OrderFault, ageMs: number): WireOrder | undefined {
  const { executedSellAmount, executedBuyAmount, txHash, error, ...rest } = order
  if (fault.kind === 'notFoundYet') return ageMs < fault.forMs ? undefined : order
  if (fault.kind === 'lieFailed' && order.status === 'filled') {
    return {
      ...rest,
      status: 'failed',
      error: { code: 'SETTLEMENT_FAILED', message: 'not filled' },
    }
  }
  if (fault.kind === 'lieFilled') {
    return {
      ...rest,
      status: 'filled',
      txHash: FOREIGN_TX_HASH,
      ...(order.sellAmount === undefined ? {} : { executedSellAmount: order.sellAmount }),
      ...(order.buyAmount === undefined ? {} : { executedBuyAmount: order.buyAmount }),
    }
  }
  return order
}

/** The truth about an order. */
export function recordOf(order: Order): OrderRecord {
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
