import { dueSlots, type MissedRun, opensAtMs } from '../domain/schedule/due.ts'
import { type SlotWalk, walkSlots } from '../domain/schedule/slot-walk.ts'
import { marketOf } from '../engine/market-snapshot.ts'
import { pairsOf, type Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import { ModuleAsker } from './ask-ahead.ts'
import type { FastForward, PlayedStrategy } from './fast-forward.ts'
import type { Simulation } from './simulation.ts'

/** A strategy on its way through the period. */
export type StrategyRun = PlayedStrategy & {
  walk: SlotWalk
  /** Time at which its next slot is decided; infinity if none follows. */
  dueMs: number
  /** The slot is decided again later, when several may be due. */
  isPostponed: boolean
  readonly asker: ModuleAsker
  isAsking: boolean
  fastForward: FastForward | undefined
}

export function openRun(sim: Simulation, strategy: Strategy): StrategyRun {
  const { fromSeconds, untilSeconds, pricePath } = sim.input
  const schedule = scheduleOf(sim.state, strategy)
  const { feeds } = marketOf({ tokens: [], pairs: pairsOf(strategy) }, pricePath)
  const last = sim.state.strategies.get(strategy.name)?.lastSlotSeconds ?? fromSeconds - 1
  const walk = walkSlots(schedule, last, untilSeconds)
  const played = { strategy, schedule, feeds }
  const run = { ...played, walk, isPostponed: false, isAsking: false, fastForward: undefined }
  return { ...run, asker: new ModuleAsker(sim, played), dueMs: dueMs(run) }
}

/** The due slots of a strategy, which this passes. */
export function dueSlotsOf(
  { nowMs, state, input }: Simulation,
  { strategy, schedule, walk, isPostponed }: StrategyRun,
): { readonly slots: readonly number[]; readonly missed: MissedRun | undefined } {
  const { next } = walk
  if (!isPostponed && schedule.jitterMs === 0) {
    walk.pass()
    return { slots: [next], missed: undefined }
  }
  const { name } = strategy
  const lastSlotSeconds = state.strategies.get(name)?.lastSlotSeconds ?? next - 1
  const startedAtMs = input.fromSeconds * 1000
  const due = dueSlots({ strategy: name, schedule, lastSlotSeconds, nowMs, startedAtMs })
  return { slots: due.open, missed: due.missed }
}

export function toNextSlot({ nowMs, state, input }: Simulation, run: StrategyRun): void {
  const { strategy, schedule } = run
  if (run.isPostponed || schedule.jitterMs > 0) {
    if (run.isPostponed && run.dueMs > nowMs) return
    const last = state.strategies.get(strategy.name)?.lastSlotSeconds ?? 0
    run.walk = walkSlots(schedule, last, input.untilSeconds)
    run.isPostponed = false
  }
  run.dueMs = dueMs(run)
}

export function dueMs({
  strategy,
  schedule,
  walk: { next },
}: Pick<StrategyRun, 'strategy' | 'schedule' | 'walk'>): number {
  return Number.isFinite(next) ? opensAtMs(strategy.name, schedule, next) : next
}
