/**
 * Outcomes of a message to the daemon's bot. Closed: labels of a metric.
 *
 * - `obeyed`: it paused, halted or resumed something, or that was already so
 * - `answered`: it got a reply, or a request for confirmation
 * - `refused`: not understood, not allowed, or forwarded
 * - `stale`: too late to be obeyed
 * - `replayed`: already handled
 * - `flood`: above the rate limit
 * - `stranger`: the sender is not in the config, or others can write there
 * - `unreadable`: not a message
 */
export const REMOTE_OUTCOMES = [
  ...(['obeyed', 'answered', 'refused', 'stale', 'replayed', 'flood'] as const),
  ...(['stranger', 'unreadable'] as const),
] as const

export type RemoteOutcome = (typeof REMOTE_OUTCOMES)[number]

/** `silent`: no answer. `conflict`: another client listens for the bot. `refused`: token rejected, no retry. */
export type RemoteLink = 'listening' | 'silent' | 'conflict' | 'refused'
