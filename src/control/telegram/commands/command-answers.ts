import { durationText } from '../../../domain/text/duration.ts'
import type { Controlled } from '../../../engine/daemon-control.ts'
import type { DaemonState, Pause } from '../../../journal/state/daemon-state.ts'
import { instantText } from '../../../observe/wording.ts'
import { type Lifting, QUESTION_MS } from '../../stops.ts'
import { firstOf, haltedText, orderLines, shortened, sinceText } from './status-text.ts'

const NAMES_SHOWN = 8
const HELP = [
  '/status  how everything stands',
  '/daily  what today and the last days traded',
  '/balance  what the wallets and the GasTank hold',
  '/profit  profit of each strategy',
  '/fills [N]  the newest fills',
  '/why STRATEGY:SLOT  what the journal holds about one slot',
  '/pause [STRATEGY]  no new slots, of one or of all',
  '/halt  nothing new is signed by anybody',
]
const HELP_RESUME = '/resume [STRATEGY]  ends a pause, or all of it; I ask twice'
const HELP_NO_RESUME = 'Only the machine can resume: tranched resume.'

export function helpText(mayResume: boolean): string {
  return [...HELP, mayResume ? HELP_RESUME : HELP_NO_RESUME].join('\n')
}

type Done = Extract<Controlled, { ok: true }>

export function pausedText(
  { changed, inFlight }: Done,
  { strategy, nowMs }: { readonly strategy: string | undefined; readonly nowMs: number },
): string {
  const ends = strategy === undefined ? '/resume' : `/resume ${strategy}`
  if (changed.length === 0) {
    const what = strategy === undefined ? 'Everything' : strategy
    return `${what} was paused already. ${ends} ends it.`
  }
  return [
    `Paused ${listed(changed)}: no new slots, and nothing is signed that is not yet. ${ends} ends it.`,
    ...orderLines(inFlight, nowMs),
  ].join('\n')
}

/** `delayMs`: time between sending and receipt of the message. */
export function haltedNowText(
  { changed, inFlight }: Done,
  view: { readonly halted: Pause | undefined; readonly delayMs: number; readonly nowMs: number },
): string {
  const { halted, delayMs, nowMs } = view
  const late =
    delayMs > QUESTION_MS ? `Your /halt of ${durationText(delayMs)} ago got here only now. ` : ''
  const said =
    changed.length > 0 || halted === undefined
      ? 'Halted: nothing new is signed, also after a restart, until it is resumed.'
      : `It was halted already. ${haltedText(halted, nowMs)}`
  return [`${late}${said}`, ...orderLines(inFlight, nowMs)].join('\n')
}

export function resumedText({ changed }: Done): string {
  return changed.length === 0 ? 'Nothing was stopped any more.' : `Resumed ${listed(changed)}.`
}

/** `isHaltedBeyond`: a halt continues after the pauses end. */
export function questionText(
  { halted, file, paused }: Lifting,
  resumption: { readonly code: string; readonly isHaltedBeyond: boolean; readonly nowMs: number },
): string {
  const { code, isHaltedBeyond, nowMs } = resumption
  const lines = ['Resume?']
  if (halted !== undefined) lines.push(haltedText(halted, nowMs))
  else if (file !== undefined) lines.push(`HALTED: ${shortened(file)}`)
  const pauses = paused.map(([name, pause]) => `${name}: paused ${sinceText(pause, nowMs)}`)
  lines.push(...firstOf(pauses, NAMES_SHOWN, ' pauses'))
  if (isHaltedBeyond) lines.push('Everything stays halted until /resume alone.')
  const seconds = QUESTION_MS / 1_000
  return [...lines, `Press the button, or send ${code}, within ${seconds} s.`].join('\n')
}

export function nothingToResumeText(state: DaemonState, strategy: string | undefined): string {
  if (strategy === undefined) return 'Nothing is halted or paused.'
  if (!state.strategies.has(strategy)) return `No strategy is named ${strategy}.`
  const halted = state.halted === undefined ? '' : ' Everything is halted: /resume alone ends that.'
  return `${strategy} is not paused.${halted}`
}

/** A halt of this kind cannot be ended from a phone. */
export function evidenceText(halted: Pause): string {
  return `This halt says that records are lost or that somebody else uses the wallet: ${shortened(halted.detail)}\nSomebody has to look at the machine first; \`tranched resume\` there ends it.`
}

export function staleText(command: string, dateSeconds: number, delayMs: number): string {
  const when =
    delayMs < 0
      ? 'is from the future by the clock of the machine, which is wrong'
      : `of ${instantText(dateSeconds)} got here ${durationText(delayMs)} late`
  return `Your ${command} ${when}: not obeyed. Send it again if it still holds; /halt is obeyed however late.`
}

export function listed(names: readonly string[], max = NAMES_SHOWN): string {
  const left = names.length - max
  const shown = names.slice(0, max).join(', ')
  return left > 0 ? `${shown} and ${left} more` : shown
}
