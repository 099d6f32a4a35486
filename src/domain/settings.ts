import type { GasLimits } from './money/gas.ts'
import type { PriceFeed } from './money/price.ts'
import type { Pair, Token } from './money/token.ts'
import type { Address, Hex } from './money/units.ts'
import type { SpendingCaps } from './strategy.ts'

export type Mode = 'sandbox' | 'dry-run' | 'live'

/** Source of a wallet's key; never the key itself. */
export type WalletSource =
  | { readonly type: 'keystore'; readonly keystore: string; readonly passwordFile: string }
  | { readonly type: 'privateKeyFile'; readonly file: string }
  | { readonly type: 'privateKeyEnv'; readonly name: string }
  | { readonly type: 'address'; readonly address: Address }

/** Finality depth: blocks below the newest, or a node tag. */
export type Finality = number | 'safe' | 'finalized'

export type FinalityRule = {
  readonly finality: Finality
  /** Size of the quorum. */
  readonly agree: number
}

export type ChainSettings = FinalityRule & {
  readonly name: string
  readonly chainId: number
  readonly rpcUrls: readonly string[]
  readonly explorer: string | undefined
  /** Required contract code hashes; for a proxy, of its implementation. */
  readonly code: ReadonlyMap<Address, Hex>
  readonly gas: GasLimits
}

/** Permit2 allowance: one order, the rest of today's limits, or unlimited. */
export type ApprovalPolicy = 'exact' | 'budget' | 'unlimited'
export type RoutingPreference = 'auto' | 'preferOwn' | 'onlyOwn'

export type GaslessSettings = {
  /** Undefined in a config without `gasless`, which only makes calls: chain and wallet are then the aggregator's. */
  readonly baseUrl: string | undefined
  readonly chain: string
  readonly wallet: string
  readonly permit2: Address
  readonly spenders: readonly Address[]
  readonly slippageBps: number
  readonly routingPreference: RoutingPreference
  readonly approval: ApprovalPolicy
  readonly maxQuoteLifetimeMs: number
  readonly requestsPerSecond: number
  /** The wire values of the two routing preferences, set by the operator. */
  readonly wire: { readonly preferOwn: string; readonly onlyOwn: string }
}

/** False for a config that only makes calls: it has no swap service, no tokens and no feeds. */
export function hasSwaps({
  gasless,
}: {
  readonly gasless: Pick<GaslessSettings, 'baseUrl'>
}): boolean {
  return gasless.baseUrl !== undefined
}

/** `balances`: `deposit(address)`, `balances(address)`. `balanceOf`: `deposit()`, `balanceOf(address)`. */
export const GAS_TANK_METHODS = ['balances', 'balanceOf'] as const
export type GasTankMethods = (typeof GAS_TANK_METHODS)[number]

export type FallbackMode = 'off' | 'rejected-only' | 'after-deadline'

export type TopUp = {
  /** A deposit is made below this many wei of available funds. */
  readonly belowWei: bigint
  readonly amountWei: bigint
  readonly maxPerDayWei: bigint
}

export type AggregatorSettings = {
  readonly rpcUrl: string
  readonly chain: string
  readonly wallet: string
  readonly proposer: 'trustless' | 'trusted'
  /** How calls are submitted. */
  readonly submit: 'transaction' | 'bundle'
  readonly contracts: {
    readonly gasTank: Address
    readonly multicall: Address
    readonly trustedProposer: Address
    readonly trustlessProposer: Address
  }
  /** The only contracts that a strategy may call, by the operator's names. */
  readonly targets: ReadonlyMap<string, Address>
  readonly fallback: { readonly mode: FallbackMode; readonly deadlineMs: number }
  readonly gasTank: {
    /** `auto` uses the generation that the contract supports. */
    readonly methods: 'auto' | GasTankMethods
    readonly alertBelowWei: bigint | undefined
    readonly topUp: TopUp | undefined
  }
  readonly wire: {
    readonly methodPrefix: string
    readonly signatureHeader: string
    /** Receiver of the transaction that carries a trustless call. */
    readonly envelopeTo: 'account' | 'proposer'
    /** Form of a bundle's parameters: `[[raw], block]`, or `[{ txs: [raw], blockNumber: block }]`. */
    readonly bundle: 'list' | 'object'
    /** Fields of a transaction status that report a call's costs in wei: dot-separated names. */
    readonly status: StatusFields
  }
}

type StatusFields = {
  /** The total charge, including the service's fee and blob gas. */
  readonly charged: string
  /** The saving against direct submission. */
  readonly saved: string
  /** The blob gas part of the charge. */
  readonly blob: string
}

export type AccountLimits = SpendingCaps & {
  /** Maximum distance of a quote from the independent price. */
  readonly maxDeviationBps: number
  readonly maxOpenIntents: number | undefined
  /** Consecutive failed, refused or expired slots, across strategies, before everything halts. */
  readonly maxFailures: number | undefined
}

/** Permission to view, pause and halt from a phone. */
export type TelegramControl = {
  /** Bot token: its owner can send as the bot, and read or withhold messages to it. */
  readonly token: string
  /** Private chats, each identified by its single user. */
  readonly chats: readonly number[]
  /** Allows ending a halt or pause, after two confirmations. */
  readonly resume: boolean
  readonly apiRoot: string
}

type HttpSettings = {
  readonly host: string
  readonly port: number
  /** Additional host names that the page accepts. */
  readonly hosts: readonly string[]
  readonly page: boolean
  /** Token file of those who may pause, halt and resume on the page; undefined permits nobody. */
  readonly control: { readonly tokenFile: string } | undefined
  /** Token file of those who may look; undefined permits everyone who reaches the port. */
  readonly viewTokenFile: string | undefined
}

/** Trading settings from a validated config file. Paths are absolute. */
export type Settings = {
  readonly mode: Mode
  readonly file: string
  readonly stateDir: string
  /** Anchor file by wallet, outside the state directory: how far the wallet's state has advanced. */
  readonly anchors: ReadonlyMap<string, string>
  readonly strategiesDir: string
  /** Archive for finished journal files, and how many stay. */
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
  /** Dry run: the wallet's assumed starting balances in base units; undefined uses its real ones. */
  readonly paper: ReadonlyMap<Address, bigint> | undefined
  readonly control: { readonly telegram: TelegramControl | undefined }
}
