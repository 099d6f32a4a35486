import { costWords } from '../../../domain/book/costs.ts'
import type { JournalRecord } from '../../../domain/book/journal.ts'
import { isAbout, tellAll } from '../../../domain/book/tell.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, lineTo, printJson } from '../../io.ts'
import { type ConfigOptions, loadForReading, reportProblems, stateMissing } from '../../load.ts'

const SLOT = /^([a-z0-9][a-z0-9-]{0,62}):(\d{1,12})(?::\d{1,3})?$/

/** `tranched why SLOT`: everything the journal holds about one slot, in order. */
export async function why(slot: string, options: ConfigOptions, io: Io): Promise<ExitCode> {
  const match = SLOT.exec(slot)
  if (match === null) {
    io.stderr.write(`why: expected STRATEGY:EPOCH_SECONDS, as \`history\` shows it, not ${slot}\n`)
    return EXIT.usage
  }
  const loaded = loadForReading(options, io)
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { stateDir, journal } = loaded.settings
  const view = await readState(stateDir)
  if (view === undefined) {
    reportProblems([stateMissing(stateDir)], io, options)
    return EXIT.failed
  }
  const wanted = { strategy: match[1] ?? '', slotSeconds: Number.parseInt(match[2] ?? '', 10) }
  const found: JournalRecord[] = []
  const records = recordsAtHand(view, {
    ...{ stateDir, archive: journal.archive },
    tell: lineTo(io.stderr),
  })
  for await (const { record, fact } of tellAll(records, view.state))
    if (isAbout(fact ?? record.event, wanted)) found.push(record)
  if (options.json)
    printJson(
      io,
      found.map(({ seq, atMs, event }) => ({ seq, atMs, event })),
    )
  else for (const record of found) io.stdout.write(`${lineOf(record)}\n`)
  if (found.length > 0) return EXIT.done
  io.stderr.write(`the journal has nothing about slot ${slot}\n`)
  return EXIT.failed
}

function lineOf({ atMs, event }: JournalRecord): string {
  const at = new Date(atMs).toISOString()
  const facts = flatten(event)
    .filter(([name]) => name !== 'type' && name !== 'strategy' && name !== 'slotSeconds')
    .map(([name, value]) => `${name}=${value}`)
  const cost = event.type === 'call-proven' ? costWords(event.execution.costs) : undefined
  const words = cost === undefined ? '' : `  (${cost})`
  return `${at}  ${event.type}  ${facts.join(' ')}${words}`
}

/** Leaves of an event as dotted names and text. */
function flatten(value: object, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]): [string, string][] => {
    if (field === undefined) return []
    if (typeof field === 'object' && field !== null) return flatten(field, `${prefix}${name}.`)
    return [[`${prefix}${name}`, String(field)]]
  })
}
