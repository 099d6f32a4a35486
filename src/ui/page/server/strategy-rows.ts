import { opensAtMs } from '../../../domain/schedule/due.ts'
import type { SlotEnd } from '../../../journal/events/strategy/slots.ts'
import type { Hold, Pause, StrategyRecord } from '../../../journal/state/daemon-state.ts'
import { MANUAL } from '../../../strategies/manual/manual-kind.ts'
import { kindOf, type Strategy } from '../../../strategies/registry.ts'
import type { StrategyRow } from '../model.ts'
import type { ObservedStrategy } from './observations.ts'

export type StrategyText = Pick<StrategyRow, 'kind' | 'does' | 'schedule'> & {
  readonly enabled: boolean
}

/** Each may be missing: the file if it was removed, the others before the first event. */
type Parts = {
  readonly file: StrategyText | undefined
  readonly strategy?: Strategy | undefined
  readonly record: StrategyRecord | undefined
  readonly observed: ObservedStrategy | undefined
}

/** Orders by hand, which have no file. */
const BY_HAND: StrategyText = {
  kind: 'by hand',
  does: 'orders of `tranched sell` and `tranched buy`',
  schedule: '',
  enabled: true,
}

export function strategyRow(name: string, parts: Parts): StrategyRow {
  const { strategy, record, observed } = parts
  const file = name === MANUAL ? BY_HAND : parts.file
  const isOver = strategy !== undefined && isFinished(strategy, record, observed)
  const isEnabled = file?.enabled === true && !isOver
  return {
    name,
    kind: file?.kind ?? '',
    state: isOver ? 'finished' : stateOf(file, record),
    does: file?.does ?? 'its file is gone',
    schedule: file?.schedule ?? '',
    nextSlotSeconds: (isEnabled ? nextOf(strategy, observed) : undefined) ?? null,
    paused: stoppedOf(record?.paused),
    waits: isEnabled ? waitsFor(name, record?.held, observed) : null,
    lastSlot: lastSlotOf(record?.openSlots ?? [], observed?.lastSlot),
    lastSkip: lastSkipOf(observed?.lastSkip),
    fills: record?.fills ?? 0,
    lastFillAtMs: record?.lastFillAtMs ?? null,
  }
}

/**
 * Whether an enabled strategy has nothing left to do: no slot is left, its total cap is used up, or each of its levels has
 * fired for good.
 */
export function isFinished(
  strategy: Strategy,
  record: StrategyRecord | undefined,
  observed: ObservedStrategy | undefined,
): boolean {
  if (!strategy.enabled || record === undefined || record.paused !== undefined) return false
  if (record.openSlots.length > 0) return false
  const isLast = observed !== undefined && 'nextSlotSeconds' in observed
  if (isLast && observed.nextSlotSeconds === undefined && record.lastSlotSeconds > 0) return true
  const totals = [...strategy.limits.total]
  if (totals.length > 0 && totals.every(([token, cap]) => (record.spent.get(token) ?? 0n) >= cap))
    return true
  return kindOf(strategy).trigger?.isSpent(strategy, record.memory) ?? false
}

function stateOf(file?: StrategyText, record?: StrategyRecord): StrategyRow['state'] {
  if (file === undefined) return 'removed'
  if (!file.enabled) return 'disabled'
  return record?.paused === undefined ? 'active' : 'paused'
}

/** A slot is late only once its jitter has passed. */
function nextOf(strategy?: Strategy, { nextSlotSeconds: slot }: ObservedStrategy = {}) {
  if (strategy === undefined || slot === undefined) return slot
  return Math.ceil(opensAtMs(strategy.name, strategy.schedule, slot) / 1_000)
}

/** Why the strategy waits: a pending approval, or the due slot's reason. */
function waitsFor(name: string, held?: Hold, observed?: ObservedStrategy): string | null {
  if (held !== undefined)
    return `for your approval: ${held.detail}; \`tranched approve ${name}\` lets it trade`
  const { waits, nextSlotSeconds } = observed ?? {}
  return waits !== undefined && waits.slotSeconds === nextSlotSeconds ? waits.why : null
}

export function stoppedOf(pause: Pause | undefined): StrategyRow['paused'] {
  if (pause === undefined) return null
  const { atMs: sinceMs, cause, detail } = pause
  return { sinceMs, cause, detail }
}

/** The newest open slot, or the last ended slot if that is later. */
function lastSlotOf(slots: StrategyRecord['openSlots'], ended: SlotEnd | undefined) {
  const open = Math.max(...slots.map(({ slotSeconds }) => slotSeconds))
  if (slots.length > 0 && open >= (ended?.lastSeconds ?? 0))
    return { slotSeconds: open, outcome: 'open', reason: null, detail: null }
  if (ended === undefined) return null
  const { lastSeconds: slotSeconds, outcome, reason, detail = null } = ended
  return { slotSeconds, outcome, reason: reason === outcome ? null : reason, detail }
}

function lastSkipOf(skipped: SlotEnd | undefined): StrategyRow['lastSkip'] {
  if (skipped === undefined) return null
  const { slotSeconds, reason, detail = null } = skipped
  return { slotSeconds, reason, detail }
}
