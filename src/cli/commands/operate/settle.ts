import type { Hex } from '../../../domain/money/units.ts'
import type { IntentId, Outcome } from '../../../domain/order/intent.ts'
import type { Word } from '../../../domain/order/manual-resolution.ts'
import type { Settings } from '../../../domain/settings.ts'
import { nearest } from '../../../domain/text/nearest.ts'
import { intentClosed } from '../../../journal/events/order/outcomes.ts'
import type { CloseReason } from '../../../journal/records.ts'
import type { JournalView } from '../../../store/file/journal-snapshot.ts'
import type { Refused } from '../../../venues/manual/manual-answers.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import type {
  SettleClosedData,
  SettleRefusedData,
  SettleSettledData,
  SettleShownData,
} from '../../json/operate-outputs.ts'
import { reportProblems, settingsForReading, stateMissing } from '../../load-files.ts'
import {
  EXIT,
  type ExitCode,
  type Io,
  isWanted,
  lineTo,
  print,
  printFailure,
  printJson,
  printUnwanted,
} from '../../process/io.ts'
import { refuseUnnamed, type TargetOptions, targetOf } from './control.ts'
import { type Handler, handlerOf, type Unanswered } from './settle-handler.ts'
import { evidenceLines, settledText } from './settle-text.ts'

export type SettleOptions = TargetOptions & {
  readonly as?: readonly string[]
  readonly yes?: boolean
}

const USAGE =
  'expected --as dead, --as executed TX (the hash of a transaction) or --as executed unknown'

/**
 * `tranched settle INTENT [--as executed TX|unknown|dead]`: shows the evidence on an open order, and takes an operator's word on
 * it. The daemon judges the word where one runs; else this command does, and journals it.
 */
export async function settle(asked: string, given: SettleOptions, io: Io): Promise<ExitCode> {
  const target = targetOf(given)
  if (!target.ok) return refuseUnnamed(target.message, given, io)
  const { options } = target
  const said = options.as === undefined ? undefined : wordOf(options.as)
  if (said === 'unreadable') {
    return printFailure(io, options, { by: 'settle', message: USAGE, code: EXIT.usage })
  }
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const view = await readState(settings.stateDir)
  if (view === undefined) {
    reportProblems([stateMissing(settings.stateDir)], io, options)
    return EXIT.failed
  }
  const intent = await findIntent(asked, view, settings, lineTo(io.stderr))
  if (intent.tag === 'unknown') return printFailure(io, options, { message: intent.detail })
  if (intent.tag === 'closed') {
    const { id: intentId, outcome, reason, detail: message } = intent
    const data = { ok: said === undefined, message, intentId, outcome, reason, problems: [] }
    return print<SettleClosedData>(io, options, data, () => [message])
  }
  const handler = await handlerOf(settings, view.state, io)
  if (!handler.ok) return refuse(handler, options, io)
  const on = { id: intent.id, handler: handler.value, options, io }
  return said === undefined ? show(on) : act(on, said)
}

function wordOf(words: readonly string[]): Word | 'unreadable' {
  const [as, tx, ...more] = words
  if (more.length > 0) return 'unreadable'
  if (as === 'dead') return tx === undefined ? { as } : 'unreadable'
  if (as !== 'executed' || tx === undefined) return 'unreadable'
  if (tx === 'unknown') return { as, txHash: undefined }
  return /^0x[0-9a-f]{64}$/i.test(tx) ? { as, txHash: tx.toLowerCase() as Hex } : 'unreadable'
}

type On = {
  readonly id: IntentId
  readonly handler: Handler
  readonly options: SettleOptions
  readonly io: Io
}

async function show({ id, handler, options, io }: On): Promise<ExitCode> {
  const seen = await handler.inspect(id, undefined)
  if (!seen.ok) return refuse(seen, options, io)
  const { evidence } = seen
  return print<SettleShownData>(io, options, { ok: true, ...evidence, problems: [] }, () =>
    evidenceLines(evidence),
  )
}

