import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { Venue } from '../venue.ts'
import { attemptSwap } from './attempt.ts'
import { swapSteps } from './follow-swap.ts'
import { inspectSwap } from './inspect-swap.ts'
import { leaveNoWeth } from './prepare.ts'
import { resolveSwap } from './resolve.ts'

/** Swaps through the gasless service, which settles a permit. Bought WETH is unwrapped at the end. */
export const SWAP_VENUE: Venue<OpenSwap> = {
  attempt: attemptSwap,
  steps: swapSteps,
  resolve: resolveSwap,
  inspect: inspectSwap,
  finish: leaveNoWeth,
}
