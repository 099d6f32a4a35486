import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { GASLESS_CHAIN_ID, WETH_BASE } from '../wire/gasless.ts'
import { createAdmin } from './admin.ts'
import type { AggregatorContracts } from './aggregator/chain/deploy.ts'
import type { AggregatorChainId } from './aggregator/settings.ts'
import { type AggregatorVenue, startAggregator } from './aggregator/venue.ts'
import { type ConfigPlaces, sandboxConfig } from './config-out.ts'
import { startAnvil } from './evm/anvil.ts'
import { mineBlocks } from './evm/blocks.ts'
import { type Deployment, deployGaslessContracts, fundToken } from './evm/deploy.ts'
import { createRpc, type Rpc } from './evm/rpc.ts'
import { createFaults, type Faults } from './faults.ts'
import { crashReply } from './gasless/envelope.ts'
import { routingWordsOf, startGasless } from './gasless/venue.ts'
import { startJsonServer } from './http/json-server.ts'
import type { SandboxLog } from './log.ts'
import { pushFeeds } from './market/feed-pusher.ts'
import { createMarket, MARKET_DEFAULTS, type Market } from './market/market.ts'
import { type SandboxOptions, withReading } from './options.ts'
import { repeat } from './repeat.ts'
import type { SandboxToken } from './tokens.ts'

export type { SandboxOptions } from './options.ts'

/** A running sandbox. */
export type Sandbox = {
  readonly rpcUrl: string
  readonly gaslessUrl: string
  readonly aggregatorUrl: string
  readonly adminUrl: string
  readonly chainId: number
  readonly genesisHash: Hex
  readonly contracts: Pick<
    Deployment,
    'permit2' | 'multicall3' | 'settlement' | 'sequencerFeed' | 'feedBoard'
  >
  readonly tokens: readonly SandboxToken[]
  readonly feeds: Deployment['feeds']
  /** Owns coin for gas and some of every token; its key is worth nothing anywhere else. */
  readonly trader: { readonly address: Hex; readonly privateKey: Hex }
  readonly evmPid: number
  /** The chain of the aggregation service: Sepolia's stand-in, or by its settings Mainnet's. */
  readonly sepolia: {
    readonly rpcUrl: string
    readonly chainId: AggregatorChainId
    readonly genesisHash: Hex
    readonly evmPid: number
    readonly contracts: AggregatorContracts
  }
  /** Owns coin on the aggregator's chain; not delegated, nothing deposited. */
  readonly operator: { readonly address: Hex; readonly privateKey: Hex }
  readonly market: Market
  readonly faults: Faults
  config(places: ConfigPlaces): Record<string, unknown>
  /** Ends servers, timers and the node. Later calls return the same promise. */
  stop(): Promise<void>
}

const COIN = 10n ** 18n

/** Starts nodes, contracts, market, both services and admin port. Leaves nothing behind if a part fails. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const undo: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= undoAll(undo)
    return stopping
  }
  try {
    return await startParts(withReading(options), undo, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

/** Last started, first stopped; one that fails does not keep the others alive. */
async function undoAll(undo: (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of undo.reverse()) await step().catch((error) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, 'the sandbox did not stop cleanly')
}

async function startParts(
  options: SandboxOptions,
  undo: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Sandbox> {
  const log = options.log ?? (() => undefined)
  const faults = createFaults(options.faults)
  const [base, aggregator] = await both(
    startBase(options, log, undo),
    startAggregator(options, { faults, log }, undo),
  )
  const { rpc, deployment, trader } = base
  const market = createMarket(deployment.tokens, {
    ...MARKET_DEFAULTS,
    ...options.market,
    seed: options.seed ?? 1,
  })
  await pushFeeds(deployment, market)
  const service = await startGasless(options, { deployment, market, faults, log }, undo)
  const stepMarket = async (): Promise<void> => {
    market.step()
    await pushFeeds(deployment, market)
  }
  const intervalMs = options.feedIntervalMs ?? 1000
  let marketPaused = false
  const stepUnlessPaused = async (): Promise<void> => {
    if (!marketPaused) await stepMarket()
  }
  if (intervalMs > 0) undo.push(repeat(intervalMs, stepUnlessPaused, log))
  const admin = await startJsonServer({
    port: options.ports?.admin ?? 0,
    handle: createAdmin({
      rpc,
      deployment,
      market,
      faults,
      book: service.book,
      genesisHash: base.genesisHash,
      stepMarket,
      setMarketPaused: (paused) => {
        marketPaused = paused
      },
      outage: { gasless: service.outage, aggregator: aggregator.outage },
      aggregator: aggregator.adminRoutes,
    }),
    onCrash: crashReply(log, 'admin'),
  })
  undo.push(() => admin.stop())
  const urls = {
    rpcUrl: base.rpcUrl,
    gaslessUrl: service.url,
    aggregatorUrl: aggregator.url,
    adminUrl: admin.url,
  }
  const routingWords = routingWordsOf(options)
  log('sandbox.started', urls)
  return {
    ...urls,
    chainId: GASLESS_CHAIN_ID,
    genesisHash: base.genesisHash,
    contracts: deployment,
    tokens: deployment.tokens,
    feeds: deployment.feeds,
    trader,
    evmPid: base.evmPid,
    sepolia: sepoliaOf(aggregator),
    operator: aggregator.operator,
    market,
    faults,
    config: (places) =>
      sandboxConfig(
        {
          ...urls,
          chainId: GASLESS_CHAIN_ID,
          deployment,
          routingWords,
          quoteLifetimeSeconds: options.quoteLifetimeSeconds,
          aggregator,
        },
        places,
      ),
    stop,
  }
}

/** Starts the chain that the gasless service settles on, with contracts and a trader. */
async function startBase(options: SandboxOptions, log: SandboxLog, undo: (() => Promise<void>)[]) {
  const chainId = GASLESS_CHAIN_ID
  const anvil = await startAnvil({ chainId, bin: options.anvilBin, port: options.ports?.rpc, log })
  undo.push(() => anvil.stop())
  const rpc = createRpc(anvil.rpcUrl)
  undo.push(() => rpc.close())
  undo.push(mineBlocks(rpc, { everyMs: options.blockIntervalMs, log }))
  const genesis = await rpc.call<{ hash: Hex }>('eth_getBlockByNumber', ['0x0', false])
  const deployment = await deployGaslessContracts(rpc, chainId)
  const trader = await fundTrader(rpc, deployment, options.traderKey)
  const { rpcUrl, pid } = anvil
  return { rpc, rpcUrl, evmPid: pid, genesisHash: genesis.hash, deployment, trader }
}

/** Waits for both even if one fails: only what has been started can be undone. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}

function sepoliaOf(aggregator: AggregatorVenue): Sandbox['sepolia'] {
  const { rpcUrl, genesisHash, evmPid, contracts, settings } = aggregator
  return { rpcUrl, chainId: settings.chainId, genesisHash, evmPid, contracts }
}

async function fundTrader(
  rpc: Rpc,
  deployment: Deployment,
  givenKey: Hex | undefined,
): Promise<Sandbox['trader']> {
  const privateKey = givenKey ?? `0x${randomBytes(32).toString('hex')}`
  const address = privateKeyToAddress(privateKey)
  await rpc.call('anvil_setBalance', [address, `0x${(100n * COIN).toString(16)}`])
  for (const token of deployment.tokens) {
    const whole = token.address === WETH_BASE ? 1_000n : 10_000_000n
    const amount = whole * 10n ** BigInt(token.decimals)
    await fundToken(deployment.deployer, { token, to: address, amount })
  }
  return { address, privateKey }
}
