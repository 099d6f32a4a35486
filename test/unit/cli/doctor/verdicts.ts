import type { Check } from '../../../../src/cli/commands/doctor/check.ts'

/** What was found, without the words: `fault node-chain`. */
export function verdicts(checks: readonly Check[]): readonly string[] {
  return checks.map(({ verdict, id }) => `${verdict} ${id}`)
}

/** What is not fine, with all its words on one line. */
export function troubles(checks: readonly Check[]): readonly string[] {
  return checks
    .filter(({ verdict }) => verdict !== 'fine')
    .map(({ verdict, id, says, remedy }) => `${verdict} ${id}: ${says} -> ${remedy ?? 'nothing'}`)
}
