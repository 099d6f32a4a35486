import { Buffer } from 'node:buffer'
import { readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import type { StrategyMemory } from '../../../domain/strategy-memory.ts'
import { decodeValue, encodeValue } from '../host/values.ts'
import { readAnswer } from '../module-answer.ts'
import { leaveBareLanguage } from './bare-language.ts'
import { firstLine, frozen, placeOf, type Ready, readExports, textOf } from './interface.ts'
import { Linker } from './linker.ts'

/** The module's process: answers each line with a line, and ends when its input closes. In between, no module code runs. */

const STDIN = 0
const STDOUT = 1
const STDERR = 2
const READ_BYTES = 65_536
/** Characters of log output between two answers. */
const WORDS_MAX = 8_192
const WORDS_AT_ONCE_MAX = 1_024

// Importing `node:process` would open stdin, and `node:util` stderr, which would then not block.
const { cpuUsage, memoryUsage } = process

let outputLeft = WORDS_MAX

function say(...words: readonly unknown[]): void {
  if (outputLeft <= 0) return
  const text = words.map(shown).join(' ').slice(0, Math.min(WORDS_AT_ONCE_MAX, outputLeft))
  outputLeft -= text.length
  write(STDERR, `${text}\n`)
}

function shown(word: unknown): string {
  try {
    return typeof word === 'object' ? JSON.stringify(word, exactly) : String(word)
  } catch (error) {
    return `[${textOf(error)}]`
  }
}

function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/** Blocks until the daemon has read it. */
function write(to: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) at += writeSync(to, bytes, at)
}

function answer(message: object): void {
  write(STDOUT, `${JSON.stringify(message)}\n`)
}

/** The next line of the input; undefined at its end. */
function createLines(): () => string | undefined {
  const chunk = Buffer.alloc(READ_BYTES)
  let rest: Buffer[] = []
  return () => {
    for (;;) {
      const count = readSync(STDIN, chunk)
      if (count === 0) return undefined
      const read = Buffer.from(chunk.subarray(0, count))
      rest.push(read)
      // The daemon sends no line before the last answer.
      if (read.at(-1) !== 0x0a) continue
      const line = Buffer.concat(rest).toString()
      rest = []
      return line
    }
  }
}

type Order = { readonly file: string; readonly params: unknown }

async function load({ file, params }: Order): Promise<Ready | undefined> {
  const linker = new Linker({ zod: z, 'zod/v4': z })
  let exports: Readonly<Record<string, unknown>>
  try {
    exports = await linker.load(file)
  } catch (error) {
    // Only Node knows the line of a syntax error, and prints it when it ends.
    if (error instanceof SyntaxError && placeOf(error) === '') throw error
    const message = `this module cannot be loaded: ${firstLine(textOf(error))}${placeOf(error)}`
    answer({ faults: [{ path: ['module'], message, expected: 'an ES module' }] })
    return undefined
  }
  const read = readExports(exports, { z }, decodeValue(params))
  if (!read.ok) {
    answer({ faults: read.faults })
    return undefined
  }
  answer({ version: linker.version })
  return read
}

type Slots = {
  readonly firstId: number
  readonly views: readonly unknown[]
  /** Once it has used more, it answers no further view: the daemon replaces the process. */
  readonly most: ReturnType<typeof used>
}

/** Answers view after view, each as soon as it is decided, up to the first answer that is no skip. */
function decideSlots(ready: Ready, line: string, folder: string): void {
  const { firstId, views, most } = JSON.parse(line) as Slots
  let memory: StrategyMemory | undefined
  for (const [index, encoded] of views.entries()) {
    outputLeft = WORDS_MAX
    const given = decodeValue(encoded) as { readonly memory: StrategyMemory }
    const view = memory === undefined ? given : { ...given, memory }
    const reply = decideOne(ready, view, folder)
    const uses = used()
    const isUsedUp = uses.cpuMs > most.cpuMs || uses.heldMib > most.heldMib
    const after = isUsedUp ? undefined : memoryAfterSkip(reply, view.memory)
    const last = after === undefined || index === views.length - 1
    answer({ id: firstId + index, ...reply, ...uses, last })
    if (last) return
    memory = after
  }
}

type Reply = { readonly returned: unknown } | { readonly failed: string }

function decideOne({ params, decide }: Ready, view: object, folder: string): Reply {
  try {
    const returned = decide(frozen({ ...view, params }))
    const isPromise =
      returned instanceof Object && typeof Reflect.get(returned, 'then') === 'function'
    if (isPromise) return { failed: 'what it returned is a promise; decide is synchronous' }
    return { returned: encodeValue(returned) }
  } catch (error) {
    return { failed: `${firstLine(textOf(error))}${placeOf(error, folder)}` }
  }
}

/** The memory of the next slot, as the daemon reads it; undefined unless the module skipped the slot. */
function memoryAfterSkip(reply: Reply, before: StrategyMemory): StrategyMemory | undefined {
  if ('failed' in reply) return undefined
  try {
    const answered = readAnswer(decodeValue(reply.returned), new Map())
    return answered.tag === 'skip' ? (answered.memory ?? before) : undefined
  } catch {
    return undefined
  }
}

function used(): { readonly cpuMs: number; readonly heldMib: number } {
  const { user, system } = cpuUsage()
  const { heapTotal, external } = memoryUsage()
  return {
    cpuMs: Math.round((user + system) / 1000),
    heldMib: Math.round((heapTotal + external) / 1_048_576),
  }
}

const nextLine = createLines()
const first = nextLine()
if (first !== undefined) {
  leaveBareLanguage(say)
  const order = JSON.parse(first) as Order
  const ready = await load(order)
  while (ready !== undefined) {
    const line = nextLine()
    if (line === undefined) break
    decideSlots(ready, line, dirname(order.file))
  }
}
