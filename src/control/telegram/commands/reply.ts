import type { RemoteOutcome } from '../../../domain/remote.ts'
import type { TelegramControl } from '../../../domain/settings.ts'
import type { DaemonControl } from '../../../engine/daemon.ts'
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