/** The evidence goes to stderr before the question, wherever stdout goes. */
async function act(on: On, word: Word): Promise<ExitCode> {
  const { id, handler, options, io } = on
  const named = word.as === 'executed' ? word.txHash : undefined
  const seen = await handler.inspect(id, named)
  if (!seen.ok) return refuse(seen, options, io)
  const { evidence } = seen
  for (const line of evidenceLines(evidence)) io.stderr.write(`${line}\n`)
  const dead = word.as === 'dead' ? word.as : undefined
  const as = dead ?? (named === undefined ? 'executed unknown' : 'executed TX')
  const answer = evidence.answers.find((each) => each.as === as)
  if (answer === undefined) throw new Error(`nothing is said of ${as}`)
  if (!answer.isPossible) {
    const { reason, detail } = answer
    const why = `not settled as ${answer.as} (${reason}): ${detail}`
    return reason === null
      ? printFailure(io, options, { message: why })
      : refuse({ reason, detail: why }, options, io)
  }
  const question = `Settle ${id} as ${answer.as.replace('TX', named ?? 'TX')}? This ${answer.detail}.`
  if (!(await isWanted(question, on))) return printUnwanted(io, options)
  const settled = await handler.settle(id, { word, attempt: evidence.attempt })
  if (!settled.ok) return refuse(settled, options, io)
  const message = settledText(id, settled, { isRunning: handler.isDaemon })
  const said = { by: settled.by, as: word.as, txHash: named ?? null }
  const data: SettleSettledData = { ok: true, message, ...said, evidence, problems: [] }
  return print<SettleSettledData>(io, options, data, () => [message])
}

function refuse(
  { reason, detail: message }: Pick<Refused | Unanswered, 'reason' | 'detail'>,
  options: SettleOptions,
  io: Io,
): ExitCode {
  if (!options.json) return printFailure(io, options, { message })
  printJson<SettleRefusedData>(io, { ok: false, message, reason, problems: [] })
  return EXIT.failed
}

type Closed = {
  readonly tag: 'closed'
  readonly id: IntentId
  readonly outcome: Outcome
  readonly reason: CloseReason
  readonly detail: string
}

/** By its id, or by its slot if that has one intent. */
async function findIntent(
  asked: string,
  view: JournalView,
  settings: Settings,
  report: (line: string) => void,
): Promise<
  | { readonly tag: 'open'; readonly id: IntentId }
  | Closed
  | { readonly tag: 'unknown'; readonly detail: string }
> {
  const open = [...view.state.intents.keys()]
  const meant = open.filter((id) => isMeant(asked, id))
  const [id] = meant
  if (id !== undefined && meant.length === 1) return { tag: 'open', id }
  if (id !== undefined)
    return { tag: 'unknown', detail: `${asked} has several open intents: ${meant.join(', ')}` }
  const past = await pastOf(view, settings, report)
  const closed = past.filter((each) => isMeant(asked, each.id)).at(-1)
  if (closed !== undefined) return closed
  const close = nearest(asked, [...open, ...past.map((each) => each.id)])
  const nearby = close === undefined ? '' : `; did you mean ${close}?`
  const there = open.length === 0 ? 'nothing is open' : `open: ${open.join(', ')}`
  return { tag: 'unknown', detail: `there is no intent ${asked}${nearby} (${there})` }
}

function isMeant(asked: string, id: IntentId): boolean {
  return id === asked || id.slice(0, id.lastIndexOf(':')) === asked
}

async function pastOf(
  view: JournalView,
  { stateDir, journal }: Settings,
  report: (line: string) => void,
): Promise<readonly Closed[]> {
  const closed: Closed[] = []
  const records = recordsAtHand(view, { stateDir, archive: journal.archive, report })
  for await (const { event } of records) {
    if (!intentClosed.is(event)) continue
    const { intentId: id, outcome, reason, detail = '' } = event
    const why = reason === outcome ? '' : ` (${reason}${detail === '' ? '' : `: ${detail}`})`
    closed.push({ tag: 'closed', id, outcome, reason, detail: `${id} is closed: ${outcome}${why}` })
  }
  return closed
}
