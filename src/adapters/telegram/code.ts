import { randomInt } from 'node:crypto'

const CODE_DIGITS = 6

/** Six digits that nobody can foresee, to be sent back. */
export function randomCode(): string {
  return randomInt(10 ** CODE_DIGITS)
    .toString()
    .padStart(CODE_DIGITS, '0')
}
