import {
  beginningOf,
  driftBps,
  driftOf,
  LiveDays,
  type StrategyDrift,
} from '../../../backtest/drift.ts'
import { DEFAULT_MODEL, type FillModel } from '../../../backtest/model.ts'
import { Observer } from '../../../backtest/observed.ts'
import { heldSeries } from '../../../backtest/prices/held.ts'
import { PriceRecorder } from '../../../backtest/prices/recorded.ts'
import type { SimulationInput } from '../../../backtest/simulation.ts'
import { createPricePaths } from '../../../domain/money/price.ts'
import { ETHER, NATIVE_TOKEN } from '../../../domain/money/token.ts'
import { type Address, ZERO_ADDRESS } from '../../../domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import { valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import { GAS_RESERVE_WEI } from '../../../engine/market-snapshot.ts'
import { describeAll } from '../../../journal/describe.ts'
import type { JournalRecord } from '../../../journal/events/registry.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import { isByTerms } from '../../../signing/terms.ts'
import type { JournalView } from '../../../store/file/journal-snapshot.ts'
import { type OpenedModules, withModules } from '../../compose/modules.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import type { DriftData, DriftOutput } from '../../json/money-outputs.ts'
import {
  type ConfigOptions,
  loadForReading,
  noState,
  type Sound,
  startModules,
} from '../../load-files.ts'
import { columnsOf, type ExitCode, type Io, lineTo, print } from '../../process/io.ts'
import { orRefuse, Refusal } from '../../process/refusal.ts'
import { amountData, counted, isoOf, shortText } from '../../text/amount-data.ts'
import { type Column, spaced, tableLines, wrapped } from '../../text/table.ts'
import { progressTo } from '../backtest/ticker.ts'

/** Prices this long before the period are still valid in it, ms. */
const PRICES_BEFORE_MS = 2 * 86_400_000

/** Longer than any order of the model, with its retries. */
const LAST_ORDERS_SECONDS = 3_600

export type DriftPeriod = {
  /** Epoch ms; undefined for the beginning of the journal. */
  readonly fromMs: number | undefined
  readonly untilMs: number
}

type Given = {
  readonly period: DriftPeriod
  readonly io: Pick<Io, 'env'> & { readonly stderr: Pick<Io['stderr'], 'write' | 'isTTY'> }
}

/** `tranched report --against-backtest`: plays the journal's days again and compares slots and prices. */
export async function reportDrift(
  options: ConfigOptions,
  { period, io }: { readonly period: DriftPeriod; readonly io: Io },
): Promise<ExitCode> {
  const data = await readDrift(options, { period, io })
  return print<DriftOutput>(io, options, { ...data, problems: [] }, () =>
    driftLines(data, columnsOf(io)),
  )
}

/** Reads the journal beside a running daemon without disturbing it. */
export function readDrift(options: ConfigOptions, { period, io }: Given): Promise<DriftData> {
  return withModules(async (modules) => {
    const files = orRefuse(await startModules(loadForReading(options, io), modules))
    const { stateDir } = files.settings
    const view = await readState(stateDir)
    if (view === undefined) throw noState(stateDir)
    const progress = progressTo(io, options)
    const read = await readDays(view, { files, modules, period, report: lineTo(io.stderr) })
    const strategies = await driftOf(inputOf(read, { files, modules }), read.live, progress.share)
    progress.end()
    return {
      fromAt: isoOf(read.fromMs),
      untilAt: isoOf(read.untilMs),
      model: {
        source: read.isObserved ? 'journal' : 'default',
        spreadBps: read.model.spreadPpm / PPM_PER_BPS,
        feeBps: read.model.feePpm / PPM_PER_BPS,
        fillSeconds: read.model.fillSeconds,
      },
      strategies: strategies.map(driftData),
    }
  })
}

const PPM_PER_BPS = 100

type Days = Awaited<ReturnType<typeof readDays>>

