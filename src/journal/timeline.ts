import { ETHER, type Token } from '../domain/money/token.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import { durationText } from '../domain/text/duration.ts'
import { isSwap } from '../venues/swap/swap-projection.ts'
import {
  authorizationDead,
  authorizationWithdrawn,
  permitRecorded,
} from './events/order/authorizations.ts'
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
  const gaps = createGaps()
  // The proof of a fill already says that the order was filled.
  const news = read.filter(({ event }) => !intentClosed.is(event) || event.outcome !== 'filled')
  return news.map((each) => {
    const { event, record } = each
    if (permitRecorded.is(event)) permits.set(event.intentId, event.permit)
    const messages = [...gaps(each), ...messagesOf(event, { tokens, permits })]
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

/** Shortest time without a record of an unsigned order that is worth a message. */
const GAP_MS_MIN = 10_000

/** Accounts for the time that orders spent unsigned: waiting leaves no record. Takes a slot's records in order. */
function createGaps(): (read: ReadRecord) => readonly string[] {
  const unsigned = new Map<string, number>()
  return ({ event, record: { atMs } }) => {
    if (!('intentId' in event)) {
      const opened = slotOpened.is(event) ? event.intents.map(({ id }) => id) : []
      // Wallet transactions take their time, and have records of their own.
      for (const id of [...unsigned.keys(), ...opened]) unsigned.set(id, atMs)
      return []
    }
    const gapMs = atMs - (unsigned.get(event.intentId) ?? atMs)
    if (authorizationDead.is(event) || authorizationWithdrawn.is(event))
      unsigned.set(event.intentId, atMs)
    else unsigned.delete(event.intentId)
    if (gapMs < GAP_MS_MIN) return []
    return [
      `No record for ${durationText(gapMs)}: nothing was signed. It waited for a quote, a node or its turn, or the daemon was down; the log of that time says which.`,
    ]
  }
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
