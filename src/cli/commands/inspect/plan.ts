import { briefText } from '../../../domain/money/amount-text.ts'
import { NATIVE_TOKEN, shownToken } from '../../../domain/money/token.ts'
import { formatBrief, minOf } from '../../../domain/money/units.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { heldOf, wantedBy } from '../../../engine/market-snapshot.ts'
import { runwaySeconds } from '../../../journal/projections/runway.ts'
import { instantText, lastingText, localText } from '../../../observe/wording.ts'
import type { WorstCase } from '../../../strategies/spending/worst-case.ts'
import { withModules } from '../../compose/modules.ts'
import { stateAtHand } from '../../compose/state.ts'
import type { CostsData, PlanData } from '../../json/inspect-outputs.ts'
import { type ConfigOptions, loadForReading, startModules } from '../../load-files.ts'
import { type Market, readMarketNow } from '../../market.ts'
import { columnsOf, type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { orRefuse, Refusal } from '../../process/refusal.ts'
import { amountOrNull } from '../../text/amount-data.ts'
import { beside, wrapped } from '../../text/table.ts'
import { costsOf, costTexts, recentFigures } from './strategy-costs.ts'
import { type Plan, type PlanInput, planOf, sharedCaps } from './strategy-plan.ts'

export async function plan(
  name: string | undefined,
  options: ConfigOptions & {
    readonly slots: number
    readonly utc?: boolean
    readonly costs?: boolean
  },
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = orRefuse(await startModules(loadForReading(options, io), modules))
    const { settings } = loaded
    const strategies = loaded.strategies.filter((each) => name === undefined || each.name === name)
    if (strategies.length === 0) {
      const names = loaded.strategies.map((each) => each.name)
      throw new Refusal(strangerText(name ?? '', names), { by: 'plan' })
    }
    const state = await stateAtHand(settings.stateDir)
    const market = await readMarketNow(settings, wantedBy(strategies), { state, io })
    const { slots } = options
    const shared = sharedCaps(settings, state)
    const input = { settings, state, market, nowMs, slots, modules, shared }
    const plans = await Promise.all(strategies.map((strategy) => planOf(strategy, input)))
    const totals = totalsOf(plans, input)
    const costs = new Map<string, CostsData>()
    if (options.costs === true) {
      const recent = await recentFigures(settings, io, nowMs)
      // One quote after another, within the service's rate.
      for (const each of strategies)
        costs.set(each.name, await costsOf(each, { ...input, settings, recent }))
    }
    const report = { market, plans, totals, costs, inUtc: options.utc === true }
    return print<PlanData>(io, options, planData(report), () => [planText(report, columnsOf(io))])
  })
}

type PlanReport = {
  readonly market: Market
  readonly plans: readonly Plan[]
  readonly totals: readonly Total[]
  /** By strategy; empty unless requested. */
  readonly costs: ReadonlyMap<string, CostsData>
  readonly inUtc: boolean
}

const LABEL_WIDTH = 12

/** A line of text, or a label with text beside it. */
type Line = string | readonly [label: string, text: string]

export function planText(
  { market, plans, totals, costs, inUtc }: PlanReport,
  columns: number,
): string {
  const sections = [
    marketLines(market),
    ...plans.map((each) => {
      const own = costs.get(each.name)
      return [...linesOf(each, inUtc), ...labelled('costs', own ? costTexts(own) : [])]
    }),
    totalLines(plans, totals),
  ]
  const shown = (line: Line): readonly string[] =>
    typeof line === 'string'
      ? wrapped([line], columns)
      : beside(`  ${line[0]} `.padEnd(LABEL_WIDTH), line[1], columns)
  return sections.map((lines) => lines.flatMap(shown).join('\n')).join('\n\n')
}

function marketLines(market: Market): readonly Line[] {
  if (!market.ok) return [`prices and balances are unknown: ${market.why}`]
  return [
    ['wallet', market.owner],
    ['block', `${market.view.blockNumber}`],
  ]
}

function linesOf(each: Plan, inUtc: boolean): readonly Line[] {
  const { next, now, mostPerDay, warnings, notes } = each
  const head = `${each.name}${each.enabled ? '' : ' (disabled)'}: ${each.does}`
  if (each.finished) return [head, ['finished', `${each.schedule} are over`]]
  const timeZone = inUtc ? 'UTC' : each.timezone
  const to = next.some(({ slotSeconds }) => slotSeconds % 60 !== 0) ? 'second' : 'minute'
  const times = next.map(
    ({ slotSeconds, inSeconds }) =>
      `${localText(slotSeconds, { timeZone, to })}, in ${durationText(inSeconds * 1000)}`,
  )
  return [
    head,
    ...labelled('next', times.length === 0 ? [`never due: ${each.schedule}`] : times),
    ['now', now.does],
    ...labelled('at most', mostPerDay.map(worstText)),
    ...warnings.map((text): Line => ['warning', text]),
    ...notes.map((text): Line => ['note', text]),
  ]
}

function labelled(label: string, texts: readonly string[]): readonly Line[] {
  return texts.map((text, index): Line => [index === 0 ? label : '', text])
}

function worstText({ asset, amount, boundBy }: WorstCase): string {
  if (amount === undefined) return `${shownToken(asset).symbol} without a limit: set limits.perDay`
  return `${briefText(amount, shownToken(asset))} per day, limited by ${boundBy}`
}

