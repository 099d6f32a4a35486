import type { Steps } from './panels.ts'

/** One color for each outcome of a slot, on every dashboard. */
export const OUTCOME_COLORS = {
  filled: 'green',
  skipped: 'text',
  missed: 'yellow',
  expired: 'purple',
  refused: 'orange',
  failed: 'red',
}

/** Outcomes of slots that were due to place an order and placed none. */
export const LOST = 'outcome=~"failed|refused|expired|missed"'

export const YES_IS_BAD = {
  0: { text: 'no', color: 'green' },
  1: { text: 'yes', color: 'red' },
}

/** Shares of a cap: 1 is all of it. */
export const FULLNESS: Steps = [
  [null, 'green'],
  [0.75, 'yellow'],
  [0.9, 'red'],
]
