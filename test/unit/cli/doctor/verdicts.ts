import type { Checks } from '../../../../src/cli/commands/doctor/check.ts'

/** Verdict and id of each check, without its text: `fault node-chain`. */
export function verdicts(checks: Checks): readonly string[] {
  return [checks].flat().map(({ verdict, id }) => `${verdict} ${id}`)
}

/** Each check that did not pass, with its text and remedy on one line. */
export function findings(checks: Checks): readonly string[] {
  return [checks]
    .flat()
    .filter(({ verdict }) => verdict !== 'fine')
    .map(({ verdict, id, says, remedy }) => `${verdict} ${id}: ${says} -> ${remedy ?? 'nothing'}`)
}
