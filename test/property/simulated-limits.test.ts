import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/domain/book/limits.ts'
import type { Caps } from '../../src/domain/strategy.ts'
import { maxOf } from '../../src/domain/units.ts'
import { recordedPermits } from '../../src/simulate/judge/watch.ts'
import { USDC } from '../../src/simulate/stage.ts'
import { World } from '../../src/simulate/world.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../support/builders.ts'
import { expectSound, outcomes } from '../support/sound.ts'

const CAPS = {
  perHour: capOf(USDC, usdc(30)),
  perDay: capOf(USDC, usdc(160)),
  perWeek: capOf(USDC, usdc(360)),
  total: capOf(USDC, usdc(420)),
}
const ACCOUNT_CAPS = {
  perHour: capOf(USDC, usdc(40)),
  perDay: capOf(USDC, usdc(300)),
  perWeek: capOf(USDC, usdc(560)),
  total: capOf(USDC, usdc(640)),
}
const WINDOWS = [
  { cap: 'perHour', ms: HOUR_MS },
  { cap: 'perDay', ms: DAY_MS },
  { cap: 'perWeek', ms: 7 * DAY_MS },
  { cap: 'total', ms: Number.POSITIVE_INFINITY },
] as const
const LIMITS = { ...OPEN, ...CAPS }
const STRATEGIES = [
  aStrategy({
    name: 'quick',
    schedule: aSchedule('*/15 * * * *', { missed: 'all', maxLatenessMs: 3 * HOUR }),
    size: { side: 'sell', amount: usdc(10) },
    limits: { ...LIMITS, maxOpenIntents: 20 },
  }),
  aStrategy({
    name: 'slow',
    schedule: aSchedule('5,25 * * * *'),
    size: { side: 'sell', amount: usdc(20) },
    limits: LIMITS,
  }),
]

type Trouble = {
  readonly type: 'none' | 'crash' | 'stop' | 'jump' | 'stall' | 'late' | 'crash-at'
  readonly size: number
  readonly hours: number
}
const trouble: fc.Arbitrary<Trouble> = fc.record({
  type: fc.constantFrom('none', 'crash', 'stop', 'jump', 'stall', 'late', 'crash-at'),
  size: fc.integer({ min: -100, max: 100 }),
  hours: fc.constantFrom(1, 1, 2, 5, 20, 70),
})

async function suffer(world: World, { type, size, hours }: Trouble): Promise<void> {
  world.clock.offsetMs = type === 'jump' ? size * HOUR : 0
  world.serviceFaults.fillsLate = type === 'late' ? 1 : 0
  if (type === 'stall') world.clock.stall(Math.abs(size) * MINUTE)
  if (type === 'crash-at')
    world.disk.crashAt = { append: world.disk.appends + Math.abs(size) + 1, when: 'after' }
  if (type === 'stop') world.stop('SIGTERM')
  if (type === 'crash') world.crash()
  if (type === 'stop' || type === 'crash') {
    await world.runFor(Math.abs(size) * MINUTE)
    world.start()
  }
  await world.runFor((type === 'jump' ? 1 : hours) * HOUR)
}

type Paid = { readonly strategy: string; readonly amount: bigint; readonly atMs: number }

/** What the chain saw leave the wallet, order by order. */
function paidBy(world: World): readonly Paid[] {
  const names = new Map(
    recordedPermits(world.disk.events()).map(({ intentId, permit }) => [permit.nonce, intentId]),
  )
  return world.ledger.transactions.flatMap(({ settled, timeSeconds }) =>
    settled.map(({ permit, paid }) => ({
      strategy: names.get(permit.nonce)?.split(':')[0] ?? 'nobody',
      amount: paid,
      atMs: timeSeconds * 1000,
    })),
  )
}

function mostWithin(paid: readonly Paid[], ms: number): bigint {
  return paid.reduce((most, { atMs: end }) => {
    const inside = paid.filter(({ atMs }) => atMs <= end && end - atMs < ms)
    return maxOf(
      most,
      inside.reduce((all, { amount }) => all + amount, 0n),
    )
  }, 0n)
}

function passed(
  caps: Readonly<Record<(typeof WINDOWS)[number]['cap'], Caps>>,
  paid: readonly Paid[],
): string[] {
  return WINDOWS.flatMap(({ cap, ms }) => {
    const spent = mostWithin(paid, ms)
    return spent > (caps[cap].get(USDC.address) ?? 0n) ? [`${cap}: ${spent}`] : []
  })
}

test('a daemon that crashes, stops, stalls and has its clock moved passes no cap of any window', async () => {
  const reached = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(trouble, { minLength: 4, maxLength: 16, size: 'max' }),
      async (seed, troubles) => {
        const account = ACCOUNT_CAPS
        const world = new World({ seed: `limits ${seed}`, strategies: STRATEGIES, account })
        world.restartAfterMs = 20_000
        world.start()
        for (const each of troubles) await suffer(world, each)
        world.disk.crashAt = undefined
        world.start()
        expect(await world.calmDown()).toBe(true)
        const paid = paidBy(world)
        expect(passed(ACCOUNT_CAPS, paid)).toEqual([])
        for (const { name } of STRATEGIES) {
          const own = paid.filter(({ strategy }) => strategy === name)
          expect(passed(CAPS, own)).toEqual([])
          for (const outcome of outcomes(world, name)) reached.add(outcome)
        }
        expectSound(world)
      },
    ),
    { numRuns: 8 },
  )
  // A cap that was never in the way would not have been tried.
  for (const reason of ['per-hour', 'per-day', 'account-per-hour', 'account-per-day'])
    expect([...reached]).toContain(`skipped limit-${reason}`)
}, 60_000)
