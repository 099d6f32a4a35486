import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Notice } from '../wording/notice.ts'
import { type TextContext, whyCommand } from '../wording/text.ts'
import { AUTHORIZATION_OUTPUTS } from './order/authorizations-output.ts'
import { FILL_OUTPUTS } from './order/fills-output.ts'
import { OUTCOME_OUTPUTS } from './order/outcomes-output.ts'
import type { Output, Outputs, TimelineContext } from './output.ts'
import { type JournalEvent, type ReadRecord, type Recorded, strategyIn } from './registry.ts'
import { CONTRACT_OUTPUTS } from './state/contracts-output.ts'
import { STATE_IDENTITY_OUTPUTS } from './state/state-identity-output.ts'
import { TRANSACTION_OUTPUTS } from './state/transactions-output.ts'
import { WALLET_OUTPUTS } from './state/wallets-output.ts'
import { SLOT_OUTPUTS } from './strategy/slots-output.ts'
import { STOP_OUTPUTS } from './strategy/stops-output.ts'
import { STRATEGY_OUTPUTS } from './strategy/strategies-output.ts'

/** Output of every type of journal event. The compiler reports a type without output. */
const OUTPUTS: Outputs = {
  ...STATE_IDENTITY_OUTPUTS,
  ...WALLET_OUTPUTS,
  ...CONTRACT_OUTPUTS,
  ...STRATEGY_OUTPUTS,
  ...STOP_OUTPUTS,
  ...SLOT_OUTPUTS,
  ...AUTHORIZATION_OUTPUTS,
  ...OUTCOME_OUTPUTS,
  ...FILL_OUTPUTS,
  ...TRANSACTION_OUTPUTS,
}

type AnyOutput = Output<JournalEvent, Recorded['context']>

function outputOf({ type }: JournalEvent): AnyOutput {
  return OUTPUTS[type] as unknown as AnyOutput
}

/** The `event` field of an event's log line. */
export function logNameOf(event: JournalEvent): string {
  const { name = event.type } = outputOf(event)
  return typeof name === 'string' ? name : name(event)
}

/** Writes the log line of a recorded event and counts it in the metrics. */
export function logAndMeasure(
  { event, context, record: { atMs } }: Recorded,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): void {
  const output = outputOf(event)
  const level = typeof output.level === 'string' ? output.level : output.level(event, context)
  if (log.enabled(level)) {
    const { text, fields } = output.line(event, context, atMs)
    log[level](text, {
      event: logNameOf(event),
      strategy: strategyIn(event),
      intentId: intentIn(event),
      ...fields,
    })
  }
  output.measure?.(metrics, event, context, atMs)
}

const NONE: readonly never[] = []

/** Notifications of a recorded event; usually none. */
export function noticesOf(
  { event, context, record }: Recorded,
  texts: TextContext,
): readonly Notice[] {
  const output = outputOf(event)
  const notified = output.notify?.(event, context, texts) ?? NONE
  const notifications = 'event' in notified ? [notified] : notified
  if (notifications.length === 0) return NONE
  const { text, details } = output.line(event, context, record.atMs)
  const sentence = details && { text, details }
  const subject = { strategy: strategyIn(event), intentId: intentIn(event), sentence }
  return notifications.map((each) => ({ ...each, ...subject }))
}

export function topicsEndedBy(event: JournalEvent): readonly string[] {
  return outputOf(event).ends?.(event) ?? NONE
}

/** Notification of an order's end if its opening record is unavailable. */
export function briefNoticeOf(event: JournalEvent): Notice | undefined {
  const brief = outputOf(event).brief?.(event)
  const intentId = intentIn(event)
  if (brief === undefined || intentId === undefined) return undefined
  const strategy = strategyIn(event)
  const text = {
    subject: `${strategy}: ${brief.what}`,
    lines: [`The full timeline: ${whyCommand(intentId)}`],
  }
  return { event: brief.event, strategy, intentId, text }
}

/** A short heading for an event; the record has the rest. */
export function titleOf({ event, context, record }: ReadRecord): string {
  const { title, bareTitle } = outputOf(event)
  if (context !== undefined) return title(event, context, record.atMs)
  return bareTitle?.(event) ?? event.type.replaceAll('-', ' ')
}

export function messagesOf(event: JournalEvent, timeline: TimelineContext): readonly string[] {
  return outputOf(event).messages?.(event, timeline) ?? NONE
}

function intentIn(event: JournalEvent): string | undefined {
  return 'intentId' in event ? event.intentId : undefined
}
