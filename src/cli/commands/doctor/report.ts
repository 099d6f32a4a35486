import { beside } from '../../wrap.ts'
import { type Check, SECTIONS, type Verdict } from './check.ts'

const MARKS: Readonly<Record<Verdict, { readonly mark: string; readonly colour: number }>> = {
  fine: { mark: 'ok', colour: 32 },
  warning: { mark: 'warn', colour: 33 },
  fault: { mark: 'FAIL', colour: 31 },
  unknown: { mark: '?', colour: 36 },
}

/** Marks and what they say, in two columns. */
const INDENT = 8
const ESCAPE = '\u001b'

/** Checks by section, a line each with its remedy below, and a summary. */
export function reportText(
  checks: readonly Check[],
  { color, columns }: { readonly color: boolean; readonly columns: number },
): string {
  const paint = (code: number, text: string): string =>
    color ? `${ESCAPE}[${code}m${text}${ESCAPE}[0m` : text
  const lines: string[] = []
  for (const section of SECTIONS) {
    const own = checks.filter((check) => check.section === section)
    if (own.length === 0) continue
    lines.push(paint(1, section))
    for (const { verdict, says, remedy } of own) {
      const { mark, colour } = MARKS[verdict]
      const [first = '', ...more] = beside(`  ${mark}`.padEnd(INDENT), says, columns)
      lines.push(first.replace(mark, paint(colour, mark)), ...more)
      if (remedy !== undefined) lines.push(...beside(`${' '.repeat(INDENT)}-> `, remedy, columns))
    }
    lines.push('')
  }
  lines.push(summary(checks))
  return lines.join('\n')
}

function summary(checks: readonly Check[]): string {
  const count = (verdict: Verdict): number =>
    checks.filter((check) => check.verdict === verdict).length
  const parts = [
    `${count('fine')} fine`,
    counted(count('warning'), 'warning'),
    counted(count('fault'), 'fault'),
    ...(count('unknown') > 0 ? [`${count('unknown')} not known`] : []),
  ]
  return `${counted(checks.length, 'check')}: ${parts.join(', ')}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
