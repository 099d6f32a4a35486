import { type ChildProcess, spawn } from 'node:child_process'
import type { Confined } from './confinement.ts'

/** Bytes of one answer; what may be remembered takes at most three MiB of them. */
const ANSWER_BYTES_MAX = 4 * 1_048_576
/** Characters of a process's own words that are kept for the log between two answers. */
const WORDS_MAX = 16_384
const LINE_MAX = 1_024

/** Node's exit code for a promise at the top of a module that nothing can settle. */
const UNSETTLED = 13

const STDIO: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe']

/** Why there is no answer, in words for the operator. The process is gone, or going. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

export type ModuleProcessInput = {
  readonly confined: Confined
  /** Hears each line that the module, or Node about it, says. */
  readonly words: (line: string) => void
}

/** How long an answer is waited for, and what is said of one that does not come. */
export type Patience = { readonly withinMs: number; readonly late: string }

type Waiting = {
  readonly resolve: (line: string) => void
  readonly reject: (why: NoAnswer) => void
  readonly timer: NodeJS.Timeout
}

/** One process of a module: a line in, a line out. Whatever else it does ends it. */
export class ModuleProcess {
  readonly #child: ChildProcess
  readonly #words: ModuleProcessInput['words']
  #waiting: Waiting | undefined
  #answer: Buffer[] = []
  #answerBytes = 0
  #said = ''
  #unsaid = ''
  #end: string | undefined
  /** Resolves once it is gone. */
  readonly gone: Promise<void>

  constructor({ confined, words }: ModuleProcessInput) {
    this.#words = words
    // A session of its own: Ctrl-C at the daemon's terminal is the daemon's to answer.
    const options = { cwd: '/', env: {}, stdio: STDIO, detached: true }
    const child = spawn(confined.command, confined.args, options)
    this.#child = child
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', (bytes: Buffer) => this.#hear(bytes))
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#overhear(text))
    this.gone = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#finish(`its process cannot be started: ${error.message}`)
        resolve()
      })
      child.once('close', (code, signal) => {
        this.#sayRest()
        this.#finish(this.#endText(code, signal))
        resolve()
      })
    })
  }

  /** What it said on its way out, and why it ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end
  }

  /** The first words since the last answer. */
  get said(): string {
    return this.#said
  }

  /** Sends a line, and resolves with the one that answers it. Rejects with NoAnswer, and then the process is gone. */
  ask(line: string, { withinMs, late }: Patience): Promise<string> {
    if (this.#end !== undefined) return Promise.reject(new NoAnswer(this.#end))
    this.#said = ''
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // What came while this process itself was busy is read first.
        setImmediate(() => {
          if (this.#waiting?.timer === timer) this.kill(late)
        })
      }, withinMs)
      this.#waiting = { resolve, reject, timer }
      this.#child.stdin?.write(`${line}\n`)
    })
  }

  /** Ends it at once; whoever waits for an answer hears why. */
  kill(why: string): void {
    this.#finish(why)
    this.#child.kill('SIGKILL')
  }

  #hear(bytes: Buffer): void {
    const waiting = this.#waiting
    const end = bytes.indexOf(0x0a)
    this.#answer.push(bytes)
    this.#answerBytes += bytes.length
    const wrong = this.#wrongWith(waiting !== undefined, end < 0 || end === bytes.length - 1)
    if (wrong !== undefined) this.kill(wrong)
    else if (waiting !== undefined && end >= 0) this.#settle(waiting)
  }

  #wrongWith(isAsked: boolean, isOne: boolean): string | undefined {
    if (!isAsked) return 'it answered what it was not asked'
    if (this.#answerBytes > ANSWER_BYTES_MAX) return 'its answer is too long'
    return isOne ? undefined : 'it answered twice'
  }

  #settle({ resolve, timer }: Waiting): void {
    const line = Buffer.concat(this.#answer).toString()
    this.#answer = []
    this.#answerBytes = 0
    this.#waiting = undefined
    clearTimeout(timer)
    resolve(line)
  }

  #overhear(text: string): void {
    const room = WORDS_MAX - this.#said.length
    if (room <= 0) return
    this.#said += text.slice(0, room)
    const lines = `${this.#unsaid}${text.slice(0, room)}`.split('\n')
    this.#unsaid = (lines.pop() ?? '').slice(0, LINE_MAX)
    for (const line of lines) if (line !== '') this.#words(line.slice(0, LINE_MAX))
  }

  #sayRest(): void {
    if (this.#unsaid !== '') this.#words(this.#unsaid)
    this.#unsaid = ''
  }

  #endText(code: number | null, signal: NodeJS.Signals | null): string {
    if (/out of memory|memory allocation failed/i.test(this.#said)) return 'it ran out of memory'
    if (code === UNSETTLED) return 'it waits for what never comes'
    return `its process ended with ${signal ?? code}`
  }

  #finish(why: string): void {
    this.#end ??= why
    if (this.#waiting === undefined) return
    const { reject, timer } = this.#waiting
    this.#waiting = undefined
    clearTimeout(timer)
    reject(new NoAnswer(this.#end))
  }
}
