import { appendFile, open, readFile } from 'node:fs/promises'
import {
  fileSize,
  isMissing,
  moveDurably,
  PRIVATE_FILE,
  replaceFile,
} from '../state/durable-file.ts'
import { type HoldingsSample, sampleOf, thinned } from './holdings-series.ts'

/** As many samples as are kept take a part of it. */
const BYTES_MAX = 16 * 1024 * 1024
/** Longer than this it is thinned, although nobody looks. */
const THIN_BYTES = 2 * 1024 * 1024
const LOOK_EVERY = 200
const LINE_BYTES_MAX = 16 * 1024
const NEWLINE = 0x0a
/** Lines that are read or made at a time: well under a millisecond. */
const PART_LINES = 100

export type HoldingsFileOptions = {
  readonly file: string
  readonly nowMs: () => number
  readonly warn: (message: string) => void
}

/**
 * What was held over time, a line a sample, beside the state and no part of it: nothing is decided by it, it is not synced, and
 * one that is damaged or lost costs a curve. Read when somebody asks for it. Never rejects.
 */
export class HoldingsFile {
  readonly #options: HoldingsFileOptions
  /** Undefined until somebody asked. */
  #samples: HoldingsSample[] | undefined
  #work: Promise<void> = Promise.resolve()
  #added = 0
  #isBroken = false

  constructor(options: HoldingsFileOptions) {
    this.#options = options
  }

  /** All samples, oldest first. */
  async samples(): Promise<readonly HoldingsSample[]> {
    await this.#after(async () => {
      this.#samples ??= await this.#read()
    })
    return this.#samples ?? []
  }

  add(sample: HoldingsSample): Promise<void> {
    return this.#after(async () => {
      this.#samples?.push(sample)
      const { file } = this.#options
      if (this.#added === 0) await mendEnd(file)
      await appendFile(file, `${JSON.stringify(sample)}\n`, { mode: PRIVATE_FILE })
      this.#added += 1
      if (this.#added % LOOK_EVERY === 1) await this.#thinIfLong()
    })
  }

  /** One after the other; what the disk does not do is told once. */
  #after(task: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(task).catch((error: unknown) => {
      if (this.#isBroken) return
      this.#isBroken = true
      const why = error instanceof Error ? error.message : String(error)
      this.#options.warn(`what is held over time is not kept: ${why}`)
    })
    return this.#work
  }

  async #thinIfLong(): Promise<void> {
    if (((await fileSize(this.#options.file)) ?? 0) <= THIN_BYTES) return
    const isShown = this.#samples !== undefined
    const samples = await this.#read()
    if (isShown) this.#samples = samples
  }

  /** Reads the file, and writes it anew where fewer samples are kept, or a line of it is none. */
  async #read(): Promise<HoldingsSample[]> {
    const { file, nowMs } = this.#options
    const text = await this.#text()
    if (text === undefined) return []
    const read = await samplesIn(text)
    if (read.strange > 0) await this.#putAside(`${read.strange} of its lines are none of its own`)
    const kept = [...thinned(read.samples, Math.floor(nowMs() / 1000))]
    if (read.strange > 0 || read.isTorn || kept.length < read.samples.length)
      await replaceFile(file, await textOf(kept))
    return kept
  }

  async #text(): Promise<string | undefined> {
    const { file } = this.#options
    if (((await fileSize(file)) ?? 0) > BYTES_MAX) {
      await this.#putAside(`it is longer than ${BYTES_MAX} bytes`)
      return undefined
    }
    try {
      const handle = await open(file, 'r')
      try {
        return await handle.readFile('utf8')
      } finally {
        await handle.close()
      }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async #putAside(why: string): Promise<void> {
    const { file, warn } = this.#options
    const aside = `${file}.damaged`
    await moveDurably(file, aside)
    warn(`${file}: ${why}; it is kept as ${aside}, and what is held over time goes on without that`)
  }
}

/** Takes away a line that a crash has cut short: the next one would be written behind it. */
async function mendEnd(file: string): Promise<void> {
  const bytes = (await fileSize(file)) ?? 0
  if (bytes === 0) return
  const length = Math.min(bytes, LINE_BYTES_MAX)
  const handle = await open(file, 'r+')
  try {
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, bytes - length)
    const torn = length - 1 - buffer.lastIndexOf(NEWLINE)
    if (torn > 0) await handle.truncate(bytes - torn)
  } finally {
    await handle.close()
  }
}

/** All samples of a file, oldest first, for whoever only looks; none where there is none. */
export async function readHoldings(file: string): Promise<readonly HoldingsSample[]> {
  if (((await fileSize(file)) ?? BYTES_MAX + 1) > BYTES_MAX) return []
  const { samples } = await samplesIn(await readFile(file, 'utf8'))
  return samples.toSorted((a, b) => a.at - b.at)
}

type ReadSamples = {
  readonly samples: readonly HoldingsSample[]
  /** Lines that are no samples. */
  readonly strange: number
  /** It ends in the middle of a line, as after a crash. */
  readonly isTorn: boolean
}

async function samplesIn(text: string): Promise<ReadSamples> {
  const lines = text.split('\n')
  const torn = lines.pop()
  const samples: HoldingsSample[] = []
  for (let at = 0; at < lines.length; at += PART_LINES) {
    samples.push(...lines.slice(at, at + PART_LINES).flatMap((line) => sampleOf(line) ?? []))
    await new Promise(setImmediate)
  }
  return { samples, strange: lines.length - samples.length, isTorn: torn !== '' }
}

async function textOf(samples: readonly HoldingsSample[]): Promise<string> {
  let text = ''
  for (let at = 0; at < samples.length; at += PART_LINES) {
    for (const sample of samples.slice(at, at + PART_LINES)) text += `${JSON.stringify(sample)}\n`
    await new Promise(setImmediate)
  }
  return text
}
