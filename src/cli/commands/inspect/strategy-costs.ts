import { WINDOWS } from '../../../domain/cap-windows.ts'
import { briefText } from '../../../domain/money/amount-text.ts'
import { createPricePaths, pricesAt } from '../../../domain/money/price.ts'
import { ETHER, shownToken, type Token } from '../../../domain/money/token.ts'
import { maxOf, mulDivUp } from '../../../domain/money/units.ts'
import { nextSlot, slotsBetween } from '../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../domain/settings.ts'
import { accountOf, type Figures } from '../../../journal/ledger/figures.ts'
import { usedInTotal } from '../../../journal/projections/limits.ts'
import { kindOf, readsMarket, type Strategy } from '../../../strategies/registry.ts'
import { scheduleAhead } from '../../../strategies/spending/slots-ahead.ts'
import { readState } from '../../compose/state.ts'
import type { CostsData } from '../../json/inspect-outputs.ts'
import type { Io } from '../../process/io.ts'
import { indexOf } from '../../reading.ts'
import { amountData, amountOrNull, counted, shortText } from '../../text/amount-data.ts'
import { askQuote, intentOf, reportOf, wantedOf } from './quote.ts'
import type { PlanInput } from './strategy-plan.ts'

const MONTH_SECONDS = 30 * 86_400
/** Of more slots in a month, the rest is extrapolated. */
const SLOTS_MAX = 10_000
const BPS_TENTHS = 100_000n

/** A cost of `orders` orders together. */
type Cost = {
  readonly what: CostsData['items'][number]['what']
  readonly token: Token
  readonly amount: bigint
  /** Amount sold, of an execution. */
  readonly sold?: bigint
}
type Costs = Pick<CostsData, 'source' | 'note'> & {
  readonly orders: number
  readonly items: readonly Cost[]
}

const unknown = (note: string): Costs => ({ source: 'none', orders: 0, items: [], note })

/** Fills, charges and gas of the last 30 days, by strategy. */
export async function recentFigures(
  settings: Settings,
  io: Io,
  nowMs: number,
): Promise<ReadonlyMap<string, Figures>> {
  const { stateDir } = settings
  const view = await readState(stateDir)
  if (view === undefined) return new Map()
  const sinceMs = nowMs - MONTH_SECONDS * 1_000
  const index = await indexOf({ settings, stateDir, view }, io)
  const { entries } = await index.ledger({ valueToken: undefined, sinceMs })
  return accountOf(entries, { valueToken: undefined, sinceMs, by: 'strategy', timezone: 'UTC' })
    .groups
}

/** Expected costs of a strategy, from its recent orders, or without any from a real quote. */
export async function costsOf(
  strategy: Strategy,
  input: Pick<PlanInput, 'state' | 'market' | 'nowMs'> & {
    readonly settings: Settings
    readonly recent: ReadonlyMap<string, Figures>
    readonly ask?: typeof askQuote
  },
): Promise<CostsData> {
  const figures = input.recent.get(strategy.name)
  const costs =
    figures !== undefined && figures.fills + figures.calls > 0
      ? costsOfOrders(figures)
      : await costsOfQuote(strategy, input)
  const { source, orders, items, note } = costs
  const byPrice = kindOf(strategy).trigger !== undefined
  const ahead = byPrice ? undefined : ordersAhead(strategy, input)
  const perMonth = ahead?.orders ?? (source === 'journal' ? orders : undefined)
  const share = (amount: bigint, of: number) => mulDivUp(amount, BigInt(of), BigInt(orders))
  return {
    ...{ source, note, orders: source === 'journal' ? orders : 0 },
    ordersPerMonth: perMonth ?? null,
    ordersBoundBy: ahead?.boundBy ?? null,
    items: items.map(({ what, token, amount, sold }) => ({
      what,
      perOrder: amountData(share(amount, 1), token),
      perMonth: amountOrNull(perMonth === undefined ? undefined : share(amount, perMonth), token),
      worseThanFeedBps: sold ? Number((amount * BPS_TENTHS) / sold) / 10 : null,
    })),
  }
}

function costsOfOrders({ fills, calls, trades, charged, gas }: Figures): Costs {
  const tokens = new Map([...trades.values()].map(({ sell }) => [sell.address, sell]))
  const swaps = [...tokens].flatMap(([address, token]): readonly Cost[] => {
    let [fees, sold, worse] = [0n, 0n, 0n]
    for (const { sell, fee, pricedPaid, bpsHundredths } of trades.values()) {
      if (sell.address !== address) continue
      fees += fee
      sold += pricedPaid
      worse -= bpsHundredths
    }
    const fee = { what: 'fee', token, amount: fees } as const
    const amount = worse / (10n * BPS_TENTHS)
    return sold === 0n ? [fee] : [{ what: 'execution', token, amount, sold }, fee]
  })
  const ether = [
    { what: 'charge', token: ETHER, amount: charged },
    { what: 'gas', token: ETHER, amount: gas },
  ] as const
  const items = [...swaps, ...ether].filter(({ amount }) => amount !== 0n)
  return { source: 'journal', orders: fills + calls, items, note: null }
}

