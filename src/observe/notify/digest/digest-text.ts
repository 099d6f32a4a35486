import { briefText, priceText } from '../../../domain/money/amount-text.ts'
import { formatBrief } from '../../../domain/money/units.ts'
import { hearsOf } from '../../../domain/notify.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { etherText } from '../../../journal/wording/costs.ts'
import { said, type Text } from '../../../journal/wording/text.ts'
import { localTime, localTimeInZone } from '../../../journal/wording/time.ts'
import type { Figures, Status, StrategyFigures } from './digest-figures.ts'

export type DigestInput = {
  readonly title: 'Daily digest' | 'Weekly digest'
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly timezone: string
  /** Undefined if the journal could not be read. */
  readonly figures: Figures | undefined
  readonly status: Status
  readonly nowMs: number
  /** How live trading differed from a backtest; empty if not compared. */
  readonly drift: readonly DriftLine[]
  /** Strategies in the receiver's subscription; undefined for all. */
  readonly strategies: readonly string[] | undefined
}

/** One strategy's live slots against the same slots in a backtest, in one line that begins with its name. */
export type DriftLine = { readonly strategy: string; readonly line: string }

const STRATEGIES_MAX = 20
const LATE_MS = 10 * 60_000

/** In the digest's order. Each returns its lines, or none. */
const SECTIONS: readonly ((input: DigestInput) => readonly string[])[] = [
  periodLines,
  fillLines,
  unfilledLines,
  stoppedLines,
  openLines,
  fundsLines,
  profitLines,
  driftLines,
  capLines,
]

export function digestText(input: DigestInput): Text {
  return { subject: subjectOf(input), lines: SECTIONS.flatMap((section) => section(input)) }
}

type Traded = Pick<DigestInput, 'figures' | 'strategies'>

/** What a period traded, with a line per strategy, bounded. */
export function tradedText(title: string, figures: Figures): readonly string[] {
  const input = { title, figures, strategies: undefined }
  return [subjectOf(input), ...fillLines(input), ...unfilledLines(input)]
}

function subjectOf(input: Traded & { readonly title: string }): string {
  const { title, figures } = input
  if (figures === undefined) return `${title}: the journal could not be read`
  let [fills, calls, failed] = [0, 0, 0]
  for (const [, own] of shown(input)) {
    fills += own.fills
    calls += own.calls
    for (const outcome of ['failed', 'expired', 'refused'] as const)
      failed += sumOf(own.unfilled.get(outcome))
  }
  const parts = [
    ...(fills > 0 ? [counted(fills, 'fill')] : []),
    ...(calls > 0 ? [counted(calls, 'call')] : []),
    ...(failed > 0 ? [`${failed} without a fill`] : []),
  ]
  return `${title}: ${parts.length === 0 ? 'nothing was traded' : parts.join(', ')}`
}

