import { parseCron } from '../../domain/schedule/cron.ts'
import { type Fault, type Tree, valueAt } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'

/** What people write, and what they mean by it. */
type Hint = (written: {
  /** Their value; undefined where it is no single one. */
  readonly text: string | undefined
  /** Of their strategy, as `kind`. */
  readonly name: string
  readonly kind: string
  /** The keys that theirs is below; empty at the top of the file. */
  readonly below: readonly (string | number)[]
  readonly key: string
}) => string | undefined

const LEVELS = '`kind: threshold` waits for a level, as in `when: { above: "4000" }`'
const SLICES =
  'slices are no cron schedule: `every: 1h` is the time between two, `start` says when the first is due'
const INDICATORS =
  'there are no indicators: `price: { max: "4000" }` bounds the price, `dip` of `kind: dca` sells more after a fall, `kind: threshold` waits for a level, and a module of your own (`kind: custom`) can compute them, as strategies/buy-below-average.yaml does'

const PERCENT = /^(\d{1,3}(?:\.\d{1,2})?)%$/
const NUMBER = /^\d{1,6}(?:\.\d{1,6})?$/

/** Keys that are not there, by the last word of their path. */
const UNKNOWN_KEYS: Readonly<Record<string, Hint>> = {
  slippage,
  maxSlippage: slippage,
  slippageTolerance: slippage,
  takeProfit: exit,
  stopLoss: exit,
  above: level,
  below: level,
  trailing: level,
  when: ({ below }) =>
    below[0] === 'ladder'
      ? 'a rung has its level itself, as in `{ above: "4000", amount: "0.1" }`'
      : LEVELS,
  amount: ({ below, text = '0.1' }) =>
    below[0] === 'when'
      ? `it stands beside \`when\`, as in \`amount: "${text}"\`; levels with amounts of their own are a \`ladder\``
      : undefined,
  indicator,
  indicators: indicator,
  only: indicator,
  condition: indicator,
  conditions: indicator,
  filter: indicator,
  if: indicator,
  rsi: indicator,
  sma: indicator,
  ema: indicator,
  macd: indicator,
  dip: ({ text }) =>
    text === 'drop'
      ? '`unsold: drop` gives up what slices did not sell'
      : '`dip` is of `kind: dca`',
  cron: ({ kind, below }) =>
    kind === 'twap' && below[0] === 'schedule'
      ? SLICES
      : 'it belongs to schedule, as in `schedule: { cron: "0 9 * * 1" }`',
  timezone: ({ kind }) => (kind === 'twap' ? SLICES : undefined),
  overlap: ({ kind }) => (kind === 'twap' ? SLICES : undefined),
  every: () =>
    'a plain interval is a cron pattern, as in `schedule: { cron: "*/15 * * * *" }` for every 15 minutes',
  interval: () =>
    'a plain interval is a cron pattern, as in `schedule: { cron: "*/15 * * * *" }` for every 15 minutes',
  pair: () => '`sell` and `buy` name the tokens',
  token: () => '`sell` and `buy` name the tokens',
  from: () => '`sell` names the token that is given',
  to: () => '`buy` names the token that is wanted',
}

/** Values of another shape or writing than their key has. */
const STRANGE_VALUES: Readonly<Record<string, Hint>> = {
  schedule: ({ text, kind }) =>
    kind === 'twap'
      ? SLICES
      : `\`schedule: { cron: "${text !== undefined && parseCron(text).ok ? text : '0 9 * * 1'}" }\``,
  price: ({ text }) =>
    `\`price: { max: "${numberIn(text) ?? '4000'}" }\` for the most that is paid, or \`min\``,
  when: ({ text }) => `\`when: { above: "${numberIn(text) ?? '4000'}" }\`, or \`below\``,
  limits: ({ text }) => `\`limits: { perDay: "${numberIn(text) ?? '100'}" }\``,
  slippageBps: ({ text = '' }) =>
    PERCENT.test(text) || /^\d+\.\d+$/.test(text) ? slippage({ text }) : undefined,
  dip: ({ text = '' }) =>
    `\`dip: [{ drop: ${PERCENT.test(text) ? text : '10%'}, amount: "50" }]\`: how far the price fell, and what is sold then`,
  above: average,
  below: average,
  band: percentage,
  rearm: percentage,
  trailing: percentage,
  maxDeviation: percentage,
  maxCost: percentage,
  drawdown: percentage,
  amount: ({ text }) =>
    text !== undefined && /^\d+(?:\.\d+)? ?[A-Za-z]+$/.test(text)
      ? `the number alone, as in \`amount: "${text.replace(/ ?[A-Za-z]+$/, '')}"\`: which token it is follows from \`sell\``
      : undefined,
}

