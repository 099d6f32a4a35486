import { randomBytes } from 'node:crypto'
import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { OperatorError } from '../domain/errors.ts'
import { GASLESS_CHAIN_ID, WETH_BASE } from '../wire/gasless.ts'
import { createAdmin } from './admin.ts'
import type { AggregatorContracts } from './aggregator/chain/deploy.ts'
import { type AggregatorChainId, aggregatorSettings } from './aggregator/settings.ts'
import { type AggregatorVenue, startAggregator } from './aggregator/venue.ts'
import { type ConfigPlaces, sandboxConfig } from './config-out.ts'
import { type Chain, startChain } from './evm/chain.ts'
import {
  type Deployment,
  deployGaslessContracts,
  fundToken,
  recordDeployment,
  resumeDeployment,
} from './evm/deploy.ts'
import type { Rpc } from './evm/rpc.ts'
import { createFaults, type Faults } from './faults.ts'
import { crashReply } from './gasless/envelope.ts'
import { routingWordsOf, startGasless } from './gasless/venue.ts'
import { startJsonServer } from './http/json-server.ts'
import { createGate } from './keep/gate.ts'
import { createKeeper, type Keep, type Resumed, type SandboxState } from './keep/keeper.ts'
import { boundTerms } from './keep/terms.ts'
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
  /** Resolves where a part has ended without which it is none any more. Whoever runs it stops it then, and starts another. */
  readonly failed: Promise<Error>
  /** Ends servers, timers and the node. Later calls return the same promise. */
  stop(): Promise<void>
}

const COIN = 10n ** 18n

/** A sandbox is not there any more. */
class SandboxEndedError extends OperatorError {
  override readonly name = 'SandboxEndedError'
  readonly means = 'failed'
}

/**
 * Starts nodes, contracts, market, both services and admin port. Leaves nothing behind if a part fails. `keep` says where all
 * of it is kept for a later start, and what it goes on from.
 */
export async function startSandbox(options: SandboxOptions = {}, keep?: Keep): Promise<Sandbox> {
  const undo: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= undoAll(undo)
    return stopping
  }
  try {
    const parts = await startParts({ options: withReading(options), keep }, undo, stop)
    const { ended, ...sandbox } = parts
    const failed = new Promise<Error>((resolve) => {
      void ended.then((why) => {
        if (stopping === undefined)
          resolve(new SandboxEndedError(`${why}, and the sandbox ends with it: start it again`))
      })
    })
    return { ...sandbox, failed }
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
  { options, keep }: { readonly options: SandboxOptions; readonly keep: Keep | undefined },
  undo: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Omit<Sandbox, 'failed'> & { readonly ended: Promise<string> }> {
  const log = options.log ?? (() => undefined)
  const faults = createFaults(options.faults)
  const gate = createGate()
  const { during } = gate
  const former = keep?.former
  const chains = await startChains({ options, former, log }, undo)
  const keeper = createKeeper(keep, { gate, chains })
  // Stopped after the services, and before the chains.
  undo.push(() => keeper.stop())
  const [base, aggregator] = await both(
    settleBase(chains.base, options, former),
    startAggregator(
      options,
      { chain: chains.aggregator, faults, during, log, former: former?.state.aggregator },
      undo,
    ),
  )
  const { rpc, deployment, trader } = base
  const market = createMarket(
    deployment.tokens,
    { ...MARKET_DEFAULTS, ...options.market, seed: options.seed ?? 1 },
    former?.state.market,
  )
  await pushFeeds(deployment, market)
  const service = await startGasless(
    options,
    { deployment, market, faults, during, log, former: former?.state.book },
    undo,
  )
  const stepMarket = (): Promise<void> =>
    during(async () => {
      market.step()
      await pushFeeds(deployment, market)
    })
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
      genesisHash: chains.base.genesisHash,
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
    rpcUrl: chains.base.rpcUrl,
    gaslessUrl: service.url,
    aggregatorUrl: aggregator.url,
    adminUrl: admin.url,
  }
  await keeper.begin(
    (): SandboxState => ({
      urls: { ...urls, aggregatorRpcUrl: chains.aggregator.rpcUrl },
      genesis: { base: chains.base.genesis, aggregator: chains.aggregator.genesis },
      terms: boundTerms(options),
      deployment: recordDeployment(deployment),
      traderKey: trader.privateKey,
      market: market.state(),
      book: service.book.state(),
      aggregator: aggregator.state(),
    }),
  )
  const routingWords = routingWordsOf(options)
  log('sandbox.started', urls)
  return {
    ...urls,
    chainId: GASLESS_CHAIN_ID,
    genesisHash: chains.base.genesisHash,
    contracts: deployment,
    tokens: deployment.tokens,
    feeds: deployment.feeds,
    trader,
    evmPid: chains.base.evmPid,
    sepolia: sepoliaOf(aggregator),
    operator: aggregator.operator,
    market,
    faults,
    ended: Promise.race([chains.base.ended, chains.aggregator.ended]),
    config: (places) =>
      sandboxConfig(
        {
          ...urls,
          chainId: GASLESS_CHAIN_ID,
          deployment,
          routingWords,
          quoteLifetimeSeconds: options.quoteLifetimeSeconds,
          aggregator: { ...aggregator, rpcUrl: chains.aggregator.rpcUrl },
        },
        places,
      ),
    stop,
  }
}

