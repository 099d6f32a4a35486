import { amountText, boundText, briefText, priceText, quotedText } from '../amount-text.ts'
import type { CallIntent, Intent, SwapIntent } from '../intent.ts'
import type { PermitRecord } from '../permit.ts'
import { changeFor, reasonText } from '../reason-words.ts'
import { formatTimeOfDay } from '../schedule/civil-date.ts'
import { ETHER, type Token } from '../token.ts'
import { etherWords } from './costs.ts'
import type { DecisionInputs, EventOf, JournalEvent, JournalRecord, PriceInput } from './journal.ts'
import type { Told } from './tell.ts'
import { titleOf } from './titles.ts'
import { bookOf } from './venues.ts'

/** What one record says about a slot, for a person: a heading, and sentences below it. */
export type StoryPart = {
  readonly record: JournalRecord
  readonly atMs: number
  readonly title: string
  readonly sentences: readonly string[]
}

/** Tells the records of one slot, oldest first. */
export function storyOf(told: readonly Told[], known: Iterable<Token>): readonly StoryPart[] {
  const tokens = tokensIn(told, known)
  const permits = new Map<string, PermitRecord>()
  let ofOrder: readonly string[] = []
  return told.filter(isNews).map(({ record, fact }) => {
    const { atMs, event } = record
    if (event.type === 'permit-recorded') permits.set(event.intentId, event.permit)
    const sentences = sentencesOf(event, { tokens, permits })
    if (event.type === 'intent-closed') ofOrder = sentences
    return {
      ...{ record, atMs },
      title: fact === undefined ? event.type : titleOf(fact),
      // A slot mostly ends as its last order did, whose reasons stand right above.
      sentences:
        event.type === 'slot-closed'
          ? sentences.filter((each) => !ofOrder.includes(each))
          : sentences,
    }
  })
}

/** Tokens that amounts are in, by symbol and by address. */
type Tokens = ReadonlyMap<string, Token>

/** What was filled is told with its proof. */
function isNews({ record: { event } }: Told): boolean {
  return event.type !== 'intent-closed' || event.outcome !== 'filled'
}

type Context = {
  readonly tokens: Tokens
  /** The last on record of each intent. */
  readonly permits: ReadonlyMap<string, PermitRecord>
}

/** Those that orders of the slot name come first: a config may have changed since. */
function tokensIn(told: readonly Told[], known: Iterable<Token>): Tokens {
  const tokens = new Map<string, Token>()
  const name = (token: Token): void => {
    tokens.set(token.symbol, token).set(token.address, token)
  }
  for (const token of known) name(token)
  for (const { record } of told) {
    if (record.event.type !== 'slot-opened') continue
    for (const intent of record.event.intents)
      if (intent.venue === 'gasless') for (const { token } of [intent.sell, intent.buy]) name(token)
  }
  return tokens.set(ETHER.symbol, ETHER)
}

function sentencesOf(event: JournalEvent, context: Context): readonly string[] {
  switch (event.type) {
    case 'slot-opened':
      return [
        ...event.intents.flatMap(intentSentences),
        ...inputSentences(event.inputs, context.tokens),
      ]
    case 'slot-closed':
      return [...reasonSentences(event), ...inputSentences(event.inputs, context.tokens)]
    case 'slots-missed':
      return [
        'The daemon did not run, or was not able to attend them in time.',
        'For another outcome: the daemon has to run then; schedule.missed says what it makes up for.',
      ]
    case 'permit-recorded':
      return permitSentences(event.permit, context.tokens)
    case 'call-recorded':
      return callSentences(event)
    case 'order-ended':
      return [`The service says: ${event.message}`]
    case 'fill-proven':
      return fillSentences(event, context)
    case 'call-proven':
      return [`In block ${event.execution.blockNumber}, transaction ${event.execution.txHash}.`]
    case 'authorization-dead':
      return [`By block ${event.blockNumber}.`]
    case 'order-settled':
      return [`At that moment: ${event.evidence}`]
    case 'intent-closed':
      return reasonSentences(event)
    case 'transaction-recorded':
      return transactionSentences(event)
    case 'transaction-ended':
      return event.hash === undefined ? [] : [`Transaction ${event.hash}.`]
    case 'transaction-reopened':
      return [`Another block stands at ${event.blockNumber} now. It is sent again.`]
    case 'transaction-signed':
    case 'call-signed':
      return [`Transaction ${event.hash}.`]
    case 'authorization-withdrawn':
      return [sentence(reasonText(event.reason))]
    default:
      return []
  }
}

function intentSentences(intent: Intent): readonly string[] {
  const words = `Order ${intent.id}: ${bookOf(intent).wordsOf(intent)}`
  if (intent.venue !== 'gasless') return [`${words}${callBounds(intent)}.`]
  return [`${words}${swapBounds(intent)}.`, ...triggerSentences(intent)]
}

/** What set it off, and whose purchases it sells. */
function triggerSentences({ trigger, entry, sell }: SwapIntent): readonly string[] {
  const { symbol } = sell.token
  const whose =
    entry === undefined ? [] : [`It sells ${symbol} that ${entry.of} has bought, and no other.`]
  if (trigger === undefined) return whose
  const { pair, base, quote, atLeast, atMost, rungs = [] } = trigger
  const levels = [
    ...(atLeast === undefined ? [] : [`at least ${quotedText(atLeast, { base, quote })}`]),
    ...(atMost === undefined ? [] : [`at most ${quotedText(atMost, { base, quote })}`]),
  ]
  const what = rungs.length === 0 ? '' : ` ${rungs.join(' and ')}:`
  return [`Set off by${what} ${pair} ${levels.join(' and ')}.`, ...whose]
}

