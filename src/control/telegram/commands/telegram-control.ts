import type { TelegramControl } from '../../../domain/settings.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { Log } from '../../../observe/log.ts'
import type { Clock } from '../../../ports.ts'
import type { Scrubber } from '../../../system/scrubber.ts'
import { openBot } from '../bot.ts'
import { MessageHandler, type MessageHandlerInput } from './handler.ts'
import type { RemoteSight } from './status-text.ts'

export type RemoteInput = Pick<MessageHandlerInput, 'why' | 'haltByFile'> & {
  readonly settings: TelegramControl
  readonly stateDir: string
  readonly control: Pick<DaemonControl, 'pause' | 'resume' | 'halt'>
  readonly sight: () => RemoteSight
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly scrubber: Pick<Scrubber, 'text' | 'value'>
  readonly observe: (event: RuntimeEvent) => void
  readonly log: Log
}

/** Lets the people whom the config names look, pause, halt and resume by messages to its bot. */
export function startRemote(input: RemoteInput): { close(): Promise<void> } {
  const { settings, log } = input
  const bot = openBot(input)
  const handler = new MessageHandler({ ...input, ...bot })
  log.info('a Telegram bot may look, pause and halt here: docs/remote-control.md', {
    event: 'remote-control',
    chats: settings.chats,
    resume: settings.resume,
  })
  const listening = bot.listen(handler).catch((error: unknown) => {
    // A fault of ours: it must not take the daemon with it.
    log.error('Telegram is ignored until a restart', { err: error })
  })
  return {
    async close() {
      await bot.close()
      await listening
    },
  }
}
