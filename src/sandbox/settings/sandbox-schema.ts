import * as z from 'zod'
import { etherOrNone } from '../../config/amount-scalars.ts'
import {
  duration,
  filePath,
  flag,
  integer,
  meant,
  oneOf,
  refused,
  scalar,
  section,
  textLike,
} from '../../config/scalars.ts'
import { methodPrefix, signatureHeader } from '../../config/settings/aggregator-schema.ts'
import { routingWord } from '../../config/settings/settings-schema.ts'
import { DURATION, durationMs } from '../../domain/text/duration.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { meaningOf, type SettingPath } from './flags.ts'

const LIMITS = { min: 1, max: 1_000_000 } as const
const WINDOWS = { min: '10ms', max: '1h' } as const
const limit = integer(LIMITS)
const window = duration(WINDOWS)

const rateText = scalar<RateLimit>({
  expected: `requests and the time they are counted over, such as 100/10s: from ${LIMITS.min} to ${LIMITS.max}, over ${WINDOWS.min} to ${WINDOWS.max}`,
  json: { type: 'string', pattern: '^\\d+/\\d+(ms|s|m|h)$' },
  read: (text) => {
    const [limitText = '', windowText = '', ...more] = text.split('/')
    const [requests, time] = [limit.safeParse(limitText), window.safeParse(windowText)]
    return requests.success && time.success && more.length === 0
      ? meant({ limit: requests.data, windowMs: time.data })
      : refused('this is not a rate limit')
  },
})

/** A rate limit as `100/10s` or as a map with `limit` and `window`. */
const rateLimit = z.union(
  [
    rateText,
    section({ limit, window }).transform(
      (rate): RateLimit => ({ limit: rate.limit, windowMs: rate.window }),
    ),
  ],
  { error: 'a rate limit such as 100/10s, or a map with the keys limit, window' },
)

/** Whole seconds written as a duration, within inclusive bounds written the same way. */
function wholeSeconds(bounds: { readonly min: string; readonly max: string }) {
  const inBounds = duration(bounds)
  return scalar<number>({
    expected: `a duration of whole seconds such as 30s or 10m, from ${bounds.min} to ${bounds.max}`,
    json: { type: 'string', pattern: DURATION.source },
    read: (text) => {
      const ms = durationMs(text)
      if (ms === undefined) return refused('this is not a duration')
      if (ms % 1_000 !== 0) return refused('this is not a whole number of seconds')
      const isInBounds = inBounds.safeParse(text).success
      return isInBounds ? meant(ms / 1_000) : refused('this duration is out of range')
    },
  })
}

/** The networks that the second chain may stand in for. */
const aggregatorChainId = scalar<1 | 11_155_111>({
  expected: '11155111 (Sepolia) or 1 (Mainnet)',
  json: { type: 'integer', enum: [11_155_111, 1] },
  read: (text) => {
    if (text === '1') return meant(1)
    return text === '11155111' ? meant(11_155_111) : refused('the service is on no such chain')
  },
})

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
