import { codeOf } from '../../../domain/errors.ts'
import type { ServiceFault } from '../../../domain/order/quote.ts'
import { outsideText } from '../../../domain/text/outside-text.ts'
import type { TextAnswer } from '../../../system/exchange.ts'
import { readRetryAfterMs } from '../../queue/rate-limit.ts'
import { readErrorMessage } from './gasless-orders.ts'

/** Classifies an unsuccessful answer by status alone; `error.code` could only contradict it. */
export function faultOf(
  { statusCode: status, headers, text }: TextAnswer,
  serviceNowMs: number,
): ServiceFault {
  const message = readErrorMessage(text) ?? `status ${status} without a readable message`
  switch (status) {
    case 400:
      return { tag: 'badRequest', message }
    case 404:
      return { tag: 'notFound', message }
    case 429:
      return { tag: 'rateLimited', retryAfterMs: readRetryAfterMs(headers, serviceNowMs), message }
    default:
      return { tag: 'unavailable', message: outsideText(`status ${status}: ${message}`) }
  }
}

const LABELLED: readonly number[] = [200, 201, 400, 404, 429, 500]

/** A metric label from a closed set: 200, 201, 400, 404, 429, 500, 5xx or other. */
export function statusLabel(status: number): string {
  if (LABELLED.includes(status)) return String(status)
  return status > 500 && status <= 599 ? '5xx' : 'other'
}

const TIMEOUT_CODES = ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']
const MALFORMED_CODES = [
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_HEADERS_OVERFLOW',
  // Parser errors have a code only for some causes; otherwise the error's name is used.
  'HTTPParserError',
]

/** An exchange without a complete answer. Uses only the error's code: its text may hold addresses. */
export function lossOf(error: unknown): {
  readonly label: 'timeout' | 'malformed' | 'network'
  readonly reply: { readonly ok: false; readonly fault: ServiceFault }
} {
  const code = codeOf(error) ?? (error instanceof Error ? error.name : 'unknown')
  if (TIMEOUT_CODES.includes(code))
    return { label: 'timeout', reply: unavailable('no whole answer in time') }
  if (MALFORMED_CODES.includes(code) || code.startsWith('HPE_'))
    return { label: 'malformed', reply: unavailable(`unreadable reply (${code})`) }
  return { label: 'network', reply: unavailable(`connection failed (${code})`) }
}

export function unavailable(message: string): { ok: false; fault: ServiceFault } {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
