import type { OpenSwap } from '../../domain/book/state.ts'
import type { Venue } from '../venue.ts'
import { attemptSwap } from './attempt.ts'
import { swapSteps } from './follow.ts'
import { lookAtSwap } from './look.ts'
import { leaveNoWeth } from './prepare.ts'
import { resolveSwap } from './resolve.ts'

/** Swaps through the gasless service: a permit that the service settles, and WETH that is unwrapped at the end. */
export const SWAP_VENUE: Venue<OpenSwap> = {
  attempt: attemptSwap,
  steps: swapSteps,
  resolve: resolveSwap,
  look: lookAtSwap,
  finish: leaveNoWeth,
}
