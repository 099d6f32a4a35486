import type { SeededRandom } from '../../src/domain/random.ts'
import type { World } from '../../src/simulate/world.ts'
import { MINUTE } from './builders.ts'

/** One trouble begins, another ends; sometimes the machine itself fails. */
export async function disturb(world: World, random: SeededRandom): Promise<void> {
  const { chainFaults, serviceFaults, clock } = world
  const often = (p: number, value: number): number => (random.chance(p) ? value : 0)
  Object.assign(chainFaults, {
    down: random.chance(0.05),
    unavailable: often(0.4, random.next() / 2),
    lagSeconds: often(0.2, random.between(1, 90)),
    indexingSeconds: often(0.2, random.between(1, 600)),
    losesLogs: often(0.15, random.next()),
    losesTransaction: often(0.3, 0.5),
    minesAfterBlocksMax: random.between(1, 30),
    // Drawn apart, so that what a seed means beside it stays as it was.
    subReadFails: random.fork(`reads at ${clock.trueMs}`).chance(0.15) ? 0.2 : 0,
  })
  // One that is behind and says that it is not makes up a chain of its own: that takes a second node to find out.
  chainFaults.aheadSeconds = chainFaults.lagSeconds > 0 ? 0 : often(0.15, random.between(1, 120))
  Object.assign(serviceFaults, {
    down: random.chance(0.05),
    rateLimited: often(0.3, random.next() / 2),
    failsBefore: often(0.3, random.next() / 2),
    failsAfter: often(0.4, random.next() / 2),
    rejects: often(0.1, 0.3),
    rejectsButTakes: often(0.2, 0.5),
    forgets: often(0.3, 0.5),
    silent: often(0.3, 0.5),
    neverFills: often(0.3, 0.5),
    fillsLate: often(0.3, 0.6),
    saysFailedButFills: often(0.3, 0.5),
    namesForeignHash: often(0.3, 0.5),
    saysFilledButDoesNot: often(0.2, 0.3),
    steals: often(0.1, 0.2),
    zeroTransfers: often(0.3, random.between(1, 3)),
    batchMs: random.chance(0.5) ? 30_000 : undefined,
    skewMs: often(0.2, random.between(-9_000, 9_000)),
    quoteLifetimeMs: random.between(15, 120) * 1000,
    limit: random.chance(0.1) ? { requests: random.between(1, 5), windowMs: 10_000 } : undefined,
  })
  world.queueDelayMs = often(0.3, random.between(100, 40_000))
  clock.offsetMs = often(0.2, random.between(-30 * MINUTE, 30 * MINUTE))
  if (random.chance(0.2)) reorganise(world, random)
  if (random.chance(0.2)) clock.stall(random.between(1_000, 20 * MINUTE))
  if (random.chance(0.3)) await crashSomewhere(world, random)
  if (random.chance(0.1)) await stopAndStart(world, random)
}

/** No deeper than what the rule of the world takes for final. */
function reorganise({ ledger, clock }: World, random: SeededRandom): void {
  const blocks = random.between(1, 2)
  const againAfterMs = random.chance(0.7) ? random.between(100, 20_000) : undefined
  const atMs = clock.trueMs + random.between(0, 10 * MINUTE)
  clock.schedule(atMs, () => ledger.reorg({ blocks, againAfterMs }))
}

async function crashSomewhere(world: World, random: SeededRandom): Promise<void> {
  if (random.chance(0.5)) {
    const when = random.chance(0.5) ? 'before' : 'after'
    world.disk.crashAt = { append: world.disk.appends + random.between(1, 12), when }
    return
  }
  world.crash()
  await world.runFor(random.between(1, 90) * MINUTE)
  world.start()
}

async function stopAndStart(world: World, random: SeededRandom): Promise<void> {
  world.stop('SIGTERM')
  await world.runFor(random.between(1, 20) * MINUTE)
  world.start()
}