async function costsOfQuote(
  strategy: Strategy,
  { settings, market, ask = askQuote }: Parameters<typeof costsOf>[1],
): Promise<Costs> {
  if (!readsMarket(strategy))
    return unknown('no call in 30 days; `tranched gastank status` shows earlier charges')
  if (!market.ok) return unknown(`no quote: ${market.why}`)
  const wanted = wantedOf(strategy, strategy.name)
  if (typeof wanted === 'string') return unknown(`no order in 30 days, and no quote: ${wanted}`)
  const { sell, buy, size } = wanted
  if (createPricePaths(settings.prices.values())(sell.token, buy.token) === undefined)
    return unknown('no order in 30 days, and no feed to compare a quote with')
  const intent = intentOf(wanted, market.owner)
  const { reply, nowMs } = await ask(settings, intent)
  if (!reply.ok) return unknown(`no quote: ${reply.fault.message}`)
  const { sellAmount: sold, feeAmount } = reply.value
  const { worseThanFeedBps } = await reportOf({
    settings,
    market,
    intent,
    quoted: reply.value,
    nowMs,
  })
  if (worseThanFeedBps === null) return unknown('no usable feed to compare a quote with')
  const tenths = BigInt(Math.round(worseThanFeedBps * 10))
  const { token } = sell
  return {
    ...{ source: 'quote', orders: 1 },
    items: [
      { what: 'execution', token, amount: mulDivUp(sold, tenths, BPS_TENTHS), sold },
      { what: 'fee', token, amount: feeAmount },
    ],
    note: size.side === 'buy' ? 'at most: the quote of an exact purchase includes slippage' : null,
  }
}

/** The most orders of a month: one per slot, or fewer by one of its own caps. */
function ordersAhead(strategy: Strategy, input: Parameters<typeof costsOf>[1]) {
  const { state, market, settings } = input
  const pathOf = createPricePaths(settings.prices.values())
  const priceOf = market.ok ? pricesAt(pathOf, market.view) : () => undefined
  const planned = kindOf(strategy).plannedOrders(strategy, { priceOf, free: () => undefined })
  let [orders, boundBy]: [number, string | undefined] = [slotsAhead(strategy, input), undefined]
  // Without a known size, a cap says nothing of the number of orders.
  const [smallest] = planned.toSorted((a, b) => (a.amount < b.amount ? -1 : 1))
  if (smallest === undefined || smallest.amount === 0n) return { orders, boundBy }
  const { amount, asset } = smallest
  const { address: token } = asset.token
  const used = usedInTotal(state, { token, strategy: strategy.name })
  const windows = [
    ...WINDOWS.map(({ cap, name, ms }) => ({ cap, ms, within: `per ${name}`, used: 0n })),
    { cap: 'total', ms: MONTH_SECONDS * 1_000, within: 'in total', used },
  ] as const
  for (const { cap, ms, within, used: taken } of windows) {
    const most = strategy.limits[cap].get(token)
    if (most === undefined) continue
    const each = Number(maxOf(0n, most - taken) / amount)
    const count = each * Math.ceil((MONTH_SECONDS * 1_000) / ms)
    if (count >= orders) continue
    orders = count
    boundBy = `its cap of ${briefText(most, shownToken(asset))} ${within}`
  }
  return { orders, boundBy }
}

/** Slots of 30 days from the next one on, so that a weekly schedule always has five. */
function slotsAhead(
  strategy: Strategy,
  { state, nowMs }: Pick<PlanInput, 'state' | 'nowMs'>,
): number {
  const nowSeconds = Math.floor(nowMs / 1_000)
  const schedule = scheduleAhead(state, strategy, nowSeconds)
  const from = (nextSlot(schedule, nowSeconds) ?? nowSeconds) - 1
  const { slots, more } = slotsBetween(schedule, from, from + MONTH_SECONDS, SLOTS_MAX)
  const [first, last] = [slots[0], slots.at(-1)]
  return more && first !== undefined && last !== undefined
    ? Math.round((SLOTS_MAX - 1) * (MONTH_SECONDS / (last - first)))
    : slots.length
}

const WHAT = {
  execution: 'against the feed, fee included',
  fee: "of it the service's fee",
  charge: 'charges for calls',
  gas: 'gas of own transactions',
} as const

export function costTexts(costs: CostsData): string[] {
  const { source, orders, ordersPerMonth, ordersBoundBy, items, note } = costs
  const lines = items.map(({ what, perOrder, perMonth, worseThanFeedBps: bps }) => {
    const month = perMonth === null ? '' : `, ${shortText(perMonth)} a month`
    return `${shortText(perOrder)} per order${month}: ${WHAT[what]}${bps === null ? '' : `, ${bps} bps`}`
  })
  const from = source === 'quote' ? 'a quote now' : `${counted(orders, 'order')} in 30 days`
  const bound = ordersBoundBy === null ? '' : ` (${ordersBoundBy})`
  const at =
    ordersPerMonth === null ? '' : `, at most ${counted(ordersPerMonth, 'order')} a month${bound}`
  const basis = source === 'none' ? [] : [`from ${from}${at}`]
  return [...lines, ...basis, ...(note === null ? [] : [note])]
}
