import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestFault, Route } from '../faults.ts'
import type { Answer, Reply } from '../http/json-server.ts'
import { errorReply } from './envelope.ts'

/**
 * Runs a request through the faults that apply to it. Faults before processing win over those after it;
 * delays and a wrong clock apply to whatever is answered in the end.
 */
export async function answerWithFaults(
  faults: readonly RequestFault[],
  route: Route,
  process: () => Promise<Reply>,
): Promise<Answer> {
  if (faults.length === 0) return process()
  const answer = before(faults, route) ?? after(faults, await process())
  for (const fault of faults) if (fault.kind === 'slow') await sleep(fault.delayMs)
  return answer === 'drop' ? answer : faults.reduce(withWrongDate, answer)
}

function before(faults: readonly RequestFault[], route: Route): Answer | undefined {
  for (const fault of faults) {
    if (fault.kind === 'dropBefore') return 'drop'
    if (fault.kind === 'errorBefore') return errorReply('INTERNAL_ERROR', 'internal failure')
    if (fault.kind === 'rateLimit') {
      return {
        ...errorReply('RATE_LIMITED', `rate limit exceeded for ${route}`),
        headers: { 'retry-after': String(fault.retryAfterSeconds) },
      }
    }
  }
  return undefined
}

function after(faults: readonly RequestFault[], reply: Reply): Answer {
  for (const fault of faults) {
    if (fault.kind === 'dropAfter') return 'drop'
    if (fault.kind === 'errorAfter') return errorReply('INTERNAL_ERROR', 'internal failure')
  }
  return reply
}

function withWrongDate(reply: Reply, fault: RequestFault): Reply {
  if (fault.kind !== 'wrongDate') return reply
  const date = new Date(Date.now() + fault.skewMs).toUTCString()
  return { ...reply, headers: { ...reply.headers, date } }
}
