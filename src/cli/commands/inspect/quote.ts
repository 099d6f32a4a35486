import { acceptPath, createPricePaths } from '../../../domain/money/price.ts'
import {
  type Address,
  BPS,
  exactDecimal,
  formatAmount,
  mulDivDown,
  parseAmount,
  type Ratio,
} from '../../../domain/money/units.ts'
import type { SwapIntent } from '../../../domain/order/intent.ts'
import type { Quote } from '../../../domain/order/quote.ts'
import type { Settings } from '../../../domain/settings.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { createPermitHasher } from '../../../signing/permit-digest.ts'
import { verify } from '../../../signing/verify.ts'
import { NO_BOUNDS } from '../../../strategies/decision/swap.ts'
import type { SampleSwap } from '../../../strategies/kind.ts'
import { kindOf, readsMarket, type Strategy } from '../../../strategies/registry.ts'
import { quoteRequest } from '../../../venues/swap/signable.ts'
import { chainOf, composeGasless } from '../../compose/services.ts'
import { stateAtHand, withClock } from '../../compose/state.ts'
import type { QuoteData } from '../../json/inspect-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import { type ConfigOptions, loadForReading } from '../../load-files.ts'
import { assetNamed } from '../../manual-order.ts'
import { type Market, readMarketNow, requireSwaps } from '../../market.ts'
import { type ExitCode, type Io, print } from '../../process/io.ts'
import { misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { amountData, amountOrNull } from '../../text/amount-data.ts'
import { labelled } from '../../text/table.ts'

type QuoteOptions = ConfigOptions & {
  readonly sell?: string
  readonly buy?: string
  readonly amount?: string
}

const PRICE_PLACES = 8
/** For prices below one, whose inverse people read. */
const SMALL_PLACES = 18

/** `tranched quote`: requests one real quote, compares it with the feeds and verifies it. Signs nothing. */
export async function quote(
  name: string | undefined,
  options: QuoteOptions,
  io: Io,
): Promise<ExitCode> {
  const { settings, strategies } = orRefuse(loadForReading(options, io))
  requireSwaps(settings, 'quote')
  const strategy = strategies.find((each) => each.name === name)
  const wanted = name === undefined ? wantedPair(options, settings) : wantedOf(strategy, name)
  if (typeof wanted === 'string')
    throw misused(
      name === undefined ? wanted : `${wanted}; give --sell, --buy and --amount`,
      'quote',
    )
  const failed = (message: string) => new Refusal(message, { by: 'quote' })
  const state = await stateAtHand(settings.stateDir)
  const [sell, buy] = [wanted.sell.token, wanted.buy.token]
  const seen = { tokens: [sell, buy], pairs: [{ sell, buy }] }
  const market = await readMarketNow(settings, seen, { state, io })
  if (!market.ok) throw failed(`prices and balances cannot be read: ${market.why}`)
  const intent = intentOf(wanted, market.owner)
  const { reply, nowMs } = await askQuote(settings, intent)
  if (!reply.ok) throw failed(`the service returned no quote: ${reply.fault.message}`)
  const report = await reportOf({ settings, market, intent, quoted: reply.value, nowMs })
  return print<QuoteData>(io, options, report, quoteLines)
}

export function askQuote(settings: Settings, intent: SwapIntent) {
  return withClock(async (clock) => {
    const { gasless } = composeGasless({ settings, clock, observe: () => undefined })
    try {
      return { reply: await gasless.quote(quoteRequest(intent)), nowMs: clock.now() }
    } finally {
      await gasless.close()
    }
  })
}

export type Wanted = SampleSwap & Pick<SwapIntent, 'slippageBps' | 'maxDeviationBps' | 'priceCheck'>

function wantedPair(options: QuoteOptions, settings: Settings): Wanted | string {
  const { sell: sellName, buy: buyName, amount } = options
  if (sellName === undefined || buyName === undefined || amount === undefined)
    return 'name a strategy, or give --sell, --buy and --amount'
  const sell = assetNamed(sellName, settings)
  const buy = assetNamed(buyName, settings)
  if (sell === undefined || buy === undefined || sell.token === buy.token)
    return `--sell and --buy take two of: ${[...settings.tokens.keys(), 'ETH'].join(', ')}`
  const value = parseAmount(amount, sell.token.decimals)
  if (value === undefined || value === 0n)
    return `--amount takes a decimal with at most ${sell.token.decimals} places`
  const { slippageBps } = settings.gasless
  const { maxDeviationBps } = settings.limits
  const size = { side: 'sell', amount: value } as const
  const common = { slippageBps, maxDeviationBps, price: NO_BOUNDS, priceCheck: 'feed' } as const
  return { sell, buy, size, maxSell: value, ...common }
}

export function wantedOf(strategy: Strategy | undefined, name: string): Wanted | string {
  if (strategy === undefined || !readsMarket(strategy))
    return `no strategy that swaps is named ${name}`
  const { slippageBps, maxDeviationBps, priceCheck } = strategy
  const sample = kindOf(strategy).sampleSwap(strategy)
  return typeof sample === 'string'
    ? sample
    : { ...sample, slippageBps, maxDeviationBps, priceCheck }
}

/** An intent that is never signed. */
export function intentOf(wanted: Wanted, owner: Address): SwapIntent {
  const name = { id: 'quote:0:0', strategy: 'quote', slotSeconds: 0, leg: 0 } as const
  const unlimited = { maxCostBps: undefined, startBeforeMs: 0 }
  return { ...wanted, ...name, ...unlimited, venue: 'gasless', owner, recipient: owner }
}

export type QuoteReport = Omit<QuoteData, 'ok' | 'problems'>

export async function reportOf(input: {
  readonly settings: Settings
  readonly market: Pick<Extract<Market, { ok: true }>, 'view'>
  readonly intent: SwapIntent
  readonly quoted: Quote
  readonly nowMs: number
}): Promise<QuoteReport> {
  const { settings, market, intent, quoted, nowMs } = input
  const { gasless, prices } = settings
  const { sell, buy } = intent
  const path = createPricePaths(prices.values())(sell.token, buy.token)
  const { view } = market
  const fair = acceptPath(path, view.readings, view.blockTimeSeconds)
  const { chainId } = chainOf(settings, gasless.chain)
  const verdict = verify({
    intent,
    quote: quoted,
    view: { ...view, permitNonceUsed: false },
    nowMs,
    chainId,
    gasless,
    path,
    // Unknown here. The daemon knows live nonces, and verifies again before it signs.
    liveNonces: new Set(),
    maxDeviationBps: Math.min(settings.limits.maxDeviationBps, intent.maxDeviationBps),
    ...(await createPermitHasher({ chainId, permit2: gasless.permit2 })),
  })
  const least = verdict.ok ? verdict.permit.minAmountOut : quoted.minBuyAmount
  const implied: Ratio = { num: quoted.sellAmount, den: quoted.buyAmount }
  return {
    sells: amountData(quoted.sellAmount, sell.token),
    buys: amountData(quoted.buyAmount, buy.token),
    guaranteed: amountOrNull(least, buy.token),
    fee: amountData(quoted.feeAmount, sell.token),
    price: priceText(implied, intent),
    feedPrice: fair.ok ? priceText(fair.price.ratio, intent) : null,
    feeds: fair.ok ? fair.price.pairs : [],
    feedAgeSeconds: fair.ok ? view.blockTimeSeconds - fair.price.updatedAtSeconds : null,
    worseThanFeedBps: fair.ok ? costBps(implied, fair.price.ratio) : null,
    expiresInMs: Math.min(quoted.expirationMs, quoted.validToSeconds * 1000) - nowMs,
    refusal: verdict.ok ? null : verdict.reason,
    verdict: verdict.ok ? 'would be signed' : `refused: ${verdict.reason}, ${verdict.detail}`,
  }
}

/** Whole sell tokens per whole buy token. */
function priceText({ num, den }: Ratio, { sell, buy }: SwapIntent): string {
  const paid = num * 10n ** BigInt(buy.token.decimals)
  const got = den * 10n ** BigInt(sell.token.decimals)
  const places = paid < got ? SMALL_PLACES : PRICE_PLACES
  return formatAmount(mulDivDown(paid, 10n ** BigInt(places), got), places)
}

/** A price with its tokens, inverted if below one, as `why` names it. */
function perTokenText(price: string, { sells, buys }: QuoteReport): string {
  const units = parseAmount(price, SMALL_PLACES) ?? 0n
  if (units === 0n || units >= 10n ** BigInt(SMALL_PLACES))
    return `${exactDecimal(price)} ${sells.token} per ${buys.token}`
  const inverse = formatAmount(10n ** BigInt(SMALL_PLACES + PRICE_PLACES) / units, PRICE_PLACES)
  return `${exactDecimal(inverse)} ${buys.token} per ${sells.token}`
}

/** Negative if the quote is better than the feed. */
function costBps(implied: Ratio, fair: Ratio): number {
  const paid = implied.num * fair.den
  const due = implied.den * fair.num
  return Number(((paid - due) * BPS * 10n) / due) / 10
}

export function quoteLines(report: QuoteReport): readonly string[] {
  const text = ({ amount, token }: AmountData): string => `${exactDecimal(amount)} ${token}`
  const feed =
    report.feedPrice === null
      ? 'no feed gives its price'
      : `${perTokenText(report.feedPrice, report)} (${report.feeds.join(', ')}, ${report.feedAgeSeconds} s old)`
  const worse =
    report.worseThanFeedBps === null ? '' : `, ${report.worseThanFeedBps} bps off the feed`
  const least = report.guaranteed === null ? 'an unknown amount' : text(report.guaranteed)
  const price = `${perTokenText(report.price, report)}${worse}`
  // An exact purchase: the service quotes the most that it takes, slippage included.
  const isExact = report.guaranteed?.amount === report.buys.amount
  return labelled([
    ['sells', isExact ? `at most ${text(report.sells)}` : text(report.sells)],
    ['buys', isExact ? `exactly ${text(report.buys)}` : `${text(report.buys)}, at least ${least}`],
    ['fee', text(report.fee)],
    ['price', isExact ? `at worst ${price}, slippage included` : price],
    ['feed', feed],
    ['expires in', durationText(report.expiresInMs)],
    ['firewall', report.refusal === null ? 'passed: it would be signed' : report.verdict],
  ])
}
