import type { ControlAnswer, ControlRequest } from '../../adapters/control/control-socket.ts'
import type { ModuleHost } from '../../adapters/modules/host.ts'
import type { Log } from '../../adapters/tell/log.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import type { IntentId } from '../../domain/intent.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import type { Saying } from '../../execute/settle/settle.ts'
import type { Clock } from '../../ports.ts'
import { listenForOperator, watchFiles } from '../compose/control.ts'
import type { Io } from '../io.ts'
import type { Loaded } from '../load.ts'
import { createReloader, type Reloader, type ReloadInput, type StaleFiles } from './reload.ts'
import type { RemoteSight } from './remote/status-text.ts'

export type AttendInput = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly modules: ModuleHost
  readonly loadAgain: () => Promise<Loaded>
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  readonly taken: ReloadInput['taken']
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly scrubber: Scrubber
  readonly log: Log
  readonly io: Io
  /** How the daemon stands, but for what is known here. */
  readonly sight: () => Omit<RemoteSight, 'staleSinceMs'>
}

/** What an operator can do to a running daemon: the control socket, changed strategy files, SIGHUP, and messages from afar. */
export async function attend(
  input: AttendInput,
  control: DaemonControl,
): Promise<{ close(): Promise<void> }> {
  const { settings, log, io } = input
  const { clock, loadAgain: load } = input
  const files = createReloader({ ...input, load, control, nowMs: clock.now })
  const onFiles = (): void => {
    files.reload().catch((error: unknown) => log.error('could not reload files', { err: error }))
  }
  const watcher = watchFiles(settings.strategiesDir, onFiles, (error) =>
    log.warn(`strategy files are not watched, SIGHUP reloads them: ${error.message}`),
  )
  const offHangup = io.onHangup(() => {
    log.info('SIGHUP: reading config and strategy files')
    onFiles()
  })
  const socket = await listen(input, control, files)
  const remote = await listenAfar(input, control, files)
  return {
    async close() {
      watcher.close()
      offHangup()
      await Promise.all([socket?.close(), remote?.close()])
    },
  }
}

/** Loaded only where somebody may speak from afar. */
async function listenAfar(
  input: AttendInput,
  control: DaemonControl,
  files: Reloader,
): Promise<{ close(): Promise<void> } | undefined> {
  const { stateDir, control: afar } = input.settings
  if (afar.telegram === undefined) return undefined
  try {
    const { startRemote } = await import('./remote/remote.ts')
    const sight = (): RemoteSight => ({ ...input.sight(), staleSinceMs: files.stale()?.sinceMs })
    const { tokens, journal } = input.settings
    return startRemote({
      ...input,
      settings: afar.telegram,
      ...{ stateDir, tokens, archive: journal.archive },
      control,
      sight,
    })
  } catch (error) {
    input.log.error('nobody is listened to on Telegram until a restart', { err: error })
    return undefined
  }
}

async function listen(
  { settings, log }: AttendInput,
  control: DaemonControl,
  files: Reloader,
): Promise<{ close(): Promise<void> } | undefined> {
  const socket = await listenForOperator(settings.stateDir, async (request) => {
    const { command, strategy } = request
    const asked = Object.values(request).filter((said) => said !== undefined)
    // Whoever only looks is not worth a line.
    if (command !== 'status' && command !== 'look')
      log.info(`asked to ${asked.join(' ')}`, { event: 'control', ...request })
    switch (command) {
      case 'status':
        return done(saidOf(files))
      case 'pause':
        return done(await control.pause(strategy))
      case 'resume':
        return done(await control.resume(strategy))
      case 'approve':
        return done(await control.approve(request.name ?? ''))
      case 'halt':
        return done(await control.halt())
      case 'trigger':
        return done(await control.trigger(strategy ?? ''))
      case 'reload':
        return done(await files.reload())
      case 'look':
        return done(await control.look(intentIn(request), request.tx))
      case 'settle':
        return done(await control.settle(intentIn(request), sayingIn(request)))
    }
  })
  if (socket.ok) return socket
  log.warn(`no control socket: ${socket.why}`)
  return undefined
}

/** A name that no intent has is answered as that. */
function intentIn({ intent = '' }: ControlRequest): IntentId {
  return intent as IntentId
}

function sayingIn({ as, tx, attempt = 0 }: ControlRequest): Saying {
  return { attempt, word: as === 'dead' ? { as } : { as: 'executed', txHash: tx } }
}

/** What only the running daemon knows of itself. */
export type DaemonStatus = { readonly stale: StaleFiles | null }

function saidOf(files: Reloader): DaemonStatus {
  return { stale: files.stale() ?? null }
}

function done(result: unknown): ControlAnswer {
  return { ok: true, result }
}
