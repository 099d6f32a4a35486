/** A setting of the sandbox: a key of the settings file and a flag of `tranched sandbox`. */
export type Row = [
  /**
   * Placeholder in the help. A `file` is relative to the working directory on the command line, and to the file's directory
   * in a settings file.
   */
  value: string,
  /** Default value as the user would write it; empty if there is none. */
  byDefault: string,
  meaning: string,
  /**
   * Default: the path in kebab case, without `gasless.` and `market.`. The last key selects one of several settings with the
   * same flag.
   */
  flag?: `--${string}`,
]

/** The flag for all rate limits of the gasless service: `--rate-limit quote=100/10s`. */
export const RATE_LIMIT = '--rate-limit'

export type Rows = { readonly [key: string]: Row | Rows }

function port(flag: `--${string}`, what: string): Row {
  return ['port', '0', `${what}; 0 picks a free one`, flag]
}

function rateLimit(request: string): Row {
  const meaning = `Maximum \`${request}\` requests in a window`
  return ['route=limit/window', '600/10s', meaning, RATE_LIMIT]
}

/** Settings by section, as in the settings file. */
export const TABLE = {
  reading: [
    'deployed|described',
    'deployed',
    'Reading of the interface descriptions: as deployed, or as described (gasTank balanceOf, gasLimit target, domain proposer, listDomainType false, unless set)',
  ],
  seed: ['n', '1', 'Seed of the prices; the same seed gives the same prices'],
  blockInterval: [
    'duration',
    '1s',
    'Time between blocks of both chains without transactions; 0s mines only transactions, and the time of the chains stands still in between',
  ],
  faults: [
    'file',
    '',
    'File with the initial faults, YAML or JSON; a settings file can also contain the faults',
  ],
  ports: {
    rpc: port('--rpc-port', 'Port of the node of chain 8453'),
    gasless: port('--gasless-port', 'Port of the gasless swap service'),
    admin: port('--admin-port', 'Admin port'),
    aggregatorRpc: port(
      '--aggregator-rpc-port',
      "Port of the node of the aggregation service's chain",
    ),
    aggregator: port('--aggregator-port', 'Port of the aggregation service'),
  },
  market: {
    feedInterval: [
      'duration',
      '1s',
      'Time between market steps, which update the feeds; 0s leaves them to the admin port',
    ],
    ownDepthUsd: ['usd', '2000000', 'Depth of each side of an own pool, in whole dollars'],
    ownShareMaxBps: ['bps', '2500', 'Largest quote of an own pool, in basis points of its depth'],
    externalDepthUsd: ['usd', '20000000', 'Depth of external liquidity, in whole dollars'],
    externalSpreadBps: [
      'bps',
      '10',
      'Spread of external liquidity on top of its price impact, in basis points',
    ],
  },
  gasless: {
    quoteLifetime: ['duration', '60s', 'Lifetime of a quote and its permit'],
    feeBps: ['bps', '5', 'Fee in basis points of the amount sold'],
    listDomainType: [
      'true|false',
      'true',
      'Whether quotes list the type EIP712Domain, which wallet software needs',
    ],
    logoURI: ['uri', '', '`logoURI` of listed tokens; `{symbol}` is replaced'],
    rateLimits: {
      tokens: rateLimit('GET /tokens'),
      quote: rateLimit('POST /quote'),
      orders: rateLimit('POST /orders'),
      order: rateLimit('GET /orders/{id}'),
    },
    rateLimitReset: [
      'epoch|duration',
      'epoch',
      'Meaning of `x-ratelimit-reset`: milliseconds since 1970, or from now',
    ],
    wire: {
      preferOwn: [
        'word',
        'preferOwn',
        'Word for the routing preference that prefers own liquidity if it is competitive',
        '--prefer-own-word',
      ],
      onlyOwn: [
        'word',
        'onlyOwn',
        'Word for the routing preference that uses only own liquidity',
        '--only-own-word',
      ],
    },
    ordersPerTransaction: ['n', '8', 'Maximum orders in one settlement transaction'],
    sameOwnerInTransaction: [
      'true|false',
      'true',
      'Whether orders of one owner may share a transaction',
    ],
  },
  aggregator: {
    chainId: ['11155111|1', '11155111', 'Chain id of the local node: Sepolia or Mainnet'],
    gasTank: [
      'balances|balanceOf',
      'balances',
      'Methods of the GasTank: `deposit(address)` and `balances(address)`, as published, charges stay inside; or `deposit()` and `balanceOf(address)`, charges are taken out',
    ],
    gasLimit: [
      'whole|target',
      'whole',
      'Scope of a signed gasLimit: the whole `onCall`, or only the call to the target',
    ],
    domain: [
      'account|proposer',
      'account',
      "`verifyingContract` of the TrustlessProposer's domain: the account or the proposer",
    ],
    blobCost: ['ether', '0', 'Charge in ether for each aggregated call, besides its own blob gas'],
    passthrough: [
      'true|false',
      'false',
      'Whether the endpoint answers standard methods from the node, and broadcasts for accounts without a deposit',
    ],
    window: ['duration', '300ms', 'Time that a call waits for others to share its transaction'],
    callsPerBatch: ['n', '16', 'Maximum calls in one transaction'],
    feeBps: ['bps', '1000', "Service's share of the savings from aggregation, in basis points"],
    indexingDelay: [
      'duration',
      '2s',
      "Time from a deposit's block to its appearance in the account",
    ],
    settleEvery: [
      'duration',
      '5s',
      'Time between settlements of charges; 0s leaves them to the admin port',
    ],
    traffic: {
      participants: ['n', '3', 'Number of other accounts that use the service'],
      every: ['duration', '1s', 'Time between calls of other accounts; 0s for no calls'],
      patience: ['duration', '3s', 'Time that a call of another account waits for others'],
    },
    rateLimit: ['limit/window', '600/10s', 'Maximum requests of all methods in a window'],
    wire: {
      methodPrefix: [
        'prefix',
        'agg_',
        "Prefix of the service's own methods",
        '--aggregator-method-prefix',
      ],
      signatureHeader: [
        'name',
        'X-Relay-Signature',
        'Header that carries the signature over a request',
        '--aggregator-signature-header',
      ],
    },
  },
} satisfies Rows
