import { type ChildProcess, spawn } from 'node:child_process'
import { messageOf } from '../../../domain/errors.ts'
import type { Confined } from './confinement.ts'

/** Bytes of an answer, of which the memory takes at most 3 MiB. */
const ANSWER_BYTES_MAX = 4 * 1_048_576
/** Characters of output kept between two answers. */
const WORDS_MAX = 16_384
const LINE_MAX = 1_024

/** Node's exit code for a top-level await that never settles. */
const UNSETTLED = 13

const STDIO: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe']

export const TWICE = 'it answered twice'

/** The module's process has ended or is ending. The message is for the operator. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

type ModuleProcessInput = {
  readonly confined: Confined
  /** Receives each line of output. */
  readonly onOutput: (line: string) => void
}

/** Timeout of an answer, and the message for a late one. */
type Timeout = { readonly withinMs: number; readonly late: string }

/** Takes a line; true if it is the last. `hasMore`: more was received after it. Throws NoAnswer for a wrong line. */
type Take = (line: string, hasMore: boolean) => boolean

type Waiting = {
  readonly take: Take
  readonly timeout: Timeout
  readonly resolve: () => void
  readonly reject: (why: NoAnswer) => void
  timer: NodeJS.Timeout
}

/** One process of a module: one line in, and the lines that were asked for out. Anything else ends it. */
export class ModuleProcess {
  readonly #child: ChildProcess
  readonly #onOutput: ModuleProcessInput['onOutput']
  #waiting: Waiting | undefined
  #answer: Buffer[] = []
  #answerBytes = 0
  #said = ''
  #unsaid = ''
  #end: string | undefined
  readonly gone: Promise<void>

  constructor({ confined, onOutput }: ModuleProcessInput) {
    this.#onOutput = onOutput
    // Runs in its own session, so that Ctrl-C reaches only the daemon.
    const options = { cwd: '/', env: {}, stdio: STDIO, detached: true }
    const child = spawn(confined.command, confined.args, options)
    this.#child = child
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', (bytes: Buffer) => this.#receive(bytes))
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#log(text))
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

  /** Why it ended; undefined while it runs. */
  get end(): string | undefined {
    return this.#end
  }

  /** Output since the last request. */
  get said(): string {
    return this.#said
  }

  /** Sends a line and resolves with the answer. Rejects with NoAnswer once the process has ended or is ending. */
  async ask(line: string, timeout: Timeout): Promise<string> {
    let answer = ''
    await this.askLines(line, timeout, (each, hasMore) => {
      if (hasMore) throw new NoAnswer(TWICE)
      answer = each
      return true
    })
    return answer
  }

  /** The same for an answer of several lines. The timeout is that of each line. */
  askLines(line: string, timeout: Timeout, take: Take): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(new NoAnswer(this.#end))
    this.#said = ''
    return new Promise((resolve, reject) => {
      this.#waiting = { take, timeout, resolve, reject, timer: this.#startTimer(timeout) }
      this.#child.stdin?.write(`${line}\n`)
    })
  }

  #startTimer({ withinMs, late }: Timeout): NodeJS.Timeout {
    const timer = setTimeout(() => {
      // Reads data first that arrived while the daemon was busy.
      setImmediate(() => {
        if (this.#waiting?.timer === timer) this.kill(late)
      })
    }, withinMs)
    return timer
  }

  /** Ends it at once and rejects a pending request with `why`. */
  kill(why: string): void {
    this.#finish(why)
    this.#child.kill('SIGKILL')
  }

  #receive(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      const waiting = this.#waiting
      const end = rest.indexOf(0x0a)
      const part = end < 0 ? rest : rest.subarray(0, end + 1)
      rest = rest.subarray(part.length)
      this.#answer.push(part)
      this.#answerBytes += part.length
      if (waiting === undefined) this.kill('it sent an unexpected answer')
      else if (this.#answerBytes > ANSWER_BYTES_MAX) this.kill('its answer is too long')
      else if (end >= 0) this.#take(waiting, rest.length > 0)
    }
  }

  #take(waiting: Waiting, hasMore: boolean): void {
    const line = Buffer.concat(this.#answer).toString()
    this.#answer = []
    this.#answerBytes = 0
    this.#said = ''
    clearTimeout(waiting.timer)
    try {
      if (waiting.take(line, hasMore)) {
        this.#waiting = undefined
        waiting.resolve()
      } else waiting.timer = this.#startTimer(waiting.timeout)
    } catch (error) {
      this.kill(messageOf(error))
    }
  }

  #log(text: string): void {
    const room = WORDS_MAX - this.#said.length
    if (room <= 0) return
    this.#said += text.slice(0, room)
    const lines = `${this.#unsaid}${text.slice(0, room)}`.split('\n')
    this.#unsaid = (lines.pop() ?? '').slice(0, LINE_MAX)
    for (const line of lines) if (line !== '') this.#onOutput(line.slice(0, LINE_MAX))
  }

  #sayRest(): void {
    if (this.#unsaid !== '') this.#onOutput(this.#unsaid)
    this.#unsaid = ''
  }

  #endText(code: number | null, signal: NodeJS.Signals | null): string {
    if (/out of memory|memory allocation failed/i.test(this.#said)) return 'it ran out of memory'
    if (code === UNSETTLED) return 'its top-level await never settles'
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
