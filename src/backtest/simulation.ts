import { marketRatio, type PriceFeed } from '../domain/money/price.ts'
import type { PriceSeries } from '../domain/money/price-series.ts'
import { type Asset, NATIVE_TOKEN, type Pair, type Token } from '../domain/money/token.ts'
import { type Address, mulDivDown, type Ratio } from '../domain/money/units.ts'
import type { ExecutionPolicy } from '../domain/policy.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import type { ConsiderInput } from '../engine/slot.ts'
import { type JournalEvent, reduce } from '../journal/events/registry.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import { emptyState } from '../journal/state/state-image.ts'
import type { ChainView, Modules } from '../ports.ts'
import { assetsOf, type Strategy } from '../strategies/registry.ts'
import type { OrderContext } from '../venues/context.ts'
import type { FillModel } from './model.ts'
import { Board } from './prices/price-board.ts'

export type SimulationInput = {
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
  readonly feeds: ReadonlyMap<Pair, PriceFeed>
  readonly pricePath: OrderContext['pricePath']
  readonly priceSeries: readonly PriceSeries[]
  /** First balances in base units; the chain's coin under NATIVE_TOKEN. */
  readonly balances: ReadonlyMap<Address, bigint>
  /** Both inclusive. */
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly model: FillModel
  readonly policy: ExecutionPolicy
  /** The wallet that trades, and the account that makes calls. */
  readonly owner: Address
  readonly caller: Address
  /** Undefined if no feed is configured. */
  readonly valueToken: Token | undefined
  readonly modules: Modules
  /** State at the beginning, which the simulation changes; empty by default. */
  readonly state?: DaemonState | undefined
  /** First second of strategies that begin later than the period. */
  readonly begins?: ReadonlyMap<string, SlotSeconds> | undefined
}

/** The simulation at one time of the past: real prices, and the state and wallet that the strategies have produced. */
export class Simulation {
  readonly input: SimulationInput
  readonly state: DaemonState
  readonly board: Board
  readonly wallet: Wallet
  readonly strategies: ReadonlyMap<string, Strategy>
  /** Epoch ms. */
  nowMs: number
  /** Grows with every change that may affect decisions, except prices and time. */
  version = 0

  constructor(input: SimulationInput) {
    this.input = input
    this.state = input.state ?? emptyState()
    this.board = new Board(input.priceSeries, input.feeds, input)
    this.wallet = new Wallet(input.balances, input.strategies.flatMap(assetsOf))
    this.strategies = new Map(input.strategies.map((strategy) => [strategy.name, strategy]))
    this.nowMs = input.fromSeconds * 1000
  }

  get nowSeconds(): number {
    return Math.floor(this.nowMs / 1000)
  }

  apply(...events: readonly JournalEvent[]): void {
    this.version += 1
    for (const event of events) reduce(this.state, event, this.nowMs)
  }

  /** Applies a skipped slot, which affects no other strategy. */
  applyUnseen(event: JournalEvent): void {
    reduce(this.state, event, this.nowMs)
  }

  view(): ChainView {
    const { wallet, board, nowSeconds } = this
    return {
      blockNumber: BigInt(nowSeconds),
      blockTimeSeconds: nowSeconds,
      nativeBalance: wallet.nativeBalance,
      ownerHasCode: false,
      balances: wallet.balances,
      allowances: NONE,
      readings: board.readings,
      permitNonceUsed: false,
    }
  }

  /** Inputs of a decision now. One literal, because merging objects for each slot took a tenth of a backtest. */
  considerInput(strategy: Strategy, slotSeconds: number): ConsiderInput {
    const { pricePath, account, owner, caller } = this.input
    const { state, nowMs } = this
    return {
      strategy,
      slotSeconds,
      nowMs,
      mode: 'live',
      state,
      view: this.view(),
      pricePath,
      account,
      owner,
      caller,
    }
  }

  /** Sell base units per buy base unit by the newest rounds, however old; undefined before the first round. */
  marketPrice(sell: Token, buy: Token): Ratio | undefined {
    return marketRatio(this.input.pricePath(sell, buy), this.board.readings)
  }

  /** Value of an amount in base units of the value token, rounded down; undefined without a price. */
  worth(token: Token, amount: bigint): bigint | undefined {
    const { valueToken } = this.input
    if (valueToken === undefined) return undefined
    if (token.address === valueToken.address) return amount
    const price = this.marketPrice(valueToken, token)
    return price === undefined ? undefined : mulDivDown(amount, price.num, price.den)
  }
}

const NONE: ReadonlyMap<Address, bigint> = new Map()

/** Balances in base units; the chain's coin under NATIVE_TOKEN. */
class Wallet {
  readonly balances: ReadonlyMap<Address, bigint>
  readonly #balances: Map<Address, bigint>

  constructor(balances: ReadonlyMap<Address, bigint>, traded: readonly Asset[]) {
    const nothing = traded.map(({ token }) => [token.address, 0n] as const)
    this.#balances = new Map([...nothing, ...balances])
    this.balances = this.#balances
  }

  get nativeBalance(): bigint {
    return this.of(NATIVE_TOKEN)
  }

  of(token: Address): bigint {
    return this.#balances.get(token) ?? 0n
  }

  add(token: Address, amount: bigint): void {
    this.#balances.set(token, this.of(token) + amount)
  }

  /** Wraps, or unwraps for a negative amount. Both cost gas. */
  wrap({ token }: Asset, amount: bigint, gasWei: bigint): void {
    this.add(NATIVE_TOKEN, -amount - gasWei)
    this.add(token.address, amount)
  }
}
