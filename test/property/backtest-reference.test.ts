import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_MODEL } from '../../src/backtest/model.ts'
import { type BacktestListener, Play } from '../../src/backtest/play.ts'
import { type PriceSeries, RoundsPacker } from '../../src/domain/money/price-series.ts'
import { baseUnits } from '../../src/domain/money/units.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import { ACCOUNT, USDC, WETH, WETH_USDC } from '../simulation/stage.ts'
import { inputOf, recording, YEAR_BEGINS } from '../support/backtest/playing.ts'
import {
  type Line,
  playReference,
  type Reference,
  type Rule,
} from '../support/backtest/reference.ts'
import { aSchedule, aStrategy, capOf, OPEN } from '../support/builders.ts'
import { aRebalance, aThreshold } from '../support/market-view.ts'

const HOURS = 24 * 12
const ROUND_SECONDS = 20

const START = 250_000_000_000n

/**
 * Prices every twenty seconds with small steps, so that no order misses its minimum. The price turns at four times and
 * at a quarter of its start: orders of a wallet grown a hundredfold would get quotes too far from the feed, which the
 * reference does not model.
 */
function roundsOf(steps: readonly number[]): Reference['rounds'] {
  let answer = START
  return Array.from({ length: (HOURS * 3_600) / ROUND_SECONDS }, (_, index) => {
    const drawn = steps[Math.floor(index / 15) % steps.length] ?? 0
    const isFar = drawn > 0 ? answer > 4n * START : 4n * answer < START
    const step = isFar ? -drawn : drawn
    answer += (answer * BigInt(step)) / 1_000_000n + BigInt((index * 7_919) % 13)
    return [YEAR_BEGINS + index * ROUND_SECONDS, answer] as const
  })
}

function priceSeriesOf({ rounds }: Reference): PriceSeries {
  return {
    ...{ pair: WETH_USDC.pair, decimals: 8, source: 'a test' },
    *rounds() {
      const packer = new RoundsPacker()
      for (const [at, answer] of rounds) packer.add(at, answer)
      yield packer.take()
    },
  }
}

function strategyOf(rule: Rule): Strategy {
  const schedule = aSchedule('0 * * * *')
  switch (rule.kind) {
    case 'dca':
      return aStrategy({
        schedule,
        size: { side: 'sell', amount: baseUnits(rule.amount) },
        limits: { ...OPEN, perDay: capOf(USDC, baseUnits(rule.perDay)) },
      })
    case 'above': {
      const level = { num: rule.level * 10n ** 6n, den: 10n ** 18n }
      const size = { type: 'amount', amount: baseUnits(rule.amount) } as const
      return aThreshold([{ id: 'a', trigger: { type: 'above', level }, size }], {
        ...{ schedule, rearmBps: Number(rule.rearmBps) },
      })
    }
    case 'rebalance':
      return aRebalance({
        schedule,
        targets: [
          { token: WETH, weightBps: Number(rule.wethBps) },
          { token: USDC, weightBps: 10_000 - Number(rule.wethBps) },
        ],
        ...{ bandBps: Number(rule.bandBps), minTrade: baseUnits(rule.minTrade) },
        maxCostBps: undefined,
      })
  }
}

async function play(past: Reference, rule: Rule) {
  const lines: Line[] = []
  const { listener: quiet } = recording()
  const listener: BacktestListener = {
    ...quiet,
    skipped(_, { first, last }, { reason }) {
      for (let slot = first; slot <= last; slot += 3_600) lines.push([slot, reason])
    },
    filled: ({ intent, paid, received }) =>
      lines.push([intent.slotSeconds, 'filled', paid, received]),
  }
  const { spreadPpm, feePpm, depth, quoteSeconds, fillSeconds, validSeconds } = past
  const run = new Play(
    inputOf(
      {
        ...{ strategies: [strategyOf(rule)], usdc: past.usdc, weth: past.weth },
        priceSeries: [priceSeriesOf(past)],
        account: { ...ACCOUNT, perOrder: new Map(), perDay: new Map() },
        untilSeconds: YEAR_BEGINS + HOURS * 3_600 - 1,
        model: {
          ...{ ...DEFAULT_MODEL, failurePpm: 0, depth, quoteSeconds, fillSeconds, validSeconds },
          ...{ spreadPpm: Number(spreadPpm), feePpm: Number(feePpm) },
        },
      },
      listener,
    ),
  )
  await run.run()
  const { wallet } = run.sim
  lines.sort(([one], [other]) => one - other)
  return { lines, usdc: wallet.of(USDC.address), weth: wallet.of(WETH.address) }
}

const RULES: Readonly<Record<Rule['kind'], fc.Arbitrary<Rule>>> = {
  dca: fc.record({
    kind: fc.constant('dca' as const),
    amount: fc.bigInt({ min: 1n, max: 90_000_001n }),
    perDay: fc.bigInt({ min: 90_000_001n, max: 900_000_000n }),
  }),
  above: fc.record({
    kind: fc.constant('above' as const),
    level: fc.bigInt({ min: 2_470n, max: 2_540n }),
    rearmBps: fc.bigInt({ min: 1n, max: 200n }),
    amount: fc.bigInt({ min: 10n ** 12n, max: 5n * 10n ** 17n }),
  }),
  rebalance: fc.record({
    kind: fc.constant('rebalance' as const),
    wethBps: fc.bigInt({ min: 1_000n, max: 9_000n }),
    bandBps: fc.bigInt({ min: 1n, max: 600n }),
    minTrade: fc.bigInt({ min: 1n, max: 20_000_000n }),
  }),
}

const PAST = fc.record({
  rounds: fc
    .array(fc.integer({ min: -260, max: 260 }), { minLength: 3, maxLength: 40 })
    .map(roundsOf),
  slots: fc.constant(Array.from({ length: HOURS }, (_, hour) => YEAR_BEGINS + hour * 3_600)),
  usdc: fc.bigInt({ min: 0n, max: 9_000_000_000n }),
  weth: fc.bigInt({ min: 10n ** 17n, max: 4n * 10n ** 18n }),
  spreadPpm: fc.bigInt({ min: 0n, max: 2_000n }),
  feePpm: fc.bigInt({ min: 0n, max: 1_000n }),
  depth: fc.option(fc.bigInt({ min: 50_000_000_000n, max: 10n ** 13n }), { nil: undefined }),
  quoteSeconds: fc.integer({ min: 0, max: 20 }),
  fillSeconds: fc.integer({ min: 0, max: 50 }),
  validSeconds: fc.integer({ min: 60, max: 600 }),
})

describe('a backtest equals an independent reference loop to the base unit', () => {
  test.each(['dca', 'above', 'rebalance'] as const)('%s', async (kind) => {
    let fills = 0
    const reasons = new Set<string>()
    await fc.assert(
      fc.asyncProperty(PAST, RULES[kind], async (past, rule) => {
        const own = await play(past, rule)
        expect(own).toEqual(playReference(past, rule))
        for (const [, came] of own.lines) {
          if (came === 'filled') fills += 1
          else reasons.add(came)
        }
      }),
      { numRuns: 20 },
    )
    // Random prices may reach few levels, but some orders fill and some do not.
    expect(fills).toBeGreaterThan(0)
    expect(reasons.size).toBeGreaterThan(0)
  })
})
