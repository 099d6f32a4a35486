import { messageOf } from '../../../domain/errors.ts'
import type { RemoteOutcome } from '../../../domain/remote.ts'
import type { TelegramControl } from '../../../domain/settings.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
import type { Controlled } from '../../../engine/daemon-control.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { Clock } from '../../../ports.ts'
import type { Why } from '../../../ui/page/model.ts'
import type { Outbox, Outgoing } from '../replies-outbox.ts'
import { listed } from './command-answers.ts'
import type { MoneyAnswers } from './money-answers.ts'
import type { StatusSnapshot } from './status-text.ts'

export type HandlerInput = {
  readonly settings: Pick<TelegramControl, 'chats' | 'resume'>
  readonly control: Pick<DaemonControl, 'pause' | 'resume' | 'halt'>
  /** Writes the file HALT when the journal cannot record a halt. Returns the error, if any. */
  readonly haltByFile: (words: string) => string | undefined
  readonly snapshot: () => StatusSnapshot
  /** The journal's records of a slot; undefined if there are none. May reject. */
  readonly why: (slot: string) => Promise<Why | undefined>
  /** Figures of the account. May reject. */
  readonly money: MoneyAnswers
  readonly outbox: Pick<Outbox, 'put'>
  /** Six unpredictable digits. */
  readonly code: () => string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly observe: (event: RuntimeEvent) => void
}

/** A person who may command, and the chat that gets the replies. */
export type From = { readonly user: number; readonly chat: number }

/** Records on disk that a message was handled, so that no later start handles it again. False if that failed. */
export type Take = () => Promise<boolean>

/** Answers people, and logs what they sent. */
export class Voice {
  readonly #input: Pick<HandlerInput, 'outbox' | 'observe'>

  constructor(input: Pick<HandlerInput, 'outbox' | 'observe'>) {
    this.#input = input
  }

  say({ chat }: From, text: string): void {
    this.put({ tag: 'message', chat, text })
  }

  put(outgoing: Outgoing): void {
    this.#input.outbox.put(outgoing)
  }

  /** `what` follows the user's number and quotes nothing of the message. */
  note(outcome: RemoteOutcome, { user }: From, what: string): void {
    this.noteOther(outcome, user, `Telegram user ${user} ${what}`)
  }

  /** Also for people outside the config. */
  noteOther(outcome: RemoteOutcome, user: number | undefined, detail: string): void {
    this.#input.observe({ type: 'remote-message', outcome, user, detail })
  }

  refuse(from: From, reply: string, what: string): void {
    this.say(from, reply)
    this.note('refused', from, what)
  }
}

/** The author of a command, for records. */
export function byOf({ user }: From): string {
  return `the operator, by Telegram (user ${user})`
}

/** Changed strategies, at most three by name. */
export function namesOf(changed: readonly string[]): string {
  return changed.length === 0 ? 'nothing: it was so already' : listed(changed, 3)
}

/** Bounds the wait for a slow disk, because another halt may come meanwhile. */
const DONE_MS_MAX = 10_000

/** The result of a command. Never rejects. `late`: the disk has not confirmed it yet, and may do so later. */
export async function doneWithin(command: Promise<Controlled>, clock: Pick<Clock, 'sleep'>) {
  const done = new AbortController()
  const detail = `the disk has not confirmed it within ${DONE_MS_MAX / 1_000} s`
  const late = clock
    .sleep(DONE_MS_MAX, done.signal)
    .then(() => ({ ok: false, detail, late: true }) as const)
  const failed = (error: unknown): Controlled => ({ ok: false, detail: messageOf(error) })
  try {
    return await Promise.race([command.catch(failed), late])
  } finally {
    done.abort()
  }
}
