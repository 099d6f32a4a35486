import { baseUnits } from '../../../src/domain/money/units.ts'
import type { AggregatorSettings, FinalityRule } from '../../../src/domain/settings.ts'
import type { CallStrategy } from '../../../src/strategies/call/call-kind.ts'
import { AGGREGATOR, CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo } from '../../simulation/aggregator/ledger.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, HOUR, OPEN } from '../builders.ts'

/** A call of `claim()` with 1,000 wei at every full hour, without strategy caps. */
export function aCallStrategy(changes: Partial<CallStrategy> = {}): CallStrategy {
  return {
    kind: 'call',
    name: 'claim',
    file: 'claim.yaml',
    enabled: true,
    schedule: aSchedule('0 * * * *'),
    limits: OPEN,
    target: CALL_TARGET,
    calldata: '0x4e71d92d',
    value: baseUnits(1_000n),
    gasLimit: 100_000n,
    label: 'claim()',
    ...changes,
  }
}

export type CallSimulationOptions = {
  readonly seed: string
  readonly strategies?: readonly CallStrategy[]
  readonly aggregator?: Partial<AggregatorSettings>
  readonly rule?: Partial<FinalityRule>
}

/** A simulation whose daemon makes calls. In trusted mode the account is delegated to the trusted proposer. */
export function callSimulation({
  seed,
  strategies,
  aggregator = {},
  rule = {},
}: CallSimulationOptions): Simulation {
  const sim = new Simulation({
    seed,
    strategies: strategies ?? [aCallStrategy()],
    aggregator,
    rule,
  })
  if (aggregator.proposer === 'trusted')
    sim.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustedProposer)
  return sim
}

/** Runs until just before the first slot, so that a fault can be set up without affecting the start. */
export async function untilFirstSlot(sim: Simulation): Promise<void> {
  sim.start()
  await sim.runFor(HOUR - 100)
}

/** How many calls the target has received. */
export function executed(sim: Simulation): number {
  return sim.aggregation.ledger.executions.length
}

/** Routes of the proven calls, in order. */
export function routes(sim: Simulation): string[] {
  return sim.disk
    .events()
    .flatMap((event) => (event.type === 'call-proven' ? [event.execution.via] : []))
}

/** Reported messages about calls with an unknown outcome. */
export function unknowns(sim: Simulation): string[] {
  return sim.observations.flatMap((event) =>
    event.type === 'order-unknown' ? [event.message] : [],
  )
}
