import { briefText } from '../../../domain/amount-text.ts'
import { type CapUse, capsOf } from '../../../domain/book/caps.ts'
import type { JournalRecord } from '../../../domain/book/journal.ts'
import { storyOf } from '../../../domain/book/story.ts'
import { isAbout, type Told } from '../../../domain/book/tell.ts'
import { ETHER } from '../../../domain/token.ts'
import { formatBrief } from '../../../domain/units.ts'
import { capData } from '../../cap-data.ts'
import { instantText } from '../../describe.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { WhyData } from '../../json/look.ts'
import { type ConfigOptions, problemsData } from '../../load.ts'
import { type Reading, toldIn, unknownStrategy, whileReading } from '../../reading.ts'
import { beside } from '../../wrap.ts'

export type WhyOptions = ConfigOptions & { readonly raw?: boolean }

const SLOT = /^([a-z0-9][a-z0-9-]{0,62})(?::(\d{1,12})(?::\d{1,3})?)?$/
const WINDOWS = {
  hour: 'in an hour',
  day: 'in a day',
  week: 'in a week',
  total: 'in total',
} as const

type RecordData = NonNullable<WhyData['records']>[number]

type Slot = { readonly strategy: string; readonly slotSeconds: number }

/** `tranched why SLOT`: what became of one slot and why, in sentences; with `--raw` the records. */
export async function why(
  text: string,
  options: WhyOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const match = SLOT.exec(text)
  if (match === null) {
    const message = `expected STRATEGY:EPOCH_SECONDS, as \`tranched history\` shows it, or STRATEGY for its last slot, not ${text}`
    return printFailure(io, options, { by: 'why', message, code: EXIT.usage })
  }
  const say = (message: string): ExitCode => printFailure(io, options, { by: 'why', message })
  return whileReading(options, io, async (reading) => {
    const strategy = match[1] ?? ''
    const stranger = unknownStrategy(strategy, reading)
    if (stranger !== undefined) return say(stranger)
    const lastSeconds = reading.view.state.strategies.get(strategy)?.lastSlotSeconds
    const slotSeconds = match[2] === undefined ? lastSeconds : Number.parseInt(match[2], 10)
    if (slotSeconds === undefined) return say(`${strategy} has had no slot yet`)
    const slot = { strategy, slotSeconds }
    const told: Told[] = []
    for await (const each of toldIn(reading, io))
      if (isAbout(each.fact ?? each.record.event, slot)) told.push(each)
    if (told.length === 0) return say(nothingText(slot, lastSeconds))
    show(slot, told, { reading, options, io, nowMs })
    return EXIT.done
  })
}

function nothingText({ strategy, slotSeconds }: Slot, lastSeconds = slotSeconds): string {
  const hint =
    slotSeconds > lastSeconds
      ? `it is still to come, or waits; \`tranched plan ${strategy}\` shows what it would do now`
      : `\`tranched history --strategy ${strategy}\` names its slots`
  return `the journal has nothing about slot ${strategy}:${slotSeconds}: ${hint}`
}

type On = {
  readonly reading: Reading
  readonly options: WhyOptions
  readonly io: Io
  readonly nowMs: number
}

function show(slot: Slot, told: readonly Told[], on: On): void {
  const { reading, options, io } = on
  const records = told.map(({ record }) => record)
  if (options.raw === true && options.json !== true) {
    for (const record of records) io.stdout.write(`${rawLine(record)}\n`)
    return
  }
  const tokens = reading.settings?.tokens.values() ?? []
  const parts = storyOf(told, tokens)
  const caps = capsFor(slot, on)
  if (options.json === true) {
    const { strategy, slotSeconds } = slot
    printJson<WhyData>(io, {
      ok: true,
      slot: `${strategy}:${slotSeconds}`,
      at: instantText(slotSeconds),
      story: parts.map(({ atMs, title, sentences }) => ({
        at: new Date(atMs).toISOString(),
        title,
        sentences,
      })),
      caps: caps.map(capData),
      records: options.raw === true ? records.map(recordData) : null,
      problems: problemsData(reading.problems),
    })
    return
  }
  const width = columnsOf(io)
  const lines = [`${slot.strategy}, slot of ${instantText(slot.slotSeconds)}`]
  for (const { atMs, title, sentences } of parts) {
    const time = `${new Date(atMs).toISOString().slice(11, 23)}  `
    lines.push('', ...beside(time, title, width))
    for (const sentence of sentences)
      lines.push(...beside(' '.repeat(time.length), sentence, width))
  }
  if (caps.length > 0)
    lines.push('', 'Its limits by now:', ...caps.map((use) => `  ${limitText(use)}`))
  io.stdout.write(`${lines.join('\n')}\n`)
}

/** How full the caps are that the slot's strategy is bound by; none where its file, or the config, is not sound. */
function capsFor({ strategy: name }: Slot, { reading, nowMs }: On): readonly CapUse[] {
  const { settings, strategies, view } = reading
  if (settings === undefined) return []
  const own = strategies.filter((each) => each.name === name)
  const tokens = [...settings.tokens.values(), ETHER]
  const uses = capsOf(view.state, { strategies: own, account: settings.limits, tokens, nowMs })
  const spends = view.state.strategies.get(name)?.spent
  return uses.filter(({ strategy, token }) => strategy !== undefined || spends?.has(token.address))
}

function limitText({ strategy, token, window, used, cap }: CapUse): string {
  const whose = strategy === undefined ? ', all strategies' : ''
  return `${formatBrief(used, token.decimals)} of ${briefText(cap, token)} ${WINDOWS[window]}${whose}`
}

/** Its event is as the journal has it, and JSON has no whole numbers of that size. */
function recordData({ seq, atMs, event }: JournalRecord): RecordData {
  const plain = JSON.stringify(event, (_, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  )
  return { seq, at: new Date(atMs).toISOString(), event: JSON.parse(plain) }
}

function rawLine({ atMs, event }: JournalRecord): string {
  const facts = flatten(event)
    .filter(([name]) => name !== 'type' && name !== 'strategy' && name !== 'slotSeconds')
    .map(([name, value]) => `${name}=${value}`)
  return `${new Date(atMs).toISOString()}  ${event.type}  ${facts.join(' ')}`
}

/** Leaves of an event as dotted names and text. */
function flatten(value: object, prefix = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]): [string, string][] => {
    if (field === undefined) return []
    if (typeof field === 'object' && field !== null) return flatten(field, `${prefix}${name}.`)
    return [[`${prefix}${name}`, String(field)]]
  })
}
