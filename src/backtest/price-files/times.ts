import { isIsoForm, isoMicros } from '../../domain/text/iso-time.ts'

/** The form of a file's times, one for the whole file. */
export type TimeForm = 'seconds' | 'milliseconds' | 'microseconds' | 'iso'

/** For errors. */
export const TIME_FORMS =
  'epoch seconds, milliseconds or microseconds, or ISO 8601 such as 2025-01-31T12:00:00Z'

const DIGITS = /^(\d{9,16})(?:\.(\d+))?$/

/** Units are told apart by size: from 1973 to the year 5138 no two of them overlap. */
const EPOCH_FROM = 1e8
const BOUNDS: readonly (readonly [below: number, form: TimeForm])[] = [
  [1e11, 'seconds'],
  [1e14, 'milliseconds'],
  [1e17, 'microseconds'],
]

const MICROS = { seconds: 1_000_000, milliseconds: 1_000, microseconds: 1 } as const

export function timeFormOf(text: string): TimeForm | undefined {
  const digits = DIGITS.exec(text)?.[1]
  if (digits === undefined) return isIsoForm(text) ? 'iso' : undefined
  const value = Number.parseInt(digits, 10)
  return value < EPOCH_FROM ? undefined : BOUNDS.find(([below]) => value < below)?.[1]
}

/** Epoch microseconds, exact; undefined for text in another form and for days that do not exist. */
export function microsOf(text: string, form: TimeForm): number | undefined {
  if (form === 'iso') return isoMicros(text)
  if (timeFormOf(text) !== form) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const unit = MICROS[form]
  const places = String(unit).length - 1
  const rest = places === 0 ? 0 : Number.parseInt(fraction.slice(0, places).padEnd(places, '0'), 10)
  return Number.parseInt(whole, 10) * unit + rest
}
