import { briefText } from '../../../domain/money/amount-text.ts'
import { formatBrief } from '../../../domain/money/units.ts'
import type { JournalRecord, ReadRecord } from '../../../journal/events/registry.ts'
import type { CapUse } from '../../../journal/projections/limits.ts'
import { leavesOf, timelineOf } from '../../../journal/timeline.ts'
import { instantText } from '../../../observe/wording.ts'
import type { WhyData } from '../../json/inspect-outputs.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { columnsOf, type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { misused, Refusal } from '../../process/refusal.ts'
import {
  capsIn,
  daemonOf,
  type Reading,
  recordsOf,
  requireStrategy,
  waitsOf,
  whileReading,
} from '../../reading.ts'
import { capData, isoOf } from '../../text/amount-data.ts'
import { beside } from '../../text/table.ts'

type WhyOptions = ConfigOptions & { readonly raw?: boolean }

const SLOT = /^([a-z0-9][a-z0-9-]{0,62})(?::(\d{1,12})(?::\d{1,3})?)?$/
const WINDOWS = {
  hour: 'in an hour',
  day: 'in a day',
  week: 'in a week',
  total: 'in total',
} as const

type Slot = { readonly strategy: string; readonly slotSeconds: number }

/** `tranched why SLOT`: the timeline of one slot; with `--raw` its records. */
export async function why(
  text: string,
  options: WhyOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const match = SLOT.exec(text)
  if (match === null) {
    const message = `expected STRATEGY:EPOCH_SECONDS, as \`tranched history\` shows it, or STRATEGY for its last slot, not ${text}`
    throw misused(message, 'why')
  }
  const failed = (message: string) => new Refusal(message, { by: 'why' })
  return whileReading(options, io, async (reading) => {
    const strategy = match[1] ?? ''
    requireStrategy(strategy, reading, 'why')
    const lastSeconds = reading.view.state.strategies.get(strategy)?.lastSlotSeconds
    const slotSeconds = match[2] === undefined ? lastSeconds : Number.parseInt(match[2], 10)
    if (slotSeconds === undefined) throw failed(`${strategy} has had no slot yet`)
    const slot = { strategy, slotSeconds }
    const read = await recordsOf(slot, reading, io)
    if (read.length === 0) throw failed(nothingText(slot, lastSeconds))
    return show(slot, read, { reading, options, io, nowMs, waits: await waitsFor(slot, reading) })
  })
}

/** What the slot's unsigned orders wait for; empty unless a running daemon says. */
async function waitsFor(slot: Slot, { view, stateDir }: Reading): Promise<readonly string[]> {
  const open = [...view.state.intents.values()].filter(
    ({ intent }) => intent.strategy === slot.strategy && intent.slotSeconds === slot.slotSeconds,
  )
  const daemon = open.length === 0 ? undefined : await daemonOf(stateDir)
  return open.flatMap((each) => {
    const waits = waitsOf(each, daemon)
    return waits === undefined ? [] : [`${each.intent.id} ${waits}`]
  })
}

function nothingText({ strategy, slotSeconds }: Slot, lastSeconds = slotSeconds): string {
  const hint =
    slotSeconds > lastSeconds
      ? `it is in the future, or waiting; \`tranched plan ${strategy}\` shows what it would do now`
      : `\`tranched history --strategy ${strategy}\` lists its slots`
  return `the journal has no record of slot ${strategy}:${slotSeconds}: ${hint}`
}

type On = {
  readonly reading: Reading
  readonly options: WhyOptions
  readonly io: Io
  readonly nowMs: number
  readonly waits: readonly string[]
}

function show(slot: Slot, read: readonly ReadRecord[], on: On): ExitCode {
  const { reading, options, io, waits } = on
  const { strategy, slotSeconds } = slot
  const records = read.map(({ record }) => record)
  const parts = timelineOf(read, reading.settings?.tokens.values() ?? [])
  const caps = capsFor(slot, on)
  const at = instantText(slotSeconds)
  const data: Given<WhyData> = {
    slot: `${strategy}:${slotSeconds}`,
    at,
    story: parts.map(({ atMs, title, messages }) => ({
      at: isoOf(atMs),
      title,
      sentences: messages,
    })),
    waits,
    caps: caps.map(capData),
    records: options.raw === true ? records.map(recordData) : null,
    problems: reading.problems,
  }
  return print<WhyData>(io, options, data, () => {
    if (options.raw === true) return records.map(rawLine)
    const width = columnsOf(io)
    const lines = parts.flatMap(({ atMs, title, messages }) => {
      const time = `${isoOf(atMs).slice(11, 23)}  `
      const below = messages.flatMap((each) => beside(' '.repeat(time.length), each, width))
      return ['', ...beside(time, title, width), ...below]
    })
    const limits = caps.map((use) => `  ${limitText(use)}`)
    return [
      `${strategy}, slot of ${at}`,
      ...lines,
      ...(waits.length === 0 ? [] : ['', 'Now:', ...waits.map((each) => `  ${each}`)]),
      ...(limits.length === 0 ? [] : ['', 'Its limits now:', ...limits]),
    ]
  })
}

/** Use of the caps that bind the slot's strategy. */
function capsFor({ strategy: name }: Slot, { reading, nowMs }: On): readonly CapUse[] {
  const spends = reading.view.state.strategies.get(name)?.spent
  return capsIn(reading, nowMs, name).filter(
    ({ strategy, token }) => strategy !== undefined || spends?.has(token.address),
  )
}

function limitText({ strategy, token, window, used, cap }: CapUse): string {
  const whose = strategy === undefined ? ', all strategies' : ''
  return `${formatBrief(used, token.decimals)} of ${briefText(cap, token)} ${WINDOWS[window]}${whose}`
}

/** JSON has no integers this large, so bigints become text. */
function recordData({ seq, atMs, event }: JournalRecord) {
  const plain = JSON.stringify(event, (_, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  )
  return { seq, at: isoOf(atMs), event: JSON.parse(plain) }
}

function rawLine({ atMs, event }: JournalRecord): string {
  const facts = leavesOf(event)
    .filter(([name]) => name !== 'type' && name !== 'strategy' && name !== 'slotSeconds')
    .map(([name, value]) => `${name}=${value}`)
  return `${isoOf(atMs)}  ${event.type}  ${facts.join(' ')}`
}
