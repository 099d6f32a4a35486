import { expect, test } from 'vitest'
import type { CustomStrategy } from '../../../src/domain/strategy.ts'
import { USDC, WETH } from '../../../src/simulate/stage.ts'
import { World } from '../../../src/simulate/world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('a module that remembers `__proto__` fails its own slots, by name, and nothing else', async () => {
  const { size: _, dips: __, dipWindowMs: ___, sell, buy, price: ____, ...base } = aStrategy()
  const hostile: CustomStrategy = {
    ...base,
    kind: 'custom',
    name: 'own',
    schedule: aSchedule('0 * * * *', { overlap: 'skip' }),
    module: '/strategies/modules/own.mjs',
    assets: new Map([
      [USDC.symbol, sell],
      [WETH.symbol, buy],
    ]),
    params: {},
    decide: () => ({ skip: 'not now', memory: JSON.parse('{"__proto__":"1"}') }),
  }
  const world = new World({ seed: 'hostile memory', strategies: [hostile, aStrategy()] })
  world.start()
  await world.runFor(HOUR + MINUTE)
  world.crash()
  world.start()
  await world.runFor(HOUR)
  expect(outcomes(world, 'own')).toEqual(Array(2).fill('skipped module-failed'))
  expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
  const details = world.disk
    .events()
    .flatMap((event) => (event.type === 'slot-closed' ? (event.detail ?? []) : []))
  expect(details[0]).toBe('memory has the name __proto__, which every object has; take another')
  expectSound(world)
})
