import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestFault } from '../faults.ts'
import type { Answer, Reply } from './json-server.ts'

export type FaultReplies = {
  rateLimited(retryAfterSeconds: number): Reply
  internal(): Reply
  /** The reply to another request, as a faulty proxy might send. */
  stray(): Reply
}

/**
 * Answers a request with its faults. A fault before processing replaces one after it. Delays and wrong dates always apply.
 */
export async function answerWithFaults(
  faults: readonly RequestFault[],
  replies: FaultReplies,
  process: () => Promise<Reply>,
): Promise<Answer> {
  if (faults.length === 0) return process()
  const early = replaced(faults, replies, 'Before')
  const reply = early ?? (await process())
  const answer = early ?? replaced(faults, replies, 'After') ?? reply
  for (const fault of faults) if (fault.kind === 'slow') await sleep(fault.delayMs)
  return answer === 'drop' ? answer : faults.reduce(withWrongDate, answer)
}

function replaced(
  faults: readonly RequestFault[],
  replies: FaultReplies,
  when: 'Before' | 'After',
): Answer | undefined {
  for (const fault of faults) {
    if (fault.kind === `drop${when}`) return 'drop'
    if (fault.kind === `error${when}`) return replies.internal()
    if (when === 'Before' && fault.kind === 'rateLimit')
      return replies.rateLimited(fault.retryAfterSeconds)
    if (when === 'After' && fault.kind === 'strayAfter') return replies.stray()
  }
  return undefined
}

function withWrongDate(reply: Reply, fault: RequestFault): Reply {
  if (fault.kind !== 'wrongDate') return reply
  const date = new Date(Date.now() + fault.skewMs).toUTCString()
  return { ...reply, headers: { ...reply.headers, date } }
}