/** Reads the journal once: the period's events, the state before it, prices, and the costs of earlier fills. */
async function readDays(
  view: JournalView,
  given: {
    readonly files: Sound
    readonly modules: OpenedModules
    readonly period: DriftPeriod
    readonly report: (line: string) => void
  },
) {
  const { files, modules, period, report } = given
  const { settings } = files
  const strategies = new Map(files.strategies.map((each) => [each.name, each]))
  const live = new LiveDays((intent) => {
    const strategy = strategies.get(intent.strategy)
    return strategy === undefined || isByTerms(intent, strategy, modules.versionOf)
  })
  const prices = new PriceRecorder(settings)
  const [before, during] = [new Observer(), new Observer()]
  const state = emptyState()
  let beginning: { readonly state: DaemonState; readonly fromMs: number } | undefined
  let untilMs = 0
  const { fromMs = Number.NEGATIVE_INFINITY } = period
  const { stateDir, journal } = settings
  const records = recordsAtHand(view, { stateDir, archive: journal.archive, report })
  const begin = ({ atMs, seq }: JournalRecord): void => {
    beginning = { state: beginningOf(state), fromMs: seq === 1 ? Math.max(fromMs, atMs) : fromMs }
  }
  for await (const read of describeAll(noting(records, fromMs, begin), view.state, state)) {
    const { atMs } = read.record
    if (atMs > period.untilMs) break
    if (atMs >= fromMs - PRICES_BEFORE_MS) prices.add(read)
    const observer = beginning === undefined ? before : during
    observer.add({ event: read.event, atMs })
    if (observer === during) live.add(read)
    untilMs = Math.max(untilMs, atMs)
  }
  const nothing = 'the journal has no record of this period: nothing to compare'
  if (beginning === undefined || untilMs < beginning.fromMs)
    throw new Refusal(nothing, { by: 'report' })
  const { model: earlier } = before.result()
  return {
    live,
    prices: prices.result(`the journal in ${stateDir}`),
    ...beginning,
    untilMs,
    isObserved: Object.keys(earlier).length > 0,
    // Failures are a difference from what was expected, never a part of it.
    model: { ...DEFAULT_MODEL, ...timesIn(during), ...earlier, failurePpm: 0 },
  }
}

/** Times of the period itself, for a journal without earlier fills: they shape no price, but which slots overlap. */
function timesIn(during: Observer): Partial<FillModel> {
  const { quoteSeconds, fillSeconds, validSeconds } = { ...DEFAULT_MODEL, ...during.result().model }
  return { quoteSeconds, fillSeconds, validSeconds }
}

/** The same records; calls `begin` before the first one at or after `fromMs` is read. */
async function* noting(
  records: AsyncIterable<JournalRecord>,
  fromMs: number,
  begin: (first: JournalRecord) => void,
): AsyncGenerator<JournalRecord> {
  let hasBegun = false
  for await (const record of records) {
    if (!hasBegun && record.atMs >= fromMs) {
      hasBegun = true
      begin(record)
    }
    yield record
  }
}

function inputOf(
  { live, prices, state, fromMs, untilMs, model }: Days,
  { files, modules }: { readonly files: Sound; readonly modules: OpenedModules },
): SimulationInput {
  const { settings, strategies } = files
  const { feeds } = prices
  const owner = state.bound?.owner ?? ZERO_ADDRESS
  return {
    strategies: strategies.filter(({ enabled }) => enabled),
    account: settings.limits,
    feeds: new Map(feeds.map((feed) => [feed.pair, feed])),
    pricePath: createPricePaths(feeds),
    priceSeries: prices.priceSeries.map(heldSeries),
    balances: balancesOf(live, settings),
    fromSeconds: Math.ceil(fromMs / 1000),
    // The last orders need time to end; slots that follow are not compared.
    untilSeconds: Math.floor(untilMs / 1000) + LAST_ORDERS_SECONDS,
    model,
    policy: DEFAULT_POLICY,
    owner,
    caller: owner,
    valueToken: valueTokenOf(settings.prices.values()),
    modules,
    state,
  }
}

