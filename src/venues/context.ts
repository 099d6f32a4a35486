import type { GasLimits } from '../domain/money/gas.ts'
import type { PricePath } from '../domain/money/price.ts'
import type { Token } from '../domain/money/token.ts'
import type { Address, Hex } from '../domain/money/units.ts'
import type { TrustedCode } from '../domain/order/contract.ts'
import type { Permit } from '../domain/order/permit.ts'
import type { ExecutionPolicy } from '../domain/policy.ts'
import type {
  AccountLimits,
  AggregatorSettings,
  FinalityRule,
  GaslessSettings,
  Mode,
} from '../domain/settings.ts'
import type { CallChain, Chain, ChainView, Ports, Signer } from '../ports.ts'
import type { Strategy } from '../strategies/registry.ts'
import type { PacedAggregator } from './call/paced.ts'
import type { PendingRequests } from './manual/requests.ts'

/**
 * Dependencies of every step of an order. Frozen while the daemon runs, except `account` and `strategies`, which a reload
 * changes: read them when needed, and again after a wait.
 */
export type OrderContext = {
  readonly ports: Ports
  /** `dry-run` signs nothing: orders that pass the firewall are booked on paper. */
  readonly mode: Mode
  readonly policy: ExecutionPolicy
  readonly chainId: number
  readonly finality: FinalityRule
  readonly gasless: GaslessSettings
  /** A reload changes its fields in place, so read it where it is used. */
  readonly account: AccountLimits
  readonly strategies: ReadonlyMap<string, Strategy>
  /** Feeds of a pair's price, sell per buy; undefined if no feeds connect the pair. */
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  /** Token that reports value everything in; undefined without a price feed. */
  readonly valueToken: Token | undefined
  readonly hashPermit: (permit: Permit) => Hex
  readonly market: SeenMarket
  /** Comparison of the trading wallet, and of the account that makes calls. */
  readonly compared: { readonly trader: WalletComparison; readonly account: WalletComparison }
  /** Why orders of a token are not signed; undefined if nothing is wrong with it. */
  readonly tokenFault: (token: Address) => TokenFault | undefined
  /** Contracts that signatures depend on; shared with the signer. */
  readonly trusted: TrustedCode
  /** Aborted when the daemon begins to drain: nothing new is signed. */
  readonly closing: AbortSignal
  /** Aborted when the drain is over: all waits end, and the journal keeps the remaining work. */
  readonly stop: AbortSignal
  readonly requests: PendingRequests
  readonly wallet: WalletContext
  readonly aggregator: AggregatorContext | undefined
}

/** The trading wallet and the feeds as the last tick read them, for orders that follow at once. */
export type SeenMarket = {
  latest:
    | { readonly view: ChainView /** Epoch milliseconds. */; readonly readAtMs: number }
    | undefined
}

/** The service does not list the token, or lists it with other decimals than the config. */
export type TokenFault = {
  readonly reason: 'token-mismatch' | 'token-unlisted'
  readonly detail: string
}

/** Context of a config with an aggregation service. */
export type CallContext = OrderContext & { readonly aggregator: AggregatorContext }

export function hasAggregator(context: OrderContext): context is CallContext {
  return context.aggregator !== undefined
}

/** Progress of comparing a wallet with its chain. */
export type WalletComparison = {
  /** Reason not to decide or sign anything for it yet; undefined if there is none. */
  readonly missing: () => string | undefined
  /** Final block up to which it was compared; undefined before the first comparison. Orders signed now are later. */
  readonly upTo: () => bigint | undefined
}

/** Dependencies of sending a transaction, also available to commands. */
export type SendingContext = Pick<OrderContext, 'policy' | 'closing' | 'stop'> & {
  readonly ports: Pick<Ports, 'clock' | 'random' | 'journal' | 'guard' | 'observe'>
}

export type WalletContext = {
  readonly chain: Pick<Chain, 'draft' | 'broadcast' | 'transaction' | 'nonceOutcome' | 'finalCount'>
  readonly chainId: number
  readonly finality: FinalityRule
  /** Gas limits of its transactions; the signer enforces them too. */
  readonly gas: GasLimits
  readonly signer: Signer
  /** Runs its transactions one at a time, so that no two share a nonce. */
  readonly turn: <Result>(task: () => Promise<Result>) => Promise<Result>
}

export type AggregatorContext = {
  readonly settings: AggregatorSettings
  readonly service: PacedAggregator
  readonly chain: CallChain
  readonly finality: FinalityRule
  readonly wallet: WalletContext
  /** Serializes the steps from reading the account's nonce to recording a call (rule A1). */
  readonly callTurn: WalletContext['turn']
}

/** Runs tasks one after another, in call order. */
export function createTurns(): WalletContext['turn'] {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task, task)
    last = result.catch(() => undefined)
    return result
  }
}
