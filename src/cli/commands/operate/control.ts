import { resolve } from 'node:path'
import type { ControlRequest } from '../../../control/control-socket.ts'
import { openHaltFile } from '../../../control/halt-file.ts'
import { trustedCode } from '../../../domain/order/contract.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import type { Settings } from '../../../domain/settings.ts'
import { shellWord } from '../../../domain/text/shell-word.ts'
import { type Controlled, pause, resume } from '../../../engine/daemon-control.ts'
import { type Approved, approvalsIn, approve } from '../../../engine/limits/approvals.ts'
import type { Triggered } from '../../../engine/trigger.ts'
import { instantText } from '../../../observe/wording.ts'
import type { JournalKey } from '../../../signing/keys/journal-key.ts'
import {
  askDaemon,
  type RunningDaemon,
  runningDaemons,
  silentHolder,
} from '../../compose/daemons.ts'
import { whileHeld, whileOpen } from '../../compose/state.ts'
import { readJournalKey } from '../../compose/wallets.ts'
import type { ReloadResult } from '../../daemon/reload.ts'
import type { ApproveData, PauseData, ReloadData, TriggerData } from '../../json/operate-outputs.ts'
import { type ConfigOptions, settingsForReading, type TargetOptions } from '../../load-files.ts'
import { type ExitCode, type Io, lineTo, print } from '../../process/io.ts'
import { misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { whileReading } from '../../reading.ts'
import { counted, isoOf } from '../../text/amount-data.ts'
import { inFlightData, inFlightText } from './halt.ts'

/**
 * `tranched pause|resume|approve|trigger|reload`: sends the request to the running daemon's socket. Without a daemon, writes
 * pauses, resumes and approvals into the journal for the next start.
 */
export async function control(
  request: ControlRequest,
  given: TargetOptions,
  io: Io,
): Promise<ExitCode> {
  const options = targetOf(given)
  const { settings } = orRefuse(settingsForReading(options, io))
  const { stateDir } = settings
  const reply = await askDaemon(stateDir, request)
  if (reply.tag === 'answered') {
    const { answer } = reply
    if (!answer.ok) throw new Refusal(answer.detail)
    return report(request, answer.result, options, io)
  }
  const silent = silentHolder(reply, stateDir)
  if (silent !== undefined)
    throw new Refusal(`${silent} does not answer; the request may have taken effect`)
  if (request.command === 'trigger' || request.command === 'reload')
    throw new Refusal(`no daemon runs in ${stateDir}`)
  const { key } = orRefuse(await readJournalKey(settings, io))
  return report(request, await onFiles(request, { settings, key, io }), options, io)
}

function strategyIn(request: ControlRequest): string | undefined {
  return 'strategy' in request ? request.strategy : undefined
}

const PAST: Readonly<Record<string, string>> = { pause: 'paused', resume: 'resumed' }

/** This process may write the journal only without a daemon. */
function onFiles(
  request: ControlRequest,
  on: { readonly settings: Settings; readonly key: JournalKey | undefined; readonly io: Io },
): Promise<Controlled | Approved> {
  const { settings, key, io } = on
  const { stateDir } = settings
  const report = lineTo(io.stderr)
  return whileHeld(stateDir, { io, command: request.command }, (lock, clock) =>
    // Without anchors: nothing is signed, so a pause works even if an anchor conflicts with the state.
    whileOpen(settings, { lock, clock, key, recorded: undefined, report }, async ({ journal }) => {
      const ports = { journal, haltFile: openHaltFile(stateDir) }
      if (request.command === 'approve')
        return approve(ports, request.name, trustedCode(settings).pins)
      return (request.command === 'pause' ? pause : resume)(ports, strategyIn(request))
    }),
  )
}

function report(
  request: ControlRequest,
  answer: unknown,
  options: ConfigOptions,
  io: Io,
): ExitCode {
  const result = answer as Controlled | Approved | Triggered | ReloadResult
  if (!result.ok) throw new Refusal(result.detail)
  if ('approved' in result) return reportApproved(result, options, io)
  if ('slotSeconds' in result) {
    const { slotSeconds, intents, skip } = result
    const slot = `${strategyIn(request)}:${slotSeconds}`
    const named = { slot, slotSeconds, at: instantText(slotSeconds) }
    const opened = `opened slot ${slot}: ${wantedText(result)}; see \`tranched why ${slot}\``
    const data = { ...named, intents, skipped: skip ?? null }
    return print<TriggerData>(io, options, data, () => [opened])
  }
  if ('changes' in result) {
    const { changes, limits } = result
    const lines = [...limits, ...changes.map(({ strategy, text }) => `${strategy}: ${text}`)]
    return print<ReloadData>(io, options, { changes, limits }, () =>
      lines.length === 0 ? ['nothing changed'] : lines,
    )
  }
  const { changed } = result
  const inFlight = result.inFlight.map(inFlightData)
  return print<PauseData>(io, options, { changed, inFlight }, () => [
    changedText(request, changed),
    ...result.inFlight.map(inFlightText),
  ])
}

function reportApproved(
  { approved, details, waiting }: Omit<Extract<Approved, { ok: true }>, 'ok'>,
  options: ConfigOptions,
  io: Io,
): ExitCode {
  const list = waiting.map(({ sinceMs, ...each }) => ({ ...each, at: isoOf(sinceMs) }))
  return print<ApproveData>(io, options, { approved, details, waiting: list }, () => {
    const lines = [
      ...approved.map((name, n) => `approved ${name}: ${details[n]}`),
      ...list.map(
        ({ name, at, detail }) =>
          `${name} has waited since ${at}: ${detail}; \`tranched approve ${name}\` lets it continue`,
      ),
    ]
    return lines.length === 0 ? ['nothing waits for approval'] : lines
  })
}

function changedText(request: ControlRequest, changed: readonly string[]): string {
  const { command } = request
  const strategy = strategyIn(request)
  const what = changed.length === 0 ? 'nothing: no change was needed' : changed.join(', ')
  const of = strategy === undefined ? '' : ` ${strategy}`
  const undo = command === 'resume' ? '' : `; \`tranched resume${of}\` ends it`
  return `${PAST[command] ?? command} ${what}${undo}`
}

function wantedText({ intents, skip }: Extract<Triggered, { ok: true }>): string {
  if (intents.length > 0) return counted(intents.length, 'order')
  if (skip === undefined) return 'it wants no order now'
  const { reason, detail } = skip
  return `no order, because ${reasonText(reason)}${detail === '' ? '' : ` (${detail})`}`
}

/** `tranched approve [NAME]`: without a name lists waiting items, which needs no key and no daemon. */
export async function approveOrders(
  name: string | undefined,
  given: TargetOptions,
  io: Io,
): Promise<ExitCode> {
  if (name !== undefined) return control({ command: 'approve', name }, given, io)
  const options = targetOf(given)
  return whileReading(options, io, async ({ view }) =>
    reportApproved({ approved: [], details: [], waiting: approvalsIn(view.state) }, options, io),
  )
}

/** Without a named target, fills in those of the only running daemon. Throws a Refusal if the operator must choose. */
export function targetOf<Options extends TargetOptions>(options: Options): Options {
  const running = options.isNamed ? undefined : runningDaemons()
  if (running === undefined) return options
  if (!running.ok)
    throw misused(
      `it is unclear which daemon is meant (${running.why}): name it with --config or --state-dir`,
    )
  const [daemon, ...others] = running.daemons
  if (daemon === undefined) return options
  if (others.length > 0) {
    const list = running.daemons.map(flagsText)
    throw misused(`several daemons run: name one with --config or --state-dir\n${list.join('\n')}`)
  }
  const { stateDir, config = resolve(options.config) } = daemon
  return { ...options, stateDir, config }
}

function flagsText({ stateDir, config, pid }: RunningDaemon): string {
  const file = config === undefined ? '' : `--config ${shellWord(config)} `
  return `  ${file}--state-dir ${shellWord(stateDir)}   (process ${pid})`
}
