import { briefText } from '../../../domain/money/amount-text.ts'
import { ETHER, type Token } from '../../../domain/money/token.ts'
import { DAY_SECONDS, formatDay } from '../../../domain/schedule/civil-date.ts'
import { wallSecondsAt } from '../../../domain/schedule/timezone.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { briefDecimal } from '../../../domain/text/grouped.ts'
import { describeAll } from '../../../journal/describe.ts'
import type { ReadRecord } from '../../../journal/events/registry.ts'
import type { Entry } from '../../../journal/ledger/entry.ts'
import {
  type Account,
  createAccount,
  type Figures,
  type Grouping,
} from '../../../journal/ledger/figures.ts'
import { Ledger } from '../../../journal/ledger/ledger.ts'
import type { Posted } from '../../../journal/segment-summary.ts'
import { etherText } from '../../../journal/wording/costs.ts'
import {
  addTo,
  type Figures as DayFigures,
  noFigures,
  type Status,
} from '../../../observe/notify/digest/digest-figures.ts'
import { tradedText } from '../../../observe/notify/digest/digest-text.ts'
import type { Clock, Journal } from '../../../ports.ts'
import { inSlices } from '../../../system/slices.ts'
import type { FillRow } from '../../../ui/page/model.ts'
import { firstOf } from './status-text.ts'

export type MoneyAnswers = ReturnType<typeof createMoneyAnswers>

export type MoneyInput = {
  readonly journal: Pick<Journal, 'records' | 'state'>
  /** Runs a task on all changes to the ledger so far. */
  readonly readPosted: (task: (posted: AsyncIterable<Posted>) => Promise<void>) => Promise<void>
  readonly status: () => Status
  /** The newest fills, newest first. */
  readonly fills: (count: number) => Promise<readonly FillRow[]>
  /** Undefined without a price feed. */
  readonly valueToken: Token | undefined
  /** Name of the trading wallet. */
  readonly wallet: string
  /** IANA time zone of days. */
  readonly timezone: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** Ends a read of the journal. */
  readonly signal: AbortSignal
}

const DAYS_BEFORE = 6
const LINES_MAX = 15
/** Pause between two slices of the journal, so that a read takes at most a fifth of a core. */
const REST_MS = 16

/** Answers about money, each sized for a phone. `daily` and `profit` read the whole ledger, in slices. */
export function createMoneyAnswers(input: MoneyInput) {
  const { journal, readPosted, status, valueToken, timezone, wallet, clock, signal } = input

  async function rest(): Promise<void> {
    await clock.sleep(REST_MS, signal)
    signal.throwIfAborted()
  }

  async function accountBy(by: Grouping) {
    const ledger = new Ledger()
    await readPosted(async (posted) => {
      for await (const [, posting] of inSlices(posted, rest)) ledger.post(posting)
    })
    const account = createAccount({ valueToken, by, timezone })
    for await (const entry of inSlices<Entry>(listed(ledger.entries), rest)) account.add(entry)
    return account.sums()
  }

  return {
    async daily(): Promise<string> {
      const nowSeconds = Math.floor(clock.now() / 1_000)
      const fromMs = startOfDay(nowSeconds, timezone) * 1_000
      const today: DayFigures = noFigures()
      const read = describeAll(journal.records({ atMs: fromMs }), journal.state)
      for await (const each of inSlices<ReadRecord>(read, rest))
        if (each.record.atMs >= fromMs) addTo(today, each)
      const { groups } = await accountBy('day')
      return dailyText({ today, groups, nowSeconds, timezone, valueToken })
    },
    profit: async () => profitText(await accountBy('strategy'), status(), valueToken),
    fills: async (count: number) => fillsText(await input.fills(count), timezone),
    balance: () => balanceText(status(), wallet),
  }
}

async function* listed<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

function startOfDay(nowSeconds: number, timezone: string): number {
  const sinceMidnight = (seconds: number): number => wallSecondsAt(timezone, seconds) % DAY_SECONDS
  const start = nowSeconds - sinceMidnight(nowSeconds)
  // Not 0 on a day whose clock was changed.
  const off = sinceMidnight(start)
  return start - (off > DAY_SECONDS / 2 ? off - DAY_SECONDS : off)
}

function dailyText(input: {
  readonly today: DayFigures
  readonly groups: Account['groups']
  readonly nowSeconds: number
  readonly timezone: string
  readonly valueToken: Token | undefined
}): string {
  const { today, groups, nowSeconds, timezone, valueToken } = input
  const dayAt = (seconds: number): string => formatDay(wallSecondsAt(timezone, seconds))
  const key = dayAt(nowSeconds)
  const from = dayAt(nowSeconds - DAYS_BEFORE * DAY_SECONDS)
  const now = groups.get(key)
  const before = [...groups].filter(([day]) => day >= from && day < key).reverse()
  return [
    ...firstOf(tradedText(`Today (${timezone})`, today), LINES_MAX),
    ...(now === undefined ? [] : sumsOf(now, valueToken)),
    ...(before.length === 0 ? [] : ['', 'Days before:']),
    ...before.map(
      ([day, figures]) =>
        `${day}: ${[...countsOf(figures), ...sumsOf(figures, valueToken)].join('; ')}`,
    ),
  ].join('\n')
}

function countsOf({ fills, calls }: Figures): readonly string[] {
  const counts: string[] = []
  if (fills > 0) counts.push(fills === 1 ? '1 fill' : `${fills} fills`)
  if (calls > 0) counts.push(calls === 1 ? '1 call' : `${calls} calls`)
  return counts.length === 0 ? [] : [counts.join(', ')]
}

