import {
  begunAnew,
  lossAccepted,
  stateNamed,
  walletAnchored,
} from '../../src/journal/events/state/state-identity.ts'
import { passedSlots } from '../../src/journal/events/strategy/slots.ts'
import { tradingHalted } from '../../src/journal/events/strategy/stops.ts'
import type { SimulatedDisk } from './journal.ts'
import type { Simulation } from './simulation.ts'
import { SIMULATED_CHAIN_ID, WALLET } from './stage.ts'

/**
 * `tranched state accept-loss`: the wallet continues with its present state, whatever its anchor says. No daemon may
 * run.
 */
export function acceptLoss(sim: Simulation): void {
  const { disk, clock } = sim
  const nowMs = clock.trueMs + clock.offsetMs
  const passed = passedSlots(disk.reducedState(), Math.floor(nowMs / 1000))
  disk.plant(lossAccepted({ detail: 'asked to' }), nowMs)
  for (const event of passed) disk.plant(event, nowMs)
  anchorAnew(disk, nowMs)
  sim.watch.forgive(disk)
  sim.aggregation.watch.forgive(disk)
}

/** `tranched state new`: begins a new state, and keeps a halt. No daemon may run. */
export function beginAnew(sim: Simulation): void {
  const { disk, clock } = sim
  const nowMs = clock.trueMs + clock.offsetMs
  const halted = haltOf(disk)
  disk.replaceWith([])
  disk.plant(begunAnew({ detail: 'asked to' }), nowMs)
  if (halted !== undefined) disk.plant(tradingHalted({ cause: 'operator', detail: halted }), nowMs)
  anchorAnew(disk, nowMs)
  sim.watch.forgive(disk)
  sim.aggregation.watch.forgive(disk)
}

function haltOf(disk: SimulatedDisk): string | undefined {
  try {
    disk.requireOwn()
    return disk.reducedState().halted?.detail
  } catch {
    // An unreadable state does not prevent a new one.
    return undefined
  }
}

function anchorAnew(disk: SimulatedDisk, atMs: number): void {
  const owner = { wallet: WALLET, chainId: SIMULATED_CHAIN_ID }
  if (disk.reducedState().stateId === undefined)
    disk.plant(stateNamed({ stateId: `${atMs} ${disk.cuts}` }), atMs)
  if (!disk.reducedState().anchored.has(WALLET)) disk.plant(walletAnchored({ ...owner }), atMs)
  const { state, head } = disk.snapshot()
  const { stateId = '', bound } = state
  const { genesisHash } = bound ?? {}
  disk.anchor = { ...owner, genesisHash, stateId, stateDir: '', position: head, atMs }
  disk.shelf.keeper = undefined
}
