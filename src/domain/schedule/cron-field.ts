/** One of the six cron fields, `min` to `max` being what `*` covers. */
export type CronField = {
  readonly name: 'second' | 'minute' | 'hour' | 'day-of-month' | 'month' | 'day-of-week'
  readonly min: number
  readonly max: number
  /** The period after which the field starts over. */
  readonly within: 'minute' | 'hour' | 'day' | 'month' | 'year' | 'week'
  /** Full names of the values from `min` on; the first three letters do as well. */
  readonly names: readonly string[]
}

/** Why a text is no cron pattern; `offset` and `length` mark the part of it that is wrong. */
export type Fault = {
  readonly ok: false
  readonly message: string
  readonly offset: number
  readonly length: number
}

export const CRON_FIELDS: readonly CronField[] = [
  { name: 'second', min: 0, max: 59, within: 'minute', names: [] },
  { name: 'minute', min: 0, max: 59, within: 'hour', names: [] },
  { name: 'hour', min: 0, max: 23, within: 'day', names: [] },
  { name: 'day-of-month', min: 1, max: 31, within: 'month', names: [] },
  {
    name: 'month',
    min: 1,
    max: 12,
    within: 'year',
    names:
      'january february march april may june july august september october november december'.split(
        ' ',
      ),
  },
  {
    name: 'day-of-week',
    min: 0,
    max: 6,
    within: 'week',
    names: 'sunday monday tuesday wednesday thursday friday saturday'.split(' '),
  },
]

/** Day notations of Quartz and node-cron: last day, nearest weekday, nth weekday of the month. */
const QUARTZ_DAY = /^(\d*[lw]|lw|\w+#\w+)$/i

type Piece = { readonly text: string; readonly offset: number }
type Values = { readonly ok: true; readonly values: number[] } | Fault
type Range = { readonly ok: true; readonly low: number; readonly high: number } | Fault

export function fault(message: string, offset: number, length: number): Fault {
  return { ok: false, message, offset, length: Math.max(length, 1) }
}

/** Parses one field (`*`, values, names, ranges, steps, lists) into its values, ascending, each once. */
export function parseField(field: CronField, piece: Piece): Values {
  const found = new Set<number>()
  let offset = piece.offset
  for (const text of piece.text.split(',')) {
    const parsed = parseItem(field, { text, offset })
    if (!parsed.ok) return parsed
    for (const value of parsed.values) found.add(value)
    offset += text.length + 1
  }
  return { ok: true, values: [...found].sort((a, b) => a - b) }
}

function parseItem(field: CronField, item: Piece): Values {
  if (item.text === '') return fault(`${field.name} has an empty list item`, item.offset, 1)
  const slash = item.text.indexOf('/')
  const body = slash < 0 ? item.text : item.text.slice(0, slash)
  const range = parseRange(field, { text: body, offset: item.offset })
  if (!range.ok) return range
  if (slash < 0) return { ok: true, values: spread(field, range, 1) }
  if (!isWildcard(body) && !body.includes('-')) {
    const message = `a step in ${field.name} needs a range: write ${body}-${field.max}${item.text.slice(slash)}`
    return fault(message, item.offset, item.text.length)
  }
  const step = item.text.slice(slash + 1)
  const size = field.max - field.min + 1
  const every = /^\d{1,9}$/.test(step) ? Number.parseInt(step, 10) : 0
  if (every >= 1 && every <= size) return { ok: true, values: spread(field, range, every) }
  const message = `a step in ${field.name} must be 1-${size}, here is "${step}"`
  return fault(message, item.offset + slash + 1, step.length)
}

function isWildcard(text: string): boolean {
  return text === '*' || text === '?'
}

function parseRange(field: CronField, body: Piece): Range {
  if (body.text === '?' && !field.name.startsWith('day-')) {
    const message = `? stands for any day only in day-of-month and day-of-week: write * in ${field.name}`
    return fault(message, body.offset, 1)
  }
  if (isWildcard(body.text)) return { ok: true, low: field.min, high: field.max }
  const dash = body.text.indexOf('-')
  if (dash < 0) {
    const value = parseValue(field, body.text)
    return value === undefined ? valueFault(field, body) : { ok: true, low: value, high: value }
  }
  const from = { text: body.text.slice(0, dash), offset: body.offset }
  const to = { text: body.text.slice(dash + 1), offset: body.offset + dash + 1 }
  if (from.text === '' || to.text === '') {
    const message = `${field.name} range "${body.text}" needs a value on both sides`
    return fault(message, body.offset, body.text.length)
  }
  const low = parseValue(field, from.text)
  const end = parseValue(field, to.text)
  if (low === undefined) return valueFault(field, from)
  if (end === undefined) return valueFault(field, to)
  // Sunday is both ends of a week, so that sat-sun is a range.
  const high = field.name === 'day-of-week' && end === 0 && low > 0 ? 7 : end
  if (low <= high) return { ok: true, low, high }
  const split = `${from.text}-${field.max},${field.min}-${to.text}`
  return fault(
    `${field.name} range ${body.text} runs backwards: write ${split}`,
    body.offset,
    body.text.length,
  )
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

/** Sunday may also be written as 7. */
function largest(field: CronField): number {
  return field.name === 'day-of-week' ? 7 : field.max
}

function valueFault(field: CronField, piece: Piece): Fault {
  const first = field.names[0]?.slice(0, 3)
  const last = field.names.at(-1)?.slice(0, 3)
  const names = first && last ? ` or ${first}-${last}` : ''
  const hint = QUARTZ_DAY.test(piece.text) ? ' (L, W and # are not supported)' : ''
  const message = `${field.name} must be ${field.min}-${largest(field)}${names}, here is "${piece.text}"`
  return fault(`${message}${hint}`, piece.offset, piece.text.length)
}

function spread(
  field: CronField,
  range: { readonly low: number; readonly high: number },
  step: number,
): number[] {
  const values: number[] = []
  for (let value = range.low; value <= range.high; value += step) {
    values.push(field.name === 'day-of-week' ? value % 7 : value)
  }
  return values
}
