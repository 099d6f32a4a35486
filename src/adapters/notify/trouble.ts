import { isNoAnswer, type Observation } from '../../domain/observation.ts'
import type { Notice } from './notices.ts'
import { TROUBLE_OVER, type TroubleKind, troubleText } from './texts/funds.ts'
import type { TextContext } from './texts/text.ts'

/** What is over sooner is nobody's business: nodes and services hiccup all day. */
const TOLD_AFTER_MS = 5 * 60_000
/** What nobody answers for, and is not seen for this long, is over. */
const OVER_AFTER_MS = 10 * 60_000
/** Two hiccups further apart are two. */
const APART_MS = 2 * 60_000

type Sight = { firstMs: number; lastMs: number }

/** What is seen of one kind of trouble at one time. */
type Seen = { readonly kind: TroubleKind; readonly detail: string } | { readonly well: TroubleKind }

export type TroubleWatch = {
  /** What is worth telling now, and the topics that are over. */
  see(
    event: Observation,
    atMs: number,
  ): { readonly notices: readonly Notice[]; readonly over: readonly string[] }
  /** Topics that are over because nothing was seen of them for a while. */
  sweep(atMs: number): readonly string[]
}

const NOTHING = { notices: [], over: [] } as const

/**
 * Sees what lasts: a service that does not answer until it does, and trouble with chains and clocks until it is not seen for ten
 * minutes. It remembers nothing over a restart, which is a new look; what was told does.
 */
export function watchTrouble(context: TextContext, startedAtMs: number): TroubleWatch {
  const sights = new Map<TroubleKind, Sight>()
  /** Services that have answered since they were last in trouble; what was told before this start is over with the first answer. */
  const well = new Set<TroubleKind>()

  function end(kind: TroubleKind): readonly string[] {
    sights.delete(kind)
    return [topicOf(kind)]
  }

  return {
    see(event, atMs) {
      const seen = seenIn(event)
      if (seen === undefined) return NOTHING
      if ('well' in seen) {
        if (well.has(seen.well)) return NOTHING
        well.add(seen.well)
        return { notices: [], over: end(seen.well) }
      }
      const { kind, detail } = seen
      well.delete(kind)
      const sight = sights.get(kind) ?? { firstMs: atMs, lastMs: atMs }
      sights.set(kind, sight)
      const isApart = !isAnswerable(kind) && atMs - sight.lastMs > APART_MS
      if (isApart && sight.lastMs - sight.firstMs < TOLD_AFTER_MS) sight.firstMs = atMs
      sight.lastMs = atMs
      if (atMs - sight.firstMs < TOLD_AFTER_MS) return NOTHING
      const sinceMs = sight.firstMs
      const text = troubleText({ kind, sinceMs, atMs, detail }, context)
      const lasting = { topic: topicOf(kind), over: TROUBLE_OVER[kind], sinceMs }
      return { notices: [{ event: 'trouble', text, lasting }], over: [] }
    },
    sweep(atMs) {
      return KINDS.filter((kind) => {
        const { lastMs } = sights.get(kind) ?? { lastMs: startedAtMs }
        return !isAnswerable(kind) && Math.abs(atMs - lastMs) >= OVER_AFTER_MS
      }).flatMap(end)
    },
  }
}

const KINDS = Object.keys(TROUBLE_OVER) as readonly TroubleKind[]

function topicOf(kind: TroubleKind): string {
  return `trouble ${kind}`
}

/** A service is well when it answers, and not before, however long nobody asks it. */
function isAnswerable(kind: TroubleKind): boolean {
  return kind === 'gasless' || kind === 'aggregator'
}

function seenIn(event: Observation): Seen | undefined {
  switch (event.type) {
    case 'request':
      if (event.service === 'rpc') return undefined
      return isNoAnswer(event.status)
        ? { kind: event.service, detail: `Its last answer was: ${event.status}` }
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
