import type { ControlRequest } from '../../../adapters/control/control-socket.ts'
import type { JournalKey } from '../../../adapters/keys/journal-key.ts'
import { trustedCode } from '../../../domain/contract.ts'
import { reasonText } from '../../../domain/reason-words.ts'
import type { Settings } from '../../../domain/settings.ts'
import { type Approved, approve } from '../../../engine/approvals.ts'
import { type Controlled, type InFlight, pause, resume } from '../../../engine/control.ts'
import type { Triggered } from '../../../engine/trigger.ts'
import { isAnchored } from '../../compose/anchors.ts'
import { withClock } from '../../compose/clock.ts'
import { askDaemon } from '../../compose/control.ts'
import { holderOf, openHalt, openState, whileHeld } from '../../compose/state.ts'
import { readJournalKey } from '../../compose/wallets.ts'
import type { ReloadResult } from '../../daemon/reload.ts'
import { instantText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { ApproveData, PauseData, ReloadData, TriggerData } from '../../json/operate.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load.ts'
import { refuseUnnamed, type TargetOptions, targetOf } from '../../target.ts'

/**
 * `tranched pause|resume|approve|trigger|reload`: asks the running daemon over its socket. Without one, a pause, its end and an
 * approval are written into the journal directly, so that they hold at the next start.
 */
export async function control(
  request: ControlRequest,
  given: TargetOptions,
  io: Io,
): Promise<ExitCode> {
  const target = targetOf(given)
  if (!target.ok) return refuseUnnamed(target.message, given, io)
  const { options } = target
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir } = found.settings
  const asked = await askDaemon(stateDir, request)
  if (asked.tag === 'answered') {
    const { answer } = asked
    return answer.ok
      ? tell(request, answer.result, options, io)
      : refuse(answer.detail, options, io)
  }
  const holder = holderOf(stateDir)
  // One that cannot be judged here is waited for below, as by any that would take the state directory.
  if (asked.tag === 'silent' || holder?.standing === 'alive') {
    const who = holder === undefined ? 'the daemon' : `the process ${holder.pid}`
    return refuse(`${who} gives no answer; whether it did as asked is not known`, options, io)
  }
  if (request.command === 'trigger' || request.command === 'reload')
    return refuse(`no daemon runs in ${stateDir}`, options, io)
  const read = await readJournalKey(found.settings, io)
  if (!read.ok) return reportProblems([read.problem], io, options)
  return tell(request, await onFiles(request, { ...found, key: read.key, io }), options, io)
}

const PAST: Readonly<Record<string, string>> = {
  pause: 'paused',
  resume: 'resumed',
}

/** With no daemon running, the journal is this process's to write. */
function onFiles(
  { command, strategy, name = '' }: ControlRequest,
  on: {
    readonly settings: Settings
    readonly key: JournalKey | undefined
    readonly io: Io
  },
): Promise<Controlled | Approved> {
  const { settings, key, io } = on
  const { stateDir: dir, mode } = settings
  // Whoever appends hears of it; thrown here, it would be nobody's.
  const onFatal = (): void => undefined
  return withClock((clock) =>
    whileHeld(dir, { io, command, clock }, async (lock) => {
      const opened = await openState(mode, {
        ...{ dir, lock, clock, key, onFatal },
        // Nothing is signed here, so a state that its anchor knows better is paused all the same.
        mayUpgrade: !isAnchored(settings),
      })
      const { journal, close, warnings } = opened
      for (const warning of warnings) io.stderr.write(`${warning}\n`)
      const ports = { journal, haltFile: openHalt(dir) }
      try {
        if (command === 'approve') return await approve(ports, name, trustedCode(settings).pins)
        return await (command === 'pause' ? pause : resume)(ports, strategy)
      } finally {
        await close()
      }
    }),
  )
}

function refuse(detail: string, options: ConfigOptions, io: Io): ExitCode {
  return printFailure(io, options, { message: detail })
}

