import { appendFile, open } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { messageOf } from '../../../domain/errors.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import { HOLDINGS_FILE } from '../../../store/file/state-files.ts'
import { fileSize, moveDurably, PRIVATE_FILE } from '../../../system/durable-file.ts'
import { JsonFile } from '../../../system/json-file.ts'
import { readableLines } from '../../../system/read-json.ts'
import type { HoldingsRange, HoldingsSeries } from '../model.ts'
import type { Valued } from './valuation.ts'

type HoldingsCurveOptions = Omit<HoldingsFileOptions, 'file'> & {
  readonly stateDir: string
  readonly value: () => Valued
}

/** In the first hour, readings of the wallet this far apart are recorded. */
const FIRST_SECONDS = 3_600
const FIRST_EVERY_SECONDS = 5

/** The wallet is read once a minute. */
const LATE_SECONDS = 90

/** Records holdings every ten minutes, starting with the first read of the wallet, and each reading of the first hour. */
export function createHoldingsCurve({ stateDir, value, ...options }: HoldingsCurveOptions) {
  const file = openHoldingsFile({ ...options, file: join(stateDir, HOLDINGS_FILE) })
  const now = (): number => Math.floor(options.nowMs() / 1000)
  let startSeconds: number | undefined
  let readSeconds = 0
  let lastSeconds = 0

  function noteEvery(seconds: number, isRead: boolean): void {
    const nowSeconds = now()
    // A clock set back must not delay the next sample by as much.
    if (Math.abs(nowSeconds - lastSeconds) < seconds) return
    lastSeconds = nowSeconds
    void file.add(sampleNow(value(), nowSeconds, isRead))
  }

  return {
    observe({ type }: RuntimeEvent): void {
      if (type === 'portfolio') {
        readSeconds = now()
        startSeconds ??= readSeconds
        const isFirst = readSeconds - startSeconds <= FIRST_SECONDS
        noteEvery(isFirst ? FIRST_EVERY_SECONDS : SAMPLE_SECONDS, true)
      }
      // `open-orders` is emitted at each turn of the loop, even if no node answers: the sample then says that nothing was read.
      const isLate = startSeconds !== undefined && now() - readSeconds > LATE_SECONDS
      if (type === 'open-orders' && isLate) noteEvery(SAMPLE_SECONDS, false)
    },
    async series(range: HoldingsRange): Promise<HoldingsSeries> {
      return seriesOf(await file.samples(), range, now())
    },
  }
}

function sampleNow({ valueToken, totalValue, holdings }: Valued, at: number, isRead: boolean) {
  const figure = (amount: string | null) => (isRead ? figureOf(amount) : null)
  const held = holdings.map(({ token, amount }) => [token, figure(amount)] as const)
  return { at, valueToken, value: figure(totalValue), held: Object.fromEntries(held) }
}

/** A float is exact enough for a curve. */
function figureOf(amount: string | null): number | null {
  return amount === null ? null : Number.parseFloat(amount)
}

/** Far above the size of the kept samples. */
const BYTES_MAX = 16 * 1024 * 1024
/** A file above this size is thinned even without readers. */
const THIN_BYTES = 2 * 1024 * 1024
const CHECK_EVERY = 200
const LINE_BYTES_MAX = 16 * 1024
const NEWLINE = 0x0a
/** Lines parsed or written per part, in well under a millisecond. */
const PART_LINES = 100

type HoldingsFileOptions = {
  readonly file: string
  readonly nowMs: () => number
  readonly warn: (message: string) => void
}

/**
 * Holdings over time, one sample per line. The file is not part of the state: nothing depends on it, it is not synced, and
 * losing it costs only a curve. Read on demand. Never rejects.
 */
export function openHoldingsFile({ file, nowMs, warn }: HoldingsFileOptions) {
  const json = jsonOf(file)
  let known: HoldingsSample[] | undefined
  let work: Promise<void> = Promise.resolve()
  let added = 0
  let isBroken = false

  /** Runs tasks one at a time. Warns only of the first failure. */
  function after(task: () => Promise<void>): Promise<void> {
    work = work.then(task).catch((error: unknown) => {
      if (!isBroken) warn(`holdings over time are not recorded: ${messageOf(error)}`)
      isBroken = true
    })
    return work
  }

  async function thinIfLong(): Promise<void> {
    if (((await fileSize(file)) ?? 0) <= THIN_BYTES) return
    const samples = await read()
    if (known !== undefined) known = samples
  }

  /** Reads the file, and rewrites it if samples were thinned out or lines are broken. */
  async function read(): Promise<HoldingsSample[]> {
    if (((await fileSize(file)) ?? 0) > BYTES_MAX) {
      await putAside(`it is longer than ${BYTES_MAX} bytes`)
      return []
    }
    const found = await json.read()
    if (found === undefined) return []
    const { samples, strange, isTorn } = found
    if (strange > 0) await putAside(`${strange} of its lines cannot be read`)
    const kept = [...thinned(samples, Math.floor(nowMs() / 1000))]
    if (strange > 0 || isTorn || kept.length < samples.length) await json.write(kept)
    return kept
  }

  async function putAside(why: string): Promise<void> {
    const aside = `${file}.damaged`
    await moveDurably(file, aside)
    warn(`${file}: ${why}; it was moved to ${aside}, and a new file was started`)
  }

  return {
    /** Oldest first. */
    async samples(): Promise<readonly HoldingsSample[]> {
      await after(async () => {
        known ??= await read()
      })
      return known ?? []
    },
    add: (sample: HoldingsSample): Promise<void> =>
      after(async () => {
        known?.push(sample)
        if (added === 0) await mendEnd(file)
        await appendFile(file, `${JSON.stringify(sample)}\n`, { mode: PRIVATE_FILE })
        added += 1
        if (added % CHECK_EVERY === 1) await thinIfLong()
      }),
  }
}

