import { CsvError, parse } from 'csv-parse/sync'
import type { Block } from './blocks.ts'
import { type Placed, PriceFileError } from './price-file-error.ts'

/** Cells of one line, without the blanks around them. */
export type Row = readonly string[]

export type Delimiter = ',' | ';' | '\t'

/** Rows of a block, without blank lines and those that begin with `#`. */
export function rowsOf(block: Block, file: string, delimiter: Delimiter): readonly Row[] {
  try {
    return parse(block.bytes, optionsOf(block, delimiter)) as unknown as readonly Row[]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new PriceFileError({
      file,
      line: block.firstLine + brokenLine(error, block),
      detail: 'the line is no row of a CSV file',
      remedy: 'quotation marks in pairs, around a whole cell',
    })
  }
}

export type Place = {
  readonly file: string
  readonly block: Block
  readonly delimiter: Delimiter
}

/**
 * Where one of the rows of a block stands. The block is parsed once more for it: that the lines of all rows are told takes twice
 * the time of reading them, and an error is told once.
 */
export function placedAt(index: number, { file, block, delimiter }: Place): Placed {
  const told = parse(block.bytes, { ...optionsOf(block, delimiter), info: true, to: index + 1 })
  const { info } = told[index] as unknown as { readonly info: { readonly lines: number } }
  const text = block.bytes.toString('utf8').split('\n')[info.lines - 1] ?? ''
  return { file, line: block.firstLine + info.lines - 1, text }
}

function optionsOf({ firstLine }: Block, delimiter: Delimiter) {
  return {
    delimiter,
    bom: firstLine === 1,
    trim: true,
    comment: '#',
    comment_no_infix: true,
    skip_empty_lines: true,
    relax_column_count: true,
    record_delimiter: ['\r\n', '\n'],
  }
}

/** From 0. A quotation mark without another is noticed at the end of the block, far from where it stands. */
function brokenLine(error: CsvError, { bytes }: Block): number {
  const lines = error['lines']
  if (error.code !== 'CSV_QUOTE_NOT_CLOSED' && typeof lines === 'number') return lines - 1
  const texts = bytes.toString('utf8').split('\n')
  return Math.max(
    0,
    texts.findIndex((text) => text.split('"').length % 2 === 0),
  )
}
