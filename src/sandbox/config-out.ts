import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Hex } from 'viem'
import { stringify } from 'yaml'
import { OperatorError } from '../domain/errors.ts'
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
  /** The trader's anchor; by default beside its key. */
  readonly stateAnchor?: string | undefined
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
  /** Seconds; undefined where the sandbox's own default holds, which is short. */
  readonly quoteLifetimeSeconds?: number | undefined
  readonly aggregator: {
    readonly url: string
    readonly rpcUrl: string
    readonly contracts: AggregatorContracts
    readonly settings: Pick<AggregatorSettings, 'chainId' | 'wire'>
  }
}

const HTTP_PORT_DEFAULT = 9464
/** Beside the config, and named from there, so that a copy of the folder has an anchor of its own. */
const ANCHOR = 'trader.anchor'
/** Of a sandbox whose quotes live no longer than usual. */
const QUOTE_SECONDS_MAX = 600

/** A local node never undoes a block: shallow, so that nothing waits, and still the way that real chains go. */
const FINALITY_BLOCKS = 1

/** A complete config in `mode: live` against this sandbox, as a plain object for YAML. */
export function sandboxConfig(source: ConfigSource, places: ConfigPlaces): Record<string, unknown> {
  const { deployment, quoteLifetimeSeconds = 0 } = source
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
      base: { chainId: source.chainId, rpcUrls: [source.rpcUrl], finality: FINALITY_BLOCKS },
      [chainNameOf(source.aggregator)]: {
        chainId: source.aggregator.settings.chainId,
        rpcUrls: [source.aggregator.rpcUrl],
        finality: FINALITY_BLOCKS,
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
      // The daemon refuses permits that live longer than this.
      maxQuoteLifetime: `${Math.max(QUOTE_SECONDS_MAX, quoteLifetimeSeconds)}s`,
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

/** Writes both throwaway keys where a config with these places looks for them, 0600; keys of a run before are replaced. */
export async function writeSandboxKeys(
  { trader, operator }: SandboxKeys,
  places: Pick<ConfigPlaces, 'keyFile' | 'operatorKeyFile'>,
  existing: Existing = 'replace',
): Promise<void> {
  await writePrivately(places.keyFile, `${trader.privateKey}\n`, existing)
  await writePrivately(operatorKeyFileOf(places), `${operator.privateKey}\n`, existing)
}

/** Where the operator's key is: beside the trader's, unless told otherwise. */
export function operatorKeyFileOf({
  keyFile,
  operatorKeyFile,
}: Pick<ConfigPlaces, 'keyFile' | 'operatorKeyFile'>): string {
  return operatorKeyFile ?? join(dirname(keyFile), 'operator.key')
}

/** The files that a written config consists of: the config itself and, beside it, both keys and their anchors. */
export type SandboxConfigFiles = {
  readonly file: string
  readonly keyFile: string
  readonly operatorKeyFile: string
  /** Made by the first daemon that trades with the keys. */
  readonly anchor: string
  readonly operatorAnchor: string
}

/** Absolute paths of what `writeSandboxConfig` writes for a config at `file`. */
export function sandboxConfigFiles(file: string): SandboxConfigFiles {
  const config = resolve(file)
  const beside = (name: string): string => join(dirname(config), name)
  const keyFile = beside('trader.key')
  return {
    file: config,
    keyFile,
    operatorKeyFile: operatorKeyFileOf({ keyFile }),
    anchor: beside(ANCHOR),
    operatorAnchor: beside('operator.anchor'),
  }
}

/** A file that would have been overwritten. */
class FileExistsError extends OperatorError {
  override readonly name = 'FileExistsError'
  readonly means = 'failed'
  constructor(file: string) {
    super(
      `${file} is there already and is not overwritten; write the config elsewhere, or give --force if nothing in it is needed`,
    )
  }
}

/**
 * Refuses what would overwrite a file, before a sandbox is started for it.
 *
 * @throws {FileExistsError} that names the file and the remedy
 */
export function requireNewFiles(files: SandboxConfigFiles): void {
  const found = Object.values(files).find((file) => existsSync(file))
  if (found !== undefined) throw new FileExistsError(found)
}

/**
 * Writes a config and, beside it, the throwaway keys (`trader.key`, `operator.key`), all 0600. Relative directories
 * are taken from the working directory, so that the config means the same wherever it is read from. A file that is there
 * already stays, and nothing is written, unless `existing` says `replace`.
 *
 * @throws {FileExistsError} if one of the files is there already
 */
export async function writeSandboxConfig(options: {
  readonly sandbox: SandboxKeys & { config(places: ConfigPlaces): Record<string, unknown> }
  readonly file: string
  readonly stateDir: string
  readonly strategiesDir: string
  readonly httpPort?: number | undefined
  readonly existing?: Existing
}): Promise<SandboxConfigFiles> {
  const { existing = 'refuse' } = options
  const files = sandboxConfigFiles(options.file)
  if (existing === 'refuse') requireNewFiles(files)
  const config = options.sandbox.config({
    stateDir: resolve(options.stateDir),
    strategiesDir: resolve(options.strategiesDir),
    keyFile: files.keyFile,
    stateAnchor: `./${ANCHOR}`,
    httpPort: options.httpPort,
  })
  await mkdir(dirname(files.file), { recursive: true, mode: 0o700 })
  await writeSandboxKeys(options.sandbox, files, existing)
  // What they were of is gone: the chain of a run before, and the keys that it traded with.
  for (const each of [files.anchor, files.operatorAnchor]) await rm(each, { force: true })
  await writePrivately(files.file, stringify(config), existing)
  return files
}

/** What becomes of a file that is in the way. */
type Existing = 'refuse' | 'replace'

/** Whoever waits for the file sees all of it or nothing. */
async function writePrivately(file: string, text: string, existing: Existing): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (existing === 'replace') await rename(temporary, file)
    // Unlike a rename, a link fails where another program was faster.
    else await link(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
}
