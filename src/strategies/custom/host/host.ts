import { realpathSync } from 'node:fs'
import PQueue from 'p-queue'
import {
  MODULE_ANSWER_MS,
  type ModuleFault,
  type ModuleReply,
  type ModuleStarted,
  type ModuleView,
} from '../../domain/module.ts'
import { excerpt } from '../../domain/outside-text.ts'
import type { CustomStrategy, Strategy } from '../../domain/strategy.ts'
import type { Modules } from '../../ports.ts'
import { confine, reachOf } from './confinement.ts'
import { ModuleProcess, NoAnswer } from './module-process.ts'
import { decodeValue, encodeValue } from './values.ts'

const LATE = `it did not answer within ${MODULE_ANSWER_MS / 1000} s`
/** How long a module may take to be loaded. */
const LOADING = { withinMs: 10_000, late: 'it was not loaded within 10 s' }
/** Modules that are started at once: each takes a tenth of a second of a processor. */
const STARTS_AT_ONCE_MAX = 4
/** Milliseconds of processor time after which a process is replaced, far from where the system would end it. */
const CPU_MS_MAX = 10_000
/** MiB that a process may still hold after an answer: with what is left it might fail the next slot. */
const HELD_MIB_MAX = 256
const FAULTS_MAX = 20
const TEXT_MAX = 500
/** A digest of all that was read. */
const VERSION = /^[0-9a-f]{64}$/

export type ModuleHostInput = {
  /** Finds the program that a module runs in, one file. */
  readonly runner: () => string
  /** Hears what the modules say, line by line. */
  readonly words: (strategy: string, line: string) => void
}

/** Every strategy's module in a process of its own, kept running from one slot to the next. */
export type ModuleHost = Modules & {
  /** Starts a strategy's module, beside whatever else runs. */
  start(strategy: CustomStrategy): Promise<ModuleStarted>
  /** Folders that the module of a strategy may read, and run what is in them. */
  reachOf(strategy: CustomStrategy): readonly string[]
  /** Ends the modules of all strategies but these. */
  retain(strategies: readonly Strategy[]): void
  /** Ends all, and resolves once they are gone. */
  close(): Promise<void>
}

export function createModuleHost(input: ModuleHostInput): ModuleHost {
  const starts = new PQueue({ concurrency: STARTS_AT_ONCE_MAX })
  const hosted = new Map<CustomStrategy, HostedModule>()
  const versions = new WeakMap<CustomStrategy, string>()
  const going = new Set<Promise<void>>()
  const end = (strategy: CustomStrategy, module: HostedModule): void => {
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
      const module = hosted.get(strategy)
      return module === undefined ? failed('its module was not started') : module.decide(view)
    },
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
  readonly strategy: CustomStrategy
  readonly starts: PQueue
}

/** A process that is loaded, or why there is none. */
type Start =
  | { readonly ok: true; readonly process: ModuleProcess }
  | { readonly ok: false; readonly faults: readonly ModuleFault[] }

/** One strategy's module, through all the processes that it has. */
class HostedModule {
  /** Of the text that was checked: no other is asked in its place. */
  version: string | undefined
  readonly #input: HostedInput
  #process: ModuleProcess | undefined
  #starting: Promise<Start>
  #last: Promise<unknown> = Promise.resolve()
  #asked = 0
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

  /** One question after the other. */
  decide(view: ModuleView): Promise<ModuleReply> {
    const reply = this.#last.then(() => this.#decide(view))
    this.#last = reply
    return reply
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#process?.kill('the daemon needs it no more')
    await this.#process?.gone
  }

  async #decide(view: ModuleView): Promise<ModuleReply> {
    const untilMs = performance.now() + MODULE_ANSWER_MS
    if (this.#process?.end !== undefined) this.#restart()
    const started = await within(MODULE_ANSWER_MS, this.#starting)
    if (started === undefined) return failed('it was not started again in time')
    if (!started.ok) return failed(started.faults[0]?.message ?? 'it cannot be started again')
    this.#asked += 1
    const id = this.#asked
    try {
      const leftMs = Math.max(1, untilMs - performance.now())
      const line = JSON.stringify({ id, view: encodeValue(view) })
      return this.#read(id, await started.process.ask(line, { withinMs: leftMs, late: LATE }))
    } catch (error) {
      // The next slot is to find it running.
      this.#restart()
      if (error instanceof NoAnswer) return failed(error.message)
      return failed(`its answer cannot be read: ${error instanceof Error ? error.message : ''}`)
    }
  }

  /** @throws for whatever the runner does not write */
  #read(id: number, line: string): ModuleReply {
    const answer = JSON.parse(line) as Readonly<Record<string, unknown>>
    if (answer['id'] !== id) throw new NoAnswer('it answered what it was not asked')
    const { failed: why, returned, cpuMs, heldMib } = answer
    if (!(Number(cpuMs) <= CPU_MS_MAX && Number(heldMib) <= HELD_MIB_MAX)) this.#restart()
    return typeof why === 'string' ? failed(why) : { ok: true, value: decodeValue(returned) }
  }

  #restart(): void {
    this.#process?.kill('it is started again')
    if (!this.#closed) this.#starting = this.#begin()
  }

  #begin(): Promise<Start> {
    return this.#input.starts.add(() => this.#load())
  }

  async #load(): Promise<Start> {
    const { strategy, runner, words } = this.#input
    if (this.#closed) return refused('the daemon needs it no more')
    let file: string
    let process: ModuleProcess
    try {
      file = realpathSync(strategy.module)
      const confined = confine(file, realpathSync(runner()))
      process = new ModuleProcess({ confined, words: (line) => words(strategy.name, line) })
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

function failed(detail: string): ModuleReply {
  return { ok: false, detail: clean(detail) }
}

function refused(why: string): Extract<Start, { ok: false }> {
  const message = `this module cannot be loaded: ${clean(why)}`
  return { ok: false, faults: [{ path: ['module'], message, expected: 'an ES module' }] }
}

/** @throws for whatever the runner does not write */
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

/** Node's last words about a text that is no JavaScript: its place, and what is wrong there. */
function syntaxError(said: string): string | undefined {
  const place = /^file:\/\/(.+:\d+)$/m.exec(said)?.[1]
  const what = /^SyntaxError: (.+)$/m.exec(said)?.[1]
  if (place === undefined || what === undefined) return undefined
  return `${what} (${decodeURI(place)})`
}

/** The first line of a module's words, which reach the journal, logs and terminals. */
function clean(text: string): string {
  return excerpt(text.split(/[\r\n]/, 1)[0] ?? '', TEXT_MAX)
}

/** Undefined when it takes longer. */
function within<Value>(ms: number, task: Promise<Value>): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, undefined)
    task.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