/** Removes a line cut short by a crash, so that the next one is not appended to it. */
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

/** Reads without changing the file; empty if it is missing or too long. */
export async function readHoldings(file: string): Promise<readonly HoldingsSample[]> {
  if (((await fileSize(file)) ?? 0) > BYTES_MAX) return []
  const { samples = [] } = (await jsonOf(file).read()) ?? {}
  return samples.toSorted((a, b) => a.at - b.at)
}

function jsonOf(file: string) {
  return new JsonFile(file, { encode: textOf, decode: samplesIn })
}

async function samplesIn(text: string) {
  const lines = text.split('\n')
  // A crash may have cut the last line short.
  const torn = lines.pop()
  const samples: HoldingsSample[] = []
  for (let at = 0; at < lines.length; at += PART_LINES) {
    samples.push(...readableLines(sampleSchema, lines.slice(at, at + PART_LINES)))
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

const figure = z.number().nullable()
const sampleSchema = z.object({
  /** Epoch seconds. */
  at: z.int().positive(),
  valueToken: z.string().nullable(),
  value: figure,
  held: z.record(z.string(), figure).readonly(),
})

/** Null, never zero, if not read or without a usable price. */
export type HoldingsSample = Readonly<z.output<typeof sampleSchema>>

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const SAMPLE_SECONDS = 10 * MINUTE

/** Distance between kept samples, by age. Older samples are dropped. */
const KEPT = [
  { upToSeconds: DAY, everySeconds: FIRST_EVERY_SECONDS },
  { upToSeconds: 2 * DAY, everySeconds: SAMPLE_SECONDS },
  { upToSeconds: 60 * DAY, everySeconds: HOUR },
  { upToSeconds: 5 * 366 * DAY, everySeconds: DAY },
] as const

/** Samples further in the future are dropped, because the clock was ahead. */
const AHEAD_SECONDS_MAX = HOUR

const TOKENS_MAX = 50

const RANGES: Readonly<
  Record<HoldingsRange, { readonly spanSeconds: number; readonly stepSeconds: number }>
> = {
  day: { spanSeconds: DAY, stepSeconds: FIRST_EVERY_SECONDS },
  week: { spanSeconds: 7 * DAY, stepSeconds: HOUR },
  month: { spanSeconds: 30 * DAY, stepSeconds: 4 * HOUR },
  year: { spanSeconds: 366 * DAY, stepSeconds: DAY },
}

export function spanMsOf(range: HoldingsRange): number {
  return RANGES[range].spanSeconds * 1000
}

export function isHoldingsRange(text: string): text is HoldingsRange {
  return Object.hasOwn(RANGES, text)
}

export function thinned(samples: readonly HoldingsSample[], nowSeconds: number) {
  const inOrder = samples.toSorted((a, b) => a.at - b.at)
  return firstOfEach(inOrder, (at) => {
    const age = nowSeconds - at
    const rule = KEPT.find(({ upToSeconds }) => age <= upToSeconds)
    if (rule === undefined || age < -AHEAD_SECONDS_MAX) return undefined
    return `${rule.everySeconds} ${Math.floor(at / rule.everySeconds)}`
  })
}

/** Keeps the first sample of each stretch of time; drops those with an undefined stretch. */
function firstOfEach(
  samples: readonly HoldingsSample[],
  stretchOf: (at: number) => string | number | undefined,
): readonly HoldingsSample[] {
  let last: string | number | undefined
  return samples.filter(({ at }) => {
    const stretch = stretchOf(at)
    if (stretch === undefined || stretch === last) return false
    last = stretch
    return true
  })
}

/** A value in a token other than the newest sample's is null. */
export function seriesOf(
  samples: readonly HoldingsSample[],
  range: HoldingsRange,
  nowSeconds: number,
): HoldingsSeries {
  const { spanSeconds, stepSeconds } = RANGES[range]
  const [after, until] = [nowSeconds - spanSeconds, nowSeconds + AHEAD_SECONDS_MAX]
  const inOrder = samples.toSorted((a, b) => a.at - b.at)
  const shown = firstOfEach(inOrder, (at) =>
    at > after && at <= until ? Math.floor(at / stepSeconds) : undefined,
  )
  const valueToken = samples.at(-1)?.valueToken ?? null
  const tokens = [...new Set(shown.flatMap(({ held }) => Object.keys(held)))].slice(0, TOKENS_MAX)
  return {
    valueToken,
    atSeconds: shown.map(({ at }) => at),
    value: shown.map((sample) => (sample.valueToken === valueToken ? sample.value : null)),
    tokens: tokens.map((token) => ({
      token,
      amounts: shown.map(({ held }) => held[token] ?? null),
    })),
  }
}
