import { LIMIT_CODES } from '../../../chain/node/refusals.ts'
import type { AggregatorFault } from '../../../ports.ts'
import { ERROR_MESSAGES } from './aggregator-wire.ts'

/** "Internal error" of JSON-RPC 2.0: the service failed at an unknown point. */
const INTERNAL_CODE = -32603
/** Messages that do not prove a rejection (failures, limits, duplicates), so no fallback may follow. */
const INCONCLUSIVE =
  /internal (?:server )?error|time[d-]? ?out|unavailable|overload|try again|rate.?limit|too many requests|already|duplicate|known transaction/i
/** The interface defines no message for failed authentication. */
const AUTHENTICATION = /auth|signature|forbidden/i
const UNAUTHENTICATED_STATUSES: readonly number[] = [401, 403]

type ServiceError = {
  readonly statusCode: number
  readonly code: number
  /** Unmodified: compared, never logged. */
  readonly message: string
  readonly hasCredential: boolean
}

/** Classifies by message, because the interface has no codes. An internal failure leaves the request's effect unknown. */
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

/** True if the HTTP status alone rejects the credential. */
export function isUnauthenticated(statusCode: number): boolean {
  return UNAUTHENTICATED_STATUSES.includes(statusCode)
}

/** Messages of the interface, ignoring case and a final full stop. */
function knownTag(message: string): keyof typeof ERROR_MESSAGES | undefined {
  const words = normalized(message)
  const tags = Object.keys(ERROR_MESSAGES) as (keyof typeof ERROR_MESSAGES)[]
  return tags.find((tag) => normalized(ERROR_MESSAGES[tag]) === words)
}

function normalized(text: string): string {
  return text.trim().toLowerCase().replace(/\.$/, '')
}
