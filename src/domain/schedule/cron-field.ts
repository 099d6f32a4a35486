import { type MonthDay, monthDayOf, type NthWeekday } from './day-fields.ts'

/** One of the six cron fields; `*` covers `min` to `max`. */
export type CronField = {
  readonly name: 'second' | 'minute' | 'hour' | 'day-of-month' | 'month' | 'day-of-week'
  readonly min: number
  readonly max: number
  /** The period after which the field restarts. */
  readonly within: 'minute' | 'hour' | 'day' | 'month' | 'year' | 'week'
  /** Full value names from `min` on; the first three letters work as well. */
  readonly names: readonly string[]
}

type Place = { readonly offset: number; readonly length: number }

export type Fault = Place & {
  readonly ok: false
  readonly message: string
  readonly remedy?: string | undefined
}

const MONTHS =
  'january february march april may june july august september october november december'.split(' ')
export const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

export const CRON_FIELDS: readonly CronField[] = [
  { name: 'second', min: 0, max: 59, within: 'minute', names: [] },
  { name: 'minute', min: 0, max: 59, within: 'hour', names: [] },
  { name: 'hour', min: 0, max: 23, within: 'day', names: [] },
  { name: 'day-of-month', min: 1, max: 31, within: 'month', names: [] },
  { name: 'month', min: 1, max: 12, within: 'year', names: MONTHS },
  { name: 'day-of-week', min: 0, max: 6, within: 'week', names: WEEKDAYS },
]

