import type { Log } from '../../../adapters/tell/log.ts'
import type { Scrubber } from '../../../adapters/tell/scrubber.ts'
import type { Observation } from '../../../domain/observation.ts'
import type { TelegramControl } from '../../../domain/settings.ts'
import type { Token } from '../../../domain/token.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
import type { Clock } from '../../../ports.ts'
import { giveHalt } from '../../compose/state.ts'
import { openBot, openSlots } from '../../compose/telegram.ts'
import { Attendant } from './attendant.ts'
import type { RemoteSight } from './status-text.ts'

export type RemoteInput = {
  readonly settings: TelegramControl
  readonly stateDir: string
  /** Where finished files of the journal are moved to, if anywhere. */
  readonly archive: string | undefined
  readonly tokens: ReadonlyMap<string, Token>
  readonly control: Pick<DaemonControl, 'pause' | 'resume' | 'halt'>
  readonly sight: () => RemoteSight
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly scrubber: Pick<Scrubber, 'text' | 'value'>
  readonly observe: (event: Observation) => void
  readonly log: Log
}

/** Lets the people whom the config names look, pause, halt and resume by messages to its bot. */
export function startRemote(input: RemoteInput): { close(): Promise<void> } {
  const { settings, stateDir, log } = input
  const bot = openBot(input)
  const attendant = new Attendant({
    ...input,
    ...bot,
    why: openSlots(input),
    haltByFile: (words) => giveHalt(stateDir, { words, mayMake: false }).fault,
  })
  log.info('a Telegram bot may look, pause and halt here: docs/remote-control.md', {
    event: 'remote-control',
    chats: settings.chats,
    resume: settings.resume,
  })
  const listening = bot.listen(attendant).catch((error: unknown) => {
    // A fault of ours: it must not take the daemon with it.
    log.error('nobody is listened to on Telegram until a restart', { err: error })
  })
  return {
    async close() {
      await bot.close()
      await listening
    },
  }
}
