import type { IncomingMessage } from 'node:http'
import type { Hex } from 'viem'
import {
  createOrderRequestSchema,
  orderId,
  type WireCreateOrderResponse,
} from '../../wire/gasless.ts'
import type { Reply } from '../http/json-server.ts'
import { errorReply } from './envelope.ts'
import { type Order, type OrderBook, wireOrderOf } from './orders.ts'
import { createPermitDigest, generalDigest, recoverSigner } from './permit.ts'
import type { Quote } from './quotes.ts'
import { readBody } from './read-body.ts'
import type { GaslessDeps, GaslessSettings } from './settings.ts'

/**
 * `POST /orders`. The signature is checked first, then the idempotency key, and only then the quote's age
 * and use: a replay of an accepted order finds it however late it comes.
 */
export function createSubmitRoute(
  settings: GaslessSettings,
  deps: GaslessDeps,
): (request: IncomingMessage) => Promise<Reply> {
  const isSigned = createSignatureCheck(settings.chainId)
  return async (request) => {
    const body = await readBody(request, createOrderRequestSchema)
    if (!body.ok) return body.reply
    const { quoteId, clientOrderId } = body.value
    const signature = body.value.signature as Hex
    const quote = deps.book.quote(quoteId)
    if (quote === undefined)
      return errorReply('BAD_REQUEST', 'unknown quote: request a fresh quote')
    if (!isSigned(quote, signature)) {
      return errorReply(
        'BAD_REQUEST',
        'invalid signature: sign permit2.typedData exactly as returned',
      )
    }
    const existing = deps.book.byClientOrderId(quote.owner, clientOrderId)
    if (existing !== undefined) return { status: 200, body: createdBody(existing) }
    const nowMs = Date.now()
    const staleness = stalenessOf(quote, deps.book, nowMs)
    if (staleness !== undefined) return errorReply('BAD_REQUEST', staleness)
    const order = deps.book.accept(
      { clientOrderId, quote, signature, faults: deps.faults.forOrder() },
      nowMs,
    )
    deps.onAccepted(order)
    return { status: 201, body: createdBody(order) }
  }
}

/** `GET /orders/{orderId}`; takes the path part as it was sent. */
export function createPollRoute(book: OrderBook): (idInPath: string) => Reply {
  return (idInPath) => {
    const id = decode(idInPath)
    if (id === undefined || !orderId.safeParse(id).success) {
      return errorReply('BAD_REQUEST', 'orderId must have 1 to 128 characters')
    }
    const order = book.byId(id)
    const shown = order === undefined ? undefined : wireOrderOf(order, Date.now())
    return shown === undefined
      ? errorReply('NOT_FOUND', 'unknown order id')
      : { status: 200, body: shown }
  }
}

function createSignatureCheck(chainId: number): (quote: Quote, signature: Hex) => boolean {
  const digestOf = createPermitDigest(chainId)
  return ({ tamperedTypedData, permit, owner }, signature) => {
    const digest =
      tamperedTypedData === undefined ? digestOf(permit) : generalDigest(tamperedTypedData)
    return recoverSigner(digest, signature) === owner
  }
}

function stalenessOf(quote: Quote, book: OrderBook, nowMs: number): string | undefined {
  if (nowMs / 1000 >= quote.validTo) return 'the quote has expired: request a fresh quote'
  if (book.byQuote(quote.id) === undefined) return undefined
  return 'the quote has been ordered already: request a fresh quote'
}

function createdBody(order: Order): WireCreateOrderResponse {
  return { orderId: order.id, quoteId: order.quote.id, status: order.status }
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    // A stray percent sign: the id cannot be one of ours.
    return undefined
  }
}
