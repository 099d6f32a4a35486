import fc from 'fast-check'
import { expect, test } from 'vitest'
import { baseUnits } from '../../src/domain/money/units.ts'
import type { StrategyMemory } from '../../src/domain/strategy-memory.ts'
import { decideTwap, twap } from '../../src/strategies/twap/twap-kind.ts'
import { USDC } from '../simulation/stage.ts'
import { NOON_SECONDS } from '../support/builders.ts'
import {
  aMarket,
  aTwap,
  feedAt,
  feedWithout,
  remembered,
  soldBy,
  usdcPerWeth,
} from '../unit/strategies/decide-fixture.ts'

/** What becomes of a slice: its slot is never attended, its price is no good, its order comes to nothing, or all is well. */
type ExecutionOutcome = 'filled' | 'missed' | 'stale' | 'too-dear' | 'unfilled' | 'twice'
const FATES: readonly ExecutionOutcome[] = [
  'filled',
  'missed',
  'stale',
  'too-dear',
  'unfilled',
  'twice',
]

type Program = {
  readonly total: bigint
  readonly unsold: 'spread' | 'drop'
  readonly before: bigint
  readonly hasStart: boolean
}

const program: fc.Arbitrary<Program> = fc.record({
  total: fc.bigInt({ min: 1n, max: 10n ** 10n }),
  unsold: fc.constantFrom('spread', 'drop'),
  before: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  hasStart: fc.boolean(),
})

const EVERY = 60

/** Runs a program against fates, one for each slice, and gives all that it sold. */
function soldUnder(
  { total, unsold, before, hasStart }: Program,
  fates: readonly ExecutionOutcome[],
): bigint {
  const recurrence = { everySeconds: EVERY, count: fates.length }
  const startSeconds = hasStart ? NOON_SECONDS : undefined
  const price = { min: undefined, max: usdcPerWeth(2_600) }
  const strategy = aTwap(
    { total: baseUnits(total), unsold, price },
    { ...recurrence, startSeconds },
  )
  let memory: StrategyMemory = {}
  let sold = 0n
  for (const [index, outcome] of fates.entries()) {
    const offsets = { missed: [], twice: [0, EVERY - 1] }[outcome as 'missed' | 'twice'] ?? [0]
    for (const offset of offsets) {
      const decision = decideTwap(
        strategy,
        aMarket({
          slotSeconds: NOON_SECONDS + index * EVERY + offset,
          startSeconds: NOON_SECONDS,
          available: new Map([[USDC.address, 10n ** 20n]]),
          prices: pricesUnder(outcome),
          memory,
          spent: new Map([[USDC.address, baseUnits(before + sold)]]),
        }),
      )
      const isFilled = outcome === 'filled' || outcome === 'twice'
      memory = remembered(memory, decision, isFilled)
      if (isFilled) sold += soldBy(decision)
    }
  }
  return sold
}

function pricesUnder(outcome: ExecutionOutcome) {
  if (outcome === 'stale') return feedWithout('price-stale')
  return feedAt(outcome === 'too-dear' ? 2_601 : 2_600)
}

const fates = (...of: readonly ExecutionOutcome[]) =>
  fc.array(fc.constantFrom(...of), { minLength: 2, maxLength: 40, size: 'max' })

test('slices never sell more than the total, whatever becomes of each of them', () => {
  fc.assert(
    fc.property(program, fates(...FATES), (each, slices) => {
      expect(soldUnder(each, slices)).toBeLessThanOrEqual(each.total)
    }),
    { numRuns: 500 },
  )
})

test('slices that all fill sell the total to the base unit', () => {
  fc.assert(
    fc.property(program, fates('filled'), (each, slices) => {
      expect(soldUnder(each, slices)).toBe(each.total)
    }),
    { numRuns: 300 },
  )
})

test('a last slice that fills sells all that is left of what is spread', () => {
  fc.assert(
    fc.property(program, fates(...FATES), (each, slices) => {
      expect(soldUnder({ ...each, unsold: 'spread' }, [...slices, 'filled'])).toBe(each.total)
    }),
    { numRuns: 300 },
  )
})

