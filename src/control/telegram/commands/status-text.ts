import { formatAmount } from '../../../domain/money/units.ts'
import type { Mode } from '../../../domain/settings.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { cutTo } from '../../../domain/text/outside-text.ts'
import { type InFlight, inFlightOf } from '../../../engine/daemon-control.ts'
import type { DaemonState, Pause, StrategyRecord } from '../../../journal/state/daemon-state.ts'
import { instantText } from '../../../observe/wording.ts'
import type { Why } from '../../../ui/page/model.ts'
import type { FundsSeen } from '../../probes.ts'

export type StatusSnapshot = {
  readonly mode: Mode
  readonly startedAtMs: number
  readonly state: DaemonState
  /** Text of the file HALT, if present. */
  readonly haltFile: string | undefined
  /** Enabled strategies in force. */
  readonly strategies: readonly string[]
  readonly nextSlotOf: (strategy: string) => number | undefined
  /** Undefined without a GasTank, or before the first read. */
  readonly gasTank: FundsSeen | undefined
  /** When changed files were first refused, epoch ms. */
  readonly staleSinceMs: number | undefined
}

const STRATEGIES_SHOWN = 10
const ORDERS_SHOWN = 4
const DETAIL_LENGTH_MAX = 160
const ETHER_DECIMALS = 18
const ETHER_DIGITS = 6

/** The daemon's status, sized for one phone screen. */
export function statusText(snapshot: StatusSnapshot, nowMs: number): string {
  const { state, haltFile, mode, startedAtMs } = snapshot
  const lines = [`tranched (${mode}), up ${durationText(nowMs - startedAtMs)}`]
  if (state.halted !== undefined) lines.push(haltedText(state.halted, nowMs))
  else lines.push(haltFile === undefined ? 'Not halted.' : `HALTED: ${shortened(haltFile)}`)
  lines.push(...orderLines(inFlightOf(state), nowMs))
  if (snapshot.gasTank !== undefined) lines.push(fundsText(snapshot.gasTank))
  if (snapshot.staleSinceMs !== undefined) {
    const since = durationText(nowMs - snapshot.staleSinceMs)
    lines.push(`Changed files were refused ${since} ago: the older ones are in force.`)
  }
  lines.push('', ...strategyLines(snapshot, nowMs))
  return lines.join('\n')
}

export function haltedText(halted: Pause, nowMs: number): string {
  return `HALTED ${sinceText(halted, nowMs)}`
}

export function sinceText({ atMs, detail }: Pick<Pause, 'atMs' | 'detail'>, nowMs: number): string {
  return `${durationText(nowMs - atMs)} ago: ${shortened(detail)}`
}

/** Orders without an outcome, at most `ORDERS_SHOWN`. */
export function orderLines(inFlight: readonly InFlight[], nowMs: number): readonly string[] {
  if (inFlight.length === 0) return ['No order is in flight.']
  const late = inFlight.filter((each) => isLate(each, nowMs)).length
  const lateText = late === 0 ? '' : `, ${late} past the deadline and not resolved`
  const lines = inFlight.map(({ intentId, state, deadlineSeconds }) => {
    const until = deadlineSeconds === undefined ? '' : `, until ${instantText(deadlineSeconds)}`
    return `${intentId} (${state}${until})`
  })
  const orders = inFlight.length === 1 ? '1 order' : `${inFlight.length} orders`
  const shown = firstOf(lines, ORDERS_SHOWN).map((line) => `  ${line}`)
  return [`${orders} in flight${lateText}:`, ...shown]
}

/** The first `max` lines, and how many are left. */
export function firstOf(lines: readonly string[], max: number, what = ''): readonly string[] {
  const left = lines.length - max
  return left > 0 ? [...lines.slice(0, max), `and ${left} more${what}`] : lines
}

function isLate({ deadlineSeconds }: InFlight, nowMs: number): boolean {
  return deadlineSeconds !== undefined && deadlineSeconds * 1_000 < nowMs
}

