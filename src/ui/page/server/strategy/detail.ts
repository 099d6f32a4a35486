import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ETHER, type Token } from '../../../../domain/money/token.ts'
import { formatAmount, mulDivDown } from '../../../../domain/money/units.ts'
import type { Settings } from '../../../../domain/settings.ts'
import type { TokenPair } from '../../../../domain/strategy.ts'
import { purchaseOf } from '../../../../journal/projections/purchases.ts'
import type { DaemonState } from '../../../../journal/state/daemon-state.ts'
import type { JournalPlace } from '../../../../store/file/journal-search.ts'
import { makesCalls, type Strategy } from '../../../../strategies/registry.ts'
import type { HoldingsRange, StrategyDetail } from '../../model.ts'
import { amountOf, type Explorers, type FillOnRecord, fillRow } from '../fill-rows.ts'
import { spanMsOf } from '../holdings.ts'
import type { Observations } from '../observations.ts'
import { chartPairs, nameOf, priceChart, searchPast } from './price-chart.ts'

/** `pair`: the first of the strategy's pairs by default. */
export type DetailQuery = {
  readonly name: string
  readonly range: HoldingsRange
  readonly pair?: string | undefined
}

/** `text` has secrets masked; undefined if the file cannot be read. */
export type ReadStrategyFile = (file: string) => {
  readonly text: string | undefined
  readonly strategy: Strategy | undefined
  readonly problems: NonNullable<StrategyDetail['file']>['problems']
}

type DetailParts = {
  readonly settings: Settings
  readonly state: DaemonState
  readonly strategy: Strategy | undefined
  readonly observations: Observations
  readonly explorers: Explorers
  readonly readFile: ReadStrategyFile
  readonly nowMs: number
  /** A fill read from disk may have been undone since. */
  readonly asOfNow: (entry: FillOnRecord) => FillOnRecord
}

const TEXT_MAX = 64 * 1024
const PROBLEMS_MAX = 20
/** Older prices are not current. */
const PRICE_SECONDS_MAX = 600

export async function readDetail(
  journal: JournalPlace,
  { name, range, pair: wanted }: DetailQuery,
  parts: DetailParts,
): Promise<StrategyDetail> {
  const { settings, strategy, observations, explorers, readFile, nowMs, asOfNow } = parts
  const pairs = chartPairs(strategy, settings.prices)
  const pair = pairs.find((each) => nameOf(each) === wanted) ?? pairs[0]
  const period = { fromMs: nowMs - spanMsOf(pair === undefined ? 'month' : range), untilMs: nowMs }
  const { entries, ...past } = await searchPast(journal, { strategy: name, pair, ...period })
  const fills = entries.map(asOfNow).toReversed()
  const { portfolio, prices: observed } = observations
  return {
    ...moneyOf(name, parts),
    file: strategy === undefined ? null : fileOf(strategy, readFile),
    chart:
      strategy === undefined || pair === undefined
        ? null
        : priceChart({
            ...{ ...parts, ...past, strategy, pairs, pair, observed, portfolio },
            fills: fills.map((entry) => fillRow(entry, explorers)),
          }),
    call:
      strategy !== undefined && makesCalls(strategy)
        ? callOf(strategy, { fills, explorers })
        : null,
  }
}

const PRICE_PLACES = 18

/** Whole `paid` tokens per whole `received` token. */
function priceOf(paid: bigint, received: bigint, { sell, buy }: TokenPair): string | null {
  if (received === 0n) return null
  const scaled = paid * 10n ** BigInt(buy.decimals + PRICE_PLACES)
  return formatAmount(scaled / (received * 10n ** BigInt(sell.decimals)), PRICE_PLACES)
}

/** As `report --by strategy` counts it, by average cost. */
function moneyOf(name: string, { state, observations, nowMs }: DetailParts) {
  const { profit, prices } = observations
  if (profit === undefined) return { profit: null, traded: [], held: null }
  const { valueToken, strategies } = profit
  const own = strategies.get(name)
  const pairs = [...(own?.traded.values() ?? [])]
  const isValue = ({ address }: Token): boolean => address === valueToken.address
  const oneWay = pairs.filter(({ sell, buy }) => {
    return !isValue(buy) && !own?.traded.has(`${buy.symbol} ${sell.symbol}`)
  })
  const bought = oneWay.find(({ sell }) => isValue(sell)) ?? oneWay[0]
  const purchase = bought && purchaseOf(state, name, { bought: bought.buy, paidIn: bought.sell })
  const isHeld = bought !== undefined && purchase !== undefined && purchase.amount > 0n
  const last = prices.at(-1)
  const isCurrent = last !== undefined && nowMs / 1000 - last.atSeconds <= PRICE_SECONDS_MAX
  const price = isHeld && isCurrent ? last.prices.get(bought.buy.address) : undefined
  return {
    profit: {
      realised: amountOf(own?.realised ?? 0n, valueToken),
      unrealised:
        price === undefined || purchase === undefined || !bought || !isValue(bought.sell)
          ? null
          : amountOf(mulDivDown(purchase.amount, price.num, price.den) - purchase.cost, valueToken),
    },
    traded: pairs.map(({ fills, sell, buy, paid, received }) => ({
      fills,
      sold: amountOf(paid, sell),
      bought: amountOf(received, buy),
      price: priceOf(paid, received, { sell, buy }),
    })),
    held: isHeld
      ? {
          amount: amountOf(purchase.amount, bought.buy),
          cost: amountOf(purchase.cost, bought.sell),
          price: priceOf(purchase.cost, purchase.amount, bought),
        }
      : null,
  }
}

function fileOf(strategy: Strategy, readFile: ReadStrategyFile): StrategyDetail['file'] {
  const { text, strategy: onDisk, problems } = readFile(strategy.file)
  return {
    name: basename(strategy.file),
    text: text?.slice(0, TEXT_MAX) ?? null,
    isCut: text !== undefined && text.length > TEXT_MAX,
    differs: onDisk !== undefined && !isDeepStrictEqual(onDisk, strategy),
    problems: problems.slice(0, PROBLEMS_MAX).map(({ line, path, message, expected, frame }) => ({
      line,
      path,
      message,
      expected,
      frame,
    })),
  }
}

function callOf(
  strategy: Extract<Strategy, { readonly target: unknown }>,
  past: { readonly fills: readonly FillOnRecord[]; readonly explorers: Explorers },
): StrategyDetail['call'] {
  const { target, label, value } = strategy
  const charges = past.fills.flatMap(({ fill, undone }) =>
    fill.type === 'call' && fill.charged !== undefined && !undone ? [fill.charged] : [],
  )
  const sum = charges.reduce((all, charge) => all + charge, 0n)
  return {
    target,
    explorerUrl: past.explorers.aggregated.address(target),
    function: label,
    value: amountOf(value, ETHER),
    charge: charges.length === 0 ? null : amountOf(sum / BigInt(charges.length), ETHER),
    calls: charges.length,
  }
}