/** With one enabled strategy, the totals carry its name. */
function totalLines(plans: readonly Plan[], totals: readonly Total[]): readonly Line[] {
  const enabled = plans.filter((each) => each.enabled)
  const [only, ...others] = enabled
  if (only === undefined)
    return [plans.length === 1 ? 'it is disabled and spends nothing' : 'no strategy is enabled']
  const name = others.length === 0 ? `${only.name} alone` : 'all together'
  if (totals.length === 0) return [`${name}: sells nothing`]
  return [
    name,
    ...totals.flatMap((total) => labelled(shownToken(total.asset).symbol, totalTexts(total))),
  ]
}

function totalTexts({ asset, perDay, cap, held, lastsSeconds, isSoldByPrice }: Total): string[] {
  const text = (amount: bigint): string => formatBrief(amount, shownToken(asset).decimals)
  const isOfCalls = asset.token.address === NATIVE_TOKEN
  const bound = perDay === undefined ? 'without a limit' : `at most ${text(perDay)} per day`
  const most = isOfCalls ? `${bound} with calls` : bound
  const limit =
    cap === undefined
      ? 'the config sets no limits.perDay'
      : `the config's limits.perDay ${text(cap)}`
  const texts = [`${most} (${limit})`]
  if (held === undefined) return texts
  const unless = isSoldByPrice ? ', unless a price rule sells it first' : ''
  const lasts =
    lastsSeconds === undefined ? '' : `: lasts ${lastingText(lastsSeconds)} at worst${unless}`
  return [...texts, `the wallet holds ${text(held)}${lasts}`]
}

export function planData({ market, plans, totals, costs }: PlanReport): Given<PlanData> {
  return {
    market: market.ok
      ? {
          known: true,
          why: null,
          owner: market.owner,
          blockNumber: `${market.view.blockNumber}`,
          blockAt: instantText(market.view.blockTimeSeconds),
        }
      : { known: false, why: market.why, owner: null, blockNumber: null, blockAt: null },
    strategies: plans.map(({ waitsForPrice: _, ...rest }) => ({
      ...rest,
      costs: costs.get(rest.name) ?? null,
      next: rest.next.map(({ slotSeconds, inSeconds }) => {
        return { slotSeconds, at: instantText(slotSeconds), inSeconds }
      }),
      mostPerDay: rest.mostPerDay.map(({ asset, amount, boundBy }) => {
        const token = shownToken(asset)
        return { amount: amountOrNull(amount, token)?.amount ?? null, token: token.symbol, boundBy }
      }),
    })),
    totals: totals.map(({ asset, perDay, cap, held, lastsSeconds = null }) => {
      const token = shownToken(asset)
      return {
        of: plans.filter(({ enabled }) => enabled).map(({ name }) => name),
        token: token.symbol,
        perDay: amountOrNull(perDay, token),
        cap: amountOrNull(cap, token),
        held: amountOrNull(held, token),
        lastsSeconds,
      }
    }),
  }
}

type Total = ReturnType<typeof totalsOf>[number]

/** Spending of all enabled strategies together, in base units of each asset. */
export function totalsOf(
  plans: readonly Plan[],
  { settings, state, market, nowMs }: Pick<PlanInput, 'settings' | 'state' | 'market' | 'nowMs'>,
) {
  const cases = new Map<string, (WorstCase & Pick<Plan, 'waitsForPrice'>)[]>()
  for (const { enabled, mostPerDay, waitsForPrice } of plans) {
    if (!enabled) continue
    for (const worst of mostPerDay) {
      const { token, native } = worst.asset
      const key = `${token.address} ${native}`
      cases.set(key, [...(cases.get(key) ?? []), { ...worst, waitsForPrice }])
    }
  }
  return [...cases.values()].flatMap((worst) => {
    const [first] = worst
    if (first === undefined) return []
    const { asset } = first
    const cap = settings.limits.perDay.get(asset.token.address)
    const held = market.ok ? heldOf({ mode: settings.mode, state }, market.view, asset) : undefined
    const lastsSeconds = lastsFor(worst, { held, nowSeconds: Math.floor(nowMs / 1000) })
    const isSoldByPrice = worst.some(({ waitsForPrice }) => waitsForPrice)
    return [{ asset, perDay: sumOf(worst, cap), cap, held, lastsSeconds, isSoldByPrice }]
  })
}

/** Undefined if unbounded. */
function sumOf(worst: readonly WorstCase[], cap: bigint | undefined): bigint | undefined {
  const amounts = worst.flatMap(({ amount }) => amount ?? [])
  if (amounts.length < worst.length) return cap
  const sum = amounts.reduce((total, amount) => total + amount, 0n)
  return cap === undefined ? sum : minOf(cap, sum)
}

/** Uses the slots of the worst day. */
function lastsFor(
  worst: readonly (WorstCase & Pick<Plan, 'waitsForPrice'>)[],
  { held, nowSeconds }: { readonly held: bigint | undefined; readonly nowSeconds: number },
): number | undefined {
  const byClock = worst.filter(({ waitsForPrice }) => !waitsForPrice)
  const outgoings = byClock.flatMap(({ outgoing }) => outgoing ?? [])
  if (held === undefined || outgoings.length < byClock.length) return undefined
  return runwaySeconds(held, outgoings, nowSeconds)
}
