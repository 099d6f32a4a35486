import type { Why } from '../../adapters/page/model.ts'
import { findWhy, slotIn } from '../../adapters/page/why.ts'
import { stateFiles } from '../../adapters/state/state-files.ts'
import { createBotApi } from '../../adapters/telegram/bot-api.ts'
import { randomCode } from '../../adapters/telegram/code.ts'
import { openHeardFile } from '../../adapters/telegram/heard-file.ts'
import { createOutbox, type Outbox } from '../../adapters/telegram/outbox.ts'
import { type Hearing, Updates } from '../../adapters/telegram/updates.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import type { Observation } from '../../domain/observation.ts'
import type { TelegramControl } from '../../domain/settings.ts'
import type { Token } from '../../domain/token.ts'
import type { Clock } from '../../ports.ts'

/** What the journal holds about a slot, by its name, with what has to be hidden taken out; undefined where it holds nothing. */
export function openSlots(input: {
  readonly stateDir: string
  readonly archive: string | undefined
  readonly scrubber: Pick<Scrubber, 'text' | 'value'>
  readonly tokens: ReadonlyMap<string, Token>
}): (slot: string) => Promise<Why | undefined> {
  const { stateDir, archive, scrubber, tokens } = input
  const place = { dir: stateFiles(stateDir).journal, archive }
  const hiding = { clean: scrubber.text, value: scrubber.value }
  return async (name) => {
    const slot = slotIn(name)
    return slot && findWhy(place, slot, { hiding, tokens: tokens.values() })
  }
}

/** For what is still to be said at the end. */
const GRACE_MS = 500

export type TelegramInput = {
  readonly settings: TelegramControl
  readonly stateDir: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** Takes secrets out of what is said to people. */
  readonly scrubber: Pick<Scrubber, 'text'>
  readonly observe: (event: Observation) => void
}

/** A bot that people write to, and that answers. */
export type OpenedBot = {
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
        tell: (link, detail) => observe({ type: 'remote-link', link, detail }),
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
