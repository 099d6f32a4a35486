import type { Checks } from '../../../../src/cli/commands/doctor/check.ts'

/** What was found, without the words: `fault node-chain`. */
export function verdicts(checks: Checks): readonly string[] {
  return [checks].flat().map(({ verdict, id }) => `${verdict} ${id}`)
}

/** What is not fine, with all its words on one line. */
export function troubles(checks: Checks): readonly string[] {
  return [checks]
    .flat()
    .filter(({ verdict }) => verdict !== 'fine')
    .map(({ verdict, id, says, remedy }) => `${verdict} ${id}: ${says} -> ${remedy ?? 'nothing'}`)
}
