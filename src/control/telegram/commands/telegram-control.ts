import { randomInt } from 'node:crypto'
import type { TelegramControl } from '../../../domain/settings.ts'
import type { Log } from '../../../observe/log.ts'
import type { Scrubber } from '../../../system/scrubber.ts'
import { createBotApi } from '../bot-api.ts'
import { openHeardFile } from '../heard-file.ts'
import { createOutbox } from '../replies-outbox.ts'
import { Updates } from '../updates.ts'
import { MessageHandler } from './handler.ts'
import type { HandlerInput } from './reply.ts'

const CODE_DIGITS = 6
/** Time for sending the last replies when the bot closes. */
const GRACE_MS = 500

type RemoteInput = Omit<HandlerInput, 'outbox' | 'code' | 'settings'> & {
  readonly settings: TelegramControl
  readonly stateDir: string
  readonly scrubber: Pick<Scrubber, 'text'>
  readonly log: Log
}

/** Lets the people in the config view status, pause, halt and resume by messages to the bot. */
export function startRemote(input: RemoteInput): { close(): Promise<void> } {
  const { settings, stateDir, clock, scrubber, observe, log } = input
  const api = createBotApi(settings)
  const onUnsent = (detail: string): void => observe({ type: 'remote-unsent', detail })
  const outbox = createOutbox({ api, clock, onUnsent })
  const handler = new MessageHandler({
    ...input,
    outbox: { put: (outgoing) => outbox.put({ ...outgoing, text: scrubber.text(outgoing.text) }) },
    code: () => String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0'),
  })
  const updates = new Updates({
    api,
    file: openHeardFile(stateDir, settings),
    clock,
    hearing: {
      hear: (incoming, take) => handler.hear(incoming, take),
      passOver: (incoming) => handler.passOver(incoming),
      report: (link, detail) => observe({ type: 'remote-link', link, detail }),
    },
  })
  log.info('a Telegram bot may look, pause and halt here: docs/remote-control.md', {
    event: 'remote-control',
    chats: settings.chats,
    resume: settings.resume,
  })
  const listening = updates.run().catch((error: unknown) => {
    // A bug in the bot must not stop the daemon.
    log.error('Telegram is ignored until a restart', { err: error })
  })
  return {
    async close() {
      updates.stop()
      await outbox.close(GRACE_MS)
      await api.close()
      await listening
    },
  }
}
