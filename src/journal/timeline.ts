import { ETHER, type Token } from '../domain/money/token.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import { isSwap } from '../venues/swap/swap-projection.ts'
import { permitRecorded } from './events/order/authorizations.ts'
import { intentClosed } from './events/order/outcomes.ts'
import { messagesOf, titleOf } from './events/outputs.ts'
import type { JournalRecord, ReadRecord } from './events/registry.ts'
import { slotClosed, slotOpened } from './events/strategy/slots.ts'

/** One record in a slot's timeline: a heading, and messages below it. */
type TimelinePart = {
  readonly record: JournalRecord
  readonly atMs: number
  readonly title: string
  readonly messages: readonly string[]
}

/** The timeline of one slot from its records, oldest first. `known`: possible tokens of amounts. */
export function timelineOf(
  read: readonly ReadRecord[],
  known: Iterable<Token>,
): readonly TimelinePart[] {
  const tokens = tokensIn(read, known)
  const permits = new Map<string, PermitRecord>()
  let ofOrder: readonly string[] = []
  // The proof of a fill already says that the order was filled.
  const news = read.filter(({ event }) => !intentClosed.is(event) || event.outcome !== 'filled')
  return news.map((each) => {
    const { event, record } = each
    if (permitRecorded.is(event)) permits.set(event.intentId, event.permit)
    const messages = messagesOf(event, { tokens, permits })
    if (intentClosed.is(event)) ofOrder = messages
    return {
      record,
      atMs: record.atMs,
      title: titleOf(each),
      // A slot usually ends like its last order, whose reasons are right above.
      messages: slotClosed.is(event)
        ? messages.filter((sentence) => !ofOrder.includes(sentence))
        : messages,
    }
  })
}

/** Tokens in the slot's own orders take precedence: the config may have changed since. */
function tokensIn(read: readonly ReadRecord[], known: Iterable<Token>): ReadonlyMap<string, Token> {
  const tokens = new Map<string, Token>()
  const name = (token: Token): void => {
    tokens.set(token.symbol, token).set(token.address, token)
  }
  for (const token of known) name(token)
  for (const { event } of read) {
    if (!slotOpened.is(event)) continue
    for (const intent of event.intents.filter(isSwap))
      for (const { token } of [intent.sell, intent.buy]) name(token)
  }
  return tokens.set(ETHER.symbol, ETHER)
}

/** Leaf fields of an event as dotted names and text. */
export function leavesOf(value: unknown, prefix = ''): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    if (field === undefined) return []
    if (typeof field === 'object' && field !== null) return leavesOf(field, `${prefix}${name}.`)
    return [[`${prefix}${name}`, String(field)] as const]
  })
}
