import { randomInt } from 'node:crypto'
import type { TelegramControl } from '../../domain/settings.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Clock } from '../../ports.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import { createBotApi } from './bot-api.ts'
import { openHeardFile } from './heard-file.ts'
import { createOutbox, type Outbox } from './replies-outbox.ts'
import { type Hearing, Updates } from './updates.ts'

const CODE_DIGITS = 6
/** How long the last replies may take to be sent when the bot closes. */
const GRACE_MS = 500

type TelegramInput = {
  readonly settings: TelegramControl
  readonly stateDir: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** Takes secrets out of what is said to people. */
  readonly scrubber: Pick<Scrubber, 'text'>
  readonly observe: (event: RuntimeEvent) => void
}

/** A bot that people write to, and that answers. */
type OpenedBot = {
  readonly outbox: Pick<Outbox, 'put'>
  readonly code: () => string
  /** Listens until it is closed. Never rejects as long as `hear` does not. */
  listen(hear: Pick<Hearing, 'hear' | 'passOver'>): Promise<void>
  /** Ends within a second. */
  close(): Promise<void>
}

export function openBot({
  settings,
  stateDir,
  clock,
  scrubber,
  observe,
}: TelegramInput): OpenedBot {
  const api = createBotApi(settings)
  const onUnsent = (detail: string): void => observe({ type: 'remote-unsent', detail })
  const outbox = createOutbox({ api, clock, onUnsent })
  const file = openHeardFile(stateDir, settings)
  let updates: Updates | undefined
  return {
    outbox: { put: (outgoing) => outbox.put({ ...outgoing, text: scrubber.text(outgoing.text) }) },
    code: randomCode,
    listen(hear) {
      const hearing: Hearing = {
        hear: (incoming, take) => hear.hear(incoming, take),
        passOver: (incoming) => hear.passOver(incoming),
        report: (link, detail) => observe({ type: 'remote-link', link, detail }),
      }
      updates = new Updates({ api, file, clock, hearing })
      return updates.run()
    },
    async close() {
      updates?.stop()
      await outbox.close(GRACE_MS)
      await api.close()
    },
  }
}

/** Six unpredictable digits, to be sent back. */
function randomCode(): string {
  return randomInt(10 ** CODE_DIGITS)
    .toString()
    .padStart(CODE_DIGITS, '0')
}
