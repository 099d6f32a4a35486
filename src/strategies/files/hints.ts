import { type Fault, type Tree, valueAt } from '../../config/yaml/document.ts'
import type { Path } from '../../config/yaml/problem.ts'
import { parseCron } from '../../domain/schedule/cron.ts'

export type Written = {
  /** The value, if it is a scalar. */
  readonly text: string | undefined
  /** Name of the strategy. */
  readonly name: string
  /** Parent keys; empty at the top of the file. */
  readonly below: readonly (string | number)[]
  readonly key: string
}

type Hint = (written: Written) => string | undefined

/** Hints of one kind, which precede those of all kinds. */
export type KindHints = {
  /** For an unknown key. */
  readonly unknownKey?: Hint
  /** For a value of the wrong shape or form. */
  readonly strangeValue?: Hint
  /** Names of the kind in other programs, each with a hint. */
  readonly otherNames?: readonly (readonly [names: RegExp, hint: string])[]
}

const LEVELS = '`kind: threshold` waits for a level, as in `when: { above: "4000" }`'
export const INDICATORS =
  'there are no indicators: `price: { max: "4000" }` bounds the price, `dip` of `kind: dca` sells more after a fall, `kind: threshold` waits for a level, and a module of your own (`kind: custom`) can compute them, as strategies/buy-below-average.yaml does'

const PERCENT = /^(\d{1,3}(?:\.\d{1,2})?)%$/
const NUMBER = /^\d{1,6}(?:\.\d{1,6})?$/

const unknownKey = byKey({
  'slippage maxSlippage slippageTolerance': slippage,
  'takeProfit stopLoss': exit,
  'above below trailing': () => LEVELS,
  when: ({ below }) =>
    below[0] === 'ladder'
      ? 'a rung has its level itself, as in `{ above: "4000", amount: "0.1" }`'
      : LEVELS,
  amount: ({ below, text = '0.1' }) =>
    below[0] === 'when'
      ? `it stands beside \`when\`, as in \`amount: "${text}"\`; levels with amounts of their own are a \`ladder\``
      : undefined,
  'indicator indicators only condition conditions filter if rsi sma ema macd': () => INDICATORS,
  dip: ({ text }) =>
    text === 'drop'
      ? '`unsold: drop` gives up what slices did not sell'
      : '`dip` is of `kind: dca`',
  cron: () => 'it belongs to schedule, as in `schedule: { cron: "0 9 * * 1" }`',
  'every interval': () =>
    'a plain interval is a cron pattern, as in `schedule: { cron: "*/15 * * * *" }` for every 15 minutes',
  'pair token': () => '`sell` and `buy` name the tokens',
  from: () => '`sell` names the token that is given',
  to: () => '`buy` names the token that is wanted',
})

const strangeValue = byKey({
  schedule: ({ text }) =>
    `\`schedule: { cron: "${text !== undefined && parseCron(text).ok ? text : '0 9 * * 1'}" }\``,
  price: ({ text }) =>
    `\`price: { max: "${numberIn(text) ?? '4000'}" }\` for the most that is paid, or \`min\``,
  when: ({ text }) => `\`when: { above: "${numberIn(text) ?? '4000'}" }\`, or \`below\``,
  limits: ({ text }) => `\`limits: { perDay: "${numberIn(text) ?? '100'}" }\``,
  slippageBps: ({ text = '' }) =>
    PERCENT.test(text) || /^\d+\.\d+$/.test(text) ? slippage({ text }) : undefined,
  dip: ({ text = '' }) =>
    `\`dip: [{ drop: ${PERCENT.test(text) ? text : '10%'}, amount: "50" }]\`: how far the price fell, and what is sold then`,
  // An average instead of a price.
  'above below': ({ text = '' }) => (/^[a-z]+ *\(/i.test(text) ? INDICATORS : undefined),
  'band rearm trailing maxDeviation maxCost drawdown': percentage,
  amount: ({ text }) =>
    text !== undefined && /^\d+(?:\.\d+)? ?[A-Za-z]+$/.test(text)
      ? `the number alone, as in \`amount: "${text.replace(/ ?[A-Za-z]+$/, '')}"\`: which token it is follows from \`sell\``
      : undefined,
})

/** Adds a hint to a fault, with the numbers of the file. */
export function withHint(fault: Fault, tree: Tree, own: KindHints): Fault {
  const hint = fault.hint ?? hintOf(fault, tree, own)
  return hint === undefined ? fault : { ...fault, hint }
}

function hintOf({ path, at }: Fault, tree: Tree, own: KindHints): string | undefined {
  const key = path.findLast((part) => typeof part === 'string')
  if (key === undefined) return undefined
  const textAt = (where: Path): string | undefined => {
    const value = valueAt(tree, where)
    return typeof value === 'string' ? value : undefined
  }
  const text = textAt(path)
  const name = textAt(['name']) ?? 'its name'
  const written: Written = { text, name, below: path.slice(0, -1), key }
  return at === 'key'
    ? (own.unknownKey?.(written) ?? unknownKey(written))
    : (own.strangeValue?.(written) ?? strangeValue(written))
}

/** Hints by key; each applies to one or more keys, separated by blanks. */
export function byKey(hints: Readonly<Record<string, Hint>>): Hint {
  const list = Object.entries(hints)
  return (written) => list.find(([keys]) => keys.split(' ').includes(written.key))?.[1](written)
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

function basisPoints(percent: string): number {
  return Math.round(Number.parseFloat(percent) * 100)
}

function exit({ name }: Written): string {
  return `a strategy of its own takes profits: \`kind: threshold\` with \`entryOf: ${name}\`; strategies/exit-weekly-eth.yaml is one`
}

export function percentage({ text }: { readonly text: string | undefined }): string | undefined {
  const number = numberIn(text)
  return number === undefined ? undefined : `with its sign: \`${number}%\``
}

function numberIn(text: string | undefined): string | undefined {
  return text !== undefined && NUMBER.test(text) ? text : undefined
}
