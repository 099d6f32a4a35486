import type { SandboxSettings } from './sandbox-schema.ts'

/** A type without the keys that are undefined. */
type Given<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> }

/** Converts settings to options of `startSandbox`. Absent settings stay absent. */
export function sandboxOptionsOf({
  reading,
  seed,
  blockInterval,
  ports,
  market,
  gasless,
  aggregator,
}: SandboxSettings) {
  const { feedInterval, ...depths } = market ?? {}
  return given({
    reading,
    seed,
    blockIntervalMs: blockInterval,
    ports: given(ports),
    feedIntervalMs: feedInterval,
    market: given(depths),
    quoteLifetimeSeconds: gasless?.quoteLifetime,
    feeBps: gasless?.feeBps,
    listDomainType: gasless?.listDomainType,
    logoURI: gasless?.logoURI,
    rateLimits: given(gasless?.rateLimits),
    rateLimitReset: gasless?.rateLimitReset,
    routingWords: given(gasless?.wire),
    settlement: given({
      ordersPerTransaction: gasless?.ordersPerTransaction,
      sameOwnerInTransaction: gasless?.sameOwnerInTransaction,
    }),
    aggregator: aggregatorOptionsOf(aggregator),
  })
}

function aggregatorOptionsOf(settings: SandboxSettings['aggregator']) {
  const { traffic, wire, blobCost, window, indexingDelay, settleEvery, ...own } = settings ?? {}
  return given({
    ...own,
    blobCostWei: blobCost,
    windowMs: window,
    indexingDelayMs: indexingDelay,
    settleEveryMs: settleEvery,
    traffic: given({
      participants: traffic?.participants,
      everyMs: traffic?.every,
      patienceMs: traffic?.patience,
    }),
    wire: given(wire),
  })
}

function given<Values extends object>(values: Values | undefined): Given<Values> {
  const present = Object.entries(values ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as Given<Values>
}
