import { exactDecimal, type Hex } from '../../../domain/money/units.ts'
import type { IntentId, Outcome } from '../../../domain/order/intent.ts'
import { type Verdict, verdictText } from '../../../domain/order/manual-resolution.ts'
import type { Settings } from '../../../domain/settings.ts'
import { nearest } from '../../../domain/text/nearest.ts'
import { intentClosed } from '../../../journal/events/order/outcomes.ts'
import type { CloseReason } from '../../../journal/records.ts'
import type { JournalView } from '../../../store/file/journal-snapshot.ts'
import type { Refused } from '../../../venues/manual/manual-answers.ts'
import type { Amount, Evidence } from '../../../venues/manual/manual-evidence.ts'
import type { Settled } from '../../../venues/manual/resolve-manually.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import type {
  SettleClosedData,
  SettleSettledData,
  SettleShownData,
} from '../../json/operate-outputs.ts'
import { noState, settingsForReading, type TargetOptions } from '../../load-files.ts'
import { type ExitCode, type Io, lineTo, print, printOutcome } from '../../process/io.ts'
import { confirm, misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { targetOf } from './control.ts'
import { type Handler, handlerOf, notSettled } from './settle-handler.ts'

export type SettleOptions = TargetOptions & {
  readonly as?: readonly string[]
  readonly yes?: boolean
}

const USAGE =
  'expected --as dead, --as executed TX (the hash of a transaction) or --as executed unknown'

/**
 * `tranched settle INTENT [--as executed TX|unknown|dead]`: shows the evidence on an open order, and accepts an operator's
 * verdict. The running daemon, or else this command, checks and journals it.
 */
export async function settle(name: string, given: SettleOptions, io: Io): Promise<ExitCode> {
  const options = targetOf(given)
  const stated = options.as && verdictIn(options.as)
  const { settings } = orRefuse(settingsForReading(options, io))
  const view = await readState(settings.stateDir)
  if (view === undefined) throw noState(settings.stateDir)
  const intent = await findIntent(name, view, settings, lineTo(io.stderr))
  if ('outcome' in intent) {
    const { id: intentId, outcome, reason, detail: message } = intent
    const data = { ok: stated === undefined, message, intentId, outcome, reason }
    return print<SettleClosedData>(io, options, data, () => [message])
  }
  const handler = await handlerOf(settings, view.state, io)
  const { id } = intent
  if (stated !== undefined) return act({ id, handler, options, io }, stated)
  const { evidence } = answered(await handler.inspect(id, undefined))
  return print<SettleShownData>(io, options, evidence, () => evidenceLines(evidence))
}

function verdictIn([as, tx, ...more]: readonly string[]): Verdict {
  if (more.length === 0) {
    if (as === 'dead' && tx === undefined) return { as }
    if (as === 'executed' && tx === 'unknown') return { as, txHash: undefined }
    if (as === 'executed' && tx !== undefined && /^0x[0-9a-f]{64}$/i.test(tx))
      return { as, txHash: tx.toLowerCase() as Hex }
  }
  throw misused(USAGE, 'settle')
}

type On = {
  readonly id: IntentId
  readonly handler: Handler
  readonly options: SettleOptions
  readonly io: Io
}

/** Evidence goes to stderr before the question, even if stdout is redirected. */
async function act(on: On, verdict: Verdict): Promise<ExitCode> {
  const { id, handler, options, io } = on
  const named = verdict.as === 'executed' ? verdict.txHash : undefined
  const { evidence } = answered(await handler.inspect(id, named))
  for (const line of evidenceLines(evidence)) io.stderr.write(`${line}\n`)
  const dead = verdict.as === 'dead' ? verdict.as : undefined
  const as = dead ?? (named === undefined ? 'executed unknown' : 'executed TX')
  const answer = evidence.answers.find((each) => each.as === as)
  if (answer === undefined) throw new Error(`nothing is said of ${as}`)
  if (!answer.isPossible) {
    const { reason, detail } = answer
    throw notSettled(`not settled as ${answer.as} (${reason}): ${detail}`, reason)
  }
  const question = `Settle ${id} as ${answer.as.replace('TX', named ?? 'TX')}? This ${answer.detail}.`
  await confirm(question, on)
  const done = answered(await handler.settle(id, { verdict, attempt: evidence.attempt }))
  const message = settledText(id, done, { isRunning: handler.isDaemon })
  const said = { by: done.by, as: verdict.as, txHash: named ?? null }
  return printOutcome<SettleSettledData>(io, options, { message, ...said, evidence })
}

function answered<Reply extends { readonly ok: true } | Refused>(
  reply: Reply,
): Exclude<Reply, Refused> {
  if (reply.ok) return reply as Exclude<Reply, Refused>
  throw notSettled(reply.detail, reply.reason)
}

type Closed = {
  readonly id: IntentId
  readonly outcome: Outcome
  readonly reason: CloseReason
  readonly detail: string
}

/** Finds an intent by its id, or by its slot if that has one intent. */
async function findIntent(
  name: string,
  view: JournalView,
  settings: Settings,
  report: (line: string) => void,
): Promise<Closed | { readonly id: IntentId }> {
  const open = [...view.state.intents.keys()]
  const meant = open.filter((id) => isMeant(name, id))
  const [id] = meant
  if (id !== undefined && meant.length === 1) return { id }
  if (id !== undefined) throw new Refusal(`${name} has several open intents: ${meant.join(', ')}`)
  const past = await pastOf(view, settings, report)
  const closed = past.filter((each) => isMeant(name, each.id)).at(-1)
  if (closed !== undefined) return closed
  const close = nearest(name, [...open, ...past.map((each) => each.id)])
  const nearby = close === undefined ? '' : `; did you mean ${close}?`
  const there = open.length === 0 ? 'nothing is open' : `open: ${open.join(', ')}`
  throw new Refusal(`there is no intent ${name}${nearby} (${there})`)
}

function isMeant(name: string, id: IntentId): boolean {
  return id === name || id.slice(0, id.lastIndexOf(':')) === name
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
    closed.push({ id, outcome, reason, detail: `${id} is closed: ${outcome}${why}` })
  }
  return closed
}

