import { logAndMeasure, logNameOf } from '../journal/events/outputs.ts'
import type { Recorded } from '../journal/events/registry.ts'
import type { RuntimeEvent } from '../journal/runtime-event.ts'
import type { Notice } from '../journal/wording/notice.ts'
import type { TextContext } from '../journal/wording/text.ts'
import type { Log } from './log.ts'
import { DAEMON, REMOTE } from './observe-daemon.ts'
import { FUNDS } from './observe-funds.ts'
import { ORDERS } from './observe-order.ts'
import { SERVICES } from './observe-service.ts'
import {
  createMemory,
  type Handler,
  type Handlers,
  type Memory,
  type Observers,
} from './observers.ts'

/** `recorded` receives records once they are on disk, `observe` runtime events as they happen. */
export type Observer = {
  readonly recorded: (entry: Recorded) => void
  readonly observe: (event: RuntimeEvent) => void
}

/** Writes log and metrics. Never waits and never throws: a fault in an output is logged, and stops no order half-way. */
export function createObserver(to: Observers): Observer {
  const memory = createMemory()
  return {
    recorded(entry) {
      try {
        logAndMeasure(entry, to)
      } catch (error) {
        reportBroken(to.log, () => logNameOf(entry.event), error)
      }
    },
    observe(event) {
      try {
        handle(event, to, memory)
      } catch (error) {
        reportBroken(to.log, () => event.type, error)
      }
    },
  }
}

function reportBroken(log: Log, name: () => string, error: unknown): void {
  try {
    log.error(`could not report ${name()}`, { err: error })
  } catch {
    // The log itself is broken (a full disk, a closed pipe), so nothing can be reported.
  }
}

/** The compiler reports a type without a handler. */
const HANDLERS: Handlers = { ...DAEMON, ...ORDERS, ...FUNDS, ...SERVICES, ...REMOTE }

type AnyHandler = Handler<RuntimeEvent>

const BY_TYPE = new Map<string, AnyHandler>(
  Object.entries(HANDLERS).map(([type, handler]) => [
    type,
    (typeof handler === 'function' ? { observe: handler } : handler) as unknown as AnyHandler,
  ]),
)

/** Throws for an unknown type. */
function handle(event: RuntimeEvent, to: Observers, memory: Memory): void {
  const handler = BY_TYPE.get(event.type)
  if (handler === undefined) throw new Error('no handler of its type')
  handler.observe?.(event, to, memory)
  const sentence = handler.sentence?.(event)
  if (sentence === undefined) return
  const incident = handler.incident?.(event)
  const level = incident === undefined || memory.isNews(incident) ? 'warn' : 'debug'
  to.log[level](sentence.text, { event: event.type, ...sentence.details, ...subjectOf(event) })
}

export function noticesOfRuntime(event: RuntimeEvent, texts: TextContext): readonly Notice[] {
  const handler = BY_TYPE.get(event.type)
  const notified = handler?.notify?.(event, texts)
  if (notified === undefined) return NONE
  return [{ ...notified, ...subjectOf(event), sentence: handler?.sentence?.(event) }]
}

export function topicsEndedByRuntime(event: RuntimeEvent): readonly string[] {
  return BY_TYPE.get(event.type)?.ends?.(event) ?? NONE
}

const NONE: readonly never[] = []

function subjectOf(event: RuntimeEvent): Pick<Notice, 'strategy' | 'intentId'> {
  const { strategy, intentId } = event as Pick<Notice, 'strategy' | 'intentId'>
  return { strategy, intentId }
}
