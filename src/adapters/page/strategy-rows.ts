import type { Hold, OpenSlot, StrategyRecord } from '../../domain/book/state.ts'
import type { StrategyRow, StrategyState } from './model.ts'
import type { EndedSlot, StrategySight } from './sightings.ts'

/** A strategy's file, in words. */
export type StrategyWords = {
  readonly kind: string
  readonly enabled: boolean
  readonly does: string
  readonly schedule: string
}

/** What is known of one strategy: each part may be missing. */
export type StrategyParts = {
  /** Undefined where no file has it any more. */
  readonly words: StrategyWords | undefined
  readonly record: StrategyRecord | undefined
  readonly sight: StrategySight | undefined
}

/** One strategy as it is shown. */
export function strategyRow(name: string, { words, record, sight }: StrategyParts): StrategyRow {
  const isAttended = words?.enabled === true
  const next = isAttended ? sight?.nextSlotSeconds : undefined
  return {
    name,
    kind: words?.kind ?? '',
    state: stateOf(words, record),
    does: words?.does ?? 'no file has it any more',
    schedule: words?.schedule ?? '',
    nextSlotSeconds: next ?? null,
    paused: pausedOf(record),
    waits: isAttended ? waitsFor(name, record?.held, sight) : null,
    lastSlot: lastSlotOf(record, sight?.lastSlot),
    lastSkip: lastSkipOf(sight?.lastSkip),
    fills: record?.fills ?? 0,
    lastFillAtMs: record?.lastFillAtMs ?? null,
  }
}

/** An approval, or what keeps the slot that is due. */
function waitsFor(
  name: string,
  held: Hold | undefined,
  sight: StrategySight | undefined,
): string | null {
  if (held !== undefined)
    return `for your approval: ${held.detail}; \`tranched approve ${name}\` lets it trade`
  const next = sight?.nextSlotSeconds
  return next !== undefined && sight?.waits?.slotSeconds === next ? sight.waits.why : null
}

function stateOf(
  words: StrategyWords | undefined,
  record: StrategyRecord | undefined,
): StrategyState {
  if (words === undefined) return 'removed'
  if (!words.enabled) return 'disabled'
  return record?.paused === undefined ? 'active' : 'paused'
}

function pausedOf(record: StrategyRecord | undefined): StrategyRow['paused'] {
  if (record?.paused === undefined) return null
  const { atMs: sinceMs, cause, detail } = record.paused
  return { sinceMs, cause, detail }
}

/** The newest of those that are open and the one that ended last. */
function lastSlotOf(
  record: StrategyRecord | undefined,
  ended: EndedSlot | undefined,
): StrategyRow['lastSlot'] {
  const open = newestOf(record?.openSlots ?? [])
  if (open !== undefined && open >= (ended?.slotSeconds ?? 0))
    return { slotSeconds: open, outcome: 'open', reason: null, detail: null }
  if (ended === undefined) return null
  const { slotSeconds, outcome, reason, detail } = ended
  return {
    slotSeconds,
    outcome,
    reason: reason === outcome ? null : reason,
    detail: detail ?? null,
  }
}

function newestOf(slots: readonly OpenSlot[]): number | undefined {
  return slots.length === 0 ? undefined : Math.max(...slots.map(({ slotSeconds }) => slotSeconds))
}

function lastSkipOf(skipped: EndedSlot | undefined): StrategyRow['lastSkip'] {
  if (skipped === undefined) return null
  const { slotSeconds, reason, detail } = skipped
  return { slotSeconds, reason, detail: detail ?? null }
}
