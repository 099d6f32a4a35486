/** A setting of the sandbox: a key of the settings file and a flag of `tranched sandbox`. */
export type SettingRow = {
  /** Keys of the settings file, joined by dots. */
  readonly path: string
  /** Default: the path in kebab case, without `gasless.` and `market.`. */
  readonly flag?: `--${string}`
  /** Of settings that share a flag: the word before `=` that tells them apart. */
  readonly entry?: string
  /** Placeholder of the flag's value in the help. */
  readonly value: string
  /** The value is a path: relative to the working directory on the command line, to the file's directory in a file. */
  readonly isPath?: true
  /** As a person writes it; none if absent. */
  readonly byDefault?: string
  readonly meaning: string
}

const PORT = { value: 'port', byDefault: '0' } as const
const RATE = { flag: '--rate-limit', value: 'route=limit/window', byDefault: '600/10s' } as const

export const TABLE = [
  {
    path: 'reading',
    value: 'deployed|described',
    byDefault: 'deployed',
    meaning:
      'Reading of the interface descriptions: as deployed, or as described (gasTank balanceOf, gasLimit target, domain proposer, listDomainType false, unless set)',
  },
  {
    path: 'seed',
    value: 'n',
    byDefault: '1',
    meaning: 'Seed of the prices; the same seed gives the same prices',
  },
  {
    path: 'blockInterval',
    value: 'duration',
    byDefault: '1s',
    meaning:
      'Time between blocks of both chains without transactions; 0s mines only transactions, and the time of the chains stands still in between',
  },
  {
    path: 'faults',
    value: 'file',
    isPath: true,
    meaning:
      'File with the initial faults, YAML or JSON; a settings file can also contain the faults',
  },
  {
    path: 'ports.rpc',
    flag: '--rpc-port',
    ...PORT,
    meaning: 'Port of the node of chain 8453; 0 picks a free one',
  },
  {
    path: 'ports.gasless',
    flag: '--gasless-port',
    ...PORT,
    meaning: 'Port of the gasless swap service; 0 picks a free one',
  },
  {
    path: 'ports.admin',
    flag: '--admin-port',
    ...PORT,
    meaning: 'Admin port; 0 picks a free one',
  },
  {
    path: 'ports.aggregatorRpc',
    flag: '--aggregator-rpc-port',
    ...PORT,
    meaning: "Port of the node of the aggregation service's chain; 0 picks a free one",
  },
  {
    path: 'ports.aggregator',
    flag: '--aggregator-port',
    ...PORT,
    meaning: 'Port of the aggregation service; 0 picks a free one',
  },
  {
    path: 'market.feedInterval',
    value: 'duration',
    byDefault: '1s',
    meaning: 'Time between market steps, which update the feeds; 0s leaves them to the admin port',
  },
  {
    path: 'market.ownDepthUsd',
    value: 'usd',
    byDefault: '2000000',
    meaning: 'Depth of each side of an own pool, in whole dollars',
  },
  {
    path: 'market.ownShareMaxBps',
    value: 'bps',
    byDefault: '2500',
    meaning: 'Largest quote of an own pool, in basis points of its depth',
  },
  {
    path: 'market.externalDepthUsd',
    value: 'usd',
    byDefault: '20000000',
    meaning: 'Depth of external liquidity, in whole dollars',
  },
  {
    path: 'market.externalSpreadBps',
    value: 'bps',
    byDefault: '10',
    meaning: 'Spread of external liquidity on top of its price impact, in basis points',
  },
  {
    path: 'gasless.quoteLifetime',
    value: 'duration',
    byDefault: '60s',
    meaning: 'Lifetime of a quote and its permit',
  },
  {
    path: 'gasless.feeBps',
    value: 'bps',
    byDefault: '5',
    meaning: 'Fee in basis points of the amount sold',
  },
  {
    path: 'gasless.listDomainType',
    value: 'true|false',
    byDefault: 'true',
    meaning: 'Whether quotes list the type EIP712Domain, which wallet software needs',
  },
  {
    path: 'gasless.logoURI',
    value: 'uri',
    meaning: '`logoURI` of listed tokens; `{symbol}` is replaced',
  },
  {
    path: 'gasless.rateLimits.tokens',
    entry: 'tokens',
    ...RATE,
    meaning: 'Maximum `GET /tokens` requests in a window',
  },
  {
    path: 'gasless.rateLimits.quote',
    entry: 'quote',
    ...RATE,
    meaning: 'Maximum `POST /quote` requests in a window',
  },
  {
    path: 'gasless.rateLimits.orders',
    entry: 'orders',
    ...RATE,
    meaning: 'Maximum `POST /orders` requests in a window',
  },
  {
    path: 'gasless.rateLimits.order',
    entry: 'order',
    ...RATE,
    meaning: 'Maximum `GET /orders/{id}` requests in a window',
  },
  {
    path: 'gasless.rateLimitReset',
    value: 'epoch|duration',
    byDefault: 'epoch',
    meaning: 'Meaning of `x-ratelimit-reset`: milliseconds since 1970, or from now',
  },
  {
    path: 'gasless.wire.preferOwn',
    flag: '--prefer-own-word',
    value: 'word',
    byDefault: 'preferOwn',
    meaning: 'Word for the routing preference that prefers own liquidity if it is competitive',
  },
  {
    path: 'gasless.wire.onlyOwn',
    flag: '--only-own-word',
    value: 'word',
    byDefault: 'onlyOwn',
    meaning: 'Word for the routing preference that uses only own liquidity',
  },
  {
    path: 'gasless.ordersPerTransaction',
    value: 'n',
    byDefault: '8',
    meaning: 'Maximum orders in one settlement transaction',
  },
  {
    path: 'gasless.sameOwnerInTransaction',
    value: 'true|false',
    byDefault: 'true',
    meaning: 'Whether orders of one owner may share a transaction',
  },
  {
    path: 'aggregator.chainId',
    value: '11155111|1',
    byDefault: '11155111',
    meaning: 'Chain id of the local node: Sepolia or Mainnet',
  },
  {
    path: 'aggregator.gasTank',
    value: 'balances|balanceOf',
    byDefault: 'balances',
    meaning:
      'Methods of the GasTank: `deposit(address)` and `balances(address)`, charges stay inside; or `deposit()` and `balanceOf(address)`, charges are taken out',
  },
  {
    path: 'aggregator.gasLimit',
    value: 'whole|target',
    byDefault: 'whole',
    meaning: 'Scope of a signed gasLimit: the whole `onCall`, or only the call to the target',
  },
  {
    path: 'aggregator.domain',
    value: 'account|proposer',
    byDefault: 'account',
    meaning: "`verifyingContract` of the TrustlessProposer's domain: the account or the proposer",
  },
  {
    path: 'aggregator.blobCost',
    value: 'ether',
    byDefault: '0',
    meaning: 'Charge for blob gas of each aggregated call, in ether',
  },
  {
    path: 'aggregator.window',
    value: 'duration',
    byDefault: '300ms',
    meaning: 'Time that a call waits for others to share its transaction',
  },
  {
    path: 'aggregator.callsPerBatch',
    value: 'n',
    byDefault: '16',
    meaning: 'Maximum calls in one transaction',
  },
  {
    path: 'aggregator.feeBps',
    value: 'bps',
    byDefault: '1000',
    meaning: "Service's share of the savings from aggregation, in basis points",
  },
  {
    path: 'aggregator.indexingDelay',
    value: 'duration',
    byDefault: '2s',
    meaning: "Time from a deposit's block to its appearance in the account",
  },
  {
    path: 'aggregator.settleEvery',
    value: 'duration',
    byDefault: '5s',
    meaning: 'Time between settlements of charges; 0s leaves them to the admin port',
  },
  {
    path: 'aggregator.traffic.participants',
    value: 'n',
    byDefault: '3',
    meaning: 'Number of other accounts that use the service',
  },
  {
    path: 'aggregator.traffic.every',
    value: 'duration',
    byDefault: '1s',
    meaning: 'Time between calls of other accounts; 0s for no calls',
  },
  {
    path: 'aggregator.traffic.patience',
    value: 'duration',
    byDefault: '3s',
    meaning: 'Time that a call of another account waits for others',
  },
  {
    path: 'aggregator.rateLimit',
    value: 'limit/window',
    byDefault: '600/10s',
    meaning: 'Maximum requests of all methods in a window',
  },
  {
    path: 'aggregator.wire.methodPrefix',
    flag: '--aggregator-method-prefix',
    value: 'prefix',
    byDefault: 'agg_',
    meaning: "Prefix of the service's own methods",
  },
  {
    path: 'aggregator.wire.signatureHeader',
    flag: '--aggregator-signature-header',
    value: 'name',
    byDefault: 'X-Relay-Signature',
    meaning: 'Header that carries the signature over a request',
  },
] as const satisfies readonly SettingRow[]
