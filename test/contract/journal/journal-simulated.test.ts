import { createRandom } from '../../../src/domain/random.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { createSimulatedJournal, SimulatedDisk } from '../../simulation/journal.ts'
import { SimulatedProcess } from '../../simulation/process.ts'
import { VirtualClock } from '../../simulation/virtual-clock.ts'
import { inVirtualTime } from '../../support/simulated-time.ts'
import { journalContract } from './journal.ts'

journalContract('the simulated journal', ({ clock: suiteClock, recorded }) => {
  const clock = new VirtualClock(suiteClock.now())
  const disk = new SimulatedDisk()
  const process = new SimulatedProcess(clock, createRandom('journal contract'))
  const simulated = createSimulatedJournal({
    disk,
    clock,
    process,
    crash: () => {
      throw new Error('no crash was scheduled')
    },
    recorded,
  })
  const journal = inVirtualTime(clock, {
    state: simulated.state,
    append(...events: readonly JournalEvent[]) {
      // The suite sets the time of each append; virtual time only advances until it reaches the disk.
      clock.offsetMs = suiteClock.now() - clock.trueMs
      return simulated.append(...events)
    },
    note(...events: readonly JournalEvent[]) {
      clock.offsetMs = suiteClock.now() - clock.trueMs
      simulated.note(...events)
    },
    isOnDisk: (name: string) => simulated.isOnDisk(name),
    records: () => simulated.records(),
  })
  return {
    journal,
    failDisk: () => {
      disk.full = true
    },
    dispose: async () => process.die(),
  }
})