type Line = readonly [label: string, text: string]

function evidenceLines(evidence: Evidence): readonly string[] {
  const { intentId, does, state, attempt, openedAt } = evidence
  const booked = amountText(evidence.counted)
  const lines: readonly Line[] = [
    ['state', `${state}, attempt ${attempt}, opened ${openedAt}`],
    ['signed', signedText(evidence)],
    ['the service', serviceText(evidence)],
    ...chainLines(evidence),
    ...transactionLines(evidence),
    ['booked so far', `${booked}, counted by caps until its outcome is known`],
    ...evidence.answers.map(({ as, isPossible, reason, detail }) => {
      const now = isPossible ? 'possible' : `not now (${reason})`
      return [`--as ${as}`, `${now}: ${detail}`] as const
    }),
  ]
  return [`${intentId}: ${does}`, ...lines.map(([name, text]) => `  ${name.padEnd(22)}${text}`)]
}

function amountText({ amount, token }: Amount): string {
  return `${exactDecimal(amount)} ${token}`
}

function signedText({ signed }: Evidence): string {
  const { kind, most, spender, recipient, nonce, deadlineAt } = signed
  const whom = spender === null ? `to ${recipient}` : `by ${spender}, for ${recipient}`
  const once = nonce === null ? 'no nonce' : `nonce ${nonce}`
  const until = deadlineAt === null ? 'without a deadline' : `until ${deadlineAt}`
  return `a ${kind} for at most ${amountText(most)} ${whom}; ${once}, ${until}`
}

function serviceText({ service: { orderId, ended } }: Evidence): string {
  const named = orderId === null ? 'assigned no order id' : `assigned order id ${orderId}`
  return ended === null ? named : `${named}, then reported ${ended.status}: ${ended.message}`
}

function chainLines({ chain }: Evidence): readonly Line[] {
  const { head, final, isDeadlinePast, says } = chain
  const past =
    isDeadlinePast === null ? '' : `, the deadline ${isDeadlinePast ? 'is' : 'is not'} past`
  return [
    ['newest block', head === null ? 'not read' : blockText(head)],
    ['final block', final === null ? 'not read' : `${blockText(final)}${past}`],
    ['the chain', says],
  ]
}

function blockText({ block, at, nonceUsed }: NonNullable<Evidence['chain']['head']>): string {
  const nonce = nonceUsed === null ? '' : `, its nonce is ${nonceUsed ? '' : 'not '}used`
  return `${block} of ${at}${nonce}`
}

const SHOWS = {
  proof: 'shows that it executed',
  mention: 'carries the signed data, but proves nothing',
  cancel: 'was sent by the owner and used the nonce',
  nothing: 'shows no trace of it',
  absent: 'is not on the chain',
} as const

function transactionLines({ transactions, searchFault, named }: Evidence): readonly Line[] {
  const lines = transactions.map(({ txHash, block, success, shows }): Line => {
    const reverted = success ? '' : ', was reverted'
    return ['transaction', `${txHash} in block ${block} ${SHOWS[shows]}${reverted}`]
  })
  if (lines.length === 0) lines.push(['transactions', 'none was found'])
  if (searchFault !== null) lines.push(['search', `incomplete: ${searchFault}`])
  if (named !== null) lines.push(['the one you named', SHOWS[named]])
  return lines
}

function settledText(
  id: IntentId,
  { by, verdict }: Extract<Settled, { ok: true }>,
  { isRunning }: { readonly isRunning: boolean },
): string {
  const what =
    by === 'proof'
      ? 'the chain proves that it executed, and it is booked accordingly'
      : `settled by your word: ${verdictText(verdict)}`
  const closes = isRunning ? 'now' : 'when the daemon runs again'
  return `${id}: ${what}; nothing more is signed for it, and its slot closes ${closes}`
}
