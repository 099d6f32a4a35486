import { createChain } from '../adapters/chain-viem.ts'
import { createGaslessHttp } from '../adapters/gasless-http.ts'
import { createPacer } from '../adapters/pacer.ts'
import { createQueue } from '../adapters/queue.ts'
import { DEFAULT_POLICY, type ExecutionPolicy } from '../domain/policy.ts'
import type { PriceFeed } from '../domain/price.ts'
import type { Settings } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import { createTurns, type OrderContext } from '../execute/context.ts'
import { createPermitHasher } from '../execute/permit-digest.ts'
import type { Clock, Journal, Observation, Signer } from '../ports.ts'

export type ComposeInput = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly clock: Clock
  readonly journal: Journal
  readonly signer: Signer
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
  const chainSettings = settings.chains.get(gasless.chain)
  if (chainSettings === undefined) throw new Error(`chain ${gasless.chain} is not configured`)
  const { chainId, rpcUrls } = chainSettings
  const monotonicMs = (): number => performance.now()
  const pacer = createPacer({ requestsPerSecond: gasless.requestsPerSecond, monotonicMs })
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
  const hasher = createPermitHasher({ chainId, permit2: gasless.permit2 })
  const context: Composed['context'] = {
    ports: {
      clock,
      random: { jitter: Math.random },
      gasless: service,
      chain,
      signer,
      journal,
      queue: createQueue({ pacer, clock, observe, monotonicMs }),
      observe,
    },
    policy: input.policy ?? DEFAULT_POLICY,
    chainId,
    gasless,
    account: settings.limits,
    strategies: new Map(strategies.map((strategy) => [strategy.name, strategy])),
    feedFor: feedIndex(settings.prices.values()),
    hashPermit: hasher.hash,
    walletTurn: createTurns(),
  }
  return {
    context,
    async close() {
      await Promise.all([service.close(), chain.close()])
    },
  }
}

/** Finds the feed of two tokens in either direction. */
function feedIndex(feeds: Iterable<PriceFeed>): OrderContext['feedFor'] {
  const index = new Map<string, PriceFeed>()
  for (const feed of feeds) {
    index.set(`${feed.base.address}${feed.quote.address}`, feed)
    index.set(`${feed.quote.address}${feed.base.address}`, feed)
  }
  return (a: Token, b: Token) => index.get(`${a.address}${b.address}`)
}
