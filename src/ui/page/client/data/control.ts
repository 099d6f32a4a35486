import type { PageRoute } from '../../model.ts'
import { access, messageOf } from './daemon-requests.ts'

type Command = {
  readonly command: 'halt' | 'pause' | 'resume'
  readonly strategy?: string | undefined
  readonly code?: string
}

/** A question of the daemon: what a resume would end. */
type Question = {
  readonly code: string
  readonly ends: readonly string[]
  readonly staysHalted: boolean
}

type Step =
  | { readonly tag: 'idle' | 'sending' }
  | { readonly tag: 'token'; readonly command: Command; readonly isWrong: boolean }
  | { readonly tag: 'confirm'; readonly command: Command; readonly question: Question }
  | { readonly tag: 'failed'; readonly problem: string }

const ANSWER_MS_MAX = 15_000

/** Sends commands to the daemon, one at a time. Asks for the token once, and before each resume for a confirmation. */
export class Control {
  step: Step = { tag: 'idle' }
  readonly #changed: () => void
  #hasToken = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  async send(command: Command): Promise<void> {
    this.#go({ tag: 'sending' })
    try {
      const response = await access.fetch('/api/control' satisfies PageRoute, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(command),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      const isDenied = access.isDenied
      access.isDenied = false
      if (isDenied) return this.#go({ tag: 'token', command, isWrong: this.#hasToken })
      this.#hasToken = true
      const answer = (await response.json()) as Partial<Question> & { readonly error?: string }
      if (!response.ok) throw new Error(answer.error ?? `The daemon answered ${response.status}.`)
      const { code, ends = [], staysHalted = false } = answer
      if (code === undefined) this.#go({ tag: 'idle' })
      else this.#go({ tag: 'confirm', command, question: { code, ends, staysHalted } })
    } catch (error) {
      this.#go({ tag: 'failed', problem: messageOf(error) })
    }
  }

  /** The token for the command that waits for it. */
  enter(token: string): void {
    if (this.step.tag !== 'token') return
    access.set(token)
    this.#hasToken = true
    void this.send(this.step.command)
  }

  confirm(): void {
    if (this.step.tag !== 'confirm') return
    const { command, question } = this.step
    void this.send({ ...command, code: question.code })
  }

  dismiss(): void {
    this.#go({ tag: 'idle' })
  }

  #go(step: Step): void {
    this.step = step
    this.#changed()
  }
}
