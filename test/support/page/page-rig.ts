import { createRandom, type SeededRandom } from '../../../src/domain/random.ts'
import type {
  Change,
  FillRow,
  FillsPage,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  StrategyDetail,
  StrategyRow,
  UnfilledPage,
  UnfilledRow,
  Why,
} from '../../../src/ui/page/model.ts'
import { strategyDetail } from './page-detail.ts'
import { fillRow, fillRows, holdingsSeries } from './page-fills.ts'
import { emptyOverview, fullOverview } from './page-overview.ts'
import { strategyRows } from './page-strategies.ts'
import {
  poisonedDetail,
  poisonedFill,
  poisonedOverview,
  poisonedStrategy,
  poisonedTimeline,
} from './poison.ts'

/** Seeded page data without a daemon, realistic enough for screenshots. */
export type PageRigOptions = {
  readonly seed?: string
  readonly mode?: string
  readonly strategies: number
  readonly fills: number
  readonly orders: number
  /** Every text attempts to become markup. */
  readonly hostile?: boolean
}

export const NORMAL: PageRigOptions = { strategies: 9, fills: 240, orders: 6 }
/** Just started, in a new folder. */
export const EMPTY: PageRigOptions = { strategies: 0, fills: 0, orders: 0, mode: 'dry-run' }
export const BIG: PageRigOptions = { strategies: 1_000, fills: 100_000, orders: 60 }
export const HOSTILE: PageRigOptions = { ...NORMAL, hostile: true }

/** A Monday afternoon. Its time passes in real time. */
const BEGAN_MS = Date.UTC(2026, 10, 23, 13, 4, 52)

export class PageRig {
  readonly options: PageRigOptions
  readonly #strategies: StrategyRow[]
  readonly #fills: FillRow[]
  #overview: Overview
  readonly #random: SeededRandom
  readonly #startedAt = performance.now()

