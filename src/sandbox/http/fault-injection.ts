import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestFault } from '../faults.ts'
import type { Answer, Reply } from './json-server.ts'

/** How a service words the failures that faults make it answer. */
export type FaultReplies = {
  rateLimited(retryAfterSeconds: number): Reply
  internal(): Reply
  /** An answer that is none to this request, as of somebody between client and service. */
  stray(): Reply
}

/**
 * Runs a request through the faults that apply to it. Faults before processing win over those after it;
 * delays and a wrong clock apply to whatever is answered in the end.
 */
export async function answerWithFaults(
  faults: readonly RequestFault[],
  replies: FaultReplies,
  process: () => Promise<Reply>,
): Promise<Answer> {
  if (faults.length === 0) return process()
  const answer = before(faults, replies) ?? after(faults, replies, await process())
  for (const fault of faults) if (fault.kind === 'slow') await sleep(fault.delayMs)
  return answer === 'drop' ? answer : faults.reduce(withWrongDate, answer)
}

function before(faults: readonly RequestFault[], replies: FaultReplies): Answer | undefined {
  for (const fault of faults) {
    if (fault.kind === 'dropBefore') return 'drop'
    if (fault.kind === 'errorBefore') return replies.internal()
    if (fault.kind === 'rateLimit') return replies.rateLimited(fault.retryAfterSeconds)
  }
  return undefined
}

function after(faults: readonly RequestFault[], replies: FaultReplies, reply: Reply): Answer {
  for (const fault of faults) {
    if (fault.kind === 'dropAfter') return 'drop'
    if (fault.kind === 'errorAfter') return replies.internal()
    if (fault.kind === 'strayAfter') return replies.stray()
  }
  return reply
}

function withWrongDate(reply: Reply, fault: RequestFault): Reply {
  if (fault.kind !== 'wrongDate') return reply
  const date = new Date(Date.now() + fault.skewMs).toUTCString()
  return { ...reply, headers: { ...reply.headers, date } }
}