/** Spent amounts, fees and realised profit, each in one figure per token. */
function sumsOf(figures: Figures, valueToken: Token | undefined): readonly string[] {
  const spent = new Map<string, { readonly token: Token; amount: bigint }>()
  const fees = new Map<string, { readonly token: Token; amount: bigint }>()
  const add = (sums: typeof spent, token: Token, amount: bigint): void => {
    const known = sums.get(token.symbol) ?? { token, amount: 0n }
    sums.set(token.symbol, known)
    known.amount += amount
  }
  for (const { sell, paid, fee } of figures.trades.values()) {
    add(spent, sell, paid)
    add(fees, sell, fee)
  }
  add(fees, ETHER, figures.charged + figures.gas)
  const line = (name: string, sums: typeof spent): readonly string[] => {
    const texts = [...sums.values()].flatMap(({ token, amount }) =>
      amount === 0n ? [] : [briefText(amount, token)],
    )
    return texts.length === 0 ? [] : [`${name} ${texts.join(', ')}`]
  }
  const realised = figures.realised?.average
  const profit = realised && valueToken && `realised ${signedText(realised, valueToken)}`
  return [...line('spent', spent), ...line('fees', fees), ...(profit ? [profit] : [])]
}

function signedText(amount: bigint, token: Token): string {
  return `${amount > 0n ? '+' : ''}${briefText(amount, token)}`
}

function profitText(
  { total, groups }: Account,
  { profit }: Pick<Status, 'profit'>,
  valueToken: Token | undefined,
): string {
  if (valueToken === undefined || total.realised === undefined)
    return 'Profit is unknown: the config has no price feed.'
  const sizeOf = ({ realised }: Figures): bigint => {
    const of = realised?.average ?? 0n
    return of < 0n ? -of : of
  }
  const traded = [...groups].filter(([, { fills }]) => fills > 0)
  traded.sort(([, a], [, b]) => Number(sizeOf(b) > sizeOf(a)) - Number(sizeOf(a) > sizeOf(b)))
  const strategies = traded.map(
    ([name, { realised }]) => `${name}: ${signedText(realised?.average ?? 0n, valueToken)}`,
  )
  const unrealised = profit?.unrealised
  const cost = profit === undefined ? '' : `; holdings cost ${briefText(profit.cost, valueToken)}`
  return [
    `Realised ${signedText(total.realised.average, valueToken)}`,
    `Unrealised ${unrealised === undefined ? 'unknown: a price is missing' : signedText(unrealised, valueToken)}${cost}`,
    ...(strategies.length === 0 ? ['Nothing was traded.'] : ['', 'Realised by strategy:']),
    ...firstOf(strategies, LINES_MAX, ' strategies'),
    '',
    'At average cost, before gas and charges. `tranched report` has more.',
  ].join('\n')
}

function fillsText(rows: readonly FillRow[], timezone: string): string {
  if (rows.length === 0) return 'The newest journal files have no fill.'
  const texts = rows.map(({ atMs, strategy, sold, bought, call, paper, undone }) => {
    const wall = new Date(wallSecondsAt(timezone, Math.floor(atMs / 1_000)) * 1_000).toISOString()
    const at = `${wall.slice(5, 10)} ${wall.slice(11, 16)}`
    const what =
      sold === null || bought === null
        ? (call ?? 'a fill')
        : `${briefDecimal(sold.amount)} ${sold.token} -> ${briefDecimal(bought.amount)} ${bought.token}`
    const notes = `${paper ? ' (paper)' : ''}${undone ? ' (reverted by the chain)' : ''}`
    return `${at} ${strategy}: ${what}${notes}`
  })
  return [`Newest fills (${timezone}):`, ...texts].join('\n')
}

function balanceText(status: Status, wallet: string): string {
  const { portfolio, balances, gasTank } = status
  const lines = [...(portfolio === undefined ? [] : holdingLines(portfolio, wallet))]
  for (const [name, own] of balances) {
    // Valued above, except its ether for gas.
    const valued = new Set(name === wallet ? portfolio?.holdings.map(({ token }) => token) : [])
    const texts = [...own.values()]
      .filter(({ token }) => !valued.has(token))
      .map(({ token: symbol, ...each }) => briefText(each.amount, { symbol, ...each }))
    if (texts.length > 0) lines.push(`Wallet ${name}: ${firstOf(texts, LINES_MAX).join(', ')}`)
  }
  if (gasTank !== undefined) {
    const { balance, outstanding, runwaySeconds, isLow } = gasTank
    const lasts =
      runwaySeconds === undefined ? '' : `, lasts ${durationText(runwaySeconds * 1_000)}`
    lines.push(`GasTank: ${etherText(balance - outstanding)}${lasts}${isLow ? ', LOW' : ''}`)
  }
  return lines.length === 0 ? 'No balance was read yet.' : lines.join('\n')
}

type Portfolio = NonNullable<Status['portfolio']>

function holdingLines({ valueToken, holdings }: Portfolio, wallet: string): readonly string[] {
  const held = holdings.filter(({ amount }) => amount !== 0n)
  const worth = (value: bigint | undefined): string =>
    value === undefined || valueToken === undefined ? 'no price' : briefText(value, valueToken)
  const isKnown = held.every(({ value }) => value !== undefined)
  const sum = held.reduce((total, { value }) => total + (value ?? 0n), 0n)
  const all = valueToken === undefined ? '' : `: ${isKnown ? '' : 'at least '}${worth(sum)} in all`
  const tokens = held.map(({ token: symbol, decimals, amount, value }) => {
    if (amount === undefined) return `  ${symbol}: not read`
    const priced = symbol === valueToken?.symbol ? '' : ` (${worth(value)})`
    return `  ${briefText(amount, { symbol, decimals })}${priced}`
  })
  return [`Wallet ${wallet}${all}`, ...firstOf(tokens, LINES_MAX, ' tokens')]
}
