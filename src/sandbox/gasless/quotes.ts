import { randomBytes, randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import { GASLESS_CHAIN_ID } from '../../domain/money/token.ts'
import { BPS, mulDivUp } from '../../domain/money/units.ts'
import { WITNESS_TYPE_STRING } from '../../domain/order/permit.ts'
import {
  SLIPPAGE_BPS,
  type WireQuoteRequest,
  type WireQuoteResponse,
} from '../../venues/swap/client/gasless-wire.ts'
import type { Deployment } from '../evm/deploy.ts'
import type { Tampering } from '../faults.ts'
import type { Market, Pair } from '../market/market.ts'
import type { GaslessSettings } from '../options.ts'
import { type OrderPermit, type TypedData, typedDataOf } from './permit.ts'
import { bestRoute, type Preference, type Route } from './routing.ts'
import { tamper } from './tampering.ts'

/** A quote as the service stores it. Amounts are base units, `validTo` is Unix seconds. */
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
  /** The permit that the owner must sign, tampered with or not. */
  readonly permit: OrderPermit
  /** Set only for a tampered quote. The digest is then computed from this, and the settlement is dishonest. */
  readonly tamperedTypedData: TypedData | undefined
}

type Amounts = Pick<Quote, 'sellAmount' | 'buyAmount' | 'minBuyAmount'> & {
  readonly feeAmount: bigint
}

type Wanted = {
  readonly request: WireQuoteRequest
  readonly pair: Pair
  readonly preference: Preference
  readonly nowMs: number
  readonly tamperings: readonly Tampering[]
}

/**
 * Prices a well-formed request for served tokens. Returns text with the reason if it cannot.
 *
 * The fee is a share of the sold amount, and part of `sellAmount`. Exact input: `sellAmount` is the requested amount, and
 * slippage lowers `minBuyAmount`. Exact output: `buyAmount` and `minBuyAmount` are the requested amount, and slippage raises
 * `sellAmount`, the most that may be taken.
 */
export function createQuote(
  settings: GaslessSettings,
  { market, deployment }: { readonly market: Market; readonly deployment: Deployment },
  wanted: Wanted,
): { readonly quote: Quote; readonly response: WireQuoteResponse } | string {
  const { request, pair, preference, tamperings } = wanted
  const priced = price(market, wanted, BigInt(settings.feeBps))
  if (typeof priced === 'string') return priced
  const amounts = tamperings.includes('badPrice') ? badlyPriced(priced, request.kind) : priced
  const { sellAmount, buyAmount, minBuyAmount } = amounts
  const validTo = Math.floor(wanted.nowMs / 1000) + settings.quoteLifetime
  const honestPermit: OrderPermit = {
    chainId: GASLESS_CHAIN_ID,
    permit2: deployment.permit2,
    token: pair.sell.address,
    amount: sellAmount,
    spender: deployment.settlement,
    nonce: BigInt(`0x${randomBytes(32).toString('hex')}`),
    deadline: validTo,
    recipient: (request.receiver ?? request.from) as Hex,
    tokenOut: pair.buy.address,
    minAmountOut: minBuyAmount,
  }
  const honestData = typedDataOf(honestPermit, settings)
  const { permit, typedData } = tamper(honestPermit, honestData, tamperings, settings)
  const quote: Quote = {
    id: randomUUID(),
    owner: request.from.toLowerCase() as Hex,
    pair,
    preference,
    kind: request.kind,
    sellAmount,
    buyAmount,
    minBuyAmount,
    validTo,
    permit,
    tamperedTypedData: tamperings.length === 0 ? undefined : typedData,
  }
  const response: WireQuoteResponse = {
    id: quote.id,
    from: request.from,
    expiration: new Date(validTo * 1000).toISOString(),
    quote: {
      sellToken: pair.sell.address,
      buyToken: pair.buy.address,
      receiver: request.receiver ?? request.from,
      sellAmount: sellAmount.toString(),
      buyAmount: buyAmount.toString(),
      minBuyAmount: minBuyAmount.toString(),
      validTo,
      feeAmount: amounts.feeAmount.toString(),
      kind: request.kind,
      partiallyFillable: false,
      signingScheme: 'eip712',
    },
    permit2: {
      allowanceTarget: deployment.permit2,
      spender: deployment.settlement,
      typedData,
      witnessTypeString: WITNESS_TYPE_STRING,
    },
  }
  return { quote, response }
}

/** The market's current route for a quote; undefined if it is worse than promised. */
export function executionOf(market: Market, quote: Quote, feeBps: number): Route | undefined {
  const { pair, preference, kind } = quote
  const fee = BigInt(feeBps)
  const isSell = kind === 'sell'
  const amount = isSell ? quote.sellAmount - feeOf(quote.sellAmount, fee) : quote.buyAmount
  const route = bestRoute(market, pair, { kind, amount, preference })
  if (route === undefined || (isSell && route.buyAmount < quote.minBuyAmount)) return undefined
  const sellAmount = isSell ? quote.sellAmount : withFee(route.sellAmount, fee)
  return sellAmount > quote.sellAmount ? undefined : { ...route, sellAmount }
}

function price(
  market: Market,
  { request, pair, preference }: Wanted,
  feeBps: bigint,
): Amounts | string {
  const slippage = BigInt(request.slippageBps ?? SLIPPAGE_BPS.default)
  const liquidity = preference === 'onlyOwn' ? 'own liquidity' : 'liquidity'
  const noRoute = `no route with enough ${liquidity} for this amount`
  if (request.kind === 'sell') {
    const sellAmount = BigInt(request.sellAmountBeforeFee)
    const feeAmount = feeOf(sellAmount, feeBps)
    const amount = sellAmount - feeAmount
    const route = bestRoute(market, pair, { kind: 'sell', amount, preference })
    if (route === undefined) return noRoute
    const minBuyAmount = (route.buyAmount * (BPS - slippage)) / BPS
    if (minBuyAmount === 0n) return 'the amount is too small to be traded'
    return { sellAmount, buyAmount: route.buyAmount, minBuyAmount, feeAmount }
  }
  const buyAmount = BigInt(request.buyAmountAfterFee)
  const route = bestRoute(market, pair, { kind: 'buy', amount: buyAmount, preference })
  if (route === undefined) return noRoute
  const expected = withFee(route.sellAmount, feeBps)
  const sellAmount = mulDivUp(expected, BPS + slippage, BPS)
  return { sellAmount, buyAmount, minBuyAmount: buyAmount, feeAmount: expected - route.sellAmount }
}

/** Doubles the price against the customer and keeps the amounts consistent. */
function badlyPriced(amounts: Amounts, kind: Quote['kind']): Amounts {
  if (kind === 'buy') return { ...amounts, sellAmount: amounts.sellAmount * 2n }
  const { buyAmount, minBuyAmount } = amounts
  return {
    ...amounts,
    buyAmount: mulDivUp(buyAmount, 1n, 2n),
    minBuyAmount: mulDivUp(minBuyAmount, 1n, 2n),
  }
}

function feeOf(sellAmount: bigint, feeBps: bigint): bigint {
  return mulDivUp(sellAmount, feeBps, BPS)
}

function withFee(sellAmount: bigint, feeBps: bigint): bigint {
  return mulDivUp(sellAmount, BPS, BPS - feeBps)
}
