import { emptyState } from '../../../domain/book/fields.ts'
import type { SwapIntent } from '../../../domain/intent.ts'
import { acceptPath, createPricePaths } from '../../../domain/price.ts'
import type { Quote, Reply } from '../../../domain/quote.ts'
import type { Settings } from '../../../domain/settings.ts'
import { readsMarket, type SwapStrategy } from '../../../domain/strategy.ts'
import { type Asset, WETH_BASE_ADDRESS } from '../../../domain/token.ts'
import {
  type Address,
  BPS,
  baseUnits,
  formatAmount,
  mulDivDown,
  parseAmount,
  type Ratio,
} from '../../../domain/units.ts'
import { createPermitHasher } from '../../../execute/authority/permit-digest.ts'
import { verify } from '../../../execute/authority/verify.ts'
import { quoteRequest } from '../../../execute/swap/signable.ts'
import { amountData } from '../../amount-data.ts'
import { withClock } from '../../compose/clock.ts'
import { composeGasless } from '../../compose/services.ts'
import { readState } from '../../compose/state.ts'
import { durationText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { QuoteData } from '../../json/plan.ts'
import type { AmountData } from '../../json/shapes.ts'
import { type ConfigOptions, loadForReading, reportProblems } from '../../load.ts'
import { type Market, readMarketNow } from '../../market.ts'

export type QuoteOptions = ConfigOptions & {
  readonly sell?: string
  readonly buy?: string
  readonly amount?: string
}

const PRICE_PLACES = 8

/** `tranched quote`: one real quote, held against the feeds and put through the firewall. Signs nothing. */
export async function quote(
  name: string | undefined,
  options: QuoteOptions,
  io: Io,
): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { settings } = loaded
  const strategy = loaded.strategies.find((each) => each.name === name)
  const wanted =
    name === undefined
      ? wantedPair(options, settings)
      : wantedOf(strategy !== undefined && readsMarket(strategy) ? strategy : undefined, name)
  if (typeof wanted === 'string') {
    return printFailure(io, options, { by: 'quote', message: wanted, code: EXIT.usage })
  }
  const fail = (message: string): ExitCode => printFailure(io, options, { by: 'quote', message })
  const state = (await readState(settings.stateDir))?.state ?? emptyState()
  const [sell, buy] = [wanted.sell.token, wanted.buy.token]
  const seen = { tokens: [sell, buy], pairs: [{ sell, buy }] }
  const market = await readMarketNow(settings, seen, { state, io })
  if (!market.ok) return fail(`prices and balances cannot be read: ${market.why}`)
  const intent = intentOf(wanted, market.owner)
  const { reply, nowMs } = await askQuote(settings, intent)
  if (!reply.ok) return fail(`the service gave no quote: ${reply.fault.message}`)
  const report = reportOf({ settings, market, intent, quoted: reply.value, nowMs })
  if (options.json) printJson<QuoteData>(io, { ok: true, ...report, problems: [] })
  else io.stdout.write(`${textOf(report)}\n`)
  return EXIT.done
}

function askQuote(
  settings: Settings,
  intent: SwapIntent,
): Promise<{ readonly reply: Reply<Quote>; readonly nowMs: number }> {
  return withClock(async (clock) => {
    const { gasless } = composeGasless({ settings, clock, observe: () => undefined })
    try {
      return { reply: await gasless.quote(quoteRequest(intent)), nowMs: clock.now() }
    } finally {
      await gasless.close()
    }
  })
}

/** What a quote is asked for. */
export type Wanted = Pick<
  SwapIntent,
  'sell' | 'buy' | 'size' | 'maxSell' | 'slippageBps' | 'price'
> &
  Pick<SwapIntent, 'maxDeviationBps' | 'priceCheck'>

const UNBOUNDED = { min: undefined, max: undefined }

function wantedPair(options: QuoteOptions, settings: Settings): Wanted | string {
  const { sell: sellName, buy: buyName, amount } = options
  if (sellName === undefined || buyName === undefined || amount === undefined)
    return 'name a strategy, or give --sell, --buy and --amount'
  const sell = assetOf(sellName, settings)
  const buy = assetOf(buyName, settings)
  if (sell === undefined || buy === undefined || sell.token === buy.token)
    return `--sell and --buy take two of: ${[...settings.tokens.keys(), 'ETH'].join(', ')}`
  const value = parseAmount(amount, sell.token.decimals)
  if (value === undefined || value === 0n)
    return `--amount takes a decimal with at most ${sell.token.decimals} places`
  const { slippageBps } = settings.gasless
  const { maxDeviationBps } = settings.limits
  const size = { side: 'sell', amount: value } as const
  const common = { slippageBps, maxDeviationBps, price: UNBOUNDED, priceCheck: 'feed' } as const
  return { sell, buy, size, maxSell: value, ...common }
}

function assetOf(name: string, settings: Settings): Asset | undefined {
  const tokens = [...settings.tokens.values()]
  const token =
    name === 'ETH'
      ? tokens.find(({ address }) => address === WETH_BASE_ADDRESS)
      : settings.tokens.get(name)
  return token === undefined ? undefined : { token, native: name === 'ETH' }
}

