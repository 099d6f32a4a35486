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
import type { Tree } from '../../config/yaml/document.ts'
import { DURATION, durationMs } from '../../domain/text/duration.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { type Rows, TABLE } from './table.ts'

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

/** Whole seconds in the form of a duration, within inclusive bounds in the same form. */
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
/** Basis points of at most half. Beyond that a fee or spread would leave too little to trade. */
const halfAtMost = integer({ min: 0, max: 5_000 })

/**
 * A section of the settings file: a schema for each key, with the description from the table. Every key is optional.
 */
function settings<Table extends Rows, Shape extends Readonly<Record<keyof Table, z.ZodType>>>(
  table: Table,
  shape: Shape,
) {
  const fields = Object.entries<z.ZodType>(shape).map(([key, schema]) => {
    const row = table[key]
    return [key, Array.isArray(row) ? schema.optional().describe(row[2]) : schema.optional()]
  })
  type Fields = { readonly [Key in keyof Shape]: z.ZodOptional<Shape[Key]> }
  return section(Object.fromEntries(fields) as Fields)
}

/** `faults.ts` validates faults in a map, because it knows the rules. */
const faults = z.union([filePath(), z.record(z.string(), z.unknown())], {
  error: 'the path of a faults file, or a map with the keys seed, rules',
})

/** A settings file of the sandbox. */
export const sandboxSettingsSchema = settings(TABLE, {
  reading: oneOf(['deployed', 'described']),
  seed: integer({ min: 1, max: 999_999_999 }),
  blockInterval: duration({ min: '0s', max: '1h' }),
  faults,
  ports: settings(TABLE.ports, {
    rpc: port,
    gasless: port,
    admin: port,
    aggregatorRpc: port,
    aggregator: port,
  }),
  market: settings(TABLE.market, {
    feedInterval: duration({ min: '0s', max: '1h' }),
    ownDepthUsd: usd,
    ownShareMaxBps: integer({ min: 0, max: 9_000 }),
    externalDepthUsd: usd,
    externalSpreadBps: halfAtMost,
  }),
  gasless: settings(TABLE.gasless, {
    quoteLifetime: wholeSeconds({ min: '1s', max: '1d' }),
    feeBps: halfAtMost,
    listDomainType: flag,
    logoURI: textLike(
      /^https?:\/\/\S{1,500}$/,
      'an http:// or https:// address, in which {symbol} may stand',
    ),
    rateLimits: settings(TABLE.gasless.rateLimits, {
      tokens: rateLimit,
      quote: rateLimit,
      orders: rateLimit,
      order: rateLimit,
    }),
    rateLimitReset: oneOf(['epoch', 'duration']),
    wire: settings(TABLE.gasless.wire, { preferOwn: routingWord, onlyOwn: routingWord }),
    ordersPerTransaction: integer({ min: 1, max: 64 }),
    sameOwnerInTransaction: flag,
  }),
  aggregator: settings(TABLE.aggregator, {
    chainId: aggregatorChainId,
    gasTank: oneOf(['balances', 'balanceOf']),
    gasLimit: oneOf(['whole', 'target']),
    domain: oneOf(['account', 'proposer']),
    blobCost: etherOrNone,
    passthrough: flag,
    window: duration({ min: '0s', max: '5m' }),
    callsPerBatch: integer({ min: 1, max: 64 }),
    feeBps: integer({ min: 0, max: 10_000 }),
    indexingDelay: duration({ min: '0s', max: '1h' }),
    settleEvery: duration({ min: '0s', max: '1h' }),
    traffic: settings(TABLE.aggregator.traffic, {
      participants: integer({ min: 1, max: 20 }),
      every: duration({ min: '0s', max: '1h' }),
      patience: duration({ min: '0s', max: '1h' }),
    }),
    rateLimit,
    wire: settings(TABLE.aggregator.wire, { methodPrefix, signatureHeader }),
  }),
})

export type SandboxSettings = z.output<typeof sandboxSettingsSchema>

type Undefaulted = 'faults' | 'logoURI'
type Complete<Section> = Pick<Section, Extract<keyof Section, Undefaulted>> & {
  readonly [Key in Exclude<keyof Section, Undefaulted>]-?: NonNullable<Section[Key]> extends object
    ? Complete<NonNullable<Section[Key]>>
    : NonNullable<Section[Key]>
}

export const SANDBOX_DEFAULTS = sandboxSettingsSchema.parse(
  defaultsIn(TABLE),
) as Complete<SandboxSettings>

function defaultsIn(table: Rows): Tree {
  const defaults = Object.entries(table).map(([key, row]): [string, Tree] => [
    key,
    Array.isArray(row) ? row[1] : defaultsIn(row),
  ])
  return Object.fromEntries(defaults.filter(([, value]) => value !== ''))
}