/** Kinds of other programs, and what does the same here. */
const OTHER_KINDS: readonly (readonly [names: RegExp, hint: string])[] = [
  [
    /^grid/,
    'two of `kind: threshold` make a grid: one buys with a `ladder` of levels below, such as `[{ below: "2900", amount: "25" }, { below: "2800", amount: "25" }]`, one sells with levels above',
  ],
  [
    /^(?:limit|stop|take|trailing|exit|oco)/,
    '`kind: threshold` waits for a level: `when: { below: "2500" }`, `takeProfit`, `stopLoss`',
  ],
  [/^(?:vwap|iceberg|slice)/, '`kind: twap` sells a total in `slices`'],
  [
    /^(?:buy|market|recurring|accumulate|scheduled)/,
    '`kind: dca` trades the same amount on every slot',
  ],
  [/^(?:portfolio|index|balance|weights)/, '`kind: rebalance` keeps a portfolio at its `targets`'],
  [/^(?:rsi|sma|ema|macd|signal|indicator|momentum|mean|cross|script|module|python)/, INDICATORS],
]

/** What a kind that is not there is called here. */
export function kindHint(kind: string): string | undefined {
  const word = kind.trim().toLowerCase()
  return OTHER_KINDS.find(([names]) => names.test(word))?.[1]
}

/** The fault with what was probably meant, in the author's own numbers. */
export function withHint(fault: Fault, tree: Tree): Fault {
  const hint = fault.hint ?? hintOf(fault, tree)
  return hint === undefined ? fault : { ...fault, hint }
}

function hintOf({ path, at }: Fault, tree: Tree): string | undefined {
  const key = path.findLast((part) => typeof part === 'string')
  if (key === undefined) return undefined
  const hints = at === 'key' ? UNKNOWN_KEYS : STRANGE_VALUES
  const hint = at !== 'key' && path[0] === 'targets' ? percentage : ownHint(hints, key)
  const textAt = (where: Path): string | undefined => {
    const value = valueAt(tree, where)
    return typeof value === 'string' ? value : undefined
  }
  return hint?.({
    text: textAt(path),
    name: textAt(['name']) ?? 'its name',
    kind: textAt(['kind']) ?? '',
    ...{ below: path.slice(0, -1), key },
  })
}

function ownHint(hints: Readonly<Record<string, Hint>>, key: string): Hint | undefined {
  return Object.hasOwn(hints, key) ? hints[key] : undefined
}

function slippage({ text = '' }: { readonly text: string | undefined }): string {
  const percent = PERCENT.exec(text)?.[1]
  if (percent !== undefined) return `in basis points it is \`slippageBps: ${basisPoints(percent)}\``
  if (!NUMBER.test(text)) return '`slippageBps: 30` is 0.3 %'
  const asPercent = `\`slippageBps: ${basisPoints(text)}\` if you mean ${text} %`
  return text.includes('.') || text === '0'
    ? asPercent
    : `\`slippageBps: ${text}\` if you mean basis points, ${asPercent}`
}

/** Hundredths of a percent of plain decimal text. */
function basisPoints(percent: string): number {
  return Math.round(Number.parseFloat(percent) * 100)
}

function exit({ name, kind, below, key, text = '4500' }: Parameters<Hint>[0]): string {
  if (kind === 'threshold' && below[0] === 'when')
    return `it stands beside \`when\`, as in \`${key}: "${text}"\``
  return `a strategy of its own takes profits: \`kind: threshold\` with \`entryOf: ${name}\`; strategies/exit-weekly-eth.yaml is one`
}

/** A level that is not where levels are. */
function level({ kind, key, text }: Parameters<Hint>[0]): string | undefined {
  if (kind !== 'threshold') return LEVELS
  const value = key === 'trailing' ? (text ?? '5%') : JSON.stringify(text ?? '4000')
  return `it belongs to when, as in \`when: { ${key}: ${value} }\``
}

function indicator(): string {
  return INDICATORS
}

/** An average where a price is wanted. */
function average({ text = '' }: { readonly text: string | undefined }): string | undefined {
  return /^[a-z]+ *\(/i.test(text) ? INDICATORS : undefined
}

function percentage({ text }: { readonly text: string | undefined }): string | undefined {
  const number = numberIn(text)
  return number === undefined ? undefined : `with its sign: \`${number}%\``
}

function numberIn(text: string | undefined): string | undefined {
  return text !== undefined && NUMBER.test(text) ? text : undefined
}
