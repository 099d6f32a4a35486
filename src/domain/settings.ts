import type { GasLimits } from './gas.ts'
import type { NotifySettings } from './notify.ts'
import type { PriceFeed } from './price.ts'
import type { SpendingCaps } from './strategy.ts'
import type { Pair, Token } from './token.ts'
import type { Address, Hex } from './units.ts'

export type Mode = 'sandbox' | 'dry-run' | 'live'

/** Where a wallet's key is read from; never the key itself. */
export type WalletSource =
  | { readonly type: 'keystore'; readonly keystore: string; readonly passwordFile: string }
  | { readonly type: 'privateKeyFile'; readonly file: string }
  | { readonly type: 'privateKeyEnv'; readonly name: string }
  /** No key at all: enough for dry-run, which signs nothing. */
  | { readonly type: 'address'; readonly address: Address }

/** How deep a block has to lie before what it holds is final: so many blocks below the newest, or a tag of the nodes. */
export type Finality = number | 'safe' | 'finalized'

/** What makes a fact of a chain final (rule T6). */
export type FinalityRule = {
  readonly finality: Finality
  /** Nodes that have to say the same of it. */
  readonly agree: number
}

export type ChainSettings = FinalityRule & {
  readonly name: string
  readonly chainId: number
  readonly rpcUrls: readonly string[]
  /** Address of a block explorer, for links. */
  readonly explorer: string | undefined
  /** Hashes that the code of contracts has to have: of a proxy, that of its implementation. */
  readonly code: ReadonlyMap<Address, Hex>
  readonly gas: GasLimits
}

/** How much allowance Permit2 gets: one order, what the limits still allow today, or everything. */
export type ApprovalPolicy = 'exact' | 'budget' | 'unlimited'
export type RoutingPreference = 'auto' | 'preferOwn' | 'onlyOwn'

export type GaslessSettings = {
  readonly baseUrl: string
  readonly chain: string
  readonly wallet: string
  readonly permit2: Address
  readonly spenders: readonly Address[]
  readonly slippageBps: number
  readonly routingPreference: RoutingPreference
  readonly approval: ApprovalPolicy
  readonly maxQuoteLifetimeMs: number
  readonly requestsPerSecond: number
  /** The operator's own words for the two routing preferences on the wire. */
  readonly wire: { readonly preferOwn: string; readonly onlyOwn: string }
}

/**
 * Generations of the GasTank. `balances`: `deposit(address)` and `balances(address)`. `balanceOf`: `deposit()` and
 * `balanceOf(address)`.
 */
export const GAS_TANK_METHODS = ['balances', 'balanceOf'] as const
export type GasTankMethods = (typeof GAS_TANK_METHODS)[number]

/** When a call is sent directly instead of through the service. */
export type FallbackMode = 'off' | 'rejected-only' | 'after-deadline'

export type TopUp = {
  /** Wei of available funds below which a deposit is made. */
  readonly belowWei: bigint
  readonly amountWei: bigint
  readonly maxPerDayWei: bigint
}

export type AggregatorSettings = {
  readonly rpcUrl: string
  readonly chain: string
  readonly wallet: string
  readonly proposer: 'trustless' | 'trusted'
  readonly contracts: {
    readonly gasTank: Address
    readonly multicall: Address
    readonly trustedProposer: Address
    readonly trustlessProposer: Address
  }
  /** The only contracts that a strategy may call, by the operator's names for them. */
  readonly targets: ReadonlyMap<string, Address>
  readonly fallback: { readonly mode: FallbackMode; readonly deadlineMs: number }
  readonly gasTank: {
    /** `auto` takes the generation that the contract answers for. */
    readonly methods: 'auto' | GasTankMethods
    readonly alertBelowWei: bigint | undefined
    readonly topUp: TopUp | undefined
  }
  readonly wire: {
    readonly methodPrefix: string
    readonly signatureHeader: string
    /** Where the transaction that carries a trustless call is addressed to. */
    readonly envelopeTo: 'account' | 'proposer'
    /** Where a transaction status holds what a call cost, in wei: field names from its root, joined by dots. */
    readonly status: StatusFields
  }
}

export type StatusFields = {
  /** All that the account was charged, the service's fee and blob gas included. */
  readonly charged: string
  /** What direct submission would have cost more. */
  readonly saved: string
  /** Of the charge, the part for blob gas. */
  readonly blob: string
}

/** What bounds all strategies together. */
export type AccountLimits = SpendingCaps & {
  /** Widest distance of a quote from the independent price. */
  readonly maxDeviationBps: number
  /** Orders that may be unresolved at once. */
  readonly maxOpenIntents: number | undefined
  /** Slots in a row, of whatever strategy, that may end failed, refused or expired before everything is halted. */
  readonly maxFailures: number | undefined
}

/** Who may look, pause and halt from a phone. */
export type TelegramControl = {
  /** Of the bot: whoever has it can send in its name, and read or hold back what is sent to it. */
  readonly token: string
  /** Private chats. Each has the number of the one person who can write there. */
  readonly chats: readonly number[]
  /** Whether a halt or a pause may be ended from there, after asking twice. */
  readonly resume: boolean
  /** Where the Bot API is. */
  readonly apiRoot: string
}

/** Where metrics, health and the page are served, read-only. */
export type HttpSettings = {
  readonly host: string
  readonly port: number
  /** Further names that the page may be asked for by. */
  readonly hosts: readonly string[]
  readonly page: boolean
}

/** A validated config file. Paths are absolute. */
export type Settings = {
  readonly mode: Mode
  readonly file: string
  readonly stateDir: string
  /** By wallet: the file outside the state directory that says how far the wallet's state has come. */
  readonly anchors: ReadonlyMap<string, string>
  readonly strategiesDir: string
  /** Where finished files of the journal go, if anywhere, and how many stay. */
  readonly journal: { readonly archive: string | undefined; readonly keepFiles: number }
  readonly http: HttpSettings
  readonly log: { readonly level: string; readonly format: 'auto' | 'json' | 'pretty' }
  readonly wallets: ReadonlyMap<string, WalletSource>
  readonly chains: ReadonlyMap<string, ChainSettings>
  readonly gasless: GaslessSettings
  readonly aggregator: AggregatorSettings | undefined
  readonly tokens: ReadonlyMap<string, Token>
  readonly prices: ReadonlyMap<Pair, PriceFeed>
  readonly limits: AccountLimits
  /** Dry-run: what the wallet is taken to begin with, whatever it holds; undefined where its own balances count. Base units. */
  readonly paper: ReadonlyMap<Address, bigint> | undefined
  readonly control: { readonly telegram: TelegramControl | undefined }
  readonly notify: NotifySettings
}
