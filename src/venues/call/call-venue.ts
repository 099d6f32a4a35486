import type { OpenCall } from '../../domain/book/state.ts'
import type { Venue } from '../venue.ts'
import { attemptCall } from './attempt.ts'
import { callSteps } from './follow.ts'
import { lookAtCall } from './look.ts'
import { resolveCall } from './resolve.ts'

/** Contract calls through the aggregation service: one signed call a nonce, with a direct fallback. */
export const CALL_VENUE: Venue<OpenCall> = {
  attempt: attemptCall,
  steps: callSteps,
  resolve: resolveCall,
  look: lookAtCall,
  /** A call leaves nothing behind. */
  finish: () => Promise.resolve(true),
}
