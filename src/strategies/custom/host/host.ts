import { realpathSync } from 'node:fs'
import PQueue from 'p-queue'
import { messageOf } from '../../../domain/errors.ts'
import {
  MODULE_ANSWER_MS,
  type ModuleFault,
  type ModuleReply,
  type ModuleStarted,
  type ModuleStrategy,
  type ModuleView,
} from '../../../domain/module.ts'
import type { StrategyBase } from '../../../domain/strategy.ts'
import { excerpt } from '../../../domain/text/outside-text.ts'
import type { Modules } from '../../../ports.ts'
import { confine, reachOf } from './confinement.ts'
import { ModuleProcess, NoAnswer, TWICE } from './module-process.ts'
import { decodeValue, encodeValue } from './values.ts'

const LATE = `it did not answer within ${MODULE_ANSWER_MS / 1000} s`
const LOADING = { withinMs: 10_000, late: 'it was not loaded within 10 s' }
const NOT_STARTED: ModuleReply = { ok: false, detail: 'its module was not started' }
/** Concurrent starts: each takes a tenth of a second of a processor. */
const STARTS_AT_ONCE_MAX = 4
/** Processor time in ms after which a process is replaced, long before the system ends it. */
const CPU_MS_MAX = 10_000
/** MiB that a process may hold after an answer. With more, the next slot might fail. */
const HELD_MIB_MAX = 256
const FAULTS_MAX = 20
const TEXT_MAX = 500
const VERSION = /^[0-9a-f]{64}$/

type ModuleHostInput = {
  /** Path of the runner program, one file. */
  readonly runner: () => string
  /** Receives the modules' output, line by line. */
  readonly output: (strategy: string, line: string) => void
}

/** Runs each strategy's module in its own process, which stays alive between slots. */
export type ModuleHost = Modules & {
  start(strategy: ModuleStrategy): Promise<ModuleStarted>
  /** Folders that a strategy's module may read. */
  reachOf(strategy: ModuleStrategy): readonly string[]
  /** Ends the modules of all other strategies. */
  retain(strategies: readonly StrategyBase[]): void
  /** Ends all modules; resolves when they are gone. */
  close(): Promise<void>
}

export function createModuleHost(input: ModuleHostInput): ModuleHost {
  const starts = new PQueue({ concurrency: STARTS_AT_ONCE_MAX })
  const hosted = new Map<ModuleStrategy, HostedModule>()
  const versions = new WeakMap<ModuleStrategy, string>()
  const going = new Set<Promise<void>>()
  const end = (strategy: ModuleStrategy, module: HostedModule): void => {
    hosted.delete(strategy)
    const gone = module.close().finally(() => going.delete(gone))
    going.add(gone)
  }
  return {
    async start(strategy) {
      const module = new HostedModule({ ...input, strategy, starts })
      hosted.set(strategy, module)
      const started = await module.start()
      if (started.ok) versions.set(strategy, started.version)
      else end(strategy, module)
      return started
    },
    versionOf: (strategy) => versions.get(strategy),
    reachOf: ({ module }) => reachOf(module),
    async decide(strategy, view) {
      const [reply = NOT_STARTED] = (await hosted.get(strategy)?.decide([view])) ?? []
      return reply
    },
    decideAhead: async (strategy, views) => hosted.get(strategy)?.decide(views) ?? [NOT_STARTED],
    retain(strategies) {
      const kept = new Set<unknown>(strategies)
      for (const [strategy, module] of hosted) if (!kept.has(strategy)) end(strategy, module)
    },
    async close() {
      for (const [strategy, module] of hosted) end(strategy, module)
      await Promise.all(going)
    },
  }
}

type HostedInput = ModuleHostInput & {
  readonly strategy: ModuleStrategy
  readonly starts: PQueue
}

type Start =
  | { readonly ok: true; readonly process: ModuleProcess }
  | { readonly ok: false; readonly faults: readonly ModuleFault[] }

/** One strategy's module, across restarts of its process. */
class HostedModule {
  /** Version of the checked files; changed files are refused. */
  version: string | undefined
  readonly #input: HostedInput
  #process: ModuleProcess | undefined
  #starting: Promise<Start>
  #last: Promise<unknown> = Promise.resolve()
  #requests = 0
  #closed = false

  constructor(input: HostedInput) {
    this.#input = input
    this.#starting = this.#begin()
  }

  async start(): Promise<ModuleStarted> {
    const started = await this.#starting
    if (!started.ok) return started
    return { ok: true, version: this.version ?? '' }
  }

  /** Runs one request at a time. Replies to the first views, at least one. */
  decide(views: readonly ModuleView[]): Promise<readonly ModuleReply[]> {
    const replies = this.#last.then(() => this.#decide(views))
    this.#last = replies
    return replies
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#process?.kill('the daemon no longer needs it')
    await this.#process?.gone
  }

