import { createCallChain } from '../../chain/call-chain.ts'
import { createChain } from '../../chain/chain.ts'
import { createInspection, type Inspection } from '../../chain/inspection.ts'
import { withPaperBalances } from '../../chain/paper-balances.ts'
import { InvariantError } from '../../domain/errors.ts'
import { createPricePaths } from '../../domain/money/price.ts'
import { trustedCode } from '../../domain/order/contract.ts'
import { DEFAULT_POLICY, type ExecutionPolicy } from '../../domain/policy.ts'
import { type ChainSettings, hasSwaps, type Settings } from '../../domain/settings.ts'
import { valueTokenOf } from '../../engine/accounts/portfolio.ts'
import type { Foundations } from '../../engine/daemon.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type {
  AggregatorReply,
  Clock,
  Gasless,
  Guard,
  HaltFile,
  Journal,
  Key,
  Modules,
} from '../../ports.ts'
import { hearPrices } from '../../signing/heard-prices.ts'
import { createPermitHasher } from '../../signing/permit-digest.ts'
import type { Files } from '../../signing/policy.ts'
import { createSigner } from '../../signing/signer.ts'
import type { Strategy } from '../../strategies/registry.ts'
import { createAggregatorRpc } from '../../venues/call/client/aggregator-client.ts'
import { paceAggregator } from '../../venues/call/paced.ts'
import { type AggregatorContext, createTurns } from '../../venues/context.ts'
import { createQueue } from '../../venues/queue/queue.ts'
import {
  AGGREGATOR_SHARES,
  BUNDLE_SHARES,
  GASLESS_SHARES,
} from '../../venues/queue/route-shares.ts'
import { createGaslessHttp } from '../../venues/swap/client/gasless-client.ts'

const monotonicMs = (): number => performance.now()

type ServiceInput = {
  readonly settings: Settings
  readonly clock: Clock
  readonly observe: (event: RuntimeEvent) => void
  readonly timeoutMs?: number
}

type ComposeInput = ServiceInput & {
  readonly strategies: readonly Strategy[]
  readonly journal: Journal
  readonly guard: Guard
  readonly haltFile: HaltFile
  readonly modules: Modules
  readonly trader: Key
  readonly operator?: Key | undefined
  readonly policy?: ExecutionPolicy
}

/** Longest wait at shutdown for hanging requests, whose answers nothing needs. */
const HANGING_MS_MAX = 500

export type Composed = Awaited<ReturnType<typeof compose>>

export async function compose(input: ComposeInput) {
  const { settings, clock, journal, guard, haltFile, modules, observe } = input
  const { gasless } = settings
  const { chainId, finality, agree, gas } = chainOf(settings, gasless.chain)
  const rule = { finality, agree }
  const service = composeGasless(input)
  const strategies = new Map(input.strategies.map((each) => [each.name, each]))
  const files = filesOf(settings, { strategies, versionOf: modules.versionOf })
  const { chain, prices } = hearPrices(composeChain(input), clock, files.pricePath)
  const { hash: hashPermit } = await createPermitHasher({ chainId, permit2: gasless.permit2 })
  const policyInput = { journal, guard, clock, files, prices }
  const signer = createSigner({ key: input.trader, hashPermit, ...policyInput })
  const aggregator = composeAggregator({ ...input, files })
  const wallet = { chain, chainId, finality: rule, gas, signer, turn: createTurns() }
  const context: Foundations = {
    ports: {
      clock,
      random: { jitter: Math.random },
      gasless: service.gasless,
      chain,
      signer,
      journal,
      guard,
      haltFile,
      modules,
      queue: service.queue,
      observe,
    },
    policy: input.policy ?? DEFAULT_POLICY,
    chainId,
    finality: rule,
    gasless,
    account: files.account,
    strategies,
    mode: settings.mode,
    pricePath: files.pricePath,
    valueToken: valueTokenOf(settings.prices.values()),
    trusted: files.trusted,
    hashPermit,
    // One wallet takes its turns once.
    wallet: hasSwaps(settings) ? wallet : (aggregator?.context.wallet ?? wallet),
    aggregator: aggregator?.context,
  }
  return {
    context,
    async close() {
      const closed = new AbortController()
      const all = Promise.all([service.gasless.close(), chain.close(), aggregator?.close()])
      await Promise.race([all, clock.sleep(HANGING_MS_MAX, closed.signal)])
      closed.abort()
    },
  }
}

export function composeGasless({ settings, clock, observe, timeoutMs }: ServiceInput) {
  const { baseUrl, wire, routingPreference, requestsPerSecond } = settings.gasless
  const shares = GASLESS_SHARES
  const queue = createQueue({ shares, requestsPerSecond, clock, observe, monotonicMs })
  const { onRateLimit, onRetryAfter } = queue
  const limits = { onRateLimit, onRetryAfter, ...boundOf(timeoutMs) }
  return {
    gasless:
      baseUrl === undefined
        ? NO_SWAP_SERVICE
        : createGaslessHttp({ baseUrl, wire, routingPreference, clock, observe, ...limits }),
    queue,
  }
}

/** Of a config without `gasless`: it lists no token, and no strategy swaps. */
const NO_SWAP_SERVICE: Gasless & { close(): Promise<void> } = {
  tokens: () => Promise.resolve({ ok: true, value: [] }),
  quote: noSwaps,
  submit: noSwaps,
  order: noSwaps,
  clockOffsetMs: () => undefined,
  close: () => Promise.resolve(),
}

