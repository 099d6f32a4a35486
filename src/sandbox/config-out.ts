import { dirname, join } from 'node:path'
import { GASLESS_CHAIN_ID } from '../domain/money/token.ts'
import type { AggregatorContracts } from './aggregator/chain/deploy.ts'
import type { Deployment } from './evm/deploy.ts'
import type { AggregatorSettings, GaslessSettings } from './options.ts'

export type ConfigPlaces = {
  readonly stateDir: string
  readonly strategiesDir: string
  /** The trader's private key. The operator's is beside it. */
  readonly keyFile: string
  /** Default: beside the trader's key. */
  readonly stateAnchor?: string | undefined
  readonly httpPort?: number | undefined
}

type ConfigSource = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly deployment: Pick<
    Deployment,
    'permit2' | 'settlement' | 'sequencerFeed' | 'tokens' | 'feeds'
  >
  readonly settings: {
    readonly gasless: Pick<GaslessSettings, 'quoteLifetime' | 'wire'>
    readonly aggregator: Pick<AggregatorSettings, 'chainId' | 'wire'>
  }
  readonly aggregator: {
    readonly url: string
    readonly rpcUrl: string
    readonly contracts: AggregatorContracts
  }
}

const HTTP_PORT_DEFAULT = 9464
/** Default of `gasless.maxQuoteLifetime`, seconds. */
const QUOTE_SECONDS_MAX = 600

/** Low, because a local node never reorganises. Not 0, so that the finality code runs. */
const FINALITY_BLOCKS = 1

/** High, because ether is free here. An order every few seconds uses more gas in a day than usual orders in a year. */
const GAS = { perTransaction: '1', perDay: '1000' }

/** A complete `mode: live` config for this sandbox, as a plain object for YAML. */
export function sandboxConfig(source: ConfigSource, places: ConfigPlaces): Record<string, unknown> {
  const { deployment, settings } = source
  const { chainId } = settings.aggregator
  const { demoTarget: demo, ...contracts } = source.aggregator.contracts
  const aggregatorChain = chainId === 1 ? 'mainnet' : 'sepolia'
  return {
    mode: 'live',
    stateDir: places.stateDir,
    ...(places.stateAnchor === undefined ? {} : { stateAnchor: places.stateAnchor }),
    strategiesDir: places.strategiesDir,
    http: { host: '127.0.0.1', port: places.httpPort ?? HTTP_PORT_DEFAULT },
    log: { level: 'info' },
    wallets: {
      trader: { privateKeyFile: places.keyFile },
      operator: { privateKeyFile: operatorKeyFileOf(places) },
    },
    chains: {
      base: {
        chainId: GASLESS_CHAIN_ID,
        rpcUrls: [source.rpcUrl],
        finality: FINALITY_BLOCKS,
        gas: GAS,
      },
      [aggregatorChain]: {
        chainId,
        rpcUrls: [source.aggregator.rpcUrl],
        finality: FINALITY_BLOCKS,
        gas: GAS,
      },
    },
    gasless: {
      baseUrl: source.gaslessUrl,
      chain: 'base',
      wallet: 'trader',
      permit2: deployment.permit2,
      spenders: [deployment.settlement],
      slippageBps: 50,
      routingPreference: 'auto',
      approval: 'budget',
      // The daemon refuses longer permits.
      maxQuoteLifetime: `${Math.max(QUOTE_SECONDS_MAX, settings.gasless.quoteLifetime)}s`,
      requestsPerSecond: 50,
      wire: { ...settings.gasless.wire },
    },
    aggregator: {
      rpcUrl: source.aggregator.url,
      chain: aggregatorChain,
      wallet: 'operator',
      proposer: 'trustless',
      contracts,
      targets: { demo },
      fallback: { mode: 'after-deadline', deadline: '3m' },
      gasTank: {
        alertBelow: '0.02',
        topUp: { below: '0.02', amount: '0.05', maxPerDay: '0.1' },
      },
      wire: { ...settings.aggregator.wire },
    },
    tokens: Object.fromEntries(
      deployment.tokens.map(({ symbol, address, decimals }) => [
        symbol,
        { chain: 'base', address, decimals },
      ]),
    ),
    prices: Object.fromEntries(
      deployment.feeds.map(({ base, quote, address }) => [
        `${base}/${quote}`,
        { feed: address, chain: 'base', maxAge: '1h', sequencerFeed: deployment.sequencerFeed },
      ]),
    ),
    limits: {
      maxDeviationBps: 200,
      perDay: { USDC: '1000000', WETH: '300', DAI: '1000000', AERO: '1000000' },
      perOrder: { USDC: '25000', WETH: '10', DAI: '25000', AERO: '25000' },
    },
  }
}

export function operatorKeyFileOf({ keyFile }: Pick<ConfigPlaces, 'keyFile'>): string {
  return join(dirname(keyFile), 'operator.key')
}