function tell(request: ControlRequest, result: unknown, options: ConfigOptions, io: Io): ExitCode {
  const told = result as (Controlled | Approved | Triggered | ReloadResult) & {
    readonly ok: boolean
  }
  if (!told.ok) return refuse('detail' in told ? told.detail : 'refused', options, io)
  if ('approved' in told) tellApproved(told, options, io)
  else if (options.json) printData(request, told, io)
  else io.stdout.write(`${textOf(request, told)}\n`)
  return EXIT.done
}

function printData(
  { strategy }: ControlRequest,
  result: Controlled | Triggered | ReloadResult,
  io: Io,
): void {
  if ('slotSeconds' in result) {
    const { slotSeconds, intents, skip } = result
    const slot = `${strategy}:${slotSeconds}`
    const named = { slot, slotSeconds, at: instantText(slotSeconds) }
    printJson<TriggerData>(io, { ok: true, ...named, intents, skipped: skip ?? null, problems: [] })
  } else if ('changes' in result) {
    const { changes, limits } = result
    printJson<ReloadData>(io, { ok: true, changes, limits, problems: [] })
  } else if ('inFlight' in result) {
    const { changed } = result
    const inFlight = result.inFlight.map(inFlightData)
    printJson<PauseData>(io, { ok: true, changed, inFlight, problems: [] })
  }
}

/** What was approved, and what waits. */
export function tellApproved(
  { approved, details, waiting }: Omit<Extract<Approved, { ok: true }>, 'ok'>,
  options: ConfigOptions,
  io: Io,
): void {
  if (options.json) {
    const list = waiting.map(({ sinceMs, ...each }) => ({
      ...each,
      at: new Date(sinceMs).toISOString(),
    }))
    printJson<ApproveData>(io, { ok: true, approved, details, waiting: list, problems: [] })
    return
  }
  const lines = waiting.map(({ name, sinceMs, detail }) => {
    return `${name} waits since ${new Date(sinceMs).toISOString()}: ${detail}; \`tranched approve ${name}\` lets it go on`
  })
  lines.unshift(...approved.map((name, n) => `approved ${name}: ${details[n]}`))
  io.stdout.write(`${lines.length === 0 ? 'nothing waits for approval' : lines.join('\n')}\n`)
}

export function inFlightData({
  intentId,
  state,
  deadlineSeconds,
}: InFlight): PauseData['inFlight'][number] {
  const deadlineAt = deadlineSeconds === undefined ? null : instantText(deadlineSeconds)
  return { intentId, state, deadlineAt }
}

function textOf(
  { command, strategy }: ControlRequest,
  result: Controlled | Triggered | ReloadResult,
): string {
  if ('slotSeconds' in result) {
    const slot = `${strategy}:${result.slotSeconds}`
    return `opened slot ${slot}: ${wantedText(result)}; see \`tranched why ${slot}\``
  }
  if ('changes' in result) {
    const strategies = result.changes.map((each) => `${each.strategy}: ${each.text}`)
    const lines = [...result.limits, ...strategies]
    return lines.length === 0 ? 'nothing changed' : lines.join('\n')
  }
  if (!('inFlight' in result)) return ''
  const what =
    result.changed.length === 0 ? 'nothing: it was so already' : result.changed.join(', ')
  const verb = PAST[command] ?? command
  const undo =
    command === 'resume'
      ? ''
      : `; \`tranched resume${strategy === undefined ? '' : ` ${strategy}`}\` ends it`
  return [`${verb} ${what}${undo}`, ...result.inFlight.map(inFlightText)].join('\n')
}

function wantedText({ intents, skip }: Extract<Triggered, { ok: true }>): string {
  if (intents.length > 0) return intents.length === 1 ? '1 order' : `${intents.length} orders`
  if (skip === undefined) return 'it wants no order now'
  const { reason, detail } = skip
  return `no order, because ${reasonText(reason)}${detail === '' ? '' : ` (${detail})`}`
}

export function inFlightText({ intentId, state, deadlineSeconds }: InFlight): string {
  const until =
    deadlineSeconds === undefined ? '' : `, at most until ${instantText(deadlineSeconds)}`
  return `  still in flight: ${intentId} (${state}${until}); it is followed to its end`
}
