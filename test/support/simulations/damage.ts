import { StateCorruptError } from '../../../src/domain/errors.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { SimulatedDisk } from '../../simulation/journal.ts'
import { acceptLoss, beginAnew } from '../../simulation/operator.ts'
import type { Simulation } from '../../simulation/simulation.ts'

/** Damage to the journal of a stopped daemon, and its operator's repair. */

const HALT = { type: 'halt-lifted' } as const

/** A start may continue with the damaged journal only if no signed record is gone. */
type Damage = {
  readonly name: string
  /** No start may ever accept this damage. */
  readonly isForgery: boolean
  damage(disk: SimulatedDisk, random: SeededRandom): void
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'cut',
    isForgery: false,
    damage: (disk, random) => disk.cutTo(disk.wholeUpTo(random.between(0, disk.lines.length))),
  },
  {
    name: 'cut-a-little',
    isForgery: false,
    damage: (disk, random) =>
      disk.cutTo(disk.wholeUpTo(Math.max(0, disk.lines.length - random.between(1, 12)))),
  },
  { name: 'emptied', isForgery: false, damage: (disk) => disk.cutTo(0) },
  {
    name: 'forged',
    isForgery: true,
    damage: (disk) => disk.forge(HALT, 0),
  },
  {
    name: 'altered',
    isForgery: true,
    damage(disk, random) {
      const lines = [...disk.lines]
      const at = random.between(0, lines.length - 1)
      lines[at] = (lines[at] ?? '').replace(
        /"atMs":(\d)/,
        (_all, digit) => `"atMs":${9 - Number(digit)}`,
      )
      disk.replaceWith(lines)
    },
  },
  {
    name: 'without-one',
    isForgery: true,
    damage(disk, random) {
      const at = random.between(0, disk.lines.length - 2)
      disk.replaceWith(disk.lines.filter((_line, index) => index !== at))
    },
  },
]

/**
 * Damages the journal of a stopped daemon, starts it, and repairs a refused state in one of an operator's ways. Returns
 * a description.
 */
export async function sufferDamage(sim: Simulation, random: SeededRandom): Promise<string> {
  const { disk } = sim
  const lines = [...disk.lines]
  if (lines.length < 3) return 'nothing to damage'
  const { name, isForgery, damage } =
    DAMAGES[random.between(0, DAMAGES.length - 1)] ?? notThere('damage')
  damage(disk, random)
  sim.start()
  await sim.runFor(random.between(1, 120) * 1_000)
  if (isRefused(sim)) return `${name}, ${repair(sim, { lines, random })}`
  if (isForgery) sim.watch.report(`a journal that was ${name} was accepted`)
  else if (sim.watch.unknownTo(disk).length > 0)
    sim.watch.report('a state without what it had signed was accepted')
  return `${name}, harmless`
}

function notThere(what: string): never {
  throw new Error(`no ${what}`)
}

function isRefused({ ended }: Simulation): boolean {
  return ended !== undefined && ended !== 'returned'
}

/** Restores the true journal, continues with the rest of it, or begins afresh. */
function repair(
  sim: Simulation,
  { lines, random }: { readonly lines: readonly string[]; readonly random: SeededRandom },
): string {
  const { ended, disk } = sim
  sim.crash()
  const isUnreadable = typeof ended === 'object' && ended.error instanceof StateCorruptError
  const way = random.between(0, 3)
  if (way === 0 && !isUnreadable && disk.lines.length > 0) {
    acceptLoss(sim)
    return 'loss accepted'
  }
  if (way === 1) {
    beginAnew(sim)
    return 'begun anew'
  }
  disk.replaceWith(lines)
  return 'restored'
}
