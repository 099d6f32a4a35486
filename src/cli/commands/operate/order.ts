import { randomBytes } from 'node:crypto'
import type { OrderRequest } from '../../../control/control-socket.ts'
import { createPricePaths } from '../../../domain/money/price.ts'
import { shownToken } from '../../../domain/money/token.ts'
import { parseAmount, ZERO_ADDRESS } from '../../../domain/money/units.ts'
import type { SwapIntent } from '../../../domain/order/intent.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { consider } from '../../../engine/slot.ts'
import { misfitText, type Triggered } from '../../../engine/trigger.ts'
import { fillIn, postingOf } from '../../../journal/events/registry.ts'
import { type SlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import type { FillEntry } from '../../../journal/ledger/entry.ts'
import { capsOf } from '../../../journal/projections/limits.ts'
import { MANUAL, type ManualOrder } from '../../../strategies/manual/manual-kind.ts'
import { readsMarket, type SwapStrategy } from '../../../strategies/registry.ts'
import { askDaemon, silentHolder } from '../../compose/daemons.ts'
import { stateAtHand, withClock } from '../../compose/state.ts'
import type { OrderData } from '../../json/operate-outputs.ts'
import { loadForReading, type Sound, type TargetOptions } from '../../load-files.ts'
import { assetNamed, manualOrderOf, manualStrategyOf } from '../../manual-order.ts'
import { type Market, readMarketNow, requireSwaps } from '../../market.ts'
import { columnsOf, type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { confirm, misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { indexOf, type Reading, recordsOf, whileReading } from '../../reading.ts'
import { amountData, shortText } from '../../text/amount-data.ts'
import { wrapped } from '../../text/table.ts'
import { askQuote, type QuoteReport, quoteLines, reportOf } from '../inspect/quote.ts'
import { targetOf } from './control.ts'

export type OrderOptions = TargetOptions & {
  readonly for: string
  readonly strategy?: string
  readonly atLeast?: string
  readonly atMost?: string
  readonly slippageBps?: number
  readonly yes?: boolean
}

type Typed = Readonly<Record<'amount' | 'token', string>> & Pick<OrderRequest, 'side'>

const POLL_MS = 1_000
/** How long the journal is searched for an order after the daemon's answer was lost. */
const LOST_MS = 15_000
const ANSWER_MS_MAX = 60_000

/** `tranched sell|buy AMOUNT TOKEN --for TOKEN`: previews an order by hand, asks, and follows it to its outcome. */
export async function order(typed: Typed, given: OrderOptions, io: Io): Promise<ExitCode> {
  const options = targetOf(given)
  const files = orRefuse(loadForReading(options, io))
  const { settings } = files
  requireSwaps(settings, typed.side)
  const request = requestOf(typed, options, settings)
  const wanted = manualOrderOf(request, settings)
  if (typeof wanted === 'string') throw misused(wanted, typed.side)
  const { stateDir } = settings
  const say = (lines: readonly string[]): void => {
    for (const line of wrapped(lines, columnsOf({ stdout: io.stderr })))
      io.stderr.write(`${line}\n`)
  }
  const status = await askDaemon(stateDir, { command: 'status' })
  if (status.tag === 'absent')
    throw new Refusal(`no daemon runs in ${stateDir}: \`tranched run\` starts one`)
  const preview = await previewOf(wanted, { options, files, io })
  say(preview.lines)
  await confirm('Place this order?', { options, io })
  const slot = await place(request, stateDir, { options, io })
  const name = `${slot.strategy}:${slot.slotSeconds}`
  say([`placed as ${name}. Ctrl-C leaves it to the daemon; \`tranched why ${name}\` shows it`])
  const end = await followed(slot, { options, io })
  return print<OrderData>(io, options, dataOf(slot, end, preview.quote), orderLines)
}

function requestOf(
  { side, amount, token }: Typed,
  options: OrderOptions,
  settings: Sound['settings'],
): OrderRequest {
  const other = options.for
  const amountOf = (text: string, name: string, flag: string): string => {
    const asset = assetNamed(name, settings)
    const units = asset && parseAmount(text, asset.token.decimals)
    if (asset !== undefined && (units === undefined || units === 0n))
      throw misused(
        `${flag} takes a decimal with at most ${asset.token.decimals} places, not ${text}`,
        side,
      )
    return `${units ?? 1n}`
  }
  const { atLeast, atMost } = options
  const [limit, foreign] = side === 'sell' ? [atLeast, atMost] : [atMost, atLeast]
  if (foreign !== undefined)
    throw misused(`${side} takes ${side === 'sell' ? '--at-least' : '--at-most'}`, side)
  return {
    command: 'order',
    id: randomBytes(8).toString('hex'),
    strategy: options.strategy,
    side,
    sell: side === 'sell' ? token : other,
    buy: side === 'sell' ? other : token,
    amount: amountOf(amount, token, 'AMOUNT'),
    limit: limit === undefined ? undefined : amountOf(limit, other, '--at-least or --at-most'),
    slippageBps: options.slippageBps,
  }
}

type On = { readonly options: OrderOptions; readonly io: Io }

/** Decides as the daemon will, and asks for a real quote. Signs nothing. */
async function previewOf(
  wanted: ManualOrder,
  { options, files, io }: On & { readonly files: Sound },
): Promise<{ readonly lines: readonly string[]; readonly quote: QuoteReport }> {
  const { settings, strategies } = files
  const { limits: account, mode, prices } = settings
  const named = strategies.find(({ name }) => name === options.strategy)
  const strategy = options.strategy === undefined ? manualStrategyOf(settings) : named
  if (strategy === undefined || !readsMarket(strategy))
    throw misused(`no strategy that swaps is named ${options.strategy}`, 'order')
  const [sell, buy] = [wanted.sell.token, wanted.buy.token]
  const pairs = [{ sell, buy }]
  const state = await stateAtHand(settings.stateDir)
  const misfit = misfitText(wanted, strategy, state)
  if (misfit !== undefined) throw new Refusal(misfit)
  const market = await readMarketNow(settings, { tokens: [sell, buy], pairs }, { state, io })
  if (!market.ok) throw new Refusal(`prices and balances cannot be read: ${market.why}`)
  const pricePath = createPricePaths(prices.values())
  const context = { mode, pricePath, account, state, owner: market.owner }
  const nowMs = Date.now()
  const slotSeconds = Math.floor(nowMs / 1_000)
  const slot = { strategy, slotSeconds, view: market.view, nowMs, order: wanted }
  const considered = consider({ ...context, ...slot, caller: ZERO_ADDRESS })
  if (!('decision' in considered)) throw new Refusal('the strategy asks its module')
  const { decision } = considered
  if (decision.tag === 'skip')
    throw new Refusal(`${reasonText(decision.reason)}: ${decision.detail}`)
  const [intent] = decision.intents as readonly SwapIntent[]
  if (intent === undefined) throw new Refusal('the order asks for nothing')
  const { reply, nowMs: quotedMs } = await askQuote(settings, intent)
  if (!reply.ok) throw new Refusal(`the service returned no quote: ${reply.fault.message}`)
  const quote = await reportOf({ settings, market, intent, quoted: reply.value, nowMs: quotedMs })
  const lines = [
    ...quoteLines(quote),
    ...capLines(intent, { strategy, settings, state, nowMs }),
    ...firstStepLines(intent, market),
  ]
  if (quote.refusal !== null)
    throw new Refusal(`${quoteLines(quote).join('\n')}\nthe daemon would not sign this quote`)
  return { lines, quote }
}

function capLines(
  { sell, maxSell, size }: SwapIntent,
  on: {
    readonly strategy: SwapStrategy
    readonly settings: Sound['settings']
    readonly state: Awaited<ReturnType<typeof stateAtHand>>
    readonly nowMs: number
  },
): readonly string[] {
  const { strategy, settings, state, nowMs } = on
  const caps = capsOf(state, {
    ...{ strategies: [strategy], account: settings.limits, tokens: [sell.token], nowMs },
  })
  const text = (amount: bigint): string => shortText(amountData(amount, sell.token))
  if (caps.length === 0) return [`caps        none for ${sell.token.symbol} in \`limits\``]
  return caps.map(
    ({ strategy: of, window, used, cap }) =>
      `cap         ${of ?? 'account'}, ${window}: ${text(used)} of ${text(cap)} used; this order adds ${size.side === 'sell' ? '' : 'up to '}${text(maxSell)}`,
  )
}

/** Transactions of the wallet that cost gas before the order. */
function firstStepLines(
  { sell, maxSell }: SwapIntent,
  { view }: Extract<Market, { ok: true }>,
): readonly string[] {
  const allowance = view.allowances.get(sell.token.address)
  const wrap = sell.native ? [`wraps ${shortText(amountData(maxSell, shownToken(sell)))}`] : []
  const approve =
    allowance !== undefined && allowance < maxSell ? [`approves ${sell.token.symbol}`] : []
  const steps = [...wrap, ...approve]
  return steps.length === 0 ? [] : [`first       ${steps.join(' and ')}, which costs gas`]
}

type Slot = { readonly strategy: string; readonly slotSeconds: number }

/** Sends the order once. If the answer is lost, the journal says whether it was placed. */
async function place(request: OrderRequest, stateDir: string, given: On): Promise<Slot> {
  const strategy = request.strategy ?? MANUAL
  const asked = await askDaemon(stateDir, request, ANSWER_MS_MAX)
  if (asked.tag === 'answered') {
    if (!asked.answer.ok) throw new Refusal(asked.answer.detail)
    const result = asked.answer.result as Triggered
    if (!result.ok) throw new Refusal(result.detail)
    return { strategy, slotSeconds: result.slotSeconds }
  }
  const silent = silentHolder(asked, stateDir)
  if (silent === undefined) throw new Refusal(`no daemon runs in ${stateDir}: nothing was placed`)
  given.io.stderr.write(`${silent} does not answer: looking for the order in its journal\n`)
  const found = await withClock(async (clock) => {
    const untilMs = clock.now() + LOST_MS
    for (;;) {
      const slotSeconds = await findOrder(request.id, strategy, given)
      if (slotSeconds !== undefined || clock.now() > untilMs) return slotSeconds
      await clock.sleep(POLL_MS)
    }
  })
  if (found !== undefined) return { strategy, slotSeconds: found }
  throw new Refusal(
    `${silent} does not answer, and its journal has no such order yet. It may still take it: see \`tranched history --strategy ${strategy}\` before you order again`,
  )
}

/** A strategy's last slots among which an order of the last seconds is. */
const SLOTS_MAX = 100

/** Slot of an order by its id, if the journal has it. */
async function findOrder(
  id: string,
  strategy: string,
  { options, io }: On,
): Promise<number | undefined> {
  let found: number | undefined
  await whileReading(options, io, async (reading) => {
    const index = await indexOf(reading, io)
    for await (const { event } of index.records(await index.lastSlots(SLOTS_MAX, strategy)))
      if ('manual' in event && event.manual?.id === id) found = event.slotSeconds
    return 0
  })
  return found
}

type Ended = { readonly end: SlotEnd; readonly fill: FillEntry | undefined }

async function followed(slot: Slot, { options, io }: On): Promise<Ended> {
  return withClock(async (clock) => {
    for (;;) {
      let ended: Ended | undefined
      await whileReading(options, io, async (reading) => {
        const open = reading.view.state.strategies.get(slot.strategy)?.openSlots ?? []
        if (open.every(({ slotSeconds }) => slotSeconds !== slot.slotSeconds))
          ended = await endedIn(reading, slot, io)
        return 0
      })
      if (ended !== undefined) return ended
      await clock.sleep(POLL_MS)
    }
  })
}

async function endedIn(reading: Reading, slot: Slot, io: Io): Promise<Ended | undefined> {
  let end: SlotEnd | undefined
  let fill: FillEntry | undefined
  for (const read of await recordsOf(slot, reading, io)) {
    end = slotEndOf(read.event) ?? end
    if (read.context !== undefined) fill = fillIn(postingOf(read)) ?? fill
  }
  return end && { end, fill }
}

function dataOf(slot: Slot, { end, fill }: Ended, quote: QuoteReport): Given<OrderData> {
  const trade = fill?.type === 'trade' ? fill : undefined
  const { outcome, reason, detail = null } = end
  return {
    ok: outcome === 'filled',
    slot: `${slot.strategy}:${slot.slotSeconds}`,
    ...{ outcome, reason, detail },
    sold: trade === undefined ? null : amountData(trade.paid, trade.sell),
    bought: trade === undefined ? null : amountData(trade.received, trade.buy),
    vsFeedBps: trade?.vsFeedBps ?? null,
    txHash: trade?.txHash ?? null,
    quote,
  }
}

function orderLines({ outcome, reason, detail, sold, bought, txHash }: Given<OrderData>) {
  if (sold !== null && bought !== null)
    return [
      `${outcome}: sold ${shortText(sold)} for ${shortText(bought)}`,
      ...(txHash === null ? [] : [`transaction ${txHash}`]),
    ]
  const why = reason === outcome ? '' : `: ${reasonText(reason)}`
  return [`${outcome}${why}${detail === null ? '' : ` (${detail})`}`]
}
