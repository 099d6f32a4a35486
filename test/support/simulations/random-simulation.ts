import { createRandom, type SeededRandom } from '../../../src/domain/random.ts'
import type { FallbackMode, FinalityRule } from '../../../src/domain/settings.ts'
import { noCallChainFaults } from '../../simulation/aggregator/chain.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { Simulation, type SimulationOptions } from '../../simulation/simulation.ts'

const MODES: readonly FallbackMode[] = ['off', 'rejected-only', 'after-deadline']

/**
 * A simulation with an anchor, whose chains are read from one to three nodes with a quorum of one or two: the seed
 * decides these, and the route of calls.
 */
export function randomSimulation(
  options: Omit<SimulationOptions, 'rule' | 'isAnchored'>,
  random: SeededRandom,
): Simulation {
  const others = random.between(0, 2)
  const rule: FinalityRule = {
    finality: random.between(2, 5),
    agree: others > 0 && random.chance(0.6) ? 2 : 1,
  }
  const mode = MODES[random.between(0, MODES.length - 1)] ?? 'off'
  const aggregator = { fallback: { mode, deadlineMs: 180_000 }, ...options.aggregator }
  const sim = new Simulation({ ...options, aggregator, rule, isAnchored: true })
  for (let each = 0; each < others; each += 1) {
    sim.otherNodes.push(noChainFaults())
    sim.aggregation.otherNodes.push(noCallChainFaults())
  }
  sim.restartAfterMs = 20_000
  return sim
}

/** The random numbers of one simulation, by its kind and seed. */
export function randomOf(kind: string, seed: number): SeededRandom {
  return createRandom(`${kind} ${seed}`)
}
