import { OperatorError } from '../../domain/errors.ts'
import { excerpt } from '../../domain/text/outside-text.ts'
import { TIME_FORMS } from './cell-text.ts'

/** Longest part of a line that an error shows. */
const TEXT_MAX = 120

type Fault = {
  readonly file: string
  /** Counted from 1; 0 if no line is at fault. */
  readonly line: number
  readonly detail: string
  readonly remedy: string
  /** The line, shortened; empty if no line is at fault. */
  readonly text: string
}

/** An unusable price file. The message alone includes place, fault and remedy. */
export class PriceFileError extends OperatorError {
  override readonly name = 'PriceFileError'
  readonly means = 'badConfig'
  readonly fault: Fault
  constructor(given: Omit<Fault, 'line' | 'text'> & Partial<Fault>) {
    const { file, line = 0, detail, remedy, text = '' } = given
    super(`${line === 0 ? file : `${file}:${line}`}: ${detail}\n  expected: ${remedy}`)
    this.fault = { file, line, detail, remedy, text: shownText(text) }
  }
}

/** Text of a file for an error: on one line, shortened. */
export function shownText(text: string): string {
  return excerpt(text.trim(), TEXT_MAX)
}

export type Placed = { readonly file: string; readonly line: number; readonly text: string }

export function badTime(text: string | undefined, place: Placed): PriceFileError {
  const detail = `${named(text)} is no time, or is not written as the first of the file is`
  return new PriceFileError({ ...place, detail, remedy: `${TIME_FORMS}; in one form for all rows` })
}

/** A cell in an error. */
export function named(text: string | undefined): string {
  return text === undefined || text === '' ? 'nothing' : `\`${shownText(text)}\``
}
