import { GASLESS_CHAIN_ID, WETH_BASE_ADDRESS } from '../domain/money/token.ts'
import { createAdmin } from './admin.ts'
import { startAggregator } from './aggregator/aggregator-service.ts'
import { type ConfigPlaces, sandboxConfig } from './config-out.ts'
import {
  type Account,
  accountOf,
  type Deployment,
  deployGaslessContracts,
  fundedAccount,
  fundToken,
  recordDeployment,
  resumeDeployment,
} from './evm/deploy.ts'
import { type Chain, startChain } from './evm/evm-chain.ts'
import { createFaults, type Faults } from './faults.ts'
import { createOrderStore, type OrderStoreState } from './gasless/order-store.ts'
import { createGaslessService, internalFailure } from './gasless/service.ts'
import { createSettlementWorker } from './gasless/settlement-worker.ts'
import { startJsonServer } from './http/json-server.ts'
import { createGate, type During } from './keep/gate.ts'
import { createKeeper, type Keep, type Resumed, type SandboxState } from './keep/keeper.ts'
import type { SandboxLog } from './log.ts'
import { pushFeeds } from './market/feed-pusher.ts'
import { createMarket, type Market } from './market/market.ts'
import { type AllSettings, boundTerms, type SandboxOptions, settingsOf } from './options.ts'
import { repeat } from './repeat.ts'
import { SandboxError } from './sandbox-error.ts'

export type { SandboxOptions } from './options.ts'

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>

const TRADER_WEI = 100n * 10n ** 18n
const WORKER_TICK_MS = 50
const SWEEP_MS = 30_000

/**
 * Starts nodes, contracts, market, both services and the admin port. Leaves nothing behind if a part fails. `keep` stores
 * the sandbox for a later start, and may contain an earlier sandbox to resume.
 */
