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
      'What open points are like: as deployments have them, or the plain reading of the description (gasTank balanceOf, gasLimit target, domain proposer, listDomainType false, unless given themselves)',
  },
  {
    path: 'seed',
    value: 'n',
    byDefault: '1',
    meaning: 'Seed of the prices: the same seed, the same prices',
  },
  {
    path: 'blockInterval',
    value: 'duration',
    byDefault: '1s',
    meaning:
      'Time between blocks of both chains when nothing is sent; 0s mines only what is sent, and time on the chains stands still between',
  },
  {
    path: 'faults',
    value: 'file',
    isPath: true,
    meaning:
      'File with faults to begin with, YAML or JSON; in the settings file also the faults themselves',
  },
  {
    path: 'ports.rpc',
    flag: '--rpc-port',
    ...PORT,
    meaning: 'Node of chain 8453; 0 is any free port',
  },
  {
    path: 'ports.gasless',
    flag: '--gasless-port',
    ...PORT,
    meaning: 'Gasless swap service; 0 is any free port',
  },
  {
    path: 'ports.admin',
    flag: '--admin-port',
    ...PORT,
    meaning: 'Admin port; 0 is any free port',
  },
  {
    path: 'ports.aggregatorRpc',
    flag: '--aggregator-rpc-port',
    ...PORT,
    meaning: "Node of the aggregation service's chain; 0 is any free port",
  },
  {
    path: 'ports.aggregator',
    flag: '--aggregator-port',
    ...PORT,
    meaning: 'Transaction aggregation service; 0 is any free port',
  },
  {
    path: 'market.feedInterval',
    value: 'duration',
    byDefault: '1s',
    meaning:
      'Time between market steps, each pushed to the feeds; 0s leaves them to the admin port',
  },
  {
    path: 'market.ownDepthUsd',
    value: 'usd',
    byDefault: '2000000',
    meaning: 'Whole dollars on each side of an own pool',
  },
  {
    path: 'market.ownShareMaxBps',
    value: 'bps',
    byDefault: '2500',
    meaning: 'Basis points of its depth beyond which an own pool quotes nothing',
  },
  {
    path: 'market.externalDepthUsd',
    value: 'usd',
    byDefault: '20000000',
    meaning: 'Whole dollars of external liquidity',
  },
  {
    path: 'market.externalSpreadBps',
    value: 'bps',
    byDefault: '10',
    meaning: 'Basis points that external liquidity costs on top of its price impact',
  },
  {
    path: 'gasless.quoteLifetime',
    value: 'duration',
    byDefault: '60s',
    meaning: 'How long a quote and its permit live',
  },
  {
    path: 'gasless.feeBps',
    value: 'bps',
    byDefault: '5',
    meaning: 'Basis points of what is sold that are the fee',
  },
  {
    path: 'gasless.listDomainType',
    value: 'true|false',
    byDefault: 'true',
    meaning: 'Whether quotes list EIP712Domain among the types, which wallet software needs',
  },
  {
    path: 'gasless.logoURI',
    value: 'uri',
    meaning: '`logoURI` of every listed token, `{symbol}` replaced',
  },
  {
    path: 'gasless.rateLimits.tokens',
    entry: 'tokens',
    ...RATE,
    meaning: 'Requests of `GET /tokens` in a window',
  },
  {
    path: 'gasless.rateLimits.quote',
    entry: 'quote',
    ...RATE,
    meaning: 'Requests of `POST /quote` in a window',
  },
  {
    path: 'gasless.rateLimits.orders',
    entry: 'orders',
    ...RATE,
    meaning: 'Requests of `POST /orders` in a window',
  },
  {
    path: 'gasless.rateLimits.order',
    entry: 'order',
    ...RATE,
    meaning: 'Requests of `GET /orders/{id}` in a window',
  },
  {
    path: 'gasless.rateLimitReset',
    value: 'epoch|duration',
    byDefault: 'epoch',
    meaning: 'What `x-ratelimit-reset` counts in milliseconds: since 1970, or from now',
  },
  {
    path: 'gasless.wire.preferOwn',
    flag: '--prefer-own-word',
    value: 'word',
    byDefault: 'preferOwn',
    meaning: 'Word for the routing preference of own liquidity where it is competitive',
  },
  {
    path: 'gasless.wire.onlyOwn',
    flag: '--only-own-word',
    value: 'word',
    byDefault: 'onlyOwn',
    meaning: 'Word for the routing preference of own liquidity alone',
  },
  {
    path: 'gasless.ordersPerTransaction',
    value: 'n',
    byDefault: '8',
    meaning: 'Orders that share a settlement transaction at most',
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
    meaning: 'Chain id of the local node: that of Sepolia or of Mainnet',
  },
  {
    path: 'aggregator.gasTank',
    value: 'balances|balanceOf',
    byDefault: 'balances',
    meaning:
      '`deposit(address)` with `balances(address)`, charges staying inside; or `deposit()` with `balanceOf(address)`, charges taken out',
  },
  {
    path: 'aggregator.gasLimit',
    value: 'whole|target',
    byDefault: 'whole',
    meaning: 'What a signed gasLimit bounds: the whole `onCall`, or the call to the target alone',
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
    meaning: 'Ether of blob gas that each aggregated call is charged for',
  },
  {
    path: 'aggregator.window',
    value: 'duration',
    byDefault: '300ms',
    meaning: 'How long a call waits for others to share its transaction',
  },
  {
    path: 'aggregator.callsPerBatch',
    value: 'n',
    byDefault: '16',
    meaning: 'Calls that share a transaction at most',
  },
  {
    path: 'aggregator.feeBps',
    value: 'bps',
    byDefault: '1000',
    meaning: "Basis points of what aggregation saved that are the service's",
  },
  {
    path: 'aggregator.indexingDelay',
    value: 'duration',
    byDefault: '2s',
    meaning: "From a deposit's block to its appearance in the account",
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
    meaning: 'Accounts of strangers that use the service too',
  },
  {
    path: 'aggregator.traffic.every',
    value: 'duration',
    byDefault: '1s',
    meaning: 'Time between calls of strangers; 0s for none',
  },
  {
    path: 'aggregator.traffic.patience',
    value: 'duration',
    byDefault: '3s',
    meaning: "How long a stranger's call waits for company",
  },
  {
    path: 'aggregator.rateLimit',
    value: 'limit/window',
    byDefault: '600/10s',
    meaning: 'Requests of all methods in a window',
  },
  {
    path: 'aggregator.wire.methodPrefix',
    flag: '--aggregator-method-prefix',
    value: 'prefix',
    byDefault: 'agg_',
    meaning: "What the service's own methods begin with",
  },
  {
    path: 'aggregator.wire.signatureHeader',
    flag: '--aggregator-signature-header',
    value: 'name',
    byDefault: 'X-Relay-Signature',
    meaning: 'Header that carries the signature over a request',
  },
] as const satisfies readonly SettingRow[]