const RELATIVE = /^(?:l(?:-.*|w)?|\w*\d[lw]|\w+#\w*|\w+l)$/i
const RELATIVE_HINTS = {
  'day-of-month': 'L, L-1 to L-30, 1W to 31W and LW are allowed here; 5L and 5#2 in day-of-week',
  'day-of-week': '5L and 5#1 to 5#5 are allowed here; L, L-3, 15W and LW in day-of-month',
} as const

export type Piece = { readonly text: string; readonly offset: number }
/** Plain values, and relative days, which only day fields have. */
export type Values = {
  readonly ok: true
  readonly values: readonly number[]
  readonly monthDays?: readonly MonthDay[]
  readonly nthWeekdays?: readonly NthWeekday[]
}
type Range = {
  readonly low: number
  /** Below `low` if the range is reversed. */
  readonly high: number
  readonly from: string
  readonly to: string
}
type RangeParsed = { readonly ok: true; readonly range: Range } | Fault

export function fault(message: string, { offset, length }: Place, remedy?: string): Fault {
  return { ok: false, message, offset, length: Math.max(length, 1), remedy }
}

export function placeOf({ text, offset }: Piece): Place {
  return { offset, length: text.length }
}

/** Parses one field (`*`, values, names, ranges, steps, lists, relative days). Values are ascending and distinct. */
export function parseField(field: CronField, piece: Piece): Required<Values> | Fault {
  const items: Values[] = []
  let { offset } = piece
  for (const text of piece.text.split(',')) {
    const parsed = parseItem(field, { text, offset })
    if (!parsed.ok) return parsed
    items.push(parsed)
    offset += text.length + 1
  }
  return {
    ok: true,
    values: [...new Set(items.flatMap(({ values }) => values))].sort((a, b) => a - b),
    monthDays: items.flatMap(({ monthDays = [] }) => monthDays),
    nthWeekdays: items.flatMap(({ nthWeekdays = [] }) => nthWeekdays),
  }
}

function parseItem(field: CronField, item: Piece): Values | Fault {
  if (item.text === '') return fault(`${field.name} has an empty list item`, placeOf(item))
  const relative = parseRelative(field, item)
  if (relative !== undefined) return relative
  const slash = item.text.indexOf('/')
  const body = slash < 0 ? item.text : item.text.slice(0, slash)
  const parsed = parseRange(field, { text: body, offset: item.offset })
  if (!parsed.ok) return parsed
  const { range } = parsed
  const every = slash < 0 ? 1 : stepOf(field, item.text.slice(slash + 1))
  if (every === undefined) return stepFault(field, item, slash + 1)
  if (range.low > range.high) return backwardsFault(field, item, { ...range, every })
  if (slash >= 0 && !isWildcard(body) && !body.includes('-')) {
    const message = `a step in ${field.name} needs a range`
    // Sunday may be written 0 or 7 and comes first.
    const from = field.name === 'day-of-week' && range.low === 7 ? '0' : body
    return fault(message, placeOf(item), `${from}-${field.max}/${every}`)
  }
  return { ok: true, values: spread(field, range, every) }
}

function isWildcard(text: string): boolean {
  return text === '*' || text === '?'
}

function sizeOf({ min, max }: CronField): number {
  return max - min + 1
}

function stepOf(field: CronField, text: string): number | undefined {
  const every = /^\d{1,9}$/.test(text) ? Number.parseInt(text, 10) : 0
  return every >= 1 && every <= sizeOf(field) ? every : undefined
}

function stepFault(field: CronField, item: Piece, at: number): Fault {
  const step = { text: item.text.slice(at), offset: item.offset + at }
  const message = `a step in ${field.name} must be 1-${sizeOf(field)}, here is "${step.text}"`
  return fault(message, placeOf(step))
}

/** The suggestion wraps around the end of the field and keeps the step. */
function backwardsFault(
  field: CronField,
  item: Piece,
  { low, high, from, to, every }: Range & { readonly every: number },
): Fault {
  const step = every === 1 ? '' : `/${every}`
  const untilEnd = `${from}-${field.max}${step}`
  const beyond = low + every * Math.ceil((field.max - low + 1) / every) - sizeOf(field)
  const rest = beyond > high ? '' : `,${beyond}-${to}${step}`
  const message = `${field.name} range ${from}-${to} runs backwards`
  return fault(message, placeOf(item), `${untilEnd}${rest}`)
}

/** Undefined if the item is not a relative day. */
function parseRelative(field: CronField, item: Piece): Values | Fault | undefined {
  if (field.name === 'day-of-month') {
    const monthDay = monthDayOf(item.text)
    if (monthDay !== undefined) return { ok: true, values: [], monthDays: [monthDay] }
    return /^l-/i.test(item.text) ? valueFault(field, item) : undefined
  }
  const match = field.name === 'day-of-week' ? /^([^#]+?)(?:#(.*)|l)$/i.exec(item.text) : null
  if (match === null) return undefined
  const [, body = '', turn = 'L'] = match
  const parsed = parseRange(field, { text: body, offset: item.offset })
  if (!parsed.ok) return parsed
  const nth = turnOf(turn)
  if (nth === undefined) {
    const message = `# in day-of-week must be followed by 1-5 or L, here is "${turn}"`
    return fault(message, {
      offset: item.offset + item.text.length - turn.length,
      length: turn.length,
    })
  }
  if (isWildcard(body) || parsed.range.low > parsed.range.high)
    return fault('# and L take one weekday, or a range of them that runs forwards', placeOf(item))
  const weekdays = spread(field, parsed.range, 1)
  return { ok: true, values: [], nthWeekdays: weekdays.map((weekday) => ({ weekday, nth })) }
}

function turnOf(text: string): number | 'last' | undefined {
  if (/^l$/i.test(text)) return 'last'
  return /^[1-5]$/.test(text) ? Number.parseInt(text, 10) : undefined
}

function parseRange(field: CronField, body: Piece): RangeParsed {
  if (body.text === '?' && !field.name.startsWith('day-')) {
    const message = `? stands for any day only in day-of-month and day-of-week: write * in ${field.name}`
    return fault(message, placeOf(body))
  }
  const found = (low: number, high: number, from = body.text, to = from): RangeParsed => {
    return { ok: true, range: { low, high, from, to } }
  }
  if (isWildcard(body.text)) return found(field.min, field.max)
  const dash = body.text.indexOf('-')
  if (dash < 0) {
    const value = parseValue(field, body.text)
    return value === undefined ? valueFault(field, body) : found(value, value)
  }
  const from = { text: body.text.slice(0, dash), offset: body.offset }
  const to = { text: body.text.slice(dash + 1), offset: body.offset + dash + 1 }
  if (from.text === '' || to.text === '')
    return fault(`${field.name} range "${body.text}" needs a value on both sides`, placeOf(body))
  const start = parseValue(field, from.text)
  const end = parseValue(field, to.text)
  if (start === undefined) return valueFault(field, from)
  if (end === undefined) return valueFault(field, to)
  if (field.name !== 'day-of-week') return found(start, end, from.text, to.text)
  // Sunday is both ends of a week, so sat-sun and 7-1 are valid ranges.
  const high = end === 0 && start > 0 ? 7 : end
  const low = start === 7 && high < 7 ? 0 : start
  return found(low, high, from.text, to.text)
}

function parseValue(field: CronField, text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) {
    const value = Number.parseInt(text, 10)
    return value >= field.min && value <= largest(field) ? value : undefined
  }
  const name = text.toLowerCase()
  const index = field.names.findIndex((full) => name === full || name === full.slice(0, 3))
  return index < 0 ? undefined : field.min + index
}

function largest(field: CronField): number {
  return field.name === 'day-of-week' ? 7 : field.max
}

function valueFault(field: CronField, piece: Piece): Fault {
  const first = field.names[0]?.slice(0, 3)
  const last = field.names.at(-1)?.slice(0, 3)
  const names = first && last ? ` or ${first}-${last}` : ''
  const message = `${field.name} must be ${field.min}-${largest(field)}${names}, here is "${piece.text}"`
  return fault(`${message}${relativeHint(field, piece.text)}`, placeOf(piece))
}

function relativeHint({ name }: CronField, text: string): string {
  if (!RELATIVE.test(text)) return ''
  const isDay = name === 'day-of-month' || name === 'day-of-week'
  return ` (${isDay ? RELATIVE_HINTS[name] : 'L, W and # are allowed in the day fields only'})`
}

function spread(field: CronField, { low, high }: Range, step: number): number[] {
  const values: number[] = []
  for (let value = low; value <= high; value += step) {
    values.push(field.name === 'day-of-week' ? value % 7 : value)
  }
  return values
}
