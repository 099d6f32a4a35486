import type { IntentId } from '../../../domain/intent.ts'
import type { Hex } from '../../../domain/units.ts'
import type { Word } from '../../../domain/word.ts'
import type { Refused } from '../../../execute/settle/answers.ts'
import type { Answer, Evidence } from '../../../execute/settle/evidence.ts'
import { readState } from '../../compose/state.ts'
import {
  EXIT,
  type ExitCode,
  type Io,
  lineTo,
  printFailure,
  printJson,
  printUnwanted,
} from '../../io.ts'
import type {
  SettleClosedData,
  SettleRefusedData,
  SettleSettledData,
  SettleShownData,
} from '../../json/operate.ts'
import { reportProblems, settingsForReading, stateMissing } from '../../load.ts'
import { refuseUnnamed, type TargetOptions, targetOf } from '../../target.ts'
import { isWanted } from '../state/state-word.ts'
import { type Attendant, attendantOf, type Unanswered } from './settle-attendant.ts'
import { findIntent, isKnown } from './settle-intent.ts'
import { evidenceLines, settledText } from './settle-text.ts'

export type SettleOptions = TargetOptions & {
  /** The words after `--as`. */
  readonly as?: readonly string[]
  readonly yes?: boolean
}

const USAGE =
  'expected --as dead, --as executed TX (the hash of a transaction) or --as executed unknown'

/**
 * `tranched settle INTENT [--as executed TX|unknown|dead]`: shows what is known of an order that nothing has ended, and takes an
 * operator's word on it. The daemon judges the word where one runs; else it is judged here, and goes into the journal.
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
  const intent = await findIntent(asked, view, { settings, tell: lineTo(io.stderr) })
  if (!isKnown(intent)) return printFailure(io, options, { message: intent.detail })
  if (intent.tag === 'closed') {
    const { id: intentId, outcome, reason, detail: message } = intent
    if (options.json) {
      const ended = { message, intentId, outcome, reason }
      printJson<SettleClosedData>(io, { ok: said === undefined, ...ended, problems: [] })
    } else io.stdout.write(`${message}\n`)
    return said === undefined ? EXIT.done : EXIT.failed
  }
  const attendant = await attendantOf(settings, view.state, io)
  if (!attendant.ok) return refuse(attendant, options, io)
  const on = { id: intent.id, attendant: attendant.value, options, io }
  return said === undefined ? show(on) : act(on, said)
}

/** Both forms of a hash are understood. */
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
  readonly attendant: Attendant
  readonly options: SettleOptions
  readonly io: Io
}

async function show({ id, attendant, options, io }: On): Promise<ExitCode> {
  const seen = await attendant.look(id, undefined)
  if (!seen.ok) return refuse(seen, options, io)
  if (options.json) printJson<SettleShownData>(io, { ok: true, ...seen.evidence, problems: [] })
  else io.stdout.write(`${evidenceLines(seen.evidence).join('\n')}\n`)
  return EXIT.done
}

/** What is known goes to the person before the question, whatever stdout goes to. */
async function act(on: On, word: Word): Promise<ExitCode> {
  const { id, attendant, options, io } = on
  const named = word.as === 'executed' ? word.txHash : undefined
  const seen = await attendant.look(id, named)
  if (!seen.ok) return refuse(seen, options, io)
  const { evidence } = seen
  for (const line of evidenceLines(evidence)) io.stderr.write(`${line}\n`)
  const answer = answerIn(evidence, word)
  if (!answer.isPossible) {
    const { reason, detail } = answer
    const why = `not settled as ${answer.as} (${reason}): ${detail}`
    return reason === null
      ? printFailure(io, options, { message: why })
      : refuse({ reason, detail: why }, options, io)
  }
  const question = `Settle ${id} as ${answer.as.replace('TX', named ?? 'TX')}? This ${answer.detail}.`
  if (!(await isWanted(question, on))) return printUnwanted(io, options)
  const settled = await attendant.settle(id, { word, attempt: evidence.attempt })
  if (!settled.ok) return refuse(settled, options, io)
  const message = settledText(id, settled, { isRunning: attendant.isDaemon })
  if (options.json) {
    const said = { by: settled.by, as: word.as, txHash: named ?? null }
    printJson<SettleSettledData>(io, { ok: true, message, ...said, evidence, problems: [] })
  } else io.stdout.write(`${message}\n`)
  return EXIT.done
}

function answerIn({ answers }: Evidence, word: Word): Answer {
  const as = nameOf(word)
  const answer = answers.find((each) => each.as === as)
  if (answer === undefined) throw new Error(`nothing is said of ${as}`)
  return answer
}

function nameOf(word: Word): Answer['as'] {
  if (word.as === 'dead') return word.as
  return word.txHash === undefined ? 'executed unknown' : 'executed TX'
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