function noSwaps(): never {
  throw new InvariantError('the config has no swap service')
}

export function composeChain({ settings, clock, observe, timeoutMs }: ServiceInput) {
  const { permit2, chain } = settings.gasless
  const { chainId, rpcUrls, finality, agree } = chainOf(settings, chain)
  const rule = { finality, agree }
  const named = ofChain(chain, observe)
  const wire = { chainId, rpcUrls, rule, permit2, observe: named, clock, ...boundOf(timeoutMs) }
  const real = createChain(wire)
  return settings.paper === undefined ? real : withPaperBalances(real, settings.paper)
}

/** Reads one chain of the config for checks. */
export function composeInspection(
  { chainId, finality, agree, rpcUrls }: ChainSettings,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Inspection {
  return createInspection({ chainId, rpcUrls, rule: { finality, agree }, clock, timeoutMs })
}

/** Our own limit: the service's is unknown. */
const AGGREGATOR_REQUESTS_PER_SECOND = 20

/** The aggregation service and its chain; undefined if the settings have none. */
export function composeAggregator(
  input: ServiceInput &
    Pick<ComposeInput, 'operator' | 'guard'> & {
      readonly journal: SignedState
      readonly files: Files
    },
) {
  const { settings, clock, observe, timeoutMs, operator: key, journal, guard, files } = input
  const { aggregator } = settings
  if (aggregator === undefined || key === undefined) return undefined
  const signer = createSigner({ key, hashPermit: noPermit, journal, guard, clock, files })
  const { chainId, rpcUrls, finality, agree, gas } = chainOf(settings, aggregator.chain)
  const rule = { finality, agree }
  const shares = aggregator.submit === 'bundle' ? BUNDLE_SHARES : AGGREGATOR_SHARES
  const requestsPerSecond = AGGREGATOR_REQUESTS_PER_SECOND
  const queue = createQueue({ shares, requestsPerSecond, clock, observe, monotonicMs })
  const { onRateLimit, onRetryAfter } = queue
  const { rpcUrl: url, wire } = aggregator
  const limits = { onRateLimit, onRetryAfter, ...boundOf(timeoutMs) }
  const client = createAggregatorRpc({ url, ...wire, signer, clock, observe, ...limits })
  const service = settings.mode === 'dry-run' ? { ...client, accountInfo: unsigned } : client
  const bound = boundOf(timeoutMs)
  const named = ofChain(aggregator.chain, observe)
  const chain = createCallChain({ chainId, rpcUrls, rule, observe: named, clock, ...bound })
  const context: AggregatorContext = {
    settings: aggregator,
    service: paceAggregator(service, queue, queue.heldMs),
    chain,
    finality: rule,
    wallet: { chain, chainId, finality: rule, gas, signer, turn: createTurns() },
    callTurn: createTurns(),
  }
  return {
    context,
    async close() {
      await Promise.all([service.close(), chain.close()])
    },
  }
}

/** Names the chain in each request to one of its nodes. */
function ofChain(chain: string, observe: ServiceInput['observe']): ServiceInput['observe'] {
  return (event) => observe(event.type === 'request' ? { ...event, chain } : event)
}

function unsigned(): Promise<AggregatorReply<never>> {
  const message =
    'a dry-run signs nothing, and the service answers only signed requests about an account'
  return Promise.resolve({ ok: false, fault: { tag: 'unsigned', message } })
}

function boundOf(timeoutMs: number | undefined): { readonly timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs }
}

/** Permits are the trading wallet's (rule A5: one wallet per service). */
function noPermit(): never {
  throw new InvariantError("the aggregator's wallet signs no permits")
}

/** State for the signing policy, besides the files. */
export type SignedState = Pick<Journal, 'state' | 'isOnDisk'>

/** Strategies and modules of a command that makes no decisions. */
export const NOTHING_DECIDED: Pick<ComposeInput, 'strategies' | 'modules'> = {
  strategies: [],
  modules: {
    decide: () => Promise.resolve({ ok: false, detail: 'nothing is decided here' }),
    versionOf: () => undefined,
  },
}

const NO_STRATEGIES = { strategies: new Map(), versionOf: () => undefined }

/** The operator's files as the signing policy uses them. A reload replaces strategies and limits in place. */
export function filesOf(
  settings: Settings,
  { strategies, versionOf }: Pick<Files, 'strategies' | 'versionOf'> = NO_STRATEGIES,
): Files {
  const { gasless, aggregator } = settings
  const account = { ...settings.limits }
  return {
    chainId: chainOf(settings, gasless.chain).chainId,
    gasless,
    account,
    strategies,
    versionOf,
    pricePath: createPricePaths(settings.prices.values()),
    trusted: trustedCode(settings),
    gas: new Map([...settings.chains.values()].map(({ chainId, gas }) => [chainId, gas])),
    aggregator: aggregator && {
      settings: aggregator,
      chainId: chainOf(settings, aggregator.chain).chainId,
    },
  }
}

export function chainOf(settings: Settings, name: string): ChainSettings {
  const chain = settings.chains.get(name)
  if (chain === undefined) throw new Error(`chain ${name} is not configured`)
  return chain
}
