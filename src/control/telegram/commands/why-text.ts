import type { Why } from '../../../ui/page/model.ts'
import { shortened } from './status-text.ts'

/** Fields that say more than the line itself; hashes, amounts in base units and the like are for the machine. */
const DETAILS: ReadonlySet<string> = new Set(['detail', 'message', 'evidence'])
const LINES_MAX = 25
const FACT_LENGTH_MAX = 120
const CLOCK_AT = 11
const CLOCK_END = 19

/** What the journal holds about a slot, a line a record, fit for a phone. */
export function whyText({ slot, lines, whole }: Why): string {
  const [first] = lines
  const day = first === undefined ? '' : `, ${new Date(first.atMs).toISOString().slice(0, 10)} UTC`
  // The beginning says what was wanted, the end what became of it.
  const half = Math.floor(LINES_MAX / 2)
  const isLong = lines.length > LINES_MAX
  const shown = isLong ? [...lines.slice(0, half), ...lines.slice(-half)] : lines
  const texts = shown.map(lineText)
  if (isLong) texts.splice(half, 0, `... ${lines.length - shown.length} more ...`)
  if (!whole) texts.push('There may be more: not all of the journal was looked through.')
  return [`${slot}${day}`, ...texts].join('\n')
}

function lineText({ atMs, title, facts }: Why['lines'][number]): string {
  const at = new Date(atMs).toISOString().slice(CLOCK_AT, CLOCK_END)
  const details = facts.filter(([name]) => DETAILS.has(name)).map(([, text]) => text)
  const rest = details.length === 0 ? '' : `: ${shortened(details.join(', '), FACT_LENGTH_MAX)}`
  return `${at} ${title}${rest}`
}