function shown({ figures, strategies }: Traded): readonly (readonly [string, StrategyFigures])[] {
  return [...(figures?.strategies ?? [])]
    .filter(([name]) => hearsOf(strategies, name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function periodLines(input: DigestInput): readonly string[] {
  const { fromSeconds, untilSeconds, timezone, nowMs } = input
  const from = localTime(fromSeconds * 1_000, timezone)
  const until = localTimeInZone(untilSeconds * 1_000, timezone)
  const isLate = nowMs - untilSeconds * 1_000 > LATE_MS
  return [`From ${from} to ${until}${isLate ? '; late, because the daemon was not running' : ''}.`]
}

function fillLines(input: Traded): readonly string[] {
  return bounded(
    shown(input).filter(([, { fills, calls, undone }]) => fills + calls + undone > 0),
    ([name, own]) => `${name}: ${fillsOf(own).join('; ')}`,
  )
}

function fillsOf({ fills, calls, charged, undone, trades }: StrategyFigures): readonly string[] {
  const traded = [...trades.values()].map((each) => {
    const price = priceText({ num: each.paid, den: each.received }, each)
    const average = price === undefined ? '' : `, ${price} on average`
    return `sold ${briefText(each.paid, each.sell)}, bought ${briefText(each.received, each.buy)}${average}`
  })
  return [
    ...(fills > 0 ? [[counted(fills, 'fill'), ...traded].join(', ')] : []),
    ...(calls > 0
      ? [`${counted(calls, 'call')}${charged > 0n ? `, charged ${etherText(charged)}` : ''}`]
      : []),
    ...(undone > 0 ? [`${counted(undone, 'fill')} reverted by the chain`] : []),
  ]
}

function unfilledLines(input: Traded): readonly string[] {
  return bounded(
    shown(input).filter(([, { unfilled }]) => unfilled.size > 0),
    ([name, { unfilled }]) => {
      const parts = [...unfilled].map(([outcome, reasons]) => {
        const [most] = [...reasons].sort(([, a], [, b]) => b - a)[0] ?? []
        const why = most === undefined || most === outcome ? '' : ` (${reasonText(most)})`
        return `${sumOf(reasons)} ${outcome}${why}`
      })
      return `${name}: ${parts.join(', ')}`
    },
  )
}

function stoppedLines({ status: { state }, strategies, timezone }: DigestInput): readonly string[] {
  const { halted } = state
  const since = (atMs: number): string => `since ${localTime(atMs, timezone)}`
  const halt = halted && `Halted ${since(halted.atMs)}: ${said(halted.detail)}`
  const stops = (kind: 'paused' | 'held', what: string): readonly string[] => {
    const stopped = [...state.strategies].flatMap(([name, { [kind]: stop }]) =>
      stop !== undefined && hearsOf(strategies, name) ? [{ name, ...stop }] : [],
    )
    return bounded(
      stopped,
      ({ name, atMs, detail }) => `${name} ${what} ${since(atMs)}: ${said(detail)}`,
    )
  }
  return [
    ...(halted === undefined ? [] : [`${halt}. \`tranched resume\` lifts the halt.`]),
    ...stops('paused', 'is paused'),
    ...stops('held', 'waits for your approval'),
  ]
}

function openLines({ status, strategies, nowMs }: DigestInput): readonly string[] {
  const intents = [...status.state.intents.values()]
  const open = intents.filter(({ intent }) => hearsOf(strategies, intent.strategy))
  if (open.length === 0) return []
  const oldestMs = Math.min(...open.map(({ openedAtMs }) => openedAtMs))
  const lasting = durationText(nowMs - oldestMs)
  return [`${counted(open.length, 'order')} open, the oldest for ${lasting}: \`tranched status\``]
}

function fundsLines({ status }: DigestInput): readonly string[] {
  const { balances, gasTank } = status
  const wallets = [...balances].flatMap(([wallet, own]) => {
    const held = [...own.values()].map(
      ({ amount, decimals, token }) => `${formatBrief(amount, decimals)} ${token}`,
    )
    return held.length === 0 ? [] : [`Wallet ${wallet}: ${held.join(', ')}`]
  })
  if (gasTank === undefined) return wallets
  const { balance, outstanding, runwaySeconds } = gasTank
  const lasts =
    runwaySeconds === undefined ? '' : `, enough for about ${durationText(runwaySeconds * 1_000)}`
  return [...wallets, `GasTank: ${etherText(balance - outstanding)}${lasts}`]
}

/** Covers the whole account, so it is omitted for receivers of single strategies. */
function profitLines({ status: { profit }, strategies }: DigestInput): readonly string[] {
  if (profit === undefined || strategies !== undefined) return []
  const { valueToken, cost, realised, unrealised } = profit
  if (cost === 0n && realised === 0n) return []
  const now =
    unrealised === undefined ? 'unknown without a price' : briefText(unrealised, valueToken)
  return [
    `Profit since the first order: ${briefText(realised, valueToken)} realised, ${now} unrealised; holdings cost ${briefText(cost, valueToken)}`,
  ]
}

function driftLines({ drift, strategies }: DigestInput): readonly string[] {
  return bounded(
    drift.filter(({ strategy }) => hearsOf(strategies, strategy)),
    ({ line }) => `Against a backtest, ${line}`,
  )
}

const WINDOWS = { hour: 'an hour', day: 'a day', week: 'a week', total: 'in total' } as const

function capLines({ status, strategies }: DigestInput): readonly string[] {
  return bounded(
    status.fullCaps.filter(
      ({ strategy }) => strategy === undefined || hearsOf(strategies, strategy),
    ),
    ({ strategy, token, window, used, cap }) => {
      const percent = cap === 0n ? 100n : (used * 100n) / cap
      const amounts = `${formatBrief(used, token.decimals)} of ${briefText(cap, token)}`
      return `Cap of ${strategy ?? 'the account'}, ${WINDOWS[window]}: ${amounts} is used (${percent} %)`
    },
  )
}

function bounded<Item>(items: readonly Item[], line: (item: Item) => string): readonly string[] {
  const lines = items.slice(0, STRATEGIES_MAX).map(line)
  const more = items.length - lines.length
  return more > 0 ? [...lines, `and ${more} more: \`tranched history\``] : lines
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`
}

function sumOf(reasons: ReadonlyMap<string, number> | undefined): number {
  return [...(reasons?.values() ?? [])].reduce((sum, count) => sum + count, 0)
}