function swapBounds({ sell, buy, maxSell, slippageBps, price, size }: SwapIntent): string {
  const most = size.side === 'buy' ? `, for ${amountText(maxSell, sell.token)} at the most` : ''
  const sides = { sell: sell.token, buy: buy.token }
  const within = (['min', 'max'] as const).map((bound) => {
    const level = price[bound]
    const text = level && boundText(bound, level, sides)
    return text === undefined ? '' : `, ${text}`
  })
  return `${most}, slippage at most ${slippageBps / 100} %${within.join('')}`
}

function callBounds({ value, gasLimit }: CallIntent): string {
  return `${value === 0n ? '' : `, carrying ${etherWords(value)}`}, gas limit ${gasLimit}`
}

/** What the decision was made by. */
function inputSentences(inputs: DecisionInputs | undefined, tokens: Tokens): readonly string[] {
  if (inputs === undefined) return []
  const { blockNumber, blockTimeSeconds, available, prices } = inputs
  const held = Object.entries(available).map(([symbol, amount]) => {
    const token = tokens.get(symbol)
    return token === undefined ? `an amount of ${symbol}` : briefText(amount, token)
  })
  const told = Object.entries(prices).map(([pair, price]) =>
    priceSentence(pair, price, { tokens, blockTimeSeconds }),
  )
  return [
    // Both directions of a pair come from one price.
    ...new Set(told),
    ...entrySentences(inputs.entry),
    `Looked at block ${blockNumber} of ${formatTimeOfDay(blockTimeSeconds)} UTC${held.length === 0 ? '' : `: free were ${held.join(', ')}`}.`,
  ]
}

function entrySentences(entry: DecisionInputs['entry']): readonly string[] {
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

function reasonSentences(event: {
  readonly outcome: string
  readonly reason: string
  readonly detail?: string | undefined
}): readonly string[] {
  const { outcome, reason, detail } = event
  if (reason === outcome || reason === 'filled') return []
  const words = reasonText(reason)
  const change = changeFor(reason)
  return [
    sentence(`${words}${detail === undefined || detail === '' ? '' : `: ${detail}`}`),
    ...(change === undefined ? [] : [sentence(`for another outcome: ${change}`)]),
  ]
}

/** What was checked is what the permit is bound to: nothing else was signed. */
function permitSentences(permit: PermitRecord, tokens: Tokens): readonly string[] {
  const { amount, minAmountOut, token, tokenOut, feed, fee } = permit
  const [sell, buy] = [tokens.get(token), tokens.get(tokenOut)]
  const taken = sell === undefined ? 'what was decided' : amountText(amount, sell)
  const least = buy === undefined ? 'what was asked' : amountText(minAmountOut, buy)
  const price = feed && sell && buy && priceText(feed, { sell, buy })
  return [
    `Checked: it takes ${taken} at the most and brings at least ${least}, to ${permit.recipient}, by the spender ${permit.spender}.`,
    price === undefined
      ? 'No feed gave a price when it was signed.'
      : `By the feeds at block ${permit.fromBlock}: ${price}.`,
    ...(fee === undefined || fee === 0n || sell === undefined
      ? []
      : [`The quote names a fee of ${briefText(fee, sell)}, which is in its price.`]),
  ]
}

function callSentences({ call }: EventOf<'call-recorded'>): readonly string[] {
  const { target, gasLimit, directGas, value } = call
  const bound = call.trust === 'trustless' ? `, for nonce ${call.nonce} of the account alone` : ''
  return [
    `Checked: it calls ${target}${value === 0n ? '' : ` with ${etherWords(value)}`}${bound}.`,
    `Simulated, it takes ${directGas} gas sent directly; its own limit is ${gasLimit}.`,
  ]
}

function fillSentences(
  { intentId, fill }: EventOf<'fill-proven'>,
  { tokens, permits }: Context,
): readonly string[] {
  const { paid, received, blockNumber, txHash } = fill
  const permit = permits.get(intentId)
  const [sell, buy] = [tokens.get(permit?.token ?? ''), tokens.get(permit?.tokenOut ?? '')]
  const price = sell && buy && priceText({ num: paid, den: received }, { sell, buy })
  return [
    ...(price === undefined ? [] : [`Price: ${price}.`]),
    `Proven by transfers in block ${blockNumber}, transaction ${txHash}.`,
  ]
}

const PURPOSES = {
  approve: 'lets Permit2 take the token',
  wrap: 'turns ETH into WETH',
  unwrap: 'turns WETH into ETH',
  call: 'makes the call directly',
  deposit: 'fills the GasTank',
} as const

function transactionSentences({
  transaction: { purpose, nonce, value, isCancelling },
}: EventOf<'transaction-recorded'>): readonly string[] {
  const does = isCancelling === true ? 'does nothing but use up its nonce' : PURPOSES[purpose]
  return [`It ${does}; nonce ${nonce}${value === 0n ? '' : `, with ${etherWords(value)}`}.`]
}

function sentence(words: string): string {
  const start = words.charAt(0).toUpperCase() + words.slice(1)
  return /[.!?]$/.test(start) ? start : `${start}.`
}
