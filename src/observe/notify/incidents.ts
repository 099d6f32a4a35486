import { durationText } from '../../domain/text/duration.ts'
import { isNoAnswer, lastAnswerText, type RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Notice } from '../../journal/wording/notice.ts'
import { sentence, type Text, type TextContext } from '../../journal/wording/text.ts'
import { localTime } from '../../journal/wording/time.ts'

export type IncidentKind = 'gasless' | 'aggregator' | 'chain' | 'nodes' | 'clocks'

type Incident = {
  readonly kind: IncidentKind
  readonly sinceMs: number
  readonly atMs: number
  readonly detail: string
}

type IncidentTexts = Readonly<Record<'is' | 'means' | 'check' | 'over', string>>

export const INCIDENTS: Readonly<Record<IncidentKind, IncidentTexts>> = {
  gasless: {
    is: 'The swap service gives no usable answer',
    means:
      'Slots that need a quote wait, within their lateness. Signed orders are checked on the chain.',
    check: 'Check its status page, and `gasless.baseUrl`.',
    over: 'The swap service answers again',
  },
  aggregator: {
    is: 'The aggregation service gives no usable answer',
    means: 'Calls wait, or are sent directly if `aggregator.fallback` allows it.',
    check: 'Check its status page, and `aggregator.rpcUrl`.',
    over: 'The aggregation service answers again',
  },
  chain: {
    is: 'A chain cannot be read reliably',
    means: 'Due slots wait, within their lateness, and nothing is decided meanwhile.',
    check: 'Check the addresses under `chains.*.rpcUrls`; a second one helps.',
    over: 'The chain can be read again',
  },
  nodes: {
    is: 'The nodes of a chain disagree',
    means: 'Nothing is decided until they agree; signed orders are followed meanwhile.',
    check: 'Check the addresses under `chains.*.rpcUrls`: one of them is behind, or wrong.',
    over: 'The nodes agree again',
  },
  clocks: {
    is: 'The clocks of the machine, the service and the chain disagree',
    means: 'Nothing is signed until they agree. Check the time of the machine (NTP) first.',
    check: '`tranched status` shows the waiting slots.',
    over: 'The clocks agree again',
  },
}

export function incidentText(
  { kind, sinceMs, atMs, detail }: Incident,
  { timezone }: TextContext,
): Text {
  const { is, means, check } = INCIDENTS[kind]
  return {
    subject: `${is}, for ${durationText(atMs - sinceMs)} now`,
    lines: [`Since ${localTime(sinceMs, timezone)}.`, ...sentence(detail), means, check],
  }
}

/** Shorter incidents are not reported: nodes and services have brief failures all day. */
const NOTIFY_AFTER_MS = 5 * 60_000
/** An incident without an all-clear ends after this long without a failure. */
const OVER_AFTER_MS = 10 * 60_000
/** Failures further apart than this are separate incidents. */
const APART_MS = 2 * 60_000

type Seen =
  | { readonly kind: IncidentKind; readonly detail: string }
  | { readonly well: IncidentKind }

const NOTHING = { notices: [], over: [] } as const

/**
 * Detects lasting incidents: of a service until it answers, of chains and clocks until ten minutes pass without a failure. A
 * restart forgets incidents, but not the messages sent about them.
 */
export function watchIncidents(context: TextContext, startedAtMs: number) {
  const spans = new Map<IncidentKind, { firstMs: number; lastMs: number }>()
  /** Services that answered since their last failure. A first answer also ends incidents of an earlier process. */
  const well = new Set<IncidentKind>()

  function end(kind: IncidentKind): readonly string[] {
    spans.delete(kind)
    return [topicOf(kind)]
  }

  return {
    /** Returns notices to send now, and topics that ended. */
    observe(
      event: RuntimeEvent,
      atMs: number,
    ): { readonly notices: readonly Notice[]; readonly over: readonly string[] } {
      const seen = seenIn(event)
      if (seen === undefined) return NOTHING
      if ('well' in seen) {
        if (well.has(seen.well)) return NOTHING
        well.add(seen.well)
        return { notices: [], over: end(seen.well) }
      }
      const { kind, detail } = seen
      well.delete(kind)
      const span = spans.get(kind) ?? { firstMs: atMs, lastMs: atMs }
      spans.set(kind, span)
      const isApart = !isAnswerable(kind) && atMs - span.lastMs > APART_MS
      if (isApart && span.lastMs - span.firstMs < NOTIFY_AFTER_MS) span.firstMs = atMs
      span.lastMs = atMs
      if (atMs - span.firstMs < NOTIFY_AFTER_MS) return NOTHING
      const sinceMs = span.firstMs
      const text = incidentText({ kind, sinceMs, atMs, detail }, context)
      const lasting = { topic: topicOf(kind), over: INCIDENTS[kind].over, sinceMs }
      return { notices: [{ event: 'trouble', text, lasting }], over: [] }
    },
    /** Topics that ended because no failure was seen for a while. */
    sweep(atMs: number): readonly string[] {
      return KINDS.filter((kind) => {
        const { lastMs } = spans.get(kind) ?? { lastMs: startedAtMs }
        return !isAnswerable(kind) && Math.abs(atMs - lastMs) >= OVER_AFTER_MS
      }).flatMap(end)
    },
  }
}

const KINDS = Object.keys(INCIDENTS) as readonly IncidentKind[]

function topicOf(kind: IncidentKind): string {
  return `trouble ${kind}`
}

/** A service recovers only when it answers, however long no request is sent. */
function isAnswerable(kind: IncidentKind): boolean {
  return kind === 'gasless' || kind === 'aggregator'
}

function seenIn(event: RuntimeEvent): Seen | undefined {
  switch (event.type) {
    case 'request':
      if (event.service === 'rpc') return undefined
      return isNoAnswer(event.status)
        ? { kind: event.service, detail: `It ${lastAnswerText(event.status)}` }
        : { well: event.service }
    case 'chain-trouble':
      return { kind: 'chain', detail: `While ${event.doing}: ${event.message}` }
    case 'nodes-disagree':
      return { kind: 'nodes', detail: `While ${event.doing}: ${event.message}` }
    case 'clock-trouble':
      return { kind: 'clocks', detail: event.detail }
    default:
      return undefined
  }
}
