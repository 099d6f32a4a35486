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

/** Outcome of a slice: filled, missed, stale price, price out of bounds, unfilled order, or slot run twice. */
type ExecutionOutcome = 'filled' | 'missed' | 'stale' | 'too-dear' | 'unfilled' | 'twice'
const OUTCOMES: readonly ExecutionOutcome[] = [
  'filled',
  'missed',
  'stale',
  'too-dear',
  'unfilled',
  'twice',
]

type TwapCase = {
  readonly total: bigint
  readonly unsold: 'spread' | 'drop'
  readonly before: bigint
  readonly hasStart: boolean
}

const twapCase: fc.Arbitrary<TwapCase> = fc.record({
  total: fc.bigInt({ min: 1n, max: 10n ** 10n }),
  unsold: fc.constantFrom('spread', 'drop'),
  before: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  hasStart: fc.boolean(),
})

const EVERY = 60

/** Runs a TWAP schedule against one outcome per slice and returns the amount sold. */
function soldUnder(
  { total, unsold, before, hasStart }: TwapCase,
  outcomes: readonly ExecutionOutcome[],
): bigint {
  const recurrence = { everySeconds: EVERY, count: outcomes.length }
  const startSeconds = hasStart ? NOON_SECONDS : undefined
  const price = { min: undefined, max: usdcPerWeth(2_600) }
  const strategy = aTwap(
    { total: baseUnits(total), unsold, price },
    { ...recurrence, startSeconds },
  )
  let memory: StrategyMemory = {}
  let sold = 0n
  for (const [index, outcome] of outcomes.entries()) {
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

const outcomesOf = (...of: readonly ExecutionOutcome[]) =>
  fc.array(fc.constantFrom(...of), { minLength: 2, maxLength: 40, size: 'max' })

test('slices never sell more than the total, for any outcomes', () => {
  fc.assert(
    fc.property(twapCase, outcomesOf(...OUTCOMES), (each, slices) => {
      expect(soldUnder(each, slices)).toBeLessThanOrEqual(each.total)
    }),
    { numRuns: 500 },
  )
})

test('slices that all fill sell the total to the base unit', () => {
  fc.assert(
    fc.property(twapCase, outcomesOf('filled'), (each, slices) => {
      expect(soldUnder(each, slices)).toBe(each.total)
    }),
    { numRuns: 300 },
  )
})

test('a last slice that fills sells the whole rest under `unsold: spread`', () => {
  fc.assert(
    fc.property(twapCase, outcomesOf(...OUTCOMES), (each, slices) => {
      expect(soldUnder({ ...each, unsold: 'spread' }, [...slices, 'filled'])).toBe(each.total)
    }),
    { numRuns: 300 },
  )
})

test('unfilled slices are not sold later under `unsold: drop`', () => {
  fc.assert(
    fc.property(twapCase, outcomesOf('filled', 'missed', 'unfilled'), (each, slices) => {
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

/** One step of a TWAP schedule: a due slot, or an order in flight that fills, fills in part, or is proven dead. */
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

/** A TWAP schedule with the outcomes of its orders so far. */
class Run {
  sold = 0n
  readonly strategy: ReturnType<typeof aTwap>
  readonly #before: bigint
  readonly #inFlight: bigint[] = []
  #memory: StrategyMemory = {}
  #slot = 0

  constructor({ total, unsold, before }: TwapCase, count: number) {
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

test('amounts sold, in flight and reported as unsold add up to the total, for any order of slots and fills', () => {
  fc.assert(
    fc.property(twapCase, fc.array(step, { maxLength: 60 }), (each, steps) => {
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
