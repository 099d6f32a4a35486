type Cell = string | number | null

/** Rows of a CSV file, the heading first (RFC 4180, lines end with LF). */
export type CsvRows = readonly (readonly Cell[])[]

/** `quoted`: every cell, for who reads it that way, or only those that need it. */
export function csvText(rows: CsvRows, quoted: 'all' | 'needed' = 'needed'): string {
  const text = quoted === 'all' ? (cell: Cell) => quotedText(plainText(cell)) : cellText
  return rows.map((row) => `${row.map(text).join(',')}\n`).join('')
}

function cellText(cell: Cell): string {
  const text = plainText(cell)
  return /[",\r\n]/.test(text) ? quotedText(text) : text
}

function quotedText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

/** A spreadsheet would take text that begins like a formula for one: no cell of ours does, but what a strategy's file names may. */
function plainText(cell: Cell): string {
  if (cell === null) return ''
  return typeof cell === 'string' && /^[=+@\t]/.test(cell) ? `'${cell}` : `${cell}`
}
