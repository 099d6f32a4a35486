import { reasonText } from '../../../domain/order/reason.ts'
import { callRecorded, permitRecorded } from '../../../journal/events/order/authorizations.ts'
import { fillReopened } from '../../../journal/events/order/fills.ts'
import { intentClosed, orderEndOf } from '../../../journal/events/order/outcomes.ts'
import {
  fillIn,
  postingOf,
  type ReadRecord,
  type Recorded,
} from '../../../journal/events/registry.ts'
import { type SlotEnd, slotEndOf, slotOpened } from '../../../journal/events/strategy/slots.ts'
import { programEnded } from '../../../journal/events/strategy/strategies.ts'
import type { FillEntry } from '../../../journal/ledger/entry.ts'
import { instantText } from '../../../observe/wording.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { isFinished } from '../../../strategies/spending/slots-ahead.ts'
import type { HistoryData, SlotData, SlotFill } from '../../json/inspect-outputs.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { columnsOf, type ExitCode, type Io, print } from '../../process/io.ts'
import { indexOf, requireStrategy, whileReading } from '../../reading.ts'
import { amountData, shortText } from '../../text/amount-data.ts'
import { type Column, tableLines } from '../../text/table.ts'

type SlotHistory = {
  -readonly [Field in keyof Omit<SlotData, 'fills'>]: SlotData[Field]
} & { fills: SlotFill[] }

/** `tranched history`: every slot and its outcome, from the journal. */
export function history(
  options: ConfigOptions & { readonly strategy?: string; readonly limit: number },
  io: Io,
): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { strategy: wanted } = options
    if (wanted !== undefined) requireStrategy(wanted, reading, 'history')
    const index = await indexOf(reading, io)
    const slots = await collect(index.records(await index.lastSlots(options.limit, wanted)))
    const shown = slots
      .filter(({ strategy }) => wanted === undefined || strategy === wanted)
      .slice(-options.limit)
    const { problems, strategies, view } = reading
    const finished = strategies.filter((each) => isFinished(view.state, each))
    const last = ({ name }: Strategy) => slots.findLast(({ strategy }) => strategy === name)
    return print<HistoryData>(io, options, { slots: shown, problems }, () =>
      linesOf(shown, new Set(finished.map(last)), columnsOf(io)),
    )
  })
}

export async function collect(read: AsyncIterable<ReadRecord>): Promise<SlotHistory[]> {
  const slots = new Map<string, SlotHistory>()
  for await (const each of read) if (each.context !== undefined) note(slots, each)
  return [...slots.values()]
}

function note(slots: Map<string, SlotHistory>, recorded: Recorded): void {
  const { event } = recorded
  const end = slotEndOf(event)
  if (slotOpened.is(event)) slots.set(keyOf(event), newSlot(event, 'open'))
  else if (end !== undefined) noteEnd(slots, end)
  else if (programEnded.is(event)) {
    const last = [...slots.values()].findLast(({ strategy }) => strategy === event.strategy)
    if (last !== undefined) last.unsold = amountData(event.unsold, event.token)
  } else if ('intentId' in event) {
    // An intent's id is its slot's id and a leg.
    const { intentId } = event
    noteOrder(slots.get(intentId.slice(0, intentId.lastIndexOf(':'))), recorded)
  }
}

function noteEnd(slots: Map<string, SlotHistory>, end: SlotEnd): void {
  const { outcome, reason, detail } = end
  const slot = slots.get(keyOf(end)) ?? newSlot(end, outcome, end.count ?? null)
  slots.set(keyOf(end), slot)
  Object.assign(slot, { outcome, reason: reason === outcome ? null : reason })
  slot.detail = detail ?? slot.detail
}

function noteOrder(slot: SlotHistory | undefined, recorded: Recorded): void {
  if (slot === undefined) return
  const { event } = recorded
  if (permitRecorded.is(event) || callRecorded.is(event)) slot.attempts += 1
  if (intentClosed.is(event)) {
    const end = orderEndOf(event)
    if (end.tag !== 'closed' && end.detail !== '') slot.detail = end.detail
  }
  if (fillReopened.is(event)) {
    Object.assign(slot, { outcome: 'open', reason: fillReopened.type })
    slot.fills = slot.fills.filter(({ intentId }) => intentId !== event.intentId)
  }
  const fill = fillIn(postingOf(recorded))
  if (fill !== undefined) slot.fills.push(fillOf(fill))
}

function fillOf(fill: FillEntry): SlotFill {
  const { intentId, paper, txHash = null } = fill
  if (fill.type === 'call') {
    const { label: call, venue } = fill
    return { intentId, paid: null, received: null, call, via: paper ? 'paper' : venue, txHash }
  }
  const [paid, received] = [amountData(fill.paid, fill.sell), amountData(fill.received, fill.buy)]
  return { intentId, paid, received, call: null, via: paper ? 'paper' : 'gasless', txHash }
}

type SlotName = { readonly strategy: string; readonly slotSeconds: number }

function keyOf({ strategy, slotSeconds }: SlotName): string {
  return `${strategy}:${slotSeconds}`
}

function newSlot(
  name: SlotName,
  outcome: SlotData['outcome'],
  count: number | null = 1,
): SlotHistory {
  const { strategy, slotSeconds } = name
  return {
    slot: keyOf(name),
    strategy,
    slotSeconds,
    at: instantText(slotSeconds),
    outcome,
    reason: null,
    detail: null,
    attempts: 0,
    count,
    fills: [],
    unsold: null,
  }
}

/** `finished`: the last slots of finished TWAPs. */
function linesOf(
  slots: readonly SlotHistory[],
  finished: ReadonlySet<SlotHistory | undefined>,
  columns: number,
): readonly string[] {
  const times = (count: number | null): string => (count === 1 ? '' : ` x${count ?? 'many'}`)
  const table: readonly Column<SlotHistory>[] = [
    { title: 'UTC', cell: ({ at }) => at.replace('T', ' ').replace('Z', ''), optional: true },
    { title: 'SLOT', cell: ({ slot }) => slot },
    { title: 'OUTCOME', cell: ({ outcome, count }) => `${outcome}${times(count)}` },
    { title: 'WHAT', cell: (each) => whatText(each, finished.has(each)), below: true },
  ]
  return tableLines(table, slots, columns)
}

function whatText({ reason, detail, fills, unsold }: SlotHistory, isLast: boolean): string {
  const why = reason === null ? [] : [reasonText(reason)]
  const more = detail === null || fills.length > 0 ? [] : [detail]
  const left = unsold === null ? [] : [`completed with ${shortText(unsold)} unsold`]
  const last = left.length === 0 && isLast ? ['finished with this slice'] : []
  return [...last, ...fills.map(fillText), ...why, ...more, ...left].join(', ')
}

function fillText({ paid, received, call, via, txHash }: SlotFill): string {
  const moved =
    paid === null || received === null ? call : `${shortText(paid)} -> ${shortText(received)}`
  const how = call === null && via !== 'paper' ? '' : ` (${via})`
  return `${moved}${how}${txHash === null ? '' : ` ${txHash}`}`
}
