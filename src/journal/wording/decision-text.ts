import { briefText, priceText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import type { Intent } from '../../domain/order/intent.ts'
import { changeFor, reasonText } from '../../domain/order/reason.ts'
import { formatTimeOfDay } from '../../domain/schedule/civil-date.ts'
import { projectionOf } from '../../venues/projections.ts'
import type { DecisionInputs, PriceInput } from '../records.ts'
import { sentenceOf } from './text.ts'

/** Timeline messages about a decision: its orders, its inputs, and why nothing came of it. */

/** Tokens of amounts, by symbol and by address. */
type Tokens = ReadonlyMap<string, Token>

export function intentMessages(intent: Intent): readonly string[] {
  const { describe: wordsOf, boundsOf, triggersOf } = projectionOf(intent)
  const text = `Order ${intent.id}: ${wordsOf(intent)}`
  return [`${text}${boundsOf(intent)}.`, ...triggersOf(intent)]
}

/** Prices and balances used for a decision. */
export function inputMessages(
  inputs: DecisionInputs | undefined,
  tokens: Tokens,
): readonly string[] {
  if (inputs === undefined) return []
  const { blockNumber, blockTimeSeconds, available, prices } = inputs
  const held = Object.entries(available).map(([symbol, amount]) => {
    const token = tokens.get(symbol)
    // What orders hold back may exceed what is there.
    const free = amount < 0n ? 0n : amount
    return token === undefined ? `an amount of ${symbol}` : briefText(free, token)
  })
  const lines = Object.entries(prices).map(([pair, price]) =>
    priceSentence(pair, price, { tokens, blockTimeSeconds }),
  )
  return [
    // Both directions of a pair come from one price.
    ...new Set(lines),
    ...entryMessages(inputs.entry),
    `Read at block ${blockNumber}, ${formatTimeOfDay(blockTimeSeconds)} UTC${held.length === 0 ? '' : `; free balances: ${held.join(', ')}`}.`,
  ]
}

function entryMessages(entry: DecisionInputs['entry']): readonly string[] {
  if (entry === undefined) return []
  const { of, bought, paidIn, amount, cost } = entry
  const average = priceText({ num: cost, den: amount }, { sell: paidIn, buy: bought })
  return [
    average === undefined
      ? `Entry: ${of} holds no ${bought.symbol} that it has bought.`
      : `Entry: ${of} holds ${briefText(amount, bought)} that it has bought, at ${average} on average.`,
  ]
}

function priceSentence(
  pair: string,
  price: PriceInput,
  { tokens, blockTimeSeconds }: { readonly tokens: Tokens; readonly blockTimeSeconds: number },
): string {
  if ('refused' in price) return `No price of ${pair}: ${reasonText(price.refused)}.`
  const [sell, buy] = pair.split('/').map((symbol) => tokens.get(symbol))
  const text = sell && buy && priceText(price, { sell, buy })
  const age = `${Math.max(0, blockTimeSeconds - price.updatedAtSeconds)} s old`
  const by = price.feeds.join(' and ')
  return text === undefined
    ? `A price of ${pair} by ${by}, ${age}.`
    : `Price by ${by}: ${text}, ${age}.`
}

export function reasonMessages(event: {
  readonly outcome: string
  readonly reason: string
  readonly detail?: string | undefined
}): readonly string[] {
  const { outcome, reason, detail } = event
  if (reason === outcome || reason === 'filled') return []
  const text = reasonText(reason)
  const change = changeFor(reason)
  return [
    sentenceOf(`${text}${detail === undefined || detail === '' ? '' : `: ${detail}`}`),
    ...(change === undefined ? [] : [sentenceOf(`what to do: ${change}`)]),
  ]
}
