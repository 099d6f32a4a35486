import { amountText, feedText } from '../amount-text.ts'
import { formatInstant } from '../schedule/civil-date.ts'
import { wordText } from '../word.ts'
import { costWords, etherWords } from './costs.ts'
import type { Fact } from './fact.ts'

type FactOf<Type extends Fact['type']> = Extract<Fact, { type: Type }>

/** What each kind of fact is called in a list that a person reads. */
const TITLES: { readonly [Type in Fact['type']]: (fact: FactOf<Type>) => string } = {
  bound: ({ mode }) => `state bound to its chain, in mode ${mode}`,
  'strategy-scheduled': ({ fromSeconds }) => `slots count from ${formatInstant(fromSeconds)}`,
  'state-named': () => 'state named',
  anchored: ({ wallet }) => `anchor made for ${wallet}`,
  'wallet-compared': ({ blockNumber }) =>
    `wallet compared with its chain up to block ${blockNumber}`,
  'delegation-signed': ({ delegate }) => `delegation to ${delegate} signed`,
  'delegation-charged': ({ charged }) => `delegation charged ${etherWords(charged)}`,
  'begun-anew': () => "begun anew on an operator's word",
  'loss-accepted': () => "loss accepted on an operator's word",
  'slot-opened': ({ intents, latenessMs }) =>
    `opened ${latenessText(latenessMs)}, ${intents === 1 ? '1 order' : `${intents} orders`}`,
  'slot-closed': ({ outcome, reason, count }) =>
    `${count === 1 ? '' : `${count ?? 'many'} slots `}${outcome}${reason === outcome ? '' : `: ${reason}`}`,
  'program-ended': ({ unsold, total, token }) =>
    `program over, ${amountText(unsold, token)} of ${amountText(total, token)} not sold`,
  pause: ({ paused, strategy, cause }) => {
    const what = strategy === undefined ? 'halted' : 'paused'
    return paused ? `${what} by ${CAUSES[cause]}` : `no longer ${what}`
  },
  hold: ({ held }) => (held ? 'held for approval' : 'no longer held for approval'),
  'authorization-recorded': ({ attempt, deadlineSeconds }) =>
    `attempt ${attempt} on record, to be signed${deadlineSeconds === undefined ? '' : `, good until ${formatInstant(deadlineSeconds)}`}`,
  'authorization-withdrawn': ({ attempt, reason }) =>
    `attempt ${attempt} taken back before it was signed: ${reason}`,
  'authorization-dead': ({ attempt, how }) =>
    `attempt ${attempt} can never execute any more: ${how}`,
  'order-settled': ({ word, booked, token }) =>
    `an operator says that ${wordText(word)}: ${amountText(booked, token)} booked`,
  'call-signed': ({ attempt }) => `attempt ${attempt} signed, with what gives it to the service`,
  'order-accepted': ({ attempt, orderId }) => `attempt ${attempt} accepted as ${orderId}`,
  'order-ended': ({ attempt, status }) => `the service says that attempt ${attempt} is ${status}`,
  filled: ({ paid, sell, received, buy, vsFeedBps }) =>
    `filled: ${amountText(paid, sell)} for ${amountText(received, buy)}${againstFeed(vsFeedBps)}`,
  'paper-filled': ({ moved, swap }) =>
    'call' in moved
      ? `called on paper: ${moved.call}`
      : `filled on paper: ${moved.paid} for ${moved.received}${againstFeed(swap?.vsFeedBps)}`,
  executed: ({ label, venue, costs }) => {
    const words = costWords(costs)
    return `executed: ${label} (${venue})${words === undefined ? '' : `, ${words}`}`
  },
  'fills-final': ({ blockNumber }) => `final by block ${blockNumber}`,
  'fill-reopened': ({ blockNumber }) =>
    `a reorganisation at block ${blockNumber} took the fill away`,
  refused: ({ reason }) => `refused to sign: ${reason}`,
  failed: ({ reason }) => `came to nothing: ${reason}`,
  'intent-closed': ({ outcome }) => `order closed: ${outcome}`,
  transaction: ({ purpose, status, fee }) =>
    `own transaction (${purpose}) ${status}${fee === undefined ? '' : `, it cost ${etherWords(fee)}`}`,
  'transactions-final': ({ blockNumber }) => `own transactions final by block ${blockNumber}`,
  'deposit-indexed': ({ amount }) => `deposit of ${etherWords(amount)} seen by the service`,
  'contract-code': ({ name, status }) => `code of ${name} ${CODES[status]}`,
}

const CODES = {
  seen: 'first seen',
  changed: 'changed',
  accepted: 'accepted by an operator',
} as const

const CAUSES = {
  operator: 'an operator',
  'failure-streak': 'a streak of failures',
  drawdown: 'a drawdown',
  evidence: 'evidence of lost state or another writer',
} as const

/** A fact in a few words, as a heading: what else there is to say stands in the record. */
export function titleOf(fact: Fact): string {
  const title = TITLES[fact.type] as (fact: Fact) => string
  return title(fact)
}

function latenessText(ms: number): string {
  return Math.abs(ms) < 1_000
    ? 'in time'
    : `${Math.round(Math.abs(ms) / 1_000)} s ${ms < 0 ? 'early' : 'late'}`
}

function againstFeed(bps: number | undefined): string {
  return bps === undefined ? '' : `, ${feedText(bps)}`
}
