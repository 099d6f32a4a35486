import * as z from 'zod'
import {
  duration,
  etherOrNone,
  filePath,
  flag,
  integer,
  oneOf,
  section,
  textLike,
} from '../../config/scalars.ts'
import { methodPrefix, signatureHeader } from '../../config/settings/aggregator-schema.ts'
import { routingWord } from '../../config/settings/schema.ts'
import { meaningOf, type SettingPath } from './flags.ts'
import { aggregatorChainId, rateLimit, wholeSeconds } from './scalars.ts'

const port = integer({ min: 0, max: 65_535 })
const usd = integer({ min: 1, max: 1_000_000_000_000 })
/** Above half of it nothing is left that anybody would trade for. */
const halfAtMost = integer({ min: 0, max: 5_000 })

/** A setting that the table of flags knows; no default is here, the parts of the sandbox have them. */
function leaf<Schema extends z.ZodType>(path: SettingPath, schema: Schema) {
  return schema.optional().describe(meaningOf(path))
}

const ports = section({
  rpc: leaf('ports.rpc', port),
  gasless: leaf('ports.gasless', port),
  admin: leaf('ports.admin', port),
  aggregatorRpc: leaf('ports.aggregatorRpc', port),
  aggregator: leaf('ports.aggregator', port),
})

const market = section({
  feedInterval: leaf('market.feedInterval', duration({ min: '0s', max: '1h' })),
  ownDepthUsd: leaf('market.ownDepthUsd', usd),
  ownShareMaxBps: leaf('market.ownShareMaxBps', integer({ min: 0, max: 9_000 })),
  externalDepthUsd: leaf('market.externalDepthUsd', usd),
  externalSpreadBps: leaf('market.externalSpreadBps', halfAtMost),
})

const gasless = section({
  quoteLifetime: leaf('gasless.quoteLifetime', wholeSeconds({ min: '1s', max: '1d' })),
  feeBps: leaf('gasless.feeBps', halfAtMost),
  listDomainType: leaf('gasless.listDomainType', flag),
  logoURI: leaf(
    'gasless.logoURI',
    textLike(
      /^https?:\/\/\S{1,500}$/,
      'an http:// or https:// address, in which {symbol} may stand',
    ),
  ),
  rateLimits: section({
    tokens: leaf('gasless.rateLimits.tokens', rateLimit),
    quote: leaf('gasless.rateLimits.quote', rateLimit),
    orders: leaf('gasless.rateLimits.orders', rateLimit),
    order: leaf('gasless.rateLimits.order', rateLimit),
  }).optional(),
  rateLimitReset: leaf('gasless.rateLimitReset', oneOf(['epoch', 'duration'])),
  wire: section({
    preferOwn: leaf('gasless.wire.preferOwn', routingWord),
    onlyOwn: leaf('gasless.wire.onlyOwn', routingWord),
  }).optional(),
  ordersPerTransaction: leaf('gasless.ordersPerTransaction', integer({ min: 1, max: 64 })),
  sameOwnerInTransaction: leaf('gasless.sameOwnerInTransaction', flag),
})

const traffic = section({
  participants: leaf('aggregator.traffic.participants', integer({ min: 1, max: 20 })),
  every: leaf('aggregator.traffic.every', duration({ min: '0s', max: '1h' })),
  patience: leaf('aggregator.traffic.patience', duration({ min: '0s', max: '1h' })),
})

const aggregator = section({
  chainId: leaf('aggregator.chainId', aggregatorChainId),
  gasTank: leaf('aggregator.gasTank', oneOf(['balances', 'balanceOf'])),
  gasLimit: leaf('aggregator.gasLimit', oneOf(['whole', 'target'])),
  domain: leaf('aggregator.domain', oneOf(['account', 'proposer'])),
  blobCost: leaf('aggregator.blobCost', etherOrNone),
  window: leaf('aggregator.window', duration({ min: '0s', max: '5m' })),
  callsPerBatch: leaf('aggregator.callsPerBatch', integer({ min: 1, max: 64 })),
  feeBps: leaf('aggregator.feeBps', integer({ min: 0, max: 10_000 })),
  indexingDelay: leaf('aggregator.indexingDelay', duration({ min: '0s', max: '1h' })),
  settleEvery: leaf('aggregator.settleEvery', duration({ min: '0s', max: '1h' })),
  traffic: traffic.optional(),
  rateLimit: leaf('aggregator.rateLimit', rateLimit),
  wire: section({
    methodPrefix: leaf('aggregator.wire.methodPrefix', methodPrefix),
    signatureHeader: leaf('aggregator.wire.signatureHeader', signatureHeader),
  }).optional(),
})

/** Faults as a map are checked by `faults.ts`, which knows the rules. */
const faults = z.union([filePath(), z.record(z.string(), z.unknown())], {
  error: 'the path of a faults file, or a map with the keys seed, rules',
})

/** A settings file of the sandbox. Every key may be left out. */
export const sandboxSettingsSchema = section({
  reading: leaf('reading', oneOf(['deployed', 'described'])),
  seed: leaf('seed', integer({ min: 1, max: 999_999_999 })),
  blockInterval: leaf('blockInterval', duration({ min: '0s', max: '1h' })),
  faults: leaf('faults', faults),
  ports: ports.optional(),
  market: market.optional(),
  gasless: gasless.optional(),
  aggregator: aggregator.optional(),
})

export type SandboxSettings = z.output<typeof sandboxSettingsSchema>
