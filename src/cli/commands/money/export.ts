import type { Entry } from '../../../domain/ledger/entry.ts'
import { printableJson } from '../../../domain/outside-text.ts'
import { EXIT, type ExitCode, type Io } from '../../io.ts'
import type { ConfigOptions } from '../../load.ts'
import { whileReading } from '../../reading.ts'
import { csvText } from './csv.ts'
import { entryData, entryRows, koinlyRows, trackingRows } from './export-formats.ts'
import { ledgerOf } from './report.ts'

export type ExportOptions = ConfigOptions & {
  readonly format: 'csv' | 'jsonl' | 'koinly' | 'cointracking'
  /** Epoch ms. */
  readonly since?: number
  readonly paper?: boolean
}

/** `tranched export`: the books, one entry a line. What happened on paper is no income: tax programs are given it on demand only. */
export function exportEntries(options: ExportOptions, io: Io): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { since: sinceMs = Number.NEGATIVE_INFINITY } = options
    const format = options.json === true ? 'jsonl' : options.format
    const { entries } = await ledgerOf(reading, io)
    const wanted = entries.filter(({ atMs }) => atMs >= sinceMs)
    const isForTaxes = format === 'koinly' || format === 'cointracking'
    const real = wanted.filter((entry) => !('paper' in entry && entry.paper))
    const left = wanted.length - real.length
    const shown = isForTaxes && options.paper !== true ? real : wanted
    if (shown.length < wanted.length)
      io.stderr.write(
        `export: ${left === 1 ? '1 fill is' : `${left} fills are`} on paper (dry-run) and left out; --paper exports them all the same\n`,
      )
    io.stdout.write(textOf(shown, format))
    return EXIT.done
  })
}

function textOf(entries: readonly Entry[], format: ExportOptions['format']): string {
  switch (format) {
    case 'csv':
      return csvText(entryRows(entries))
    case 'jsonl':
      return entries.map((entry) => `${printableJson(entryData(entry))}\n`).join('')
    case 'koinly':
      return csvText(koinlyRows(entries))
    case 'cointracking':
      return csvText(trackingRows(entries), 'all')
  }
}
