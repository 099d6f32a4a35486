import type { JournalEvent } from '../../../src/domain/book/journal.ts'
import type { AggregatorSettings, FinalityRule } from '../../../src/domain/settings.ts'
import type { CallStrategy } from '../../../src/domain/strategy.ts'
import { baseUnits } from '../../../src/domain/units.ts'
import { AGGREGATOR, CALL_TARGET } from '../../../src/simulate/aggregator/aggregation.ts'
import { delegationTo } from '../../../src/simulate/aggregator/ledger.ts'
import { World } from '../../../src/simulate/world.ts'
import { aSchedule, HOUR, OPEN } from '../builders.ts'

/** A call of `claim()` with 1,000 wei at every full hour, without caps of its own. */
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

export type CallWorldOptions = {
  readonly seed: string
  readonly strategies?: readonly CallStrategy[]
  readonly aggregator?: Partial<AggregatorSettings>
  readonly rule?: Partial<FinalityRule>
}

/** A world whose daemon makes calls. In trusted mode the account is delegated to the trusted proposer. */
export function callWorld({
  seed,
  strategies,
  aggregator = {},
  rule = {},
}: CallWorldOptions): World {
  const world = new World({ seed, strategies: strategies ?? [aCallStrategy()], aggregator, rule })
  if (aggregator.proposer === 'trusted')
    world.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustedProposer)
  return world
}

/** Runs until just before the first slot, so that a trouble can be set up without touching the start. */
export async function untilFirstSlot(world: World): Promise<void> {
  world.start()
  await world.runFor(HOUR - 100)
}

/** Runs until an event of that type is on disk, in steps too short for much else to happen. */
export async function untilEvent(world: World, type: JournalEvent['type']): Promise<void> {
  for (let steps = 0; steps < 20_000; steps += 1) {
    if (world.disk.events().some((event) => event.type === type)) return
    await world.runFor(20)
  }
  throw new Error(`no ${type} came`)
}

/** How many calls the target has seen. */
export function executed(world: World): number {
  return world.aggregation.ledger.executions.length
}

/** Routes that proven calls took, in order. */
export function routes(world: World): string[] {
  return world.disk
    .events()
    .flatMap((event) => (event.type === 'call-proven' ? [event.execution.via] : []))
}

/** What was told of troubles with calls. */
export function unknowns(world: World): string[] {
  return world.observations.flatMap((event) =>
    event.type === 'order-unknown' ? [event.message] : [],
  )
}
