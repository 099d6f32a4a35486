/**
 * What becomes of a message to the daemon's bot. Closed: labels of a metric.
 *
 * - `obeyed`: something was paused, halted or resumed by it, or was so already
 * - `answered`: it was told something, or asked to say it again
 * - `refused`: not understood, not allowed, or not written by the one who sent it
 * - `stale`: it came too late to be obeyed
 * - `replayed`: it was obeyed or answered before
 * - `flood`: more of them came in a minute than are listened to
 * - `stranger`: from somebody whom the config does not name, or from a place where others write
 * - `unreadable`: no message at all
 */
export const REMOTE_OUTCOMES = [
  ...(['obeyed', 'answered', 'refused', 'stale', 'replayed', 'flood'] as const),
  ...(['stranger', 'unreadable'] as const),
] as const

export type RemoteOutcome = (typeof REMOTE_OUTCOMES)[number]

/**
 * How it stands with the one that carries the messages. `silent`: nobody answers. `conflict`: somebody else listens for
 * the same bot. `refused`: it does not know the bot's token, and is not asked again.
 */
export type RemoteLink = 'listening' | 'silent' | 'conflict' | 'refused'
