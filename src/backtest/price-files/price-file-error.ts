import { OperatorError } from '../../domain/errors.ts'
import { excerpt } from '../../domain/outside-text.ts'
import { TIME_FORMS } from './times.ts'

/** Longest part of a line that an error shows. */
const TEXT_MAX = 120

/** What is wrong with a file of prices, or a directory of them. */
export type PriceFileFault = {
  readonly file: string
  /** From 1; left out where no line is meant. */
  readonly line?: number | undefined
  readonly detail: string
  /** What would be right, or what to do. */
  readonly remedy: string
  /** The line itself. */
  readonly text?: string | undefined
}

/** A file of prices that cannot be used. Its text alone says where, what is wrong and what to do. */
export class PriceFileError extends OperatorError {
  override readonly name = 'PriceFileError'
  readonly means = 'badConfig'
  readonly file: string
  /** From 1; 0 where no line is meant. */
  readonly line: number
  readonly detail: string
  readonly remedy: string
  /** The line itself, cut; empty where no line is meant. */
  readonly text: string
  constructor({ file, line = 0, detail, remedy, text = '' }: PriceFileFault) {
    const place = line === 0 ? file : `${file}:${line}`
    super(`${place}: ${detail}\n  expected: ${remedy}`)
    this.file = file
    this.line = line
    this.detail = detail
    this.remedy = remedy
    this.text = shownText(text)
  }
}

/** Text of a file as an error shows it: in one line, and not all of a long one. */
export function shownText(text: string): string {
  return excerpt(text.trim(), TEXT_MAX)
}

/** Where a row stands, and the text of its line. */
export type Placed = { readonly file: string; readonly line: number; readonly text: string }

export function badTime(text: string | undefined, place: Placed): PriceFileError {
  const detail = `${named(text)} is no time, or is not written as the first of the file is`
  return new PriceFileError({ ...place, detail, remedy: `${TIME_FORMS}; in one form for all rows` })
}

/** A cell in an error. */
export function named(text: string | undefined): string {
  return text === undefined || text === '' ? 'nothing' : `\`${shownText(text)}\``
}