function fundsText(funds: FundsSeen): string {
  if (funds.tag === 'unknown') return `GasTank unknown: ${shortened(funds.why)}`
  const [whole = '0', digits = ''] = formatAmount(funds.available, ETHER_DECIMALS).split('.')
  const left = digits === '' ? whole : `${whole}.${digits.slice(0, ETHER_DIGITS)}`
  const low = funds.isLow ? ', LOW' : ''
  const { runwaySeconds } = funds
  const lasts = runwaySeconds === undefined ? '' : `, lasts ${durationText(runwaySeconds * 1_000)}`
  return `GasTank ${left} ETH${lasts}${low}`
}

/** Stopped strategies first, then by next slot. */
function strategyLines(snapshot: StatusSnapshot, nowMs: number): readonly string[] {
  const { state, strategies, nextSlotOf } = snapshot
  const rows = strategies.map((name) => ({
    name,
    stopped: stopOf(state.strategies.get(name)),
    next: nextSlotOf(name) ?? Number.POSITIVE_INFINITY,
  }))
  const stopped = rows.filter((row) => row.stopped !== undefined)
  const others = rows.filter((row) => row.stopped === undefined)
  others.sort((a, b) => (a.next === b.next ? 0 : a.next - b.next))
  const lines = [...stopped, ...others].map(({ name, stopped: stop, next }) => {
    if (stop !== undefined) return `${name}: ${stop.word} ${sinceText(stop, nowMs)}`
    if (!Number.isFinite(next)) return `${name}: no slot to come`
    const inMs = next * 1_000 - nowMs
    return inMs <= 0 ? `${name}: due now` : `${name}: next in ${durationText(inMs)}`
  })
  const many = rows.length === 1 ? '1 strategy' : `${rows.length} strategies`
  return [
    `${many}, ${stoppedText(stopped.map((row) => row.stopped?.word))}`,
    ...firstOf(lines, STRATEGIES_SHOWN),
  ]
}

/** A pause, or a hold that waits for an approval. */
function stopOf(record: StrategyRecord | undefined) {
  if (record?.paused !== undefined) return { word: 'PAUSED', ...record.paused }
  return record?.held && { word: 'HELD', ...record.held }
}

function stoppedText(labels: readonly (string | undefined)[]): string {
  const held = labels.filter((word) => word === 'HELD').length
  const paused = `${labels.length - held} paused`
  return held === 0 ? paused : `${paused}, ${held} held for approval`
}

/** One line, cut to leave room for others. */
export function shortened(text: string, max = DETAIL_LENGTH_MAX): string {
  return cutTo(text.replace(/\s+/g, ' ').trim(), max)
}

/** Fields shown; the others are for machines. */
const DETAILS: ReadonlySet<string> = new Set(['detail', 'message', 'evidence'])
const LINES_MAX = 25
const FACT_LENGTH_MAX = 120

/** The journal's records of a slot, one per line. */
export function whyText({ slot, lines, whole }: Why): string {
  const [first] = lines
  const day = first === undefined ? '' : `, ${new Date(first.atMs).toISOString().slice(0, 10)} UTC`
  // The beginning shows the decision, the end the outcome.
  const half = Math.floor(LINES_MAX / 2)
  const isLong = lines.length > LINES_MAX
  const shown = isLong ? [...lines.slice(0, half), ...lines.slice(-half)] : lines
  const texts = shown.map(lineText)
  if (isLong) texts.splice(half, 0, `... ${lines.length - shown.length} more ...`)
  if (!whole) texts.push('There may be more: not all of the journal was searched.')
  return [`${slot}${day}`, ...texts].join('\n')
}

function lineText({ atMs, title, facts }: Why['lines'][number]): string {
  const at = new Date(atMs).toISOString().slice(11, 19)
  const details = facts.filter(([name]) => DETAILS.has(name)).map(([, text]) => text)
  const rest = details.length === 0 ? '' : `: ${shortened(details.join(', '), FACT_LENGTH_MAX)}`
  return `${at} ${title}${rest}`
}
