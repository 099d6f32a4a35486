import { emptyState } from '../../../domain/book/fields.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { bookOf } from '../../../domain/book/venues.ts'
import { acceptPath, createPricePaths } from '../../../domain/price.ts'
import { scheduleWarnings, slotsBetween } from '../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../domain/settings.ts'
import { readsMarket, type Strategy } from '../../../domain/strategy.ts'
import { NATIVE_TOKEN, type Token } from '../../../domain/token.ts'
import { formatAmount, ZERO_ADDRESS } from '../../../domain/units.ts'
import { considerAsking } from '../../../engine/slot.ts'
import { type WorstCase, worstCases } from '../../../engine/spend.ts'
import { scheduleOf, wantedBy } from '../../../engine/view.ts'
import type { Modules } from '../../../ports.ts'
import { withModules } from '../../compose/modules.ts'
import { readState } from '../../compose/state.ts'
import { describeSchedule, describeStrategy, durationText, instantText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import {
  type ConfigOptions,
  type Loaded,
  loadForReading,
  reportProblems,
  startModules,
} from '../../load.ts'
import { type Market, readMarketNow } from '../../market.ts'

export type PlanOptions = ConfigOptions & { readonly slots: number }

const YEAR_SECONDS = 366 * 86_400

/** `tranched plan [STRATEGY]`: next slots, what each would do now, and the most that it may spend. Changes nothing. */
export async function plan(
  name: string | undefined,
  options: PlanOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = await startModules(loadForReading(options, io), modules)
    if (!loaded.ok) return reportProblems(loaded.problems, io, options)
    return planLoaded(name, options, { io, nowMs, modules, ...loaded })
  })
}

type Planned = Pick<Extract<Loaded, { ok: true }>, 'settings' | 'strategies'> & {
  readonly io: Io
  readonly nowMs: number
  readonly modules: Modules
}

async function planLoaded(
  name: string | undefined,
  options: PlanOptions,
  { io, nowMs, modules, settings, strategies: all }: Planned,
): Promise<ExitCode> {
  const strategies = all.filter((each) => name === undefined || each.name === name)
  if (strategies.length === 0) {
    const names = all.map((each) => each.name).join(', ')
    io.stderr.write(`plan: no strategy is named ${name}; there are: ${names}\n`)
    return EXIT.failed
  }
  const state = (await readState(settings.stateDir))?.state ?? emptyState()
  const market = await readMarketNow(settings, wantedBy(strategies), { state, io })
  const input = { settings, state, market, nowMs, slots: options.slots, modules }
  const plans = await Promise.all(strategies.map((strategy) => planOf(strategy, input)))
  const totals = totalsOf(plans, input)
  if (options.json) printJson(io, { market: marketReport(market), strategies: plans, totals })
  else
    io.stdout.write(
      `${[marketText(market), ...plans.map(textOf), totalsText(totals)].join('\n\n')}\n`,
    )
  return EXIT.done
}

type PlanInput = {
  readonly settings: Settings
  readonly state: DaemonState
  readonly market: Market
  readonly nowMs: number
  readonly slots: number
  readonly modules: Modules
}

type Plan = Awaited<ReturnType<typeof planOf>>

async function planOf(strategy: Strategy, input: PlanInput) {
  const { state, nowMs } = input
  const schedule = scheduleOf(state, strategy)
  const nowSeconds = Math.floor(nowMs / 1000)
  const after = Math.max(nowSeconds, state.strategies.get(strategy.name)?.lastSlotSeconds ?? 0)
  const { slots } = slotsBetween(schedule, after, after + 10 * YEAR_SECONDS, input.slots)
  const zone = schedule.type === 'cron' ? schedule.timezone : 'UTC'
  return {
    name: strategy.name,
    enabled: strategy.enabled,
    does: describeStrategy(strategy),
    schedule: describeSchedule(schedule),
    next: slots.map((slot) => ({
      slotSeconds: slot,
      utc: instantText(slot),
      local: localText(slot, zone),
      inSeconds: slot - nowSeconds,
    })),
    now: await decisionNow(strategy, input),
    mostPerDay: worstCases(strategy, {
      nowSeconds,
      schedule,
      account: input.settings.limits,
      available: (token) => heldOf(input.market, token),
      priceOf: (sell, buy) => priceNow(input, sell, buy),
    }),
    warnings: scheduleWarnings(schedule, nowSeconds),
  }
}

