import { createClock } from '../../adapters/clock.ts'
import {
  askControl,
  type ControlRequest,
  controlPath,
} from '../../adapters/control/control-socket.ts'
import { openJournal } from '../../adapters/state/journal-file.ts'
import { acquireLock, readLock } from '../../adapters/state/state-lock.ts'
import { type Controlled, halt, type InFlight, pause, resume } from '../../engine/control.ts'
import { HALTED_BY_OPERATOR, PAUSED_BY_OPERATOR } from '../../engine/daemon.ts'
import type { Triggered } from '../../engine/tick.ts'
import type { ReloadResult } from '../daemon/reload.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../io.ts'
import { type ConfigOptions, reportProblems } from '../load.ts'
import { settingsForReading } from './status.ts'

/** A reload reads every file, and waits for the tick under way. */
const ANSWER_MS_MAX = 30_000

/**
 * `tranched pause|resume|halt|trigger|reload`: asks the running daemon over its socket. Without one, pauses and halts are
 * written into the journal directly, so that they hold at the next start.
 */
export async function control(
  request: ControlRequest,
  options: ConfigOptions,
  io: Io,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { stateDir } = found.settings
  const asked = await askControl(controlPath(stateDir), request, ANSWER_MS_MAX)
  if (asked.tag === 'answered') {
    const { answer } = asked
    return answer.ok
      ? tell(request, answer.result, options, io)
      : refuse(answer.detail, options, io)
  }
  const holder = readLock(stateDir)
  if (asked.tag === 'silent' || holder !== undefined) {
    const who = holder === undefined ? 'the daemon' : `the process ${holder.pid}`
    return refuse(`${who} gives no answer; whether it did as asked is not known`, options, io)
  }
  if (request.command === 'trigger' || request.command === 'reload')
    return refuse(`no daemon runs in ${stateDir}`, options, io)
  return tell(request, await onFiles(request, stateDir, io), options, io)
}

const PAST: Readonly<Record<string, string>> = {
  pause: 'paused',
  resume: 'resumed',
  halt: 'halted',
}

/** With no daemon running, the journal is this process's to write. */
async function onFiles(request: ControlRequest, stateDir: string, io: Io): Promise<Controlled> {
  const clock = createClock()
  const release = await acquireLock(stateDir, {
    pid: io.pid,
    command: `tranched ${request.command}`,
    startedAtMs: clock.now(),
  })
  try {
    const observe = (): void => undefined
    const onFatal = (error: Error): void => {
      throw error
    }
    const opened = await openJournal({ dir: stateDir, clock, observe, onFatal })
    try {
      const ports = { journal: opened.journal, observe }
      if (request.command === 'halt') return await halt(ports, HALTED_BY_OPERATOR)
      return request.command === 'pause'
        ? await pause(ports, request.strategy, PAUSED_BY_OPERATOR)
        : await resume(ports, request.strategy)
    } finally {
      await opened.close()
    }
  } finally {
    release()
    await clock.close()
  }
}

function refuse(detail: string, options: ConfigOptions, io: Io): ExitCode {
  if (options.json) printJson(io, { ok: false, detail })
  else io.stderr.write(`${detail}\n`)
  return EXIT.failed
}

function tell(request: ControlRequest, result: unknown, options: ConfigOptions, io: Io): ExitCode {
  const told = result as (Controlled | Triggered | ReloadResult) & { readonly ok: boolean }
  if (!told.ok) return refuse('detail' in told ? told.detail : 'refused', options, io)
  if (options.json) printJson(io, told)
  else io.stdout.write(`${textOf(request, told)}\n`)
  return EXIT.done
}

function textOf(
  { command, strategy }: ControlRequest,
  result: Controlled | Triggered | ReloadResult,
): string {
  if ('slotSeconds' in result) {
    const slot = `${strategy}:${result.slotSeconds}`
    const orders =
      result.intents.length === 0 ? 'it wants no order now' : `${result.intents.length} orders`
    return `opened slot ${slot}: ${orders}; see \`tranched why ${slot}\``
  }
  if ('changes' in result)
    return result.changes.length === 0
      ? 'nothing changed'
      : result.changes.map((each) => `${each.strategy}: ${each.text}`).join('\n')
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

function inFlightText({ intentId, state, deadlineSeconds }: InFlight): string {
  const until =
    deadlineSeconds === undefined
      ? ''
      : `, at most until ${new Date(deadlineSeconds * 1000).toISOString().replace('.000', '')}`
  return `  still in flight: ${intentId} (${state}${until}); it is followed to its end`
}
