import type { RemoteOutcome } from '../../../domain/remote.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { Outbox, Outgoing } from '../replies-outbox.ts'

/** A person who may command, and where that person is answered. */
export type From = { readonly user: number; readonly chat: number }

/** Notes on disk that a message was heard, so that no later start hears it again. Gives whether it could. */
export type Take = () => Promise<boolean>

/** Answers people, and logs what they sent. */
export class Voice {
  readonly #outbox: Pick<Outbox, 'put'>
  readonly #observe: (event: RuntimeEvent) => void

  constructor(outbox: Pick<Outbox, 'put'>, observe: (event: RuntimeEvent) => void) {
    this.#outbox = outbox
    this.#observe = observe
  }

  say({ chat }: From, text: string): void {
    this.put({ tag: 'message', chat, text })
  }

  put(outgoing: Outgoing): void {
    this.#outbox.put(outgoing)
  }

  /** `what` follows on who it was, and repeats nothing of what was sent. */
  note(outcome: RemoteOutcome, { user }: From, what: string): void {
    this.#observe({
      type: 'remote-message',
      outcome,
      user,
      detail: `Telegram user ${user} ${what}`,
    })
  }

  /** The same for messages from people who are not listed. */
  noteOther(outcome: RemoteOutcome, user: number | undefined, detail: string): void {
    this.#observe({ type: 'remote-message', outcome, user, detail })
  }

  refuse(from: From, reply: string, what: string): void {
    this.say(from, reply)
    this.note('refused', from, what)
  }
}

/** How records say who it was. */
export function byOf({ user }: From): string {
  return `the operator, by Telegram (user ${user})`
}

/** What changed, as many names as a line takes. */
export function namesOf(changed: readonly string[]): string {
  if (changed.length === 0) return 'nothing: it was so already'
  const shown = changed.slice(0, 3).join(', ')
  return changed.length > 3 ? `${shown} and ${changed.length - 3} more` : shown
}