/** What the next slot would do if it came now. */
async function decisionNow(strategy: Strategy, input: PlanInput) {
  const { settings, state, market, nowMs, modules } = input
  if (readsMarket(strategy) && !market.ok) return { does: 'unknown', detail: market.why }
  const slot = {
    mode: settings.mode,
    pricePath: createPricePaths(settings.prices.values()),
    account: settings.limits,
    state,
    owner: market.ok ? market.owner : ZERO_ADDRESS,
    caller: ZERO_ADDRESS,
    strategy,
    slotSeconds: Math.floor(nowMs / 1000),
    view: market.ok ? market.view : undefined,
    nowMs,
  }
  const { decision } = await considerAsking(slot, modules)
  if (decision.tag === 'skip') return { does: `skip: ${decision.reason}`, detail: decision.detail }
  const orders = decision.intents.map((intent) => bookOf(intent).wordsOf(intent))
  return { does: orders.join('; '), detail: '' }
}

function heldOf(market: Market, token: Token): bigint | undefined {
  if (!market.ok) return undefined
  if (token.address === NATIVE_TOKEN) return undefined
  return market.view.balances.get(token.address)
}

function priceNow({ settings, market }: PlanInput, sell: Token, buy: Token) {
  if (!market.ok) return undefined
  const path = createPricePaths(settings.prices.values())(sell, buy)
  const answer = acceptPath(path, market.view.readings, market.view.blockTimeSeconds)
  return answer.ok ? answer.price.ratio : undefined
}

type Total = {
  readonly token: string
  readonly perDay: string | null
  readonly cap: string | null
  readonly held: string | null
  readonly lastsDays: number | null
}

/** Over all enabled strategies, by token: the worst day, the account's own cap of it, and how long the balance lasts. */
function totalsOf(plans: readonly Plan[], { settings, market }: PlanInput): readonly Total[] {
  const sums = new Map<Token, bigint | undefined>()
  for (const { enabled, mostPerDay } of plans) {
    if (!enabled) continue
    for (const { token, amount } of mostPerDay) {
      const before = sums.has(token) ? sums.get(token) : 0n
      sums.set(token, before === undefined || amount === undefined ? undefined : before + amount)
    }
  }
  return [...sums].map(([token, sum]) => {
    const cap = settings.limits.perDay.get(token.address)
    const perDay = sum === undefined || (cap !== undefined && cap < sum) ? cap : sum
    const held = heldOf(market, token)
    const text = (value: bigint | undefined): string | null =>
      value === undefined ? null : formatAmount(value, token.decimals)
    const lastsDays =
      held === undefined || perDay === undefined || perDay === 0n
        ? null
        : Number((held * 10n) / perDay) / 10
    return {
      token: token.symbol,
      perDay: text(perDay),
      cap: text(cap),
      held: text(held),
      lastsDays,
    }
  })
}

function marketReport(market: Market) {
  if (!market.ok) return { known: false, why: market.why }
  const { blockNumber, blockTimeSeconds } = market.view
  return { known: true, owner: market.owner, blockNumber, blockTimeSeconds }
}

function marketText(market: Market): string {
  if (!market.ok) return `prices and balances are not known: ${market.why}`
  return `wallet ${market.owner} at block ${market.view.blockNumber}`
}

function textOf(each: Plan): string {
  const lines = [`${each.name}${each.enabled ? '' : ' (disabled)'}: ${each.does}`]
  const row = (label: string, text: string): void => {
    lines.push(`  ${label.padEnd(9)} ${text}`)
  }
  if (each.next.length === 0) row('next', `never due: ${each.schedule}`)
  for (const [index, slot] of each.next.entries())
    row(
      index === 0 ? 'next' : '',
      `${slot.local}  (${slot.utc}, in ${durationText(slot.inSeconds * 1000)})`,
    )
  row('now', each.now.detail === '' ? each.now.does : `${each.now.does}, ${each.now.detail}`)
  for (const [index, worst] of each.mostPerDay.entries())
    row(index === 0 ? 'at most' : '', worstText(worst))
  for (const warning of each.warnings) row('note', warning)
  return lines.join('\n')
}

function worstText({ token, amount, boundBy }: WorstCase): string {
  if (amount === undefined) return `${token.symbol} without a bound: set limits.perDay`
  return `${formatAmount(amount, token.decimals)} ${token.symbol} in a day, bound by ${boundBy}`
}

function totalsText(totals: readonly Total[]): string {
  if (totals.length === 0) return 'no enabled strategy spends anything'
  const lines = totals.map(({ token, perDay, cap, held, lastsDays }) => {
    const most = perDay === null ? 'without a bound' : `${perDay} in a day`
    const limit = cap === null ? 'the config sets no limits.perDay' : `limits.perDay ${cap}`
    const rest = held === null ? '' : `, the wallet holds ${held}`
    const lasts = lastsDays === null ? '' : `, which lasts ${lastsDays} days at the worst`
    return `  ${token.padEnd(9)} ${most} (${limit})${rest}${lasts}`
  })
  return ['all together at most', ...lines].join('\n')
}

function localText(slotSeconds: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  return `${format.format(slotSeconds * 1000)} ${timeZone}`
}
