import { NATIVE_TOKEN } from '../../../domain/token.ts'
import { formatBrief } from '../../../domain/units.ts'
import type { WorstCase } from '../../../engine/spend.ts'
import { amountData } from '../../amount-data.ts'
import { durationText, instantText, lastingText, localText } from '../../describe.ts'
import type { PlanData } from '../../json/plan.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { Market } from '../../market.ts'
import { beside, wrapped } from '../../wrap.ts'
import type { Total } from './plan-totals.ts'
import { briefText, shownToken } from './plan-words.ts'
import type { Plan } from './strategy-plan.ts'

/** All that `plan` says. */
export type PlanReport = {
  readonly market: Market
  readonly plans: readonly Plan[]
  readonly totals: readonly Total[]
  /** Times in UTC instead of each schedule's own zone. */
  readonly inUtc: boolean
}

const LABEL_WIDTH = 10

/** A line of text, or a label with text beside it. */
type Line = string | readonly [label: string, text: string]

/** `columns`: of the terminal. */
export function planText({ market, plans, totals, inUtc }: PlanReport, columns: number): string {
  const sections = [
    marketLines(market),
    ...plans.map((each) => linesOf(each, inUtc)),
    totalLines(plans, totals),
  ]
  const shown = (line: Line): readonly string[] =>
    typeof line === 'string'
      ? wrapped([line], columns)
      : beside(`  ${line[0]} `.padEnd(LABEL_WIDTH), line[1], columns)
  return sections.map((lines) => lines.flatMap(shown).join('\n')).join('\n\n')
}

function marketLines(market: Market): readonly Line[] {
  if (!market.ok) return [`prices and balances are not known: ${market.why}`]
  return [
    ['wallet', market.owner],
    ['block', `${market.view.blockNumber}`],
  ]
}

function linesOf(each: Plan, inUtc: boolean): readonly Line[] {
  const { next, now, mostPerDay, warnings, notes } = each
  const timeZone = inUtc ? 'UTC' : each.timezone
  const to = next.some(({ slotSeconds }) => slotSeconds % 60 !== 0) ? 'second' : 'minute'
  const times = next.map(
    ({ slotSeconds, inSeconds }) =>
      `${localText(slotSeconds, { timeZone, to })}, in ${durationText(inSeconds * 1000)}`,
  )
  return [
    `${each.name}${each.enabled ? '' : ' (disabled)'}: ${each.does}`,
    ...labelled('next', times.length === 0 ? [`never due: ${each.schedule}`] : times),
    ['now', now.does],
    ...labelled('at most', mostPerDay.map(worstText)),
    ...warnings.map((text): Line => ['warning', text]),
    ...notes.map((text): Line => ['note', text]),
  ]
}

/** The label stands beside the first. */
function labelled(label: string, texts: readonly string[]): readonly Line[] {
  return texts.map((text, index): Line => [index === 0 ? label : '', text])
}

function worstText({ asset, amount, boundBy }: WorstCase): string {
  if (amount === undefined) return `${shownToken(asset).symbol} without a bound: set limits.perDay`
  return `${briefText(amount, asset)} in a day, bound by ${boundBy}`
}

/** Of one strategy they are its own, and not called those of all. */
function totalLines(plans: readonly Plan[], totals: readonly Total[]): readonly Line[] {
  const enabled = plans.filter((each) => each.enabled)
  const [only, ...others] = enabled
  if (only === undefined)
    return [plans.length === 1 ? 'it is disabled and spends nothing' : 'no strategy is enabled']
  const name = others.length === 0 ? `${only.name} alone` : 'all together'
  if (totals.length === 0) return [`${name}: spends nothing`]
  return [
    name,
    ...totals.flatMap((total) => labelled(shownToken(total.asset).symbol, totalTexts(total))),
  ]
}

function totalTexts({ asset, perDay, cap, held, lastsSeconds, isSoldByPrice }: Total): string[] {
  const text = (amount: bigint): string => formatBrief(amount, shownToken(asset).decimals)
  const isOfCalls = asset.token.address === NATIVE_TOKEN
  const bound = perDay === undefined ? 'without a bound' : `at most ${text(perDay)} in a day`
  const most = isOfCalls ? `${bound} with calls` : bound
  const limit =
    cap === undefined
      ? 'the config sets no limits.perDay'
      : `the config's limits.perDay ${text(cap)}`
  const texts = [`${most} (${limit})`]
  if (held === undefined) return texts
  const unless = isSoldByPrice ? ', unless a price rule sells it before' : ''
  const lasts =
    lastsSeconds === undefined ? '' : `: lasts ${lastingText(lastsSeconds)} at the worst${unless}`
  return [...texts, `the wallet holds ${text(held)}${lasts}`]
}

/** The same for programs: times as ISO text, amounts as exact decimal text with their tokens, null for what is not known. */
export function planData({ market, plans, totals }: PlanReport): PlanData {
  return {
    ok: true,
    market: market.ok
      ? {
          known: true,
          why: null,
          owner: market.owner,
          blockNumber: `${market.view.blockNumber}`,
          blockAt: instantText(market.view.blockTimeSeconds),
        }
      : { known: false, why: market.why, owner: null, blockNumber: null, blockAt: null },
    strategies: plans.map(({ name, enabled, does, schedule, timezone, ...rest }) => ({
      ...{ name, enabled, does, schedule, timezone },
      next: rest.next.map(({ slotSeconds, inSeconds }) => ({
        slotSeconds,
        at: instantText(slotSeconds),
        inSeconds,
      })),
      now: rest.now,
      mostPerDay: rest.mostPerDay.map(({ asset, amount, boundBy }) => ({
        amount: shownAmount(amount, asset)?.amount ?? null,
        token: shownToken(asset).symbol,
        boundBy,
      })),
      warnings: rest.warnings,
      notes: rest.notes,
    })),
    totals: totals.map((total) => ({
      of: plans.filter(({ enabled }) => enabled).map(({ name }) => name),
      token: shownToken(total.asset).symbol,
      perDay: shownAmount(total.perDay, total.asset),
      cap: shownAmount(total.cap, total.asset),
      held: shownAmount(total.held, total.asset),
      lastsSeconds: total.lastsSeconds ?? null,
    })),
    problems: [],
  }
}

function shownAmount(amount: bigint | undefined, asset: WorstCase['asset']): AmountData | null {
  return amount === undefined ? null : amountData(amount, shownToken(asset))
}