/** What one slot of a strategy would ask for; or why that cannot be told. */
export function wantedOf(strategy: SwapStrategy | undefined, name: string): Wanted | string {
  if (strategy === undefined) return `no strategy that swaps is named ${name}`
  const { slippageBps, maxDeviationBps, priceCheck } = strategy
  if (strategy.kind === 'rebalance' || strategy.kind === 'custom')
    return `${name} decides what it trades by what it holds; give --sell, --buy and --amount`
  const common = {
    slippageBps,
    maxDeviationBps,
    priceCheck,
    sell: strategy.sell,
    buy: strategy.buy,
  }
  const { price } = strategy
  if (strategy.kind === 'dca') {
    const { size } = strategy
    const maxSell = size.side === 'sell' ? size.amount : baseUnits(2n ** 200n)
    return { ...common, price, size, maxSell }
  }
  if (strategy.kind === 'twap') {
    const count = BigInt(strategy.schedule.type === 'interval' ? strategy.schedule.count : 1)
    const amount = baseUnits(strategy.total / count)
    return { ...common, price, size: { side: 'sell', amount }, maxSell: amount }
  }
  const fixed = strategy.rungs.find(({ size }) => size.type === 'amount')?.size
  if (fixed?.type !== 'amount') return `${name} sells a share; give --sell, --buy and --amount`
  const { amount } = fixed
  return { ...common, price, size: { side: 'sell', amount }, maxSell: amount }
}

/** An intent of nobody, which nothing is ever signed for. */
export function intentOf(wanted: Wanted, owner: Address): SwapIntent {
  return {
    ...wanted,
    id: 'quote:0:0',
    venue: 'gasless',
    strategy: 'quote',
    slotSeconds: 0,
    leg: 0,
    owner,
    recipient: owner,
    maxCostBps: undefined,
    startBeforeMs: 0,
  }
}

type ReportInput = {
  readonly settings: Settings
  readonly market: Pick<Extract<Market, { ok: true }>, 'view'>
  readonly intent: SwapIntent
  readonly quoted: Quote
  readonly nowMs: number
}

type QuoteReport = Omit<QuoteData, 'ok' | 'problems'>

/** A quote held against the feeds and put through the firewall. */
export function reportOf(input: ReportInput): QuoteReport {
  const { settings, market, intent, quoted, nowMs } = input
  const { gasless, prices, chains } = settings
  const { sell, buy } = intent
  const path = createPricePaths(prices.values())(sell.token, buy.token)
  const { view } = market
  const fair = acceptPath(path, view.readings, view.blockTimeSeconds)
  const chainId = chains.get(gasless.chain)?.chainId ?? 0
  const verdict = verify({
    intent,
    quote: quoted,
    view: { ...view, permitNonceUsed: false },
    nowMs,
    chainId,
    gasless,
    path,
    // What runs beside it is the daemon's to know; it asks again before it signs.
    liveNonces: new Set(),
    maxDeviationBps: Math.min(settings.limits.maxDeviationBps, intent.maxDeviationBps),
    hash: createPermitHasher({ chainId, permit2: gasless.permit2 }).hash,
  })
  const least = verdict.ok ? verdict.permit.minAmountOut : quoted.minBuyAmount
  const implied: Ratio = { num: quoted.sellAmount, den: quoted.buyAmount }
  return {
    sells: amountData(quoted.sellAmount, sell.token),
    buys: amountData(quoted.buyAmount, buy.token),
    guaranteed: least === undefined ? null : amountData(least, buy.token),
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
  const scaled = mulDivDown(
    num * 10n ** BigInt(buy.token.decimals + PRICE_PLACES),
    1n,
    den * 10n ** BigInt(sell.token.decimals),
  )
  return formatAmount(scaled, PRICE_PLACES)
}

/** How much more is paid than by the feed; negative for a quote that is better. */
function costBps(implied: Ratio, fair: Ratio): number {
  const paid = implied.num * fair.den
  const due = implied.den * fair.num
  return Number(((paid - due) * BPS * 10n) / due) / 10
}

function textOf(report: QuoteReport): string {
  const text = ({ amount, token }: AmountData): string => `${amount} ${token}`
  const unit = `${report.sells.token} per ${report.buys.token}`
  const feed =
    report.feedPrice === null
      ? 'no feed gives its price'
      : `${report.feedPrice} ${unit} (${report.feeds.join(', ')}, ${report.feedAgeSeconds} s old)`
  const worse =
    report.worseThanFeedBps === null ? '' : `, ${report.worseThanFeedBps} bps off the feed`
  const least = report.guaranteed === null ? 'nobody knows what' : text(report.guaranteed)
  return [
    `sells       ${text(report.sells)}`,
    `buys        ${text(report.buys)}, at least ${least}`,
    `fee         ${text(report.fee)}`,
    `price       ${report.price} ${unit}${worse}`,
    `feed        ${feed}`,
    `expires in  ${durationText(report.expiresInMs)}`,
    `firewall    ${report.verdict}`,
  ].join('\n')
}