test('slices that were not filled are not made up for under `drop`', () => {
  fc.assert(
    fc.property(program, fates('filled', 'missed', 'unfilled'), (each, slices) => {
      const count = BigInt(slices.length)
      const due = slices.reduce((sum, outcome, index) => {
        const at = BigInt(index)
        const slice = (each.total * (at + 1n)) / count - (each.total * at) / count
        return outcome === 'filled' ? sum + slice : sum
      }, 0n)
      expect(soldUnder({ ...each, unsold: 'drop' }, slices)).toBe(due)
    }),
    { numRuns: 300 },
  )
})

/** One thing that happens to a program: a slot comes up, or an order in flight is filled, filled in part, or proven dead. */
type Step =
  | { readonly type: 'slot'; readonly cap: bigint | undefined }
  | { readonly type: 'fill' | 'part' | 'die'; readonly which: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('slot' as const),
      cap: fc.option(fc.bigInt({ min: 1n, max: 10n ** 9n }), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('fill', 'part', 'die' as const),
      which: fc.nat(),
    }),
  },
)

/** A program with what became of its orders so far. */
class Run {
  sold = 0n
  readonly strategy: ReturnType<typeof aTwap>
  readonly #before: bigint
  readonly #inFlight: bigint[] = []
  #memory: StrategyMemory = {}
  #slot = 0

  constructor({ total, unsold, before }: Program, count: number) {
    const recurrence = { everySeconds: EVERY, count, startSeconds: NOON_SECONDS }
    this.strategy = aTwap({ total: baseUnits(total), unsold }, recurrence)
    this.#before = before
  }

  get promised(): bigint {
    return this.#inFlight.reduce((sum, amount) => sum + amount, 0n)
  }

  get unsold(): bigint {
    const spent = new Map([[this.strategy.sell.token.address, this.#spent]])
    return twap.slicedTotal(this.strategy)?.unsold({ memory: this.#memory, spent }) ?? 0n
  }

  get #spent(): bigint {
    return this.#before + this.sold + this.promised
  }

  take(step: Step): void {
    if (step.type === 'slot') this.#decide(step.cap)
    else this.#end(step)
  }

  #decide(cap: bigint | undefined): void {
    const decision = decideTwap(
      this.strategy,
      aMarket({
        slotSeconds: NOON_SECONDS + this.#slot * EVERY,
        startSeconds: NOON_SECONDS,
        available: new Map([[USDC.address, 10n ** 20n]]),
        prices: feedAt(2_600),
        memory: this.#memory,
        orderCaps: new Map(cap === undefined ? [] : [[USDC.address, baseUnits(cap)]]),
        spent: new Map([[USDC.address, baseUnits(this.#spent)]]),
        promised: new Map([[USDC.address, baseUnits(this.promised)]]),
      }),
    )
    this.#slot += 1
    this.#memory = remembered(this.#memory, decision, false)
    const wanted = soldBy(decision)
    if (wanted > 0n) this.#inFlight.push(wanted)
  }

  #end({ type, which }: Exclude<Step, { type: 'slot' }>): void {
    const [amount = 0n] = this.#inFlight.splice(which % (this.#inFlight.length || 1), 1)
    if (type === 'fill') this.sold += amount
    if (type === 'part') this.sold += amount / 2n
  }
}

test('what is sold, what is in flight and what is told as unsold are the total, in whatever order slots and orders end', () => {
  fc.assert(
    fc.property(program, fc.array(step, { maxLength: 60 }), (each, steps) => {
      const run = new Run(each, steps.filter(({ type }) => type === 'slot').length + 1)
      for (const next of steps) {
        run.take(next)
        expect(run.sold + run.promised).toBeLessThanOrEqual(each.total)
        expect(run.sold + run.promised + run.unsold).toBe(each.total)
      }
    }),
    { numRuns: 500 },
  )
})
