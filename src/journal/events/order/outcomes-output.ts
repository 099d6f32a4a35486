import { amountText, briefText } from '../../../domain/money/amount-text.ts'
import { verdictIn, verdictText } from '../../../domain/order/manual-resolution.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { projectionOf } from '../../../venues/projections.ts'
import { reasonMessages } from '../../wording/decision-text.ts'
import {
  conflictTopic,
  lackOfFunds,
  type Notification,
  notification,
} from '../../wording/notice.ts'
import { sentence, whyCommand } from '../../wording/text.ts'
import { line, type Outputs } from '../output.ts'
import type { OrderContext } from './authorizations.ts'
import { type IntentClosed, orderEndOf } from './outcomes.ts'

export const OUTCOME_OUTPUTS = {
  'order-accepted': {
    level: 'info',
    line: ({ attempt, orderId }, { intent: { strategy } }) =>
      line(`placed ${strategy}: order ${orderId}`, { attempt, orderId }),
    notify: null,
    title: ({ attempt, orderId }) => `attempt ${attempt} accepted as ${orderId}`,
  },

  'order-ended': {
    level: 'warn',
    line: ({ attempt, status, message: detail }, { intent: { strategy } }) =>
      line(`order of ${strategy} ${status}: ${detail}`, { attempt, status, detail }),
    notify: null,
    title: ({ attempt, status }) => `the service says that attempt ${attempt} is ${status}`,
    messages: ({ message }) => [`The service says: ${message}`],
  },

  'order-settled': {
    level: 'warn',
    line(event, { intent: { strategy }, token, booked: amount }) {
      const { attempt, evidence } = event
      const verdict = verdictIn(event)
      const booked = amountText(amount, token)
      return line(
        `an operator resolved ${strategy}: ${verdictText(verdict)}; ${booked} is recorded for it`,
        { attempt, ...verdict, booked, evidence },
      )
    },
    // The slot closes with the order, and its event sends the notification.
    notify: null,
    title: (event, { booked, token }) =>
      `an operator says that ${verdictText(event)}: ${briefText(booked, token)} recorded`,
    messages: ({ evidence }) => [`At that moment: ${evidence}`],
  },

  'intent-closed': {
    level: (event) => LEVELS[orderEndOf(event).tag],
    name(event) {
      const { tag } = orderEndOf(event)
      return tag === 'closed' ? event.type : tag
    },
    line(event, { intent: { strategy, venue } }) {
      const end = orderEndOf(event)
      if (end.tag === 'closed')
        return line(`closed ${event.intentId}: ${event.outcome}`, { outcome: event.outcome })
      const { tag, reason, detail } = end
      const details = tag === 'refused' ? { reason, detail } : { venue, reason, detail }
      return line(`${tag} ${strategy}: ${reason}, ${detail}`, details, details)
    },
    measure({ refusals, failures, unfilled }, event, { intent: { strategy, venue } }) {
      const end = orderEndOf(event)
      if (end.tag === 'refused' || end.tag === 'failed') unfilled.inc({ strategy })
      if (end.tag === 'refused') refusals.inc({ strategy, reason: end.reason })
      if (end.tag === 'failed') failures.inc({ strategy, venue, reason: end.reason })
    },
    notify: endNotifications,
    // A refusal says nothing about earlier signatures of the order.
    ends: (event) => (orderEndOf(event).tag === 'refused' ? [] : [conflictTopic(event.intentId)]),
    brief({ outcome, reason }) {
      if (outcome === 'refused')
        return { event: 'refused', what: `nothing was signed: ${reasonText(reason)}` }
      if (outcome === 'failed' || outcome === 'expired')
        return { event: 'failed', what: reasonText(reason) }
      return undefined
    },
    title(event) {
      const { tag } = orderEndOf(event)
      if (tag === 'closed') return `order closed: ${event.outcome}`
      return `${tag === 'refused' ? 'refused to sign' : 'not filled'}: ${event.reason}`
    },
    messages: reasonMessages,
  },
} satisfies Partial<Outputs>

const LEVELS = { refused: 'warn', failed: 'error', closed: 'debug' } as const

function endNotifications(event: IntentClosed, { intent }: OrderContext): readonly Notification[] {
  const end = orderEndOf(event)
  if (end.tag === 'closed') return []
  const { strategy } = intent
  const { tag, reason, detail } = end
  const timeline = `The full timeline: ${whyCommand(event.intentId)}`
  if (tag === 'refused')
    return [
      notification(tag, `${strategy} signed nothing: ${reasonText(reason)}`, [
        ...sentence(detail),
        'Your files do not allow it, so nothing was spent, and the next slot is decided anew. If it happens again, find the cause before you change a limit.',
        timeline,
      ]),
    ]
  const lacksFunds = LACKING_FUNDS.has(reason)
  const failure = notification(
    tag,
    `${strategy} ${projectionOf(intent).unfilled}: ${reasonText(reason)}`,
    [
      ...sentence(detail),
      lacksFunds
        ? `Nothing was bought. Once the wallet has enough, the next slot trades again; \`tranched plan ${strategy}\` shows the amount it needs.`
        : 'The order is over, and the next slot is decided anew.',
      timeline,
    ],
  )
  if (!lacksFunds) return [failure]
  return [failure, { ...failure, event: 'low-funds', lasting: lackOfFunds(strategy) }]
}

/** Failures that end once the wallet is funded. */
const LACKING_FUNDS: ReadonlySet<string> = new Set(['insufficient-balance', 'insufficient-gas'])
