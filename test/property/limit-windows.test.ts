import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/domain/cap-windows.ts'
import { type BaseUnits, baseUnits, maxOf } from '../../src/domain/money/units.ts'
import { LIMIT_REASONS } from '../../src/domain/order/reason.ts'
import type { Caps } from '../../src/domain/strategy.ts'
import { type JournalEvent, reduce } from '../../src/journal/events/registry.ts'
import { limitHit } from '../../src/journal/projections/limits.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState, imageOf, restoreState } from '../../src/journal/state/state-image.ts'
import { ACCOUNT } from '../simulation/stage.ts'
import { capOf, OPEN } from '../support/builders.ts'
import {
  BOUND,
  exposed,
  fillOf,
  intentOf,
  opened,
  scheduled,
} from '../support/state/journal-events.ts'

const STRATEGIES = ['alpha', 'beta']
const TOKEN = intentOf(0).sell.token
const START_MS = 1_800_000_000_000
const PERMIT_MS = 600_000
const WINDOWS = [
  { cap: 'perHour', ms: HOUR_MS },
  { cap: 'perDay', ms: DAY_MS },
  { cap: 'perWeek', ms: 7 * DAY_MS },
  { cap: 'total', ms: Number.POSITIVE_INFINITY },
] as const

type Scope = Readonly<Record<'perOrder' | (typeof WINDOWS)[number]['cap'], Caps>>

/** An amount that left the wallet, recorded independently of the daemon. */
type Executed = { readonly strategy: string; readonly amount: bigint; readonly atMs: number }

type Signed = {
  readonly intent: ReturnType<typeof intentOf>
  readonly amount: BaseUnits
  readonly atMs: number
}

const capsOf = (size: number): fc.Arbitrary<Scope> => {
  const cap = (least: number): fc.Arbitrary<Caps> =>
    fc
      .option(fc.integer({ min: least * size, max: 3 * least * size }), { freq: 3 })
      .map((amount) => (amount === null ? new Map() : capOf(TOKEN, baseUnits(BigInt(amount)))))
  return fc.record({
    perOrder: cap(15),
    perHour: cap(20),
    perDay: cap(40),
    perWeek: cap(80),
    total: cap(150),
  })
}

