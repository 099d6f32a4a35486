import type { ServiceConflict } from '../domain/order/conflict.ts'
import { transactionLine } from '../journal/events/state/transactions-output.ts'
import { waitsText } from '../journal/runtime-event.ts'
import { tookText } from '../journal/wording/log-values.ts'
import { conflictTopic, notification } from '../journal/wording/notice.ts'
import { sentence } from '../journal/wording/text.ts'
import type { Handlers } from './observers.ts'

export const ORDERS = {
  'quote-verified'(event, { log }) {
    const { intentId, sellAmount, minAmountOut, deadlineSeconds } = event
    if (!log.enabled('debug')) return
    const fields = { ...subject(event), sellAmount, minAmountOut, deadlineSeconds }
    log.debug(`verified a quote for ${intentId}`, fields)
  },

  'order-waits'(event, { log }) {
    const { strategy, reason, detail, startBeforeMs } = event
    const fields = { ...subject(event), reason, detail, startBeforeMs }
    log.warn(`${strategy} ${waitsText(event)}`, fields)
  },

  'order-waited'(event, { log }) {
    const { strategy, reason, waitedMs } = event
    const fields = { ...subject(event), reason, waitedMs }
    log.info(`${strategy} stopped waiting after ${tookText(waitedMs)} (${reason})`, fields)
  },

  'order-unknown'(event, { log }) {
    const { strategy, attempt, message: detail } = event
    const fields = { ...subject(event), attempt, detail }
    log.warn(`outcome of ${strategy} unknown, resolving it: ${detail}`, fields)
  },

  'proof-failed'(event, { log, metrics }, { isNews }) {
    const { strategy, intentId, detail } = event
    const fields = { ...subject(event), detail }
    metrics.disbelieved.inc({ service: 'gasless', what: 'transaction' })
    const level = isNews(`proof of ${intentId}`) ? 'error' : 'debug'
    log[level](`fill of ${strategy} not proven by the chain: ${detail}`, fields)
  },

  'transaction-sent'(event, { log }) {
    const { text, fields } = transactionLine({ ...event, status: 'sent' })
    log.info(text, { event: 'transaction', ...fields })
  },

  /** Each is counted; only the first in a minute is logged as a warning. */
  disbelieved: {
    observe: ({ service, what }, { metrics }) => metrics.disbelieved.inc({ service, what }),
    sentence: ({ service, what, intentId, detail }) => ({
      text: `rejected claim about ${intentId ?? 'the service'}: ${detail}`,
      details: { service, what },
    }),
    incident: ({ service, what, intentId }) => `${service} ${what} ${intentId}`,
    notify(event) {
      if (!event.moneyWaits) return undefined
      const { service, what, strategy, intentId, detail } = event
      const lines = [
        ...sentence(detail),
        'What is signed may still execute. Nothing else is signed for it until the chain shows its outcome.',
        intentId === undefined
          ? '`tranched status` shows what is open.'
          : `If it lasts: \`tranched settle ${intentId}\` shows what is known, and resolves it manually.`,
      ]
      const subject = `${strategy ?? `The ${service} service`}: ${conflictText(event)}`
      const topic = `${conflictTopic(intentId ?? 'service')} ${service} ${what}`
      return notification('disbelieved', subject, lines, { topic })
    },
  },
} satisfies Partial<Handlers>

function subject(event: {
  readonly type: string
  readonly strategy: string
  readonly intentId: string
}): { event: string; strategy: string; intentId: string } {
  return { event: event.type, strategy: event.strategy, intentId: event.intentId }
}

type Conflicts = {
  readonly [Service in ServiceConflict['service']]: Readonly<
    Record<Extract<ServiceConflict, { service: Service }>['what'], string>
  >
}

const CONFLICTS: Conflicts = {
  gasless: {
    filled: 'the service reports a fill that the chain does not show',
    transaction: 'the service names a transaction that shows no such fill',
    ended: 'the service reported it as over, but it was executed',
    submit: 'the service does not say whether it has the order',
    tokens: 'the service has other decimals for a token than your config',
    clock: "only the service's clock keeps the order open",
  },
  aggregator: {
    receipt: 'the service names a transaction that does not hold the call',
    ended: 'the service reported it as over, but it was executed',
    submit: 'the service does not say whether it has the call',
    login: 'the service refuses our login',
  },
  rpc: {
    'nodes-disagree': 'the nodes contradict each other',
    reorganised: 'the chain reverted a fill',
    code: 'a node shows contract code that differs from the record',
  },
}

function conflictText({ service, what }: ServiceConflict): string {
  return (CONFLICTS[service] as Readonly<Record<string, string>>)[what] ?? what
}
