import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { Venue } from '../venue.ts'
import { attemptCall } from './attempt.ts'
import { callSteps } from './follow-call.ts'
import { inspectCall } from './inspect-call.ts'
import { resolveCall } from './resolve.ts'

/** Contract calls through the aggregation service: one signed call per nonce, with a direct fallback. */
export const CALL_VENUE: Venue<OpenCall> = {
  attempt: attemptCall,
  steps: callSteps,
  resolve: resolveCall,
  inspect: inspectCall,
  /** A call needs no post-processing. */
  finish: () => Promise.resolve(true),
}
