import { emptyState } from '../domain/book/fields.ts'
import { applyEvent } from '../domain/book/fold.ts'
import type { JournalEvent } from '../domain/book/journal.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { ExecutionPolicy } from '../domain/policy.ts'
import { marketRatio, type PriceFeed } from '../domain/price.ts'
import type { AccountLimits } from '../domain/settings.ts'
import { assetsOf, type Strategy } from '../domain/strategy.ts'
import type { Tape } from '../domain/tape.ts'
import type { Pair, Token } from '../domain/token.ts'
import { type Address, mulDivDown, type Ratio } from '../domain/units.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView, Modules } from '../ports.ts'
import type { FillModel } from './model.ts'
import { Board } from './prices/board.ts'
import { Wallet } from './wallet.ts'

/** All that a backtest goes by. */
export type WorldInput = {
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
  readonly feeds: ReadonlyMap<Pair, PriceFeed>
  readonly pricePath: OrderContext['pricePath']
  readonly tapes: readonly Tape[]
  /** Base units at the beginning; the chain's own coin under NATIVE_TOKEN. */
  readonly balances: ReadonlyMap<Address, bigint>
  /** First and last second; slots of both count. */
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly model: FillModel
  readonly policy: ExecutionPolicy
  /** The wallet that trades, and the account that makes calls. */
  readonly owner: Address
  readonly caller: Address
  /** The token that everything is valued in; undefined where no feed is configured. */
  readonly valueToken: Token | undefined
  readonly modules: Modules
}

/** What is true at one moment of the past: prices as they were, and the books and the wallet as the strategies made them. */
export class World {
  readonly input: WorldInput
  readonly state: DaemonState = emptyState()
  readonly board: Board
  readonly wallet: Wallet
  readonly strategies: ReadonlyMap<string, Strategy>
  /** Epoch ms. */
  nowMs: number
  /** Grows with everything that may change what is decided, but for prices and time. */
  version = 0

  constructor(input: WorldInput) {
    this.input = input
    this.board = new Board(input.tapes, input.feeds, input)
    this.wallet = new Wallet(input.balances, input.strategies.flatMap(assetsOf))
    this.strategies = new Map(input.strategies.map((strategy) => [strategy.name, strategy]))
    this.nowMs = input.fromSeconds * 1000
  }

  get nowSeconds(): number {
    return Math.floor(this.nowMs / 1000)
  }

  apply(...events: readonly JournalEvent[]): void {
    this.version += 1
    for (const event of events) applyEvent(this.state, event, this.nowMs)
  }

  /** A slot that was passed over, which changes nothing for anybody else. */
  applyUnseen(event: JournalEvent): void {
    applyEvent(this.state, event, this.nowMs)
  }

  /** What a read of the chain gives now. */
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

  /** Where the market stands, sell base units per buy base unit: the newest rounds, however old. Undefined before the first. */
  marketPrice(sell: Token, buy: Token): Ratio | undefined {
    return marketRatio(this.input.pricePath(sell, buy), this.board.readings)
  }

  /** What an amount is worth in base units of the value token, rounded down; undefined where no feed says so. */
  worth(token: Token, amount: bigint): bigint | undefined {
    const { valueToken } = this.input
    if (valueToken === undefined) return undefined
    if (token.address === valueToken.address) return amount
    const price = this.marketPrice(valueToken, token)
    return price === undefined ? undefined : mulDivDown(amount, price.num, price.den)
  }
}

const NONE: ReadonlyMap<Address, bigint> = new Map()
