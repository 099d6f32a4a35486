import type { Rounds, Tape } from '../../domain/tape.ts'

/** Rounds of one tape that are kept: 64 MiB of them. A longer one is read again each time. */
const ROUNDS_MAX = 4_000_000

/** A tape that is read once, for whoever plays it many times. */
export function heldTape(tape: Tape): Tape {
  let held: readonly Rounds[] | undefined
  let isTooLong = false
  return {
    ...tape,
    rounds() {
      held ??= isTooLong ? undefined : piecesOf(tape)
      isTooLong = held === undefined
      return held ?? tape.rounds()
    },
  }
}

function piecesOf(tape: Tape): readonly Rounds[] | undefined {
  const pieces: Rounds[] = []
  let count = 0
  for (const piece of tape.rounds()) {
    count += piece.atSeconds.length
    if (count > ROUNDS_MAX) return undefined
    pieces.push(piece)
  }
  return pieces
}
