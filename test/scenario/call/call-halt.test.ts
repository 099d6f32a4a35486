import { expect, test } from 'vitest'
import { callWorld, executed, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

test.each(['trustless', 'trusted'] as const)(
  'a halt stops a %s call whose record is on its way to the disk',
  async (proposer) => {
    const world = callWorld({ seed: 'halt at the signature', aggregator: { proposer } })
    await untilFirstSlot(world)
    while (world.state.exposures.size === 0) await world.runFor(1)
    await Promise.all([world.control.halt(), world.runFor(1_000)])
    await world.runFor(HOUR / 2 + MINUTE)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'claim')).toEqual(['skipped halted'])
    expect(executed(world)).toBe(0)
    expectSound(world)
  },
)
