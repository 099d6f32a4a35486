import type { AggregatorFault } from '../../ports.ts'
import { ERROR_MESSAGES } from '../../wire/aggregator.ts'
import { LIMIT_CODES } from '../chain/refusals.ts'

/** "Internal error" of JSON-RPC 2.0: the service failed at its own work, at whatever point of it. */
const INTERNAL_CODE = -32603
/** Words of which no fallback may conclude that the request was not taken: failures, limits, and what is there already. */
const INCONCLUSIVE =
  /internal (?:server )?error|time[d-]? ?out|unavailable|overload|try again|rate.?limit|too many requests|already|duplicate|known transaction/i
/** The interface shows no message for failed authentication. */
const AUTHENTICATION = /auth|signature|forbidden/i
const UNAUTHENTICATED_STATUSES: readonly number[] = [401, 403]

export type ServiceError = {
  readonly statusCode: number
  readonly code: number
  /** As it came: it is compared, not told. */
  readonly message: string
  /** Whether the request carried a credential of its own, beside signed transactions. */
  readonly hasCredential: boolean
}

/**
 * What a JSON-RPC error means. The interface gives messages and no codes, so that the words decide; a status or
 * code that speaks of the service's own trouble leaves open whether the request took effect.
 */
export function faultTag(error: ServiceError): AggregatorFault['tag'] {
  if (error.statusCode === 429 || LIMIT_CODES.includes(error.code)) return 'rateLimited'
  const known = knownTag(error.message)
  if (known !== undefined) return known
  if (isUnauthenticated(error.statusCode)) return 'unauthenticated'
  if (error.hasCredential && AUTHENTICATION.test(error.message)) return 'unauthenticated'
  const isInconclusive =
    error.statusCode >= 500 || error.code === INTERNAL_CODE || INCONCLUSIVE.test(error.message)
  return isInconclusive ? 'unavailable' : 'rejected'
}

/** Whether an answer's status alone says that the credential was not accepted. */
export function isUnauthenticated(statusCode: number): boolean {
  return UNAUTHENTICATED_STATUSES.includes(statusCode)
}

/** The words of the interface, whatever their case, with or without a full stop. */
function knownTag(message: string): keyof typeof ERROR_MESSAGES | undefined {
  const words = plainWords(message)
  const tags = Object.keys(ERROR_MESSAGES) as (keyof typeof ERROR_MESSAGES)[]
  return tags.find((tag) => plainWords(ERROR_MESSAGES[tag]) === words)
}

function plainWords(text: string): string {
  return text.trim().toLowerCase().replace(/\.$/, '')
}
