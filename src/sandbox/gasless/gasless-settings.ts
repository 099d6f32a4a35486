import type { RateLimit } from '../http/rate-limit.ts'
import type { SandboxOptions } from '../options.ts'

const RATE_LIMIT: RateLimit = { limit: 600, windowMs: 10_000 }

/** All settings of the gasless service. */
export type GaslessSettings = ReturnType<typeof gaslessSettings>

export function gaslessSettings(options: SandboxOptions) {
  return {
    lifetimeSeconds: options.quoteLifetimeSeconds ?? 60,
    feeBps: options.feeBps ?? 5,
    /** Whether `typedData.types` also lists EIP712Domain. */
    listDomainType: options.listDomainType ?? true,
    /** `logoURI` of every token; the service replaces `{symbol}`. */
    logoURI: options.logoURI,
    rateLimits: {
      tokens: RATE_LIMIT,
      quote: RATE_LIMIT,
      orders: RATE_LIMIT,
      order: RATE_LIMIT,
      ...options.rateLimits,
    },
    rateLimitReset: options.rateLimitReset ?? 'epoch',
    /** Words on the wire for the two preferences. */
    routingWords: { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn', ...options.routingWords },
    /** Maximum orders in one transaction. */
    ordersPerTransaction: 8,
    /** Whether one transaction may settle several orders of one owner. */
    sameOwnerInTransaction: true,
    ...options.settlement,
  }
}