export async function startSandbox(options: SandboxOptions = {}, keep?: Keep) {
  const undo: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= undoAll(undo)
    return stopping
  }
  try {
    const parts = await startParts(options, keep, undo)
    const { ended, ...sandbox } = parts
    const failed = new Promise<Error>((resolve) => {
      void ended.then((why) => {
        if (stopping === undefined)
          resolve(new SandboxError(`${why}, and the sandbox ends with it: start it again`))
      })
    })
    return {
      ...sandbox,
      /** Resolves when a node has ended by itself. The caller must then stop the sandbox. */
      failed,
      /** Stops servers, timers and nodes. Later calls return the same promise. */
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Stops the parts in reverse order. A failure does not keep the other parts running. */
async function undoAll(undo: (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of undo.reverse()) await step().catch((error) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, 'the sandbox did not stop cleanly')
}

async function startParts(
  options: SandboxOptions,
  keep: Keep | undefined,
  undo: (() => Promise<void>)[],
) {
  const settings = settingsOf(options)
  const { anvilBin: bin, log = () => undefined } = options
  const faults = createFaults(options.faults)
  const gate = createGate()
  const { during } = gate
  const former = keep?.former
  const chains = await startChains(settings, { bin, former, log }, undo)
  const keeper = createKeeper(keep, { gate, chains })
  // The keeper stops after the services and before the chains.
  undo.push(() => keeper.stop())
  const [base, aggregator] = await both(
    setUpBase(chains.base, former),
    startAggregator(
      settings,
      { chain: chains.aggregator, faults, during, log, former: former?.state.aggregator },
      undo,
    ),
  )
  const { deployment, trader } = base
  const market = createMarket(
    deployment.tokens,
    { ...settings.market, seed: settings.seed },
    former?.state.market,
  )
  await pushFeeds(deployment, market)
  const service = await startGasless(
    settings,
    { deployment, market, faults, during, log, former: former?.state.book },
    undo,
  )
  const stepMarket = (): Promise<void> =>
    during(async () => {
      market.step()
      await pushFeeds(deployment, market)
    })
  const { feedInterval: intervalMs } = settings.market
  let marketPaused = false
  const stepUnlessPaused = async (): Promise<void> => {
    if (!marketPaused) await stepMarket()
  }
  if (intervalMs > 0) undo.push(repeat(intervalMs, stepUnlessPaused, log))
  const admin = await startJsonServer({
    name: 'admin',
    port: settings.ports.admin,
    handle: createAdmin({
      rpc: chains.base.rpc,
      deployment,
      market,
      faults,
      store: service.store,
      genesisHash: chains.base.genesisHash,
      stepMarket,
      setMarketPaused: (paused) => {
        marketPaused = paused
      },
      outage: { gasless: service.outage, aggregator: aggregator.outage },
      aggregator: aggregator.adminRoutes,
    }),
    onCrash: internalFailure,
    log,
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
      book: service.store.state(),
      aggregator: aggregator.state(),
    }),
  )
  log('sandbox.started', urls)
  return {
    ...urls,
    chainId: GASLESS_CHAIN_ID,
    genesisHash: chains.base.genesisHash,
    contracts: deployment as Pick<
      Deployment,
      'permit2' | 'multicall3' | 'settlement' | 'sequencerFeed' | 'feedBoard'
    >,
    tokens: deployment.tokens,
    feeds: deployment.feeds,
    /** Account with coin for gas and some of every token. */
    trader,
    evmPid: chains.base.evmPid,
    /** The aggregation service's chain, which stands in for Sepolia or Mainnet. */
    sepolia: {
      rpcUrl: chains.aggregator.rpcUrl,
      chainId: settings.aggregator.chainId,
      genesisHash: chains.aggregator.genesisHash,
      evmPid: chains.aggregator.evmPid,
      contracts: aggregator.contracts,
    },
    /** Account with coin on the aggregator's chain, without delegation or deposit. */
    operator: aggregator.operator,
    market,
    faults,
    ended: Promise.race([chains.base.ended, chains.aggregator.ended]),
    config: (places: ConfigPlaces): Record<string, unknown> =>
      sandboxConfig(
        {
          ...urls,
          deployment,
          settings,
          aggregator: { ...aggregator, rpcUrl: chains.aggregator.rpcUrl },
        },
        places,
      ),
  }
}

async function startChains(
  { blockInterval: blockIntervalMs, ports, aggregator: { chainId } }: AllSettings,
  { former, ...own }: { bin: string | undefined; former: Resumed | undefined; log: SandboxLog },
  undo: (() => Promise<void>)[],
): Promise<{ readonly base: Chain; readonly aggregator: Chain }> {
  const common = { ...own, blockIntervalMs }
  const resumed = (chain: 'base' | 'aggregator') => {
    if (former === undefined) return undefined
    const { genesis, deployment, aggregator } = former.state
    const own = [deployment.deployer, deployment.operator]
    const { deployer, relayer } = aggregator.deployment
    const senders = chain === 'base' ? own : [deployer, relayer]
    return { genesis: genesis[chain], stateFile: former.stateFiles[chain], senders }
  }
  const ofBase = { chainId: GASLESS_CHAIN_ID, port: ports.rpc, resumed: resumed('base') }
  const ofAggregator = { chainId, port: ports.aggregatorRpc, resumed: resumed('aggregator') }
  const [base, aggregator] = await both(
    startChain({ ...common, ...ofBase }, undo),
    startChain({ ...common, ...ofAggregator }, undo),
  )
  return { base, aggregator }
}

/** Deploys contracts and funds a trader, or resumes both. */
async function setUpBase(
  { rpc }: Chain,
  former: Resumed | undefined,
): Promise<{ readonly deployment: Deployment; readonly trader: Account }> {
  if (former !== undefined) {
    const deployment = await resumeDeployment(rpc, former.state.deployment)
    return { deployment, trader: accountOf(former.state.traderKey) }
  }
  const deployment = await deployGaslessContracts(rpc, GASLESS_CHAIN_ID)
  const trader = await fundedAccount(rpc, TRADER_WEI)
  for (const token of deployment.tokens) {
    const whole = token.address === WETH_BASE_ADDRESS ? 1_000n : 10_000_000n
    const amount = whole * 10n ** BigInt(token.decimals)
    await fundToken(deployment.deployer, { token, to: trader.address, amount })
  }
  return { deployment, trader }
}

/** Starts the REST service and its settlement worker. */
async function startGasless(
  { gasless: settings, ports: { gasless: port } }: AllSettings,
  deps: {
    readonly deployment: Deployment
    readonly market: Market
    readonly faults: Faults
    readonly log: SandboxLog
    readonly during: During
    /** State of the service to resume. */
    readonly former: OrderStoreState | undefined
  },
  undo: (() => Promise<void>)[],
) {
  const { deployment, market, faults, during, log } = deps
  const { operator, settlement } = deployment
  const store = createOrderStore(deps.former)
  const worker = createSettlementWorker(settings, { market, operator, settlement, during, log })
  undo.push(() => worker.stop())
  for (const order of store.all()) if (order.status === 'pending') worker.add(order)
  undo.push(repeat(WORKER_TICK_MS, async () => worker.tick(Date.now()), log))
  undo.push(repeat(SWEEP_MS, async () => store.sweep(Date.now()), log))
  const parts = { deployment, market, store, faults, onAccepted: worker.add }
  const server = await startJsonServer({
    name: 'gasless',
    port,
    handle: createGaslessService(settings, parts),
    onCrash: internalFailure,
    pageMethods: 'GET, POST',
    log,
  })
  undo.push(() => server.stop())
  return { url: server.url, store, outage: server.outage }
}

/** Waits for both even if one fails, because only a started part can be stopped. */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}
