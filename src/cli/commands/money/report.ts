import { capsOf } from '../../../domain/book/caps.ts'
import { Ledger } from '../../../domain/ledger/entry.ts'
import { type Account, accountOf, type Grouping } from '../../../domain/ledger/figures.ts'
import { standingOf } from '../../../domain/ledger/standing.ts'
import { acceptPath, createPricePaths } from '../../../domain/price.ts'
import { isTimezone } from '../../../domain/schedule/timezone.ts'
import type { Settings } from '../../../domain/settings.ts'
import { ETHER, type Token } from '../../../domain/token.ts'
import { mulDivDown } from '../../../domain/units.ts'
import { portfolioOf, valueTokenOf } from '../../../engine/portfolio.ts'
import { capData } from '../../cap-data.ts'
import { holdingsOverTime } from '../../compose/lately.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { PortfolioData, ReportData, ReportOutput } from '../../json/money.ts'
import { type ConfigOptions, problemsData } from '../../load.ts'
import { type Market, readMarketNow } from '../../market.ts'
import { type Reading, toldIn, whileReading } from '../../reading.ts'
import { csvText } from './csv.ts'
import { figuresData, groupsData, holdingsData, profitData } from './report-data.ts'
import { reportLines, reportRows } from './report-text.ts'

export const GROUPINGS = ['day', 'week', 'month', 'strategy', 'token'] as const

export type ReportOptions = ConfigOptions & {
  readonly by?: (typeof GROUPINGS)[number]
  /** Epoch ms. */
  readonly since?: number
  readonly timezone: string
  readonly csv?: boolean
}

/** `tranched report`: what was traded, what it cost, what came of it. Reads the journal, and the chain for today's prices. */
export async function report(options: ReportOptions, io: Io, nowMs: number): Promise<ExitCode> {
  if (!isTimezone(options.timezone)) {
    const message = `--timezone expects an IANA name such as Europe/Berlin, not ${options.timezone}`
    return printFailure(io, options, { by: 'report', message, code: EXIT.usage })
  }
  return whileReading(options, io, async (reading) => {
    const data = await dataOf(reading, options, { io, nowMs })
    if (options.json)
      printJson<ReportOutput>(io, { ok: true, ...data, problems: problemsData(reading.problems) })
    else if (options.csv) io.stdout.write(csvText(reportRows(data, options.by)))
    else
      io.stdout.write(
        `${reportLines(data, { by: options.by, columns: columnsOf(io) }).join('\n')}\n`,
      )
    return EXIT.done
  })
}

/** Every entry of the books that the journal at hand tells of, oldest first. */
export async function ledgerOf(reading: Reading, io: Io): Promise<Ledger> {
  const ledger = new Ledger()
  for await (const { record, fact } of toldIn(reading, io))
    if (fact !== undefined) ledger.post(fact, record.atMs)
  return ledger
}

type Now = { readonly io: Io; readonly nowMs: number }

async function dataOf(
  reading: Reading,
  { since: sinceMs, by, timezone }: ReportOptions,
  { io, nowMs }: Now,
): Promise<ReportData> {
  const { settings, strategies, view, stateDir } = reading
  const ledger = await ledgerOf(reading, io)
  const valueToken = settings && valueTokenOf(settings.prices.values())
  const grouping: Grouping | undefined = by === 'token' ? undefined : by
  const account = accountOf(ledger.entries, { valueToken, sinceMs, by: grouping, timezone })
  const market: Market =
    settings === undefined
      ? { ok: false, why: 'the config cannot be read' }
      : await marketNow(settings, reading, io)
  return {
    paper: view.state.bound?.mode === 'dry-run',
    sinceAt: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    untilAt: new Date(nowMs).toISOString(),
    timezone,
    valueToken: valueToken?.symbol ?? null,
    total: figuresData(account.total, valueToken),
    groups: groupsData(account, valueToken),
    profit: profitOf(account, { valueToken, settings, market }),
    portfolio: {
      ...portfolioNow(market, reading),
      past: await holdingsOverTime(stateDir, { valueToken, sinceMs }),
    },
    caps:
      settings === undefined
        ? []
        : capsOf(view.state, {
            ...{ strategies, account: settings.limits, nowMs },
            tokens: [...settings.tokens.values(), ETHER],
          }).map(capData),
  }
}

/** One read of all that the account may hold, and of every feed. */
function marketNow(settings: Settings, { view }: Reading, io: Io): Promise<Market> {
  const { chain } = settings.gasless
  const tokens = [...settings.tokens.values()].filter((token) => token.chain === chain)
  const pairs = [...settings.prices.values()].map(({ base, quote }) => ({ sell: quote, buy: base }))
  return readMarketNow(settings, { tokens, pairs }, { state: view.state, io })
}

function profitOf(
  { books }: Account,
  input: {
    readonly valueToken: Token | undefined
    readonly settings: Settings | undefined
    readonly market: Market
  },
): ReportData['profit'] {
  const { valueToken, settings, market } = input
  if (books === undefined || valueToken === undefined || settings === undefined) return null
  const pathTo = createPricePaths(settings.prices.values())
  const worthOf = (token: Token, amount: bigint): bigint | undefined => {
    if (token.address === valueToken.address) return amount
    if (!market.ok) return undefined
    const { readings, blockTimeSeconds } = market.view
    const answer = acceptPath(pathTo(valueToken, token), readings, blockTimeSeconds)
    if (!answer.ok) return undefined
    return mulDivDown(amount, answer.price.ratio.num, answer.price.ratio.den)
  }
  const { fifo, average } = books
  return profitData(standingOf(fifo, valueToken, worthOf), standingOf(average, valueToken, worthOf))
}

function portfolioNow(market: Market, { settings, view }: Reading): Omit<PortfolioData, 'past'> {
  if (!market.ok || settings === undefined) {
    const unknown = market.ok ? 'the config cannot be read' : market.why
    return { unknown, total: null, holdings: [] }
  }
  const feeds = [...settings.prices.values()]
  const { chain } = settings.gasless
  const { valueToken, holdings } = portfolioOf(market.view, {
    tokens: [...settings.tokens.values()].filter((token) => token.chain === chain),
    feeds,
    pricePath: createPricePaths(feeds),
    paper: settings.mode === 'dry-run' ? view.state.paper : undefined,
  })
  return { unknown: null, ...holdingsData(holdings, valueToken) }
}