/** The period's first free amounts. Gas for wraps was kept back from the chain's coin. */
function balancesOf(
  { balances }: LiveDays,
  { tokens }: Pick<Sound['settings'], 'tokens'>,
): ReadonlyMap<Address, bigint> {
  return new Map(
    [...balances].flatMap(([symbol, amount]): [Address, bigint][] => {
      if (symbol === ETHER.symbol) return [[NATIVE_TOKEN, amount + GAS_RESERVE_WEI]]
      const token = tokens.get(symbol)
      return token === undefined ? [] : [[token.address, amount]]
    }),
  )
}

function driftData({ pairs, differences, ...drift }: StrategyDrift): StrategyData {
  return {
    ...drift,
    pairs: pairs.map(({ sell, buy, fills, paid, received, expected }) => ({
      fills,
      sold: amountData(paid, sell),
      bought: amountData(received, buy),
      expected: amountData(expected, buy),
      vsBacktestBps: driftBps({ received, expected }) ?? null,
    })),
    differences: differences.map(({ lastSeconds, ...each }) => {
      return { ...each, lastSlot: `${drift.strategy}:${lastSeconds}` }
    }),
  }
}

const SHOWN_MAX = 10

function driftLines(data: DriftData, columns: number): readonly string[] {
  const { fromAt, untilAt, model, strategies } = data
  const source = model.source === 'journal' ? 'the medians of earlier fills' : 'the default model'
  const { spreadBps, feeBps, fillSeconds } = model
  return wrapped(
    spaced([
      [
        `LIVE AGAINST BACKTEST, ${minuteText(fromAt)} to ${minuteText(untilAt)} UTC`,
        `expected costs: spread ${spreadBps} bps, fee ${feeBps} bps, filled after ${fillSeconds} s (${source})`,
      ],
      ...(strategies.length === 0 ? [['no enabled strategy had a slot']] : []),
      ...strategies.map((strategy) => strategyLines(strategy, columns)),
    ]),
    columns,
  )
}

function minuteText(at: string): string {
  return at.slice(0, 'YYYY-MM-DDTHH:MM'.length).replace('T', ' ')
}

type StrategyData = DriftData['strategies'][number]
type DifferenceData = StrategyData['differences'][number]

const COLUMNS: readonly Column<DifferenceData>[] = [
  { title: 'LIVE', cell: ({ live }) => endText(live) },
  { title: 'EXPECTED', cell: ({ expected }) => endText(expected) },
  { title: 'SLOTS', cell: ({ slots }) => `${slots}`, right: true },
  { title: 'LAST', cell: ({ lastSlot }) => lastSlot },
]

function strategyLines(data: StrategyData, columns: number): readonly string[] {
  const { strategy, pairs, differences, otherTerms, byHand } = data
  const more = differences.length - SHOWN_MAX
  return [
    headline(data),
    ...pairs.map(
      ({ fills, sold, bought, expected, vsBacktestBps: bps }) =>
        `  ${counted(fills, 'fill')}: sold ${shortText(sold)} for ${shortText(bought)}, expected ${shortText(expected)}${bps === null ? '' : ` (${bpsText(bps)})`}`,
    ),
    ...(byHand === 0 ? [] : [`  not compared: ${counted(byHand, 'slot')} opened by hand`]),
    ...(otherTerms === 0
      ? []
      : [`  the file of ${strategy} has changed since ${counted(otherTerms, 'of these slot')}`]),
    ...tableLines(COLUMNS, differences.slice(0, SHOWN_MAX), columns),
    ...(more > 0 ? [`and ${more} more, with --json`] : []),
  ]
}

export function headline({ strategy, slots, same, pairs }: StrategyData): string {
  const bps = pairs.length === 1 ? pairs[0]?.vsBacktestBps : undefined
  const price = typeof bps === 'number' ? `, fills ${bpsText(bps)}` : ''
  return `${strategy}: ${same} of ${counted(slots, 'slot')} as expected${price}`
}

function bpsText(bps: number): string {
  if (bps === 0) return 'as expected'
  return `${Math.abs(bps)} bps ${bps < 0 ? 'worse' : 'better'} than expected`
}

function endText({ outcome, reason }: DifferenceData['live']): string {
  return reason === outcome ? outcome : `${outcome} ${reason}`
}
