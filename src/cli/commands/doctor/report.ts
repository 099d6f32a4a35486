import { type Check, SECTIONS, type Verdict } from './check.ts'

const MARKS: Readonly<Record<Verdict, { readonly mark: string; readonly colour: number }>> = {
  fine: { mark: 'ok', colour: 32 },
  warning: { mark: 'warn', colour: 33 },
  fault: { mark: 'FAIL', colour: 31 },
  unknown: { mark: '?', colour: 36 },
}

const WIDTH = 80
/** Marks and what they say, in two columns. */
const INDENT = 8
const ESCAPE = '\u001b'

/** Checks by section, a line each with its remedy below, and a summary. */
export function reportText(
  checks: readonly Check[],
  { color }: { readonly color: boolean },
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
      const [first = '', ...more] = wrapped(says, WIDTH - INDENT)
      lines.push(`  ${paint(colour, mark)}${' '.repeat(INDENT - 2 - mark.length)}${first}`)
      lines.push(...more.map((line) => ' '.repeat(INDENT) + line))
      if (remedy !== undefined)
        lines.push(...wrapped(`-> ${remedy}`, WIDTH - INDENT - 2).map(remedyLine))
    }
    lines.push('')
  }
  lines.push(summary(checks))
  return lines.join('\n')
}

function remedyLine(line: string, index: number): string {
  return `${' '.repeat(INDENT + (index === 0 ? 0 : 3))}${line}`
}

/** Lines of whole words; a command in backquotes is never broken, however long it is. */
function wrapped(text: string, width: number): readonly string[] {
  const words = text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  if (line !== '') lines.push(line)
  return lines
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
