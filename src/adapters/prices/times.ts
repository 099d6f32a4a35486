/** How a file writes its times; one way for the whole file. */
export type TimeForm = 'seconds' | 'milliseconds' | 'microseconds' | 'iso'

/** What a time of a file may look like, for whoever wrote another. */
export const TIME_FORMS =
  'epoch seconds, milliseconds or microseconds, or ISO 8601 such as 2025-01-31T12:00:00Z'

const DIGITS = /^(\d{9,16})(?:\.(\d+))?$/
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i

/** Values below each bound are counted in that unit: from 1973 to the year 5138 no two of them overlap. */
const EPOCH_FROM = 1e8
const BOUNDS: readonly (readonly [below: number, form: TimeForm])[] = [
  [1e11, 'seconds'],
  [1e14, 'milliseconds'],
  [1e17, 'microseconds'],
]

const MICROS = { seconds: 1_000_000, milliseconds: 1_000, microseconds: 1 } as const

/** How a time is written; undefined for what is none. */
export function timeFormOf(text: string): TimeForm | undefined {
  const digits = DIGITS.exec(text)?.[1]
  if (digits === undefined) return ISO.test(text) ? 'iso' : undefined
  const value = Number.parseInt(digits, 10)
  return value < EPOCH_FROM ? undefined : BOUNDS.find(([below]) => value < below)?.[1]
}

/** Epoch microseconds of a time written in that form, exact; undefined for anything else, and for days that do not exist. */
export function microsOf(text: string, form: TimeForm): number | undefined {
  if (form === 'iso') return isoMicros(text)
  if (timeFormOf(text) !== form) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const unit = MICROS[form]
  const places = String(unit).length - 1
  const rest = places === 0 ? 0 : Number.parseInt(fraction.slice(0, places).padEnd(places, '0'), 10)
  return Number.parseInt(whole, 10) * unit + rest
}

/** A day alone, or a time without a zone, counts as UTC. */
function isoMicros(text: string): number | undefined {
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] =
    match
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number)
  if (y === undefined || mo === undefined || d === undefined) return undefined
  if (h === undefined || mi === undefined || s === undefined) return undefined
  const atMs = Date.UTC(y, mo - 1, d, h, mi, s)
  const offset = offsetMinutes(zone)
  const isReal = h < 24 && mi < 60 && s < 60 && new Date(atMs).getUTCDate() === d
  if (!isReal || mo < 1 || mo > 12 || offset === undefined || atMs < 0) return undefined
  const micros = Number.parseInt(fraction.slice(0, 6).padEnd(6, '0'), 10)
  return (atMs - offset * 60_000) * 1_000 + micros
}

function offsetMinutes(zone: string): number | undefined {
  const match = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)
  if (match === null) return 0
  const [hours, minutes] = [Number(match[2]), Number(match[3] ?? 0)]
  if (hours > 14 || minutes > 59) return undefined
  return (match[1] === '-' ? -1 : 1) * (hours * 60 + minutes)
}
