import type { SandboxOptions } from '../options.ts'
import type { SandboxSettings } from './schema.ts'

/** A type without the keys that are undefined. */
type Given<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> }

/** What a settings file and flags say, as `startSandbox` takes it; what they leave out is left out here too. */
export function sandboxOptionsOf(settings: SandboxSettings): SandboxOptions {
  const { ports = {}, market = {}, gasless = {} } = settings
  const { feedInterval, ...depths } = market
  const { ordersPerTransaction, sameOwnerInTransaction } = gasless
  return given({
    reading: settings.reading,
    seed: settings.seed,
    blockIntervalMs: settings.blockInterval,
    ports: given({
      rpc: ports.rpc,
      gasless: ports.gasless,
      admin: ports.admin,
      sepoliaRpc: ports.aggregatorRpc,
      aggregator: ports.aggregator,
    }),
    feedIntervalMs: feedInterval,
    market: given(depths),
    quoteLifetimeSeconds: gasless.quoteLifetime,
    feeBps: gasless.feeBps,
    listDomainType: gasless.listDomainType,
    logoURI: gasless.logoURI,
    rateLimits: given(gasless.rateLimits ?? {}),
    rateLimitReset: gasless.rateLimitReset,
    routingWords: given(gasless.wire ?? {}),
    settlement: given({ ordersPerTransaction, sameOwnerInTransaction }),
    aggregator: aggregatorOptionsOf(settings.aggregator ?? {}),
  })
}

function aggregatorOptionsOf(
  settings: NonNullable<SandboxSettings['aggregator']>,
): NonNullable<SandboxOptions['aggregator']> {
  const { traffic = {} } = settings
  return given({
    chainId: settings.chainId,
    gasTank: settings.gasTank,
    gasLimit: settings.gasLimit,
    domain: settings.domain,
    blobCostWei: settings.blobCost,
    windowMs: settings.window,
    callsPerBatch: settings.callsPerBatch,
    feeBps: settings.feeBps,
    indexingDelayMs: settings.indexingDelay,
    settleEveryMs: settings.settleEvery,
    traffic: given({
      participants: traffic.participants,
      everyMs: traffic.every,
      patienceMs: traffic.patience,
    }),
    rateLimit: settings.rateLimit,
    wire: given(settings.wire ?? {}),
  })
}

function given<Values extends object>(values: Values): Given<Values> {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as Given<Values>
}
