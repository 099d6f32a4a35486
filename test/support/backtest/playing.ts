import { DEFAULT_MODEL, type FillModel } from '../../../src/backtest/model.ts'
import { type BacktestListener, Play, type PlayInput } from '../../../src/backtest/play.ts'
import { createPricePaths, type PriceFeed } from '../../../src/domain/money/price.ts'
import { type PriceSeries, RoundsPacker } from '../../../src/domain/money/price-series.ts'
import { NATIVE_TOKEN, type Pair } from '../../../src/domain/money/token.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import type { Modules } from '../../../src/ports.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { ACCOUNT, USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'

export const YEAR_BEGINS = Date.UTC(2025, 0, 1) / 1000
export const DAY = 86_400

/** No costs, and every order fills at once. */
export const FREE: FillModel = {
  ...DEFAULT_MODEL,
  spreadPpm: 0,
  failurePpm: 0,
  quoteSeconds: 0,
  fillSeconds: 0,
  wrapWei: 0n,
  callWei: 0n,
}

/** A series of a feed's prices in whole quote tokens, as decimal text or whole numbers. */
export function aTape(
  rounds: Iterable<readonly [atSeconds: number, price: number]>,
  pair: Pair = WETH_USDC.pair,
  piece = 7,
): PriceSeries {
  const all = [...rounds]
  return {
    pair,
    decimals: 8,
    source: 'a test',
    *rounds() {
      const packer = new RoundsPacker()
      for (const [atSeconds, price] of all) {
        packer.add(atSeconds, BigInt(Math.round(price * 1e8)))
        if (packer.size >= piece) yield packer.take()
      }
      if (packer.size > 0) yield packer.take()
    },
  }
}

export const NO_MODULES: Modules = {
  versionOf: () => undefined,
  decide: () => Promise.resolve({ ok: false, detail: 'there is none' }),
}

/** All events of a run, in order, as comparable lines. */
export type Heard = {
  readonly lines: readonly string[]
  readonly play: Play
}

/** One line per event; consecutive slots skipped for one reason share a line, however they were iterated. */
export function recording(): {
  readonly listener: BacktestListener
  readonly lines: () => readonly string[]
} {
  const lines: string[] = []
  const runs = new Map<string, { reason: string; from: number; count: number; last: number }>()
  const flush = (name: string): void => {
    const run = runs.get(name)
    if (run === undefined) return
    lines.push(`${name} ${run.from}-${run.last} ${run.count} skipped ${run.reason}`)
    runs.delete(name)
  }
  const say = (name: string, text: string): void => {
    flush(name)
    lines.push(`${name} ${text}`)
  }
  const listener: BacktestListener = {
    opened({ name }, slotSeconds, { decision }) {
      if (decision.tag !== 'trade') return
      const orders = decision.intents.map((intent) =>
        intent.venue === 'gasless'
          ? `${intent.sell.token.symbol}>${intent.buy.token.symbol} ${intent.size.amount}`
          : intent.label,
      )
      say(name, `${slotSeconds} opened ${orders.join(' + ')}`)
    },
    skipped({ name }, { count, first, last }, { reason }) {
      const run = runs.get(name)
      if (run?.reason === reason) {
        run.count += count
        run.last = last
        return
      }
      flush(name)
      runs.set(name, { reason, from: first, count, last })
    },
    missed: ({ name }, run) => say(name, `missed ${run.firstSeconds}-${run.lastSeconds}`),
    paused: (event) => say('strategy' in event ? event.strategy : 'all', `paused ${event.cause}`),
    filled: ({ intent, atSeconds, paid, received }) =>
      say(intent.strategy, `${atSeconds} filled ${paid} for ${received}`),
    called: ({ strategy, charged }) => say(strategy, `called, charged ${charged}`),
    gas: (wei) => lines.push(`gas ${wei}`),
    closed: ({ strategy, outcome, reason }) => say(strategy, `${outcome} ${reason}`),
    sample: () => undefined,
  }
  return {
    listener,
    lines() {
      for (const name of [...runs.keys()]) flush(name)
      return lines
    },
  }
}

export type Playing = Partial<Omit<PlayInput, 'strategies' | 'listener'>> & {
  readonly strategies: readonly Strategy[]
  readonly feedList?: readonly PriceFeed[]
  readonly usdc?: bigint
  readonly weth?: bigint
  readonly eth?: bigint
}

/** Runs strategies and returns the events. */
export async function played(playing: Playing): Promise<Heard> {
  const { listener, lines } = recording()
  const play = new Play(inputOf(playing, listener))
  await play.run()
  return { lines: lines(), play }
}

export function inputOf(playing: Playing, listener: BacktestListener): PlayInput {
  const { feedList = [WETH_USDC], usdc = 1_000_000_000n, weth = 0n, eth = 0n, ...rest } = playing
  const balances = new Map<Address, bigint>([
    [USDC.address, usdc],
    [WETH.address, weth],
    [NATIVE_TOKEN, eth],
  ])
  return {
    account: ACCOUNT,
    feeds: new Map(feedList.map((feed) => [feed.pair, feed])),
    pricePath: createPricePaths(feedList),
    priceSeries: [],
    balances,
    fromSeconds: YEAR_BEGINS,
    untilSeconds: YEAR_BEGINS + 30 * DAY,
    model: FREE,
    policy: DEFAULT_POLICY,
    owner: WALLET,
    caller: WALLET,
    valueToken: USDC,
    modules: NO_MODULES,
    sampleSeconds: 3_600,
    fastForwards: true,
    ...rest,
    listener,
  }
}
