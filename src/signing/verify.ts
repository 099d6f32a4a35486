import { amountText, briefText, brokenText } from '../domain/money/amount-text.ts'
import { acceptPath, brokenBound, type PricePath } from '../domain/money/price.ts'
import {
  type Address,
  type BaseUnits,
  BPS,
  type Hex,
  mulDivDown,
  mulDivUp,
  type Ratio,
} from '../domain/money/units.ts'
import type { SwapIntent } from '../domain/order/intent.ts'
import type { Permit } from '../domain/order/permit.ts'
import type { Quote } from '../domain/order/quote.ts'
import type { RefusalReason } from '../domain/order/reason.ts'
import { lessBps } from '../domain/policy.ts'
import type { GaslessSettings } from '../domain/settings.ts'
import type { ChainView } from '../ports.ts'
import { readTypedData } from './typed-data.ts'

export type VerifyInput = {
  readonly intent: SwapIntent
  readonly quote: Quote
  readonly view: ChainView
  readonly nowMs: number
  readonly chainId: number
  readonly gasless: Pick<GaslessSettings, 'permit2' | 'spenders' | 'maxQuoteLifetimeMs'>
  readonly path: PricePath | undefined
  readonly maxDeviationBps: number
  readonly liveNonces: ReadonlySet<bigint>
  readonly hash: (permit: Permit) => Hex
}

type Verdict =
  | { readonly ok: true; readonly permit: Permit; readonly digest: Hex }
  | { readonly ok: false; readonly reason: RefusalReason; readonly detail: string }

export const NONCE_LIVE = 'another live permit of this wallet carries the same nonce'

class Refused extends Error {
  readonly reason: RefusalReason
  constructor(reason: RefusalReason, detail: string) {
    super(detail)
    this.reason = reason
  }
}

function refusalIn(error: unknown): Extract<Verdict, { ok: false }> {
  if (error instanceof Refused) return { ok: false, reason: error.reason, detail: error.message }
  throw error
}

/** `detail` may be a function, because most conditions hold and it is costly to build. */
function check(condition: boolean, reason: RefusalReason, detail: string | (() => string)): void {
  if (!condition) throw new Refused(reason, typeof detail === 'string' ? detail : detail())
}

/**
 * The signing firewall. Rebuilds the permit from the intent and the operator's files, takes only the service's own values
 * from the quote (amounts, nonce, deadline, spender), bounds each, and requires equal digests of the rebuilt and the
 * received permit. Only the rebuilt permit may be signed.
 */
export function verify(input: VerifyInput): Verdict {
  try {
    const received = receivedPermit(input)
    const permit = rebuild(input, received)
    checkAmounts(input, permit)
    checkPrice(input, permit)
    const digest = input.hash(permit)
    check(
      digest === input.hash(received),
      'digest-mismatch',
      'the rebuilt permit and the received one have different digests',
    )
    return { ok: true, permit, digest }
  } catch (error) {
    return refusalIn(error)
  }
}

/** The permit as received, after all equality checks that need no arithmetic. */
function receivedPermit({ intent, quote, view, chainId, gasless }: VerifyInput): Permit {
  check(!view.ownerHasCode, 'wallet-has-code', `${intent.owner} has code on this chain`)
  check(quote.from === intent.owner, 'owner-mismatch', `the quote is for ${quote.from}`)
  check(quote.side === intent.size.side, 'kind-mismatch', `the quote is of kind ${quote.side}`)
  same(quote.sellToken, intent.sell.token.address, 'sell-token-mismatch', 'quote.sellToken')
  same(quote.buyToken, intent.buy.token.address, 'buy-token-mismatch', 'quote.buyToken')
  same(quote.receiver ?? intent.recipient, intent.recipient, 'recipient-mismatch', 'quote.receiver')
  same(quote.allowanceTarget, gasless.permit2, 'permit2-mismatch', 'permit2.allowanceTarget')
  const read = readTypedData(quote.typedData, intent.owner)
  if (!read.ok) throw new Refused('typed-data-malformed', read.detail)
  const received = read.permit
  same(received.permit2, gasless.permit2, 'permit2-mismatch', 'domain.verifyingContract')
  check(
    received.chainId === chainId,
    'permit2-mismatch',
    `domain.chainId is ${received.chainId}, not ${chainId}`,
  )
  same(received.spender, quote.spender, 'spender-not-allowed', 'message.spender')
  check(
    gasless.spenders.includes(received.spender),
    'spender-not-allowed',
    `spender ${received.spender} is not in gasless.spenders`,
  )
  same(received.token, intent.sell.token.address, 'sell-token-mismatch', 'message.permitted.token')
  same(received.tokenOut, intent.buy.token.address, 'buy-token-mismatch', 'witness.tokenOut')
  same(received.recipient, intent.recipient, 'recipient-mismatch', 'witness.recipient')
  return received
}

