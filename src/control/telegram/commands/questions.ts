/** What is to be confirmed. */
type Asked = {
  readonly strategy: string | undefined
  /** What it would end, as of the question: a confirmation covers nothing else. */
  readonly lifts: string
}

type Pending = Asked & { readonly code: string; readonly untilMs: number }

type Answered =
  | { readonly tag: 'agreed'; readonly asked: Asked }
  /** Not this one, too late, or nothing was asked. */
  | { readonly tag: 'void'; readonly wasAsked: boolean }

/** How long a question stands. */
export const QUESTION_MS = 60_000

/**
 * Questions that a person has to answer with a code, one for each person at a time. They are in memory alone: a restart
 * voids them, and a message that is heard twice finds none.
 */
export class Questions {
  readonly #pending = new Map<number, Pending>()
  readonly #code: () => string

  /** `code` returns six unpredictable digits. */
  constructor(code: () => string) {
    this.#code = code
  }

  /** Gives the code that answers it. What was asked before is void. */
  ask(user: number, asked: Asked, nowMs: number): string {
    const code = this.#code()
    this.#pending.set(user, { ...asked, code, untilMs: nowMs + QUESTION_MS })
    return code
  }

  /** Whatever the answer is, the question is gone: a code can be tried once. */
  answer(user: number, code: string, nowMs: number): Answered {
    const pending = this.#pending.get(user)
    this.#pending.delete(user)
    if (pending === undefined) return { tag: 'void', wasAsked: false }
    const { strategy, lifts, untilMs } = pending
    // A clock that was set back does not keep a question open either.
    const isInTime = nowMs <= untilMs && nowMs >= untilMs - QUESTION_MS
    if (pending.code !== code || !isInTime) return { tag: 'void', wasAsked: true }
    return { tag: 'agreed', asked: { strategy, lifts } }
  }

  /** Gives whether there was one. */
  drop(user: number): boolean {
    return this.#pending.delete(user)
  }
}
