/** Rows of a CSV file, the heading first (RFC 4180, lines end with LF). */
export type CsvRows = readonly (readonly (string | number | null)[])[]

export function csvText(rows: CsvRows): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\n`).join('')
}

/** A spreadsheet would take text that begins like a formula for one: no cell of ours does, but what a strategy's file names may. */
function cellText(cell: string | number | null): string {
  if (cell === null) return ''
  const text = typeof cell === 'string' && /^[=+@\t]/.test(cell) ? `'${cell}` : `${cell}`
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