function same(got: Address, wanted: Address, reason: RefusalReason, field: string): void {
  check(got === wanted, reason, `${field} is ${got}, not ${wanted}`)
}

/**
 * Builds the permit from our values. Only amount, nonce, deadline, spender and minimum come from the quote, each bounded.
 */
function rebuild(input: VerifyInput, received: Permit): Permit {
  const { intent, quote, view, nowMs, chainId, gasless } = input
  check(
    received.deadlineSeconds === quote.validToSeconds,
    'deadline-mismatch',
    `deadline ${received.deadlineSeconds} is not validTo ${quote.validToSeconds}`,
  )
  check(
    received.deadlineSeconds * 1000 - nowMs <= gasless.maxQuoteLifetimeMs,
    'deadline-too-far',
    `the permit would live ${Math.round(received.deadlineSeconds - nowMs / 1000)} s, longer than maxQuoteLifetime`,
  )
  check(view.permitNonceUsed === false, 'nonce-used', 'the permit nonce is used already')
  check(!input.liveNonces.has(received.nonce), 'nonce-live', NONCE_LIVE)
  const spender = gasless.spenders.find((allowed) => allowed === quote.spender)
  if (spender === undefined) throw new Refused('spender-not-allowed', quote.spender)
  return {
    chainId,
    permit2: gasless.permit2,
    owner: intent.owner,
    token: intent.sell.token.address,
    amount: quote.sellAmount,
    spender,
    nonce: received.nonce,
    deadlineSeconds: quote.validToSeconds,
    recipient: intent.recipient,
    tokenOut: intent.buy.token.address,
    minAmountOut: received.minAmountOut,
  }
}

function checkAmounts({ intent, quote }: VerifyInput, permit: Permit): void {
  check(
    permit.amount <= intent.maxSell,
    'amount-above-limit',
    () =>
      `the permit takes ${amountText(permit.amount, intent.sell.token)}, at most ${amountText(intent.maxSell, intent.sell.token)} was decided`,
  )
  check(
    quote.minBuyAmount === undefined || permit.minAmountOut >= quote.minBuyAmount,
    'amount-mismatch',
    'the witness promises less than quote.minBuyAmount',
  )
  if (intent.size.side === 'buy')
    check(
      quote.buyAmount >= intent.size.amount,
      'amount-mismatch',
      () =>
        `the quote buys ${amountText(quote.buyAmount, intent.buy.token)}, ${amountText(intent.size.amount, intent.buy.token)} was requested`,
    )
  const wanted = intent.size.side === 'buy' ? intent.size.amount : quote.buyAmount
  const floor = lessBps(wanted, intent.slippageBps)
  check(
    permit.minAmountOut >= floor && permit.minAmountOut > 0n,
    'minimum-output-too-low',
    () =>
      `the permit guarantees ${amountText(permit.minAmountOut, intent.buy.token)}, our own floor is ${amountText(floor, intent.buy.token)}`,
  )
}

type PriceInput = Pick<VerifyInput, 'intent' | 'view' | 'path' | 'maxDeviationBps'> & {
  readonly quote: Pick<Quote, 'sellAmount' | 'buyAmount'>
}

