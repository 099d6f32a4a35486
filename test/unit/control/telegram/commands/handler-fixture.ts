import { MessageHandler } from '../../../../../src/control/telegram/commands/handler.ts'
import type { HandlerInput } from '../../../../../src/control/telegram/commands/reply.ts'
import type { Outgoing } from '../../../../../src/control/telegram/replies-outbox.ts'
import { readUpdate } from '../../../../../src/control/telegram/wire.ts'
import type { RemoteOutcome } from '../../../../../src/domain/remote.ts'
import { halt, pause, resume } from '../../../../../src/engine/daemon-control.ts'
import type { JournalEvent } from '../../../../../src/journal/events/registry.ts'
import type { Why } from '../../../../../src/ui/page/model.ts'
import { controlJournal } from '../../control-journal.ts'

export const ALICE = 4_711
export const BOB = 4_712
const NOW = Date.UTC(2027, 2, 1, 12)
const MESSAGE_ID = 77

/** Age of a message, and fields that add to or replace its own. */
type MessageFields = { readonly ageMs?: number; readonly [field: string]: unknown }

type Options = {
  readonly chats?: readonly number[]
  readonly resume?: boolean
  /** Replaces the daemon's own control. */
  readonly control?: Partial<HandlerInput['control']>
  readonly haltByFile?: (text: string) => string | undefined
  readonly money?: Partial<HandlerInput['money']>
  readonly why?: (slot: string) => Promise<Why | undefined>
}

/** A handler over a real journal, with a stopped clock and replies that are only recorded. */
export async function handlerRig(options: Options = {}) {
  const { chats = [ALICE, BOB], resume: mayResume = true } = options
  const { dir, time, clock, journal, haltFile, ports } = await controlJournal(NOW)
  const replies: Outgoing[] = []
  const notes: { outcome: RemoteOutcome; user: number | undefined; detail: string }[] = []
  const taken: number[] = []
  let canTake = true
  let codes = 100_000
  let updateId = 0
  const handler = new MessageHandler({
    settings: { chats, resume: mayResume },
    control: {
      pause: (strategy, by) => pause(ports, strategy, by),
      resume: (strategy, by) => resume(ports, strategy, by),
      halt: (by) => halt(ports, by),
      ...options.control,
    },
    haltByFile: options.haltByFile ?? (() => 'not in this test'),
    snapshot: () => ({
      mode: 'live',
      startedAtMs: NOW - 90_000,
      state: journal.state,
      haltFile: haltFile.status(),
      strategies: [...journal.state.strategies.keys()],
      nextSlotOf: () => NOW / 1_000 + 3_600,
      gasTank: undefined,
      staleSinceMs: undefined,
    }),
    money: {
      daily: async () => 'today',
      profit: async () => 'profit',
      fills: async (count) => `${count} fills`,
      balance: () => 'balance',
      ...options.money,
    },
    why: options.why ?? (async () => undefined),
    outbox: { put: (outgoing) => void replies.push(outgoing) },
    code() {
      codes += 1
      return String(codes)
    },
    clock,
    observe(event) {
      if (event.type === 'remote-message') notes.push(event)
    },
  })

  async function hears(update: object): Promise<void> {
    updateId += 1
    const read = readUpdate({ update_id: updateId, ...update })
    if (read === undefined) throw new Error('the test sent no update')
    await handler.hear(read.incoming, async () => {
      if (canTake) taken.push(read.id)
      return canTake
    })
  }

  return {
    dir,
    journal,
    haltFile,
    replies,
    notes,
    taken,
    /** All events appended since the start, without the strategies. */
    async recorded(): Promise<readonly JournalEvent[]> {
      const events: JournalEvent[] = []
      for await (const { event } of journal.records()) events.push(event)
      return events.slice(2)
    },
    /** Text of the last reply. */
    lastReply: (): string => replies.at(-1)?.text ?? '',
    /** The last requested code. */
    lastCode: (): string => String(codes),
    outcomes: () => notes.map(({ outcome }) => outcome),
    hears,
    /** A message in the private chat of a user, `ageMs` ago. */
    says: (text: string, from = ALICE, { ageMs = 0, ...message }: MessageFields = {}) =>
      hears({
        message: {
          message_id: 1,
          from: { id: from, is_bot: false },
          chat: { id: from, type: 'private' },
          date: Math.floor((time.nowMs - ageMs) / 1_000),
          text,
          ...message,
        },
      }),
    presses: (data: string, from = ALICE, press: object = {}) =>
      hears({
        callback_query: {
          id: 'q1',
          from: { id: from, is_bot: false },
          message: { message_id: MESSAGE_ID, chat: { id: from, type: 'private' } },
          data,
          ...press,
        },
      }),
    passes(ms: number): void {
      time.nowMs += ms
    },
    diskFails(): void {
      canTake = false
    },
  }
}

export type HandlerRig = Awaited<ReturnType<typeof handlerRig>>