  async #decide(views: readonly ModuleView[]): Promise<readonly ModuleReply[]> {
    const untilMs = performance.now() + MODULE_ANSWER_MS
    if (this.#process?.end !== undefined) this.#restart()
    const started = await within(MODULE_ANSWER_MS, this.#starting)
    if (started === undefined) return [failed('it was not started again in time')]
    if (!started.ok) return [failed(started.faults[0]?.message ?? 'it cannot be started again')]
    const firstId = this.#requests + 1
    this.#requests += views.length
    const replies: ModuleReply[] = []
    let isUsedUp = false
    try {
      const withinMs = Math.max(1, untilMs - performance.now())
      const most = { cpuMs: CPU_MS_MAX, heldMib: HELD_MIB_MAX }
      const line = JSON.stringify({ firstId, most, views: views.map(encodeValue) })
      await started.process.askLines(line, { withinMs, late: LATE }, (answer, hasMore) => {
        const isOfLastView = replies.length + 1 === views.length
        if (isOfLastView && hasMore) throw new NoAnswer(TWICE)
        const read = readReply(firstId + replies.length, answer)
        const isLast = read.isLast || isOfLastView
        if (isLast && hasMore) throw new NoAnswer(TWICE)
        replies.push(read.reply)
        isUsedUp = read.isUsedUp
        return isLast
      })
      if (isUsedUp) this.#restart()
      return replies
    } catch (error) {
      // Restarted now, so that it is ready at the next slot.
      this.#restart()
      return [...replies, failed(messageOf(error))]
    }
  }

  #restart(): void {
    this.#process?.kill('it is started again')
    if (!this.#closed) this.#starting = this.#begin()
  }

  #begin(): Promise<Start> {
    return this.#input.starts.add(() => this.#load())
  }

  async #load(): Promise<Start> {
    const { strategy, runner, output } = this.#input
    if (this.#closed) return refused('the daemon no longer needs it')
    let file: string
    let process: ModuleProcess
    try {
      file = realpathSync(strategy.module)
      const confined = confine(file, realpathSync(runner()))
      process = new ModuleProcess({ confined, onOutput: (line) => output(strategy.name, line) })
    } catch (error) {
      return refused(error instanceof Error ? error.message : '')
    }
    this.#process = process
    try {
      const order = JSON.stringify({ file, params: encodeValue(strategy.params) })
      const started = readStarted(await process.ask(order, LOADING))
      if (!started.ok) process.kill('it was refused')
      return started.ok ? this.#accept(process, started.version) : started
    } catch (error) {
      process.kill('it was not loaded')
      await process.gone
      return refused(syntaxError(process.said) ?? (error instanceof Error ? error.message : ''))
    }
  }

  #accept(process: ModuleProcess, version: string): Start {
    this.version ??= version
    if (version === this.version) return { ok: true, process }
    process.kill('it is not the module that was checked')
    const message = 'its files are not those that were checked: `tranched reload` reads them'
    return { ok: false, faults: [{ path: ['module'], message, expected: 'a reload' }] }
  }
}

/** @throws {NoAnswer} for a line that the runner does not write */
function readReply(id: number, line: string) {
  try {
    const answer = JSON.parse(line) as Readonly<Record<string, unknown>>
    if (answer['id'] !== id) throw new NoAnswer('it sent an unexpected answer')
    const { failed: why, returned, cpuMs, heldMib, last } = answer
    const reply: ModuleReply =
      typeof why === 'string' ? failed(why) : { ok: true, value: decodeValue(returned) }
    const isUsedUp = !(Number(cpuMs) <= CPU_MS_MAX && Number(heldMib) <= HELD_MIB_MAX)
    return { reply, isUsedUp, isLast: last === true }
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    throw new NoAnswer(`its answer cannot be read: ${messageOf(error)}`)
  }
}

function failed(detail: string): ModuleReply {
  return { ok: false, detail: clean(detail) }
}

function refused(why: string): Extract<Start, { ok: false }> {
  const message = `this module cannot be loaded: ${clean(why)}`
  return { ok: false, faults: [{ path: ['module'], message, expected: 'an ES module' }] }
}

/** @throws for a line that the runner does not write */
function readStarted(line: string): ModuleStarted {
  const { version, faults } = JSON.parse(line) as Readonly<Record<string, unknown>>
  if (typeof version === 'string' && VERSION.test(version)) return { ok: true, version }
  const list: readonly unknown[] = Array.isArray(faults) ? faults : [undefined]
  return { ok: false, faults: list.slice(0, FAULTS_MAX).map(readFault) }
}

function readFault(fault: unknown): ModuleFault {
  const { path, message, expected } = Object(fault) as Readonly<Record<string, unknown>>
  const parts: readonly unknown[] = Array.isArray(path) ? path.slice(0, FAULTS_MAX) : []
  return {
    path: parts.map((part) => (typeof part === 'number' ? part : clean(String(part)))),
    message: clean(String(message)),
    expected: clean(String(expected)),
  }
}

/** Message and place of a SyntaxError in Node's output. */
function syntaxError(said: string): string | undefined {
  const place = /^file:\/\/(.+:\d+)$/m.exec(said)?.[1]
  const what = /^SyntaxError: (.+)$/m.exec(said)?.[1]
  if (place === undefined || what === undefined) return undefined
  return `${what} (${decodeURI(place)})`
}

/** First line, bounded, because module output reaches the journal, logs and terminals. */
function clean(text: string): string {
  return excerpt(text.split(/[\r\n]/, 1)[0] ?? '', TEXT_MAX)
}

/** Undefined on timeout. */
function within<Value>(ms: number, task: Promise<Value>): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, undefined)
    task.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
