import { randomBytes, randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import { SLIPPAGE_BPS, type WireQuoteRequest, type WireQuoteResponse } from '../../wire/gasless.ts'
import type { Tampering } from '../faults.ts'
import type { Market, Pair } from '../market/market.ts'
import { type OrderPermit, type TypedData, typedDataOf, WITNESS_TYPE_STRING } from './permit.ts'
import { type Preference, routeExactInput, routeExactOutput } from './routing.ts'
import { tamper } from './tampering.ts'

/** A quote as the service remembers it. Amounts are base units, `validTo` Unix seconds. */
export type Quote = {
  readonly id: string
  /** Lower case. */
  readonly owner: Hex
  readonly pair: Pair
  readonly preference: Preference
  readonly kind: 'sell' | 'buy'
  readonly sellAmount: bigint
  readonly buyAmount: bigint
  readonly minBuyAmount: bigint
  readonly validTo: number
  /** What the owner is asked to sign, tampered with or not. */
  readonly permit: OrderPermit
  /** Set only if the quote was tampered with: then the digest comes from this, and settlement is theft. */
  readonly tamperedTypedData: TypedData | undefined
}

export type QuoteSettings = {
  readonly chainId: number
  readonly permit2: Hex
  readonly settlement: Hex
  readonly lifetimeSeconds: number
  readonly feeBps: number
  /** Whether `typedData.types` lists EIP712Domain too. */
  readonly listDomainType: boolean
}

export type QuoteResult =
  | { readonly ok: true; readonly quote: Quote; readonly response: WireQuoteResponse }
  | { readonly ok: false; readonly message: string }

type Amounts = {
  readonly sellAmount: bigint
  readonly buyAmount: bigint
  readonly minBuyAmount: bigint
  readonly feeAmount: bigint
}

const BPS = 10_000n

/**
 * Prices a request that is already known to be well formed and to name served tokens.
 *
 * The fee is a share of what is sold, and part of `sellAmount`. Exact input: `sellAmount` is the requested
 * amount and slippage lowers `minBuyAmount`. Exact output: `buyAmount` and `minBuyAmount` are the requested
 * amount and slippage raises `sellAmount`, the most that may be taken.
 */
export function createQuote(
  settings: QuoteSettings,
  market: Market,
  asked: {
    request: WireQuoteRequest
    pair: Pair
    preference: Preference
    nowMs: number
    tamperings: readonly Tampering[]
  },
): QuoteResult {
  const { request, pair, preference } = asked
  const priced = price(market, asked, BigInt(settings.feeBps))
  if (typeof priced === 'string') return { ok: false, message: priced }
  const amounts = asked.tamperings.includes('badPrice') ? badlyPriced(priced, request.kind) : priced
  const owner = request.from.toLowerCase() as Hex
  const receiver = (request.receiver ?? request.from) as Hex
  const validTo = Math.floor(asked.nowMs / 1000) + settings.lifetimeSeconds
  const honestPermit: OrderPermit = {
    chainId: settings.chainId,
    permit2: settings.permit2,
    token: pair.sell.address,
    amount: amounts.sellAmount,
    spender: settings.settlement,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`),
    deadline: validTo,
    recipient: receiver,
    tokenOut: pair.buy.address,
    minAmountOut: amounts.minBuyAmount,
  }
  const honestData = typedDataOf(honestPermit, settings)
  const { permit, typedData } = tamper(honestPermit, honestData, asked.tamperings, settings)
  const quote: Quote = {
    id: randomUUID(),
    owner,
    pair,
    preference,
    kind: request.kind,
    sellAmount: amounts.sellAmount,
    buyAmount: amounts.buyAmount,
    minBuyAmount: amounts.minBuyAmount,
    validTo,
    permit,
    tamperedTypedData: asked.tamperings.length === 0 ? undefined : typedData,
  }
  return { ok: true, quote, response: responseOf(quote, request, { amounts, typedData, settings }) }
}

/** What the market gives for a quote right now, or undefined if it is worse than what was promised. */
export function executionOf(
  market: Market,
  quote: Quote,
  feeBps: number,
):
  | { sellAmount: bigint; buyAmount: bigint; ownSellAmount: bigint; ownBuyAmount: bigint }
  | undefined {
  const { pair, preference } = quote
  if (quote.kind === 'sell') {
    const fee = feeOf(quote.sellAmount, BigInt(feeBps))
    const sold = quote.sellAmount - fee
    const route = routeExactInput(market, pair, { sellAmount: sold, preference })
    if (route === undefined || route.buyAmount < quote.minBuyAmount) return undefined
    return { ...route, sellAmount: quote.sellAmount }
  }
  const route = routeExactOutput(market, pair, { buyAmount: quote.buyAmount, preference })
  if (route === undefined) return undefined
  const sellAmount = withFee(route.sellAmount, BigInt(feeBps))
  return sellAmount > quote.sellAmount ? undefined : { ...route, sellAmount }
}

function price(
  market: Market,
  asked: { request: WireQuoteRequest; pair: Pair; preference: Preference },
  feeBps: bigint,
): Amounts | string {
  const { request, pair, preference } = asked
  const slippage = BigInt(request.slippageBps ?? SLIPPAGE_BPS.default)
  const noRoute =
    preference === 'onlyOwn'
      ? 'no route with enough own liquidity for this amount'
      : 'no route with enough liquidity for this amount'
  if (request.kind === 'sell') {
    const sellAmount = BigInt(request.sellAmountBeforeFee)
    const feeAmount = feeOf(sellAmount, feeBps)
    const route = routeExactInput(market, pair, { sellAmount: sellAmount - feeAmount, preference })
    if (route === undefined) return noRoute
    const minBuyAmount = (route.buyAmount * (BPS - slippage)) / BPS
    if (minBuyAmount === 0n) return 'the amount is too small to be traded'
    return { sellAmount, buyAmount: route.buyAmount, minBuyAmount, feeAmount }
  }
  const buyAmount = BigInt(request.buyAmountAfterFee)
  const route = routeExactOutput(market, pair, { buyAmount, preference })
  if (route === undefined) return noRoute
  const expected = withFee(route.sellAmount, feeBps)
  const sellAmount = divideUp(expected * (BPS + slippage), BPS)
  return { sellAmount, buyAmount, minBuyAmount: buyAmount, feeAmount: expected - route.sellAmount }
}

/** Twice as dear as the market, and consistent in itself. */
function badlyPriced(amounts: Amounts, kind: Quote['kind']): Amounts {
  if (kind === 'buy') return { ...amounts, sellAmount: amounts.sellAmount * 2n }
  const half = (amount: bigint): bigint => divideUp(amount, 2n)
  return {
    ...amounts,
    buyAmount: half(amounts.buyAmount),
    minBuyAmount: half(amounts.minBuyAmount),
  }
}

function responseOf(
  quote: Quote,
  request: WireQuoteRequest,
  made: { amounts: Amounts; typedData: TypedData; settings: QuoteSettings },
): WireQuoteResponse {
  const { amounts, typedData, settings } = made
  return {
    id: quote.id,
    from: request.from,
    expiration: new Date(quote.validTo * 1000).toISOString(),
    quote: {
      sellToken: quote.pair.sell.address,
      buyToken: quote.pair.buy.address,
      receiver: request.receiver ?? request.from,
      sellAmount: amounts.sellAmount.toString(),
      buyAmount: amounts.buyAmount.toString(),
      minBuyAmount: amounts.minBuyAmount.toString(),
      validTo: quote.validTo,
      feeAmount: amounts.feeAmount.toString(),
      kind: quote.kind,
      partiallyFillable: false,
      signingScheme: 'eip712',
    },
    permit2: {
      allowanceTarget: settings.permit2,
      spender: settings.settlement,
      typedData,
      witnessTypeString: WITNESS_TYPE_STRING,
    },
  }
}

function feeOf(sellAmount: bigint, feeBps: bigint): bigint {
  return divideUp(sellAmount * feeBps, BPS)
}

function withFee(sellAmount: bigint, feeBps: bigint): bigint {
  return divideUp(sellAmount * BPS, BPS - feeBps)
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}
