import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Hex } from 'viem'
import { stringify } from 'yaml'
import type { AggregatorContracts } from './aggregator/chain/deploy.ts'
import type { AggregatorSettings } from './aggregator/settings.ts'
import type { Deployment } from './evm/deploy.ts'

/** Places that a written config names. */
export type ConfigPlaces = {
  readonly stateDir: string
  readonly strategiesDir: string
  /** File that holds the trader's private key. */
  readonly keyFile: string
  /** File that holds the operator's; default `operator.key` beside the trader's. */
  readonly operatorKeyFile?: string | undefined
  readonly httpPort?: number | undefined
}

type ConfigSource = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly chainId: number
  readonly deployment: Pick<
    Deployment,
    'permit2' | 'settlement' | 'sequencerFeed' | 'tokens' | 'feeds'
  >
  readonly routingWords: { readonly preferOwn: string; readonly onlyOwn: string }
  readonly aggregator: {
    readonly url: string
    readonly rpcUrl: string
    readonly contracts: AggregatorContracts
    readonly settings: Pick<AggregatorSettings, 'chainId' | 'wire'>
  }
}

const HTTP_PORT_DEFAULT = 9464

/** A complete config in `mode: live` against this sandbox, as a plain object for YAML. */
export function sandboxConfig(source: ConfigSource, places: ConfigPlaces): Record<string, unknown> {
  const { deployment } = source
  return {
    mode: 'live',
    stateDir: places.stateDir,
    strategiesDir: places.strategiesDir,
    http: { host: '127.0.0.1', port: places.httpPort ?? HTTP_PORT_DEFAULT },
    log: { level: 'info' },
    wallets: {
      trader: { privateKeyFile: places.keyFile },
      operator: { privateKeyFile: operatorKeyFileOf(places) },
    },
    chains: {
      base: { chainId: source.chainId, rpcUrls: [source.rpcUrl] },
      [chainNameOf(source.aggregator)]: {
        chainId: source.aggregator.settings.chainId,
        rpcUrls: [source.aggregator.rpcUrl],
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
      maxQuoteLifetime: '10m',
      requestsPerSecond: 50,
      wire: { ...source.routingWords },
    },
    aggregator: aggregatorSection(source.aggregator),
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

/** A config that calls Mainnet's stand-in Sepolia would be valid, and would mislead whoever reads it. */
function chainNameOf({ settings }: ConfigSource['aggregator']): string {
  return settings.chainId === 1 ? 'mainnet' : 'sepolia'
}

function aggregatorSection(source: ConfigSource['aggregator']): unknown {
  const { url, contracts, settings } = source
  const { gasTank, multicall, trustedProposer, trustlessProposer, demoTarget } = contracts
  return {
    rpcUrl: url,
    chain: chainNameOf(source),
    wallet: 'operator',
    proposer: 'trustless',
    contracts: { gasTank, multicall, trustedProposer, trustlessProposer },
    targets: { demo: demoTarget },
    fallback: { mode: 'after-deadline', deadline: '3m' },
    gasTank: {
      alertBelow: '0.02',
      topUp: { below: '0.02', amount: '0.05', maxPerDay: '0.1' },
    },
    wire: { ...settings.wire },
  }
}

type SandboxKeys = {
  readonly trader: { readonly privateKey: Hex }
  readonly operator: { readonly privateKey: Hex }
}

/** Writes both throwaway keys where a config with these places looks for them, 0600. */
export async function writeSandboxKeys(
  { trader, operator }: SandboxKeys,
  places: Pick<ConfigPlaces, 'keyFile' | 'operatorKeyFile'>,
): Promise<void> {
  await writePrivately(places.keyFile, `${trader.privateKey}\n`)
  await writePrivately(operatorKeyFileOf(places), `${operator.privateKey}\n`)
}

/** Where the operator's key is: beside the trader's, unless told otherwise. */
export function operatorKeyFileOf({
  keyFile,
  operatorKeyFile,
}: Pick<ConfigPlaces, 'keyFile' | 'operatorKeyFile'>): string {
  return operatorKeyFile ?? join(dirname(keyFile), 'operator.key')
}

/**
 * Writes a config and, beside it, the throwaway keys (`trader.key`, `operator.key`), all 0600. Relative directories
 * are taken from the working directory, so that the config means the same wherever it is read from.
 */
export async function writeSandboxConfig(options: {
  readonly sandbox: SandboxKeys & { config(places: ConfigPlaces): Record<string, unknown> }
  readonly file: string
  readonly stateDir: string
  readonly strategiesDir: string
  readonly httpPort?: number | undefined
}): Promise<{ file: string; keyFile: string; operatorKeyFile: string }> {
  const file = resolve(options.file)
  const keyFile = join(dirname(file), 'trader.key')
  const places = {
    stateDir: resolve(options.stateDir),
    strategiesDir: resolve(options.strategiesDir),
    keyFile,
    httpPort: options.httpPort,
  }
  const operatorKeyFile = operatorKeyFileOf(places)
  const config = options.sandbox.config(places)
  await mkdir(dirname(file), { recursive: true })
  await writeSandboxKeys(options.sandbox, places)
  await writePrivately(file, stringify(config))
  return { file, keyFile, operatorKeyFile }
}

/** Whoever waits for the file sees all of it or nothing. */
async function writePrivately(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
}
