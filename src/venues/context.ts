import type { VenueName } from '../domain/book/venues.ts'
import type { TrustedCode } from '../domain/contract.ts'
import type { GasLimits } from '../domain/gas.ts'
import type { Permit } from '../domain/permit.ts'
import type { ExecutionPolicy } from '../domain/policy.ts'
import type { PricePath } from '../domain/price.ts'
import type {
  AccountLimits,
  AggregatorSettings,
  FinalityRule,
  GaslessSettings,
  Mode,
} from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import type { Address, Hex } from '../domain/units.ts'
import type { CallChain, Chain, Ports, Signer } from '../ports.ts'
import type { PacedAggregator } from './call/paced.ts'
import type { Asked } from './settle/asked.ts'

/**
 * What every step of an order is given. Frozen while the daemon runs, but for `account` and `strategies`, which say what the
 * operator's files are now: read them when they are needed, and again after a wait.
 */
export type OrderContext = {
  readonly ports: Ports
  /** `dry-run` signs nothing: what passes the firewall is booked on paper. */
  readonly mode: Mode
  readonly policy: ExecutionPolicy
  readonly chainId: number
  /** What makes a fill or a death final on that chain. */
  readonly finality: FinalityRule
  readonly gasless: GaslessSettings
  /** As the files have it now: a reload exchanges what stands in it, so it is read where it is used. */
  readonly account: AccountLimits
  readonly strategies: ReadonlyMap<string, Strategy>
  /** Feeds that give the price of a pair, sell per buy; undefined where they do not connect it. */
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly hashPermit: (permit: Permit) => Hex
  /** Why nothing new of the wallet behind a venue may be decided or signed yet; undefined where nothing is in the way. */
  readonly uncompared: (venue: VenueName) => string | undefined
  /**
   * The newest final block up to which the wallet behind a venue was compared: nothing of an order that is signed now lies before
   * it. Undefined before the first comparison.
   */
  readonly comparedTo: (venue: VenueName) => bigint | undefined
  /** Why no order of a token may be signed now; undefined where nothing is known against it. */
  readonly tokenTrouble: (token: Address) => string | undefined
  /** Contracts that signatures depend on; the signer is given the same. */
  readonly trusted: TrustedCode
  /** Aborted when the daemon begins to drain: nothing new is signed. */
  readonly closing: AbortSignal
  /** Aborted when the drain is over: whatever waits stops waiting, and the journal keeps the rest. */
  readonly stop: AbortSignal
  /** What an operator asks of orders under way. */
  readonly asked: Asked
  /** The wallet that trades, on the gasless service's chain. */
  readonly wallet: WalletContext
  /** Undefined where the config has no aggregator. */
  readonly aggregator: AggregatorContext | undefined
}

/** As much of it as sending a transaction takes, which commands that trade nothing have too. */
export type SendingContext = Pick<OrderContext, 'policy' | 'closing' | 'stop'> & {
  readonly ports: Pick<Ports, 'clock' | 'random' | 'journal' | 'guard' | 'observe'>
}

/** A wallet that sends transactions of its own. */
export type WalletContext = {
  readonly chain: Pick<Chain, 'draft' | 'broadcast' | 'transaction' | 'nonceFate' | 'finalCount'>
  readonly chainId: number
  /** What makes its transactions final. */
  readonly finality: FinalityRule
  /** What its transactions may cost for gas; the signer holds them to it too. */
  readonly gas: GasLimits
  readonly signer: Signer
  /** Runs its transactions one at a time, so that no two share a nonce. */
  readonly turn: <Result>(task: () => Promise<Result>) => Promise<Result>
}

/** The aggregation service and the chain it works on. */
export type AggregatorContext = {
  readonly settings: AggregatorSettings
  readonly service: PacedAggregator
  readonly chain: CallChain
  readonly finality: FinalityRule
  readonly wallet: WalletContext
  /** Runs one at a time what goes from reading the account's nonce to having recorded a call for it (rule A1). */
  readonly callTurn: WalletContext['turn']
}

/** Runs tasks one after another, in the order asked. */
export function createTurns(): WalletContext['turn'] {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task, task)
    last = result.catch(() => undefined)
    return result
  }
}