  constructor(options: PageRigOptions) {
    this.options = options
    this.#random = createRandom(options.seed ?? 'page')
    const nowMs = this.now()
    const strategies = strategyRows(options.strategies, nowMs, this.#random)
    this.#strategies = options.hostile ? strategies.map(poisonedStrategy) : strategies
    const fills = fillRows({
      count: options.fills,
      strategies: this.#strategies,
      nowMs,
      random: this.#random,
      paper: options.mode === 'dry-run',
    })
    this.#fills = options.hostile ? fills.map(poisonedFill) : fills
    this.#overview = this.#firstOverview(nowMs)
  }

  now(): number {
    return BEGAN_MS + Math.round(performance.now() - this.#startedAt)
  }

  overview(): Overview {
    return { ...this.#overview, atMs: this.now() }
  }

  strategies(): readonly StrategyRow[] {
    return this.#strategies
  }

  fills(query: { limit: number; before: string | null; strategy: string | null }): FillsPage {
    const { strategy, before, limit } = query
    const of =
      strategy === null ? this.#fills : this.#fills.filter((fill) => fill.strategy === strategy)
    const from = before === null ? 0 : of.findIndex(({ intentId }) => intentId === before) + 1
    const fills = of.slice(from, from + limit)
    const last = fills.at(-1)
    return { fills, next: last === undefined || from + limit >= of.length ? null : last.intentId }
  }

  unfilled(): UnfilledPage {
    const slots = this.#strategies.flatMap(({ name, lastSlot }): UnfilledRow[] => {
      if (lastSlot === null || lastSlot.outcome === 'filled') return []
      const atMs = lastSlot.slotSeconds * 1_000 + 90
      return [{ strategy: name, ...lastSlot, atMs, count: lastSlot.outcome === 'missed' ? 12 : 1 }]
    })
    return { slots, next: null }
  }

  holdings(range: HoldingsRange): HoldingsSeries {
    if (this.options.fills === 0)
      return { valueToken: 'USDC', atSeconds: [], value: [], tokens: [] }
    return holdingsSeries(range, this.now(), createRandom(`${range}`))
  }

  strategy(name: string, range: HoldingsRange): StrategyDetail | undefined {
    const row = this.#strategies.find((each) => each.name === name)
    if (row === undefined) return undefined
    const fills = this.#fills.filter((fill) => fill.strategy === name)
    const detail = strategyDetail(row, { fills, range, nowMs: this.now() })
    return this.options.hostile ? poisonedDetail(detail) : detail
  }

  why(slot: string): Why | undefined {
    const [name, seconds] = slot.split(':')
    if (!this.#strategies.some((row) => row.name === name)) return undefined
    const atMs = Number(seconds) * 1_000
    const lines = timelineOf(slot, atMs)
    return {
      slot,
      whole: !this.options.hostile,
      lines: this.options.hostile ? poisonedTimeline(lines) : lines,
    }
  }

  /** Changes the overview and returns the change. */
  change(part: Partial<Overview>): Change {
    this.#overview = { ...this.#overview, ...part, revision: this.#overview.revision + 1 }
    return { overview: this.overview(), strategies: [], fills: [] }
  }

  /** Adds fills and updates the rows of their strategies. */
  tick(fills = 1): Change {
    const nowMs = this.now()
    const fresh: FillRow[] = []
    const changed: StrategyRow[] = []
    for (let done = 0; done < fills; done += 1) {
      const index = this.#random.between(0, this.#strategies.length - 1)
      const row = this.#strategies[index]
      if (row === undefined) break
      const fill = {
        ...fillRow(row, nowMs, this.#random, this.options.mode === 'dry-run'),
        undone: false,
      }
      const next = {
        ...row,
        fills: row.fills + 1,
        lastFillAtMs: nowMs,
        lastSlot: { slotSeconds: fill.slotSeconds, outcome: 'filled', reason: null, detail: null },
      }
      this.#strategies[index] = next
      changed.push(next)
      fresh.unshift(fill)
    }
    this.#fills.unshift(...fresh)
    const counts = { ...this.#overview.counts, fills: this.#overview.counts.fills + fresh.length }
    return { ...this.change({ counts }), strategies: changed, fills: fresh }
  }

  /** A reorganisation takes the newest fill back. */
  undo(): Change {
    const [newest] = this.#fills
    if (newest === undefined) throw new Error('there is no fill')
    this.#fills[0] = { ...newest, undone: true }
    return { ...this.change({}), fills: [this.#fills[0]] }
  }

  #firstOverview(nowMs: number): Overview {
    const { options } = this
    const known = { strategies: this.#strategies, nowMs, random: this.#random }
    const overview = options.strategies === 0 ? emptyOverview(nowMs) : fullOverview(options, known)
    return options.hostile ? poisonedOverview(overview) : overview
  }
}

function timelineOf(slot: string, atMs: number): Why['lines'] {
  return [
    {
      atMs,
      title: 'Slot opened',
      sentences: [
        'Order weekly-eth:0: sell 25 USDC for WETH, slippage at most 0.3 %.',
        'Price by WETH/USDC: 3011.37 USDC per WETH, 41 s old.',
      ],
      facts: [
        ['lateness', '120 ms'],
        ['WETH/USDC', '3,011.37, read 41 s before'],
        ['balance', '5,676.20 USDC'],
        ...Array.from(
          { length: 12 },
          (_, leg) => [`intents.${leg}.sell.token.address`, '0x52…'] as const,
        ),
      ],
    },
    {
      atMs: atMs + 90,
      title: 'Intent planned',
      sentences: [],
      facts: [
        ['intent', `${slot}:0`],
        ['sells', '25 USDC'],
        ['for at least', '0.008261 WETH'],
      ],
    },
    {
      atMs: atMs + 480,
      title: 'Quote verified',
      sentences: [],
      facts: [
        ['quote', '0.008303 WETH'],
        ['against feed', '+1.4 bps'],
        ['expires', 'in 30 s'],
      ],
    },
    {
      atMs: atMs + 510,
      title: 'Permit recorded',
      sentences: [],
      facts: [
        ['nonce', '83076749736557242056487941267521535'],
        ['deadline', '14:08:11'],
        ['digest', '0x1f6a0a8f0b6f5c0d1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7081'],
      ],
    },
    {
      atMs: atMs + 1_900,
      title: 'Order accepted',
      sentences: [],
      facts: [['orderId', 'b1f0c7a4']],
    },
    {
      atMs: atMs + 5_200,
      title: 'Fill proven',
      sentences: ['Price: 3010.9 USDC per WETH.'],
      facts: [
        ['paid', '25 USDC'],
        ['received', '0.008303 WETH'],
        ['took', '5.1 s'],
      ],
    },
  ]
}
