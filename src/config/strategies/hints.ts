import { parseCron } from '../../domain/schedule/cron.ts'
import { type Fault, type Tree, valueAt } from '../yaml/document.ts'

/** What people write, and what they mean by it. `text` is their value, undefined where it is none; `name` that of their strategy. */
type Hint = (written: {
  readonly text: string | undefined
  readonly name: string
}) => string | undefined

const PERCENT = /^(\d{1,3}(?:\.\d{1,2})?)%$/
const NUMBER = /^\d{1,6}(?:\.\d{1,6})?$/

/** Keys that are not there, by the last word of their path. */
const UNKNOWN_KEYS: Readonly<Record<string, Hint>> = {
  slippage,
  maxSlippage: slippage,
  slippageTolerance: slippage,
  takeProfit: exit,
  stopLoss: exit,
  cron: () => 'it belongs to schedule, as in `schedule: { cron: "0 9 * * 1" }`',
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
  schedule: ({ text }) =>
    `\`schedule: { cron: "${text !== undefined && parseCron(text).ok ? text : '0 9 * * 1'}" }\``,
  price: ({ text }) =>
    `\`price: { max: "${numberIn(text) ?? '4000'}" }\` for the most that is paid, or \`min\``,
  limits: ({ text }) => `\`limits: { perDay: "${numberIn(text) ?? '100'}" }\``,
  slippageBps: ({ text = '' }) => (PERCENT.test(text) ? slippage({ text }) : undefined),
  band: percentage,
  rearm: percentage,
  trailing: percentage,
  maxDeviation: percentage,
  maxCost: percentage,
  drawdown: percentage,
  amount: ({ text }) =>
    text !== undefined && /^[\d.]+ ?[A-Za-z]+$/.test(text)
      ? `the number alone, as in \`amount: "${text.replace(/ ?[A-Za-z]+$/, '')}"\`: which token it is follows from \`sell\``
      : undefined,
}

/** The fault with what was probably meant, in the author's own numbers. */
export function withHint(fault: Fault, tree: Tree): Fault {
  const hint = hintOf(fault, tree)
  return hint === undefined ? fault : { ...fault, hint }
}

function hintOf({ path, at }: Fault, tree: Tree): string | undefined {
  const key = path.findLast((part) => typeof part === 'string')
  if (key === undefined) return undefined
  const hints = at === 'key' ? UNKNOWN_KEYS : STRANGE_VALUES
  const hint = at !== 'key' && path[0] === 'targets' ? percentage : ownHint(hints, key)
  const [value, name] = [valueAt(tree, path), valueAt(tree, ['name'])]
  return hint?.({
    text: typeof value === 'string' ? value : undefined,
    name: typeof name === 'string' ? name : 'its name',
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

function exit({ name }: { readonly name: string }): string {
  return `a strategy of its own takes profits: \`kind: threshold\` with \`entryOf: ${name}\`; strategies/exit-weekly-eth.yaml is one`
}

function percentage({ text }: { readonly text: string | undefined }): string | undefined {
  const number = numberIn(text)
  return number === undefined ? undefined : `with its sign: \`${number}%\``
}

function numberIn(text: string | undefined): string | undefined {
  return text !== undefined && NUMBER.test(text) ? text : undefined
}
