import type { SettingRow } from './row.ts'

const RATE = { flag: '--rate-limit', value: 'route=limit/window', byDefault: '600/10s' } as const

/** What concerns the gasless swap service. */
export const GASLESS_SETTINGS = [
  {
    path: 'gasless.quoteLifetime',
    flag: '--quote-lifetime',
    value: 'duration',
    byDefault: '60s',
    meaning: 'How long a quote and its permit live',
  },
  {
    path: 'gasless.feeBps',
    flag: '--fee-bps',
    value: 'bps',
    byDefault: '5',
    meaning: 'Basis points of what is sold that are the fee',
  },
  {
    path: 'gasless.listDomainType',
    flag: '--list-domain-type',
    value: 'true|false',
    byDefault: 'true',
    meaning: 'Whether quotes list EIP712Domain among the types, which wallet software needs',
  },
  {
    path: 'gasless.logoURI',
    flag: '--logo-uri',
    value: 'uri',
    byDefault: '',
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
    flag: '--rate-limit-reset',
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
    flag: '--orders-per-transaction',
    value: 'n',
    byDefault: '8',
    meaning: 'Orders that share a settlement transaction at most',
  },
  {
    path: 'gasless.sameOwnerInTransaction',
    flag: '--same-owner-in-transaction',
    value: 'true|false',
    byDefault: 'true',
    meaning: 'Whether orders of one owner may share a transaction',
  },
] as const satisfies readonly SettingRow[]