/** Why a quote's price is refused for a permit of `amount`; undefined if accepted. */
export function priceRefusal(
  input: PriceInput,
  amount: BaseUnits,
): Extract<Verdict, { ok: false }> | undefined {
  try {
    checkPrice(input, { amount })
    return undefined
  } catch (error) {
    return refusalIn(error)
  }
}

/** Checks the quote against an independent feed, in both directions, and against the strategy's bounds. */
function checkPrice(input: PriceInput, permit: Pick<Permit, 'amount'>): void {
  const { intent, quote } = input
  if (intent.priceCheck === 'feed') checkAgainstFeed(input)
  // Exact output: the service may name more than it guarantees, so the requested amount counts.
  const bought = intent.size.side === 'buy' ? intent.size.amount : quote.buyAmount
  const implied: Ratio = { num: permit.amount, den: bought }
  check(
    intent.priceCheck === 'feed' || intent.price.max !== undefined,
    'price-missing',
    'neither a feed nor a price.max bounds the price',
  )
  const broken = brokenBound(implied, intent.price)
  if (broken === undefined) return
  const sides = { sell: intent.sell.token, buy: intent.buy.token }
  throw new Refused(
    'price-outside-bounds',
    `the quote's price is ${brokenText(implied, broken, sides)}`,
  )
}

function checkAgainstFeed(input: PriceInput): void {
  const { intent, path, view } = input
  const accepted = acceptPath(path, view.readings, view.blockTimeSeconds)
  if (!accepted.ok)
    throw new Refused(
      accepted.reason,
      accepted.pair === undefined ? 'no feed gives the price of the pair' : `feed ${accepted.pair}`,
    )
  const { ratio: fair } = accepted.price
  if (intent.size.side === 'sell') checkSellPrice(input, fair, intent.size.amount)
  else checkBuyPrice(input, fair, intent.size.amount)
}

/** Exact input: the minimum that `amount` must bring, at a price of sell base units per buy base unit. */
export function leastBought(fair: Ratio, amount: bigint, maxDeviationBps: number): bigint {
  return lessBps(mulDivDown(amount, fair.den, fair.num), maxDeviationBps)
}

/** Exact output: the maximum that a permit may take for `amount`, including slippage. */
export function mostSold(
  fair: Ratio,
  amount: bigint,
  { maxDeviationBps, slippageBps }: Pick<SwapIntent, 'maxDeviationBps' | 'slippageBps'>,
): bigint {
  const band = BigInt(maxDeviationBps + slippageBps)
  return mulDivDown(mulDivUp(amount, fair.num, fair.den), BPS + band, BPS)
}

/** Exact input: compares with the whole decided amount at the feed's price, even if the quote takes only a part of it. */
function checkSellPrice(input: PriceInput, fair: Ratio, amount: BaseUnits): void {
  const fairOut = mulDivDown(amount, fair.den, fair.num)
  const { buyAmount } = input.quote
  const { token } = input.intent.buy
  const ceiling = mulDivUp(fairOut, BPS + BigInt(input.maxDeviationBps), BPS)
  check(
    buyAmount >= leastBought(fair, amount, input.maxDeviationBps) && buyAmount <= ceiling,
    'price-deviation',
    () =>
      `the quote brings ${briefText(buyAmount, token)}, the feed says ${briefText(fairOut, token)} (allowed: ${input.maxDeviationBps} bps)`,
  )
}

function checkBuyPrice(input: PriceInput, fair: Ratio, amount: BaseUnits): void {
  const fairIn = mulDivUp(amount, fair.num, fair.den)
  const { maxDeviationBps } = input
  const { slippageBps } = input.intent
  const band = BigInt(maxDeviationBps + slippageBps)
  const most = mostSold(fair, amount, { maxDeviationBps, slippageBps })
  const { sellAmount } = input.quote
  const { token } = input.intent.sell
  check(
    sellAmount <= most && sellAmount * BPS >= fairIn * (BPS - band),
    'price-deviation',
    () =>
      `the quote takes up to ${briefText(sellAmount, token)}, the feed says ${briefText(fairIn, token)} (allowed: ${band} bps)`,
  )
}