/** Starts the chain that the gasless service settles on, and that of the aggregation service. */
async function startChains(
  {
    options,
    former,
    log,
  }: { options: SandboxOptions; former: Resumed | undefined; log: SandboxLog },
  undo: (() => Promise<void>)[],
): Promise<{ readonly base: Chain; readonly aggregator: Chain }> {
  const { anvilBin: bin, blockIntervalMs, ports } = options
  const common = { bin, blockIntervalMs, log }
  const { chainId } = aggregatorSettings(options.aggregator)
  const [base, aggregator] = await both(
    startChain(
      { ...common, chainId: GASLESS_CHAIN_ID, port: ports?.rpc, resumed: former && ofBase(former) },
      undo,
    ),
    startChain(
      { ...common, chainId, port: ports?.sepoliaRpc, resumed: former && ofAggregator(former) },
      undo,
    ),
  )
  return { base, aggregator }
}

function ofBase({ state, stateFiles }: Resumed) {
  const { deployer, operator } = state.deployment
  return { genesis: state.genesis.base, stateFile: stateFiles.base, senders: [deployer, operator] }
}

function ofAggregator({ state, stateFiles }: Resumed) {
  const { deployer, relayer } = state.aggregator.deployment
  const { genesis } = state
  return {
    genesis: genesis.aggregator,
    stateFile: stateFiles.aggregator,
    senders: [deployer, relayer],
  }
}

/** Contracts and a trader, or those of before. */
async function settleBase(
  { rpc }: Chain,
  { traderKey }: SandboxOptions,
  former: Resumed | undefined,
) {
  if (former !== undefined) {
    const { deployment, traderKey: key } = former.state
    return { rpc, deployment: await resumeDeployment(rpc, deployment), trader: accountOf(key) }
  }
  const deployment = await deployGaslessContracts(rpc, GASLESS_CHAIN_ID)
  return { rpc, deployment, trader: await fundTrader(rpc, deployment, traderKey) }
}

/** Waits for both even if one fails: only what has been started can be undone. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}

function sepoliaOf(aggregator: AggregatorVenue): Sandbox['sepolia'] {
  const { chain, contracts, settings } = aggregator
  const { rpcUrl, genesisHash, evmPid } = chain
  return { rpcUrl, chainId: settings.chainId, genesisHash, evmPid, contracts }
}

async function fundTrader(
  rpc: Rpc,
  deployment: Deployment,
  givenKey: Hex | undefined,
): Promise<Sandbox['trader']> {
  const trader = accountOf(givenKey ?? `0x${randomBytes(32).toString('hex')}`)
  const { address } = trader
  await rpc.call('anvil_setBalance', [address, `0x${(100n * COIN).toString(16)}`])
  for (const token of deployment.tokens) {
    const whole = token.address === WETH_BASE ? 1_000n : 10_000_000n
    const amount = whole * 10n ** BigInt(token.decimals)
    await fundToken(deployment.deployer, { token, to: address, amount })
  }
  return trader
}

function accountOf(privateKey: Hex): Sandbox['trader'] {
  return { address: privateKeyToAddress(privateKey), privateKey }
}