const MINUTES = [0, 1, 7, 30, 61, 600, 1_441, 5_000]
const chance = fc.nat(999)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('order' as const),
      strategy: fc.constantFrom(...STRATEGIES),
      amount: fc.integer({ min: 1, max: 40 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('end' as const), which: chance, how: chance }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      minutes: fc.constantFrom(...MINUTES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('jump' as const),
      hours: fc.integer({ min: -400, max: 400 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A daemon that signs within its caps on a machine whose clock jumps, with the true executions recorded beside it. */
class Scenario {
  readonly refusals: string[] = []
  readonly state: DaemonState = emptyState()
  readonly #executed: Executed[] = []
  #signed: Signed[] = []
  #trueMs = START_MS
  #clockIsAheadMs = 0
  #slotSeconds = 2_000
  readonly #caps: { readonly own: Scope; readonly account: Scope }

  constructor(caps: { readonly own: Scope; readonly account: Scope }) {
    this.#caps = caps
    this.#write(BOUND, ...STRATEGIES.map((name) => scheduled(name)))
  }

  take(next: Step): void {
    switch (next.type) {
      case 'order':
        this.#order(next.strategy, baseUnits(BigInt(next.amount)))
        return
      case 'end':
        this.#end(next.which, next.how)
        return
      case 'wait':
        this.#trueMs += next.minutes * 60_000
        return
      case 'jump':
        this.#clockIsAheadMs = next.hours * HOUR_MS
        return
      case 'restart':
        restoreState(this.state, imageOf(this.state))
        return
    }
  }

  #write(...events: readonly JournalEvent[]): void {
    for (const event of events) reduce(this.state, event, this.#trueMs + this.#clockIsAheadMs)
  }

  /** Uses the true time, because nothing is signed while the clock differs from the chain. */
  #order(strategy: string, amount: BaseUnits): void {
    const limits = { ...OPEN, ...this.#caps.own }
    const account = { ...ACCOUNT, ...this.#caps.account }
    const request = { strategy, token: TOKEN, amount, limits, account }
    const hit = limitHit(this.state, { ...request, nowMs: this.#trueMs })
    if (hit !== undefined) {
      this.refusals.push(hit.reason)
      if (hit.freesAtMs === undefined) return
      expect(hit.freesAtMs).toBeGreaterThan(this.#trueMs)
      expect(limitHit(this.state, { ...request, nowMs: hit.freesAtMs - 1 })).toBeDefined()
      expect(limitHit(this.state, { ...request, nowMs: hit.freesAtMs })).toBeUndefined()
      return
    }
    this.#slotSeconds += 1
    const intent = { ...intentOf(this.#slotSeconds, strategy), maxSell: amount }
    const recorded = exposed(intent)
    if (recorded.type !== 'permit-recorded') throw new Error('not a permit')
    const deadlineSeconds = (this.#trueMs + PERMIT_MS) / 1000
    this.#write(opened(intent), { ...recorded, permit: { ...recorded.permit, deadlineSeconds } })
    this.#signed.push({ intent, amount, atMs: this.#trueMs })
  }

  /** Executions, with orders still in flight executed as late as possible. */
  finish(): readonly Executed[] {
    const late = this.#signed.map(({ intent: { strategy }, amount, atMs }) => {
      return { strategy, amount, atMs: atMs + PERMIT_MS }
    })
    return [...this.#executed, ...late]
  }

  /** Ends an order in flight: executed within the lifetime of its permit, or dead with an unused permit. */
  #end(which: number, how: number): void {
    const order = this.#signed[which % this.#signed.length]
    if (order === undefined) return
    this.#signed = this.#signed.filter((other) => other !== order)
    const { intent, atMs } = order
    const livedMs = Math.min(this.#trueMs - atMs, PERMIT_MS)
    const isPastDeadline = this.#trueMs - atMs > PERMIT_MS
    const own = { intentId: intent.id, attempt: 1 }
    const block = { blockNumber: 9n, blockTimeSeconds: 9 }
    const dead = { type: 'authorization-dead', ...own, ...block } as const
    if (isPastDeadline && how % 4 === 0) {
      this.#write({ ...dead, how: 'expired' })
      return
    }
    const { strategy } = intent
    const isProven = how % 4 > 1
    const amount = isProven ? (order.amount * BigInt(1 + (how % 10)) + 9n) / 10n : order.amount
    this.#executed.push({ strategy, amount, atMs: atMs + Math.floor((livedMs * how) / 999) })
    this.#write(
      isProven
        ? { type: 'fill-proven', ...own, fill: { ...fillOf(intent), paid: baseUnits(amount) } }
        : { ...dead, how: 'cancelled' },
    )
  }
}

/** Maximum spent in any window. The fullest window ends with an execution, so each end is tried. */
function mostWithin(executed: readonly Executed[], ms: number): bigint {
  return executed.reduce((most, { atMs: end }) => {
    const inside = executed.filter(({ atMs }) => atMs <= end && end - atMs < ms)
    const sum = inside.reduce((all, { amount }) => all + amount, 0n)
    return maxOf(sum, most)
  }, 0n)
}

function passed(caps: Scope, executed: readonly Executed[], who: string): string[] {
  return WINDOWS.flatMap(({ cap, ms }) => {
    const most = caps[cap].get(TOKEN.address)
    const spent = mostWithin(executed, ms)
    return most === undefined || spent <= most ? [] : [`${who} ${cap}: ${spent} of ${most}`]
  })
}

test('every cap holds for every sequence of slots, restarts and clock jumps', () => {
  const met = new Map<string, number>()
  fc.assert(
    fc.property(
      fc.record({ own: capsOf(1), account: capsOf(2) }),
      fc.array(step, { minLength: 100, maxLength: 400, size: 'max' }),
      (caps, steps) => {
        const scenario = new Scenario(caps)
        for (const next of steps) scenario.take(next)
        for (const reason of scenario.refusals) met.set(reason, (met.get(reason) ?? 0) + 1)
        const executed = scenario.finish()
        const broken = STRATEGIES.flatMap((name) => {
          const own = executed.filter(({ strategy }) => strategy === name)
          return passed(caps.own, own, name)
        })
        expect([...broken, ...passed(caps.account, executed, 'the account')]).toEqual([])
      },
    ),
    { numRuns: 200 },
  )
  // Every cap must have refused some order, otherwise it was not tested.
  expect([...met.keys()].sort()).toEqual([...LIMIT_REASONS].sort())
})
