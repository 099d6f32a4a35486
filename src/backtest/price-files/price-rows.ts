import { CsvError, parse } from 'csv-parse/sync'
import type { Block } from './blocks.ts'
import { type Placed, PriceFileError } from './price-file-error.ts'

/** Trimmed cells of one line. */
export type Row = readonly string[]

export type Delimiter = ',' | ';' | '\t'

/** Rows of a block without blank lines and `#` comments. */
export function rowsOf(block: Block, file: string, delimiter: Delimiter): readonly Row[] {
  try {
    return parse(block.bytes, optionsOf(block, delimiter)) as unknown as readonly Row[]
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new PriceFileError({
      file,
      line: block.firstLine + brokenLine(error, block),
      detail: 'the line is not valid CSV',
      remedy: 'quotation marks in pairs, around a whole cell',
    })
  }
}

type Place = {
  readonly file: string
  readonly block: Block
  readonly delimiter: Delimiter
}

/** The place of a row. Parses the block again, because csv-parse takes twice as long if it reports all lines. */
export function placedAt(index: number, { file, block, delimiter }: Place): Placed {
  const rows = parse(block.bytes, { ...optionsOf(block, delimiter), info: true, to: index + 1 })
  const { info } = rows[index] as unknown as { readonly info: { readonly lines: number } }
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

/** Line of the fault, counted from 0. The parser notices an unpaired quotation mark only at the end of the block. */
function brokenLine(error: CsvError, { bytes }: Block): number {
  const lines = error['lines']
  if (error.code !== 'CSV_QUOTE_NOT_CLOSED' && typeof lines === 'number') return lines - 1
  const texts = bytes.toString('utf8').split('\n')
  return Math.max(
    0,
    texts.findIndex((text) => text.split('"').length % 2 === 0),
  )
}
