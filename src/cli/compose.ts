import { paceAggregator } from '../adapters/aggregator/paced.ts'
import { createAggregatorRpc } from '../adapters/aggregator/rpc.ts'
import { createCallChain } from '../adapters/chain/call-chain.ts'
import { createChain } from '../adapters/chain/chain-viem.ts'
import { createGaslessHttp } from '../adapters/gasless/http.ts'
import { createPacer } from '../adapters/pace/pacer.ts'
import { createQueue } from '../adapters/pace/queue.ts'
import { AGGREGATOR_SHARES, GASLESS_SHARES } from '../adapters/pace/route-shares.ts'
import type { Observation } from '../domain/observation.ts'
import { DEFAULT_POLICY, type ExecutionPolicy } from '../domain/policy.ts'
import { createPricePaths } from '../domain/price.ts'
import type { ChainSettings, Settings } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import { createPermitHasher } from '../execute/authority/permit-digest.ts'
import { type AggregatorContext, createTurns, type OrderContext } from '../execute/context.ts'
import type { Clock, Journal, Signer } from '../ports.ts'

export type ComposeInput = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly clock: Clock
  readonly journal: Journal
  readonly signer: Signer
  /** The aggregator's wallet; needed where the settings have an aggregator. */
  readonly operator: Signer | undefined
  readonly observe: (event: Observation) => void
  readonly policy?: ExecutionPolicy
}

export type Composed = {
  readonly context: Omit<OrderContext, 'closing' | 'stop'>
  close(): Promise<void>
}

/** The only place where the live adapters of the gasless venue are put together. */
export function compose(input: ComposeInput): Composed {
  const { settings, strategies, clock, journal, signer, observe } = input
  const { gasless } = settings
  const { chainId, rpcUrls } = chainOf(settings, gasless.chain)
  const monotonicMs = (): number => performance.now()
  const { requestsPerSecond } = gasless
  const shares = GASLESS_SHARES
  const pacer = createPacer({ shares, requestsPerSecond, monotonicMs })
  const service = createGaslessHttp({
    baseUrl: gasless.baseUrl,
    wire: gasless.wire,
    routingPreference: gasless.routingPreference,
    clock,
    observe,
    onRateLimit: pacer.onRateLimit,
    onRetryAfter: pacer.onRetryAfter,
  })
  const chain = createChain({ chainId, rpcUrls, permit2: gasless.permit2, observe, clock })
  const aggregator = composeAggregator(input)
  const hasher = createPermitHasher({ chainId, permit2: gasless.permit2 })
  const context: Composed['context'] = {
    ports: {
      clock,
      random: { jitter: Math.random },
      gasless: service,
      chain,
      signer,
      journal,
      queue: createQueue({ shares, pacer, clock, observe, monotonicMs }),
      observe,
    },
    policy: input.policy ?? DEFAULT_POLICY,
    chainId,
    gasless,
    account: settings.limits,
    strategies: new Map(strategies.map((strategy) => [strategy.name, strategy])),
    mode: settings.mode,
    pricePath: createPricePaths(settings.prices.values()),
    hashPermit: hasher.hash,
    wallet: { chain, chainId, signer, turn: createTurns() },
    aggregator: aggregator?.context,
  }
  return {
    context,
    async close() {
      await Promise.all([service.close(), chain.close(), aggregator?.close()])
    },
  }
}

/** Requests per second to the aggregation service, whose own limits are not known. */
const AGGREGATOR_REQUESTS_PER_SECOND = 20

export type ComposedAggregator = {
  readonly context: AggregatorContext
  close(): Promise<void>
}

/** The adapters of the aggregator venue; undefined where the settings have none. */
export function composeAggregator(
  input: Pick<ComposeInput, 'settings' | 'clock' | 'observe' | 'operator'>,
): ComposedAggregator | undefined {
  const { settings, clock, observe, operator: signer } = input
  const { aggregator } = settings
  if (aggregator === undefined || signer === undefined) return undefined
  const { chainId, rpcUrls } = chainOf(settings, aggregator.chain)
  const monotonicMs = (): number => performance.now()
  const shares = AGGREGATOR_SHARES
  const requestsPerSecond = AGGREGATOR_REQUESTS_PER_SECOND
  const pacer = createPacer({ shares, requestsPerSecond, monotonicMs })
  const service = createAggregatorRpc({
    url: aggregator.rpcUrl,
    methodPrefix: aggregator.wire.methodPrefix,
    signatureHeader: aggregator.wire.signatureHeader,
    signer,
    clock,
    observe,
    onRateLimit: pacer.onRateLimit,
    onRetryAfter: pacer.onRetryAfter,
  })
  const queue = createQueue({ shares, pacer, clock, observe, monotonicMs })
  const chain = createCallChain({ chainId, rpcUrls, observe, clock })
  return {
    context: {
      settings: aggregator,
      service: paceAggregator(service, queue),
      chain,
      wallet: { chain, chainId, signer, turn: createTurns() },
    },
    async close() {
      await Promise.all([service.close(), chain.close()])
    },
  }
}

function chainOf(settings: Settings, name: string): ChainSettings {
  const chain = settings.chains.get(name)
  if (chain === undefined) throw new Error(`chain ${name} is not configured`)
  return chain
}
