import type { Fact } from '../../../domain/book/fact.ts'
import type { Told } from '../../../domain/book/tell.ts'
import { reasonText } from '../../../domain/reason-words.ts'
import { amountData, shortText } from '../../amount-data.ts'
import { instantText } from '../../describe.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { HistoryData, SlotData, SlotFill } from '../../json/look.ts'
import { type ConfigOptions, problemsData } from '../../load.ts'
import { toldIn, unknownStrategy, whileReading } from '../../reading.ts'
import { tableLines } from '../../table.ts'

export type HistoryOptions = ConfigOptions & {
  readonly strategy?: string
  /** Newest slots shown. */
  readonly limit: number
}

/** One slot's record, as it grows while the journal is read. */
type SlotHistory = {
  -readonly [Field in keyof Omit<SlotData, 'fills'>]: SlotData[Field]
} & { fills: SlotFill[] }

/** `tranched history`: every slot and its outcome, from the journal. */
export function history(options: HistoryOptions, io: Io): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { strategy: wanted } = options
    const stranger = wanted === undefined ? undefined : unknownStrategy(wanted, reading)
    if (stranger !== undefined)
      return printFailure(io, options, { by: 'history', message: stranger })
    const slots = await collect(toldIn(reading, io))
    const shown = slots
      .filter(({ strategy }) => wanted === undefined || strategy === wanted)
      .slice(-options.limit)
    if (options.json)
      printJson<HistoryData>(io, {
        ok: true,
        slots: shown,
        problems: problemsData(reading.problems),
      })
    else for (const line of linesOf(shown, columnsOf(io))) io.stdout.write(`${line}\n`)
    return EXIT.done
  })
}

/** Folds what the journal tells into slots. */
export async function collect(told: AsyncIterable<Told>): Promise<SlotHistory[]> {
  const slots = new Map<string, SlotHistory>()
  for await (const { fact } of told) if (fact !== undefined) note(slots, fact)
  return [...slots.values()]
}

type Slots = Map<string, SlotHistory>

function note(slots: Slots, fact: Fact): void {
  switch (fact.type) {
    case 'slot-opened':
      slots.set(keyOf(fact), newSlot(fact, 'open'))
      return
    case 'slot-closed': {
      const { outcome, reason, detail } = fact
      const slot = slots.get(keyOf(fact)) ?? newSlot(fact, outcome, fact.count ?? null)
      slots.set(keyOf(fact), slot)
      Object.assign(slot, { outcome, reason: reason === outcome ? null : reason })
      slot.detail = detail ?? slot.detail
      return
    }
    case 'refused':
    case 'failed': {
      const slot = slotOf(slots, fact)
      if (slot !== undefined && fact.detail !== '') slot.detail = fact.detail
      return
    }
    case 'fill-reopened': {
      const slot = slotOf(slots, fact)
      if (slot === undefined) return
      Object.assign(slot, { outcome: 'open', reason: 'fill-reopened' })
      slot.fills = slot.fills.filter(({ intentId }) => intentId !== fact.intentId)
      return
    }
    case 'program-ended': {
      const last = [...slots.values()].findLast(({ strategy }) => strategy === fact.strategy)
      if (last !== undefined) last.unsold = amountData(fact.unsold, fact.token)
      return
    }
    case 'authorization-recorded': {
      const slot = slotOf(slots, fact)
      if (slot !== undefined) slot.attempts += 1
      return
    }
    case 'filled':
    case 'executed':
    case 'paper-filled':
      slotOf(slots, fact)?.fills.push(fillOf(fact))
      return
    default:
  }
}

function fillOf(fact: Extract<Fact, { type: 'filled' | 'executed' | 'paper-filled' }>): SlotFill {
  const { intentId } = fact
  if (fact.type === 'executed') {
    const { label: call, venue: via, txHash } = fact
    return { intentId, paid: null, received: null, call, via, txHash }
  }
  const isPaper = fact.type === 'paper-filled'
  const end = isPaper
    ? ({ via: 'paper', txHash: null } as const)
    : { via: fact.venue, txHash: fact.txHash }
  const swap = isPaper ? fact.swap : fact
  if (swap === undefined) {
    const call = isPaper && 'call' in fact.moved ? fact.moved.call : null
    return { intentId, paid: null, received: null, call, ...end }
  }
  const { paid, received, sell, buy } = swap
  const moved = { paid: amountData(paid, sell), received: amountData(received, buy) }
  return { intentId, ...moved, call: null, ...end }
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
    ...{ slot: keyOf(name), strategy, slotSeconds, at: instantText(slotSeconds) },
    ...{ outcome, reason: null, detail: null, attempts: 0, count, fills: [], unsold: null },
  }
}

/** The slot of an intent: its id without the leg. */
function slotOf(slots: Slots, { intentId }: { readonly intentId: string }) {
  return slots.get(intentId.slice(0, intentId.lastIndexOf(':')))
}

function linesOf(slots: readonly SlotHistory[], columns: number): readonly string[] {
  return tableLines<SlotHistory>(
    [
      { title: 'UTC', cell: ({ at }) => at.replace('T', ' ').replace('Z', ''), optional: true },
      { title: 'SLOT', cell: ({ slot }) => slot },
      { title: 'OUTCOME', cell: outcomeText },
      { title: 'WHAT', cell: whatText, below: true },
    ],
    slots,
    columns,
  )
}

function outcomeText({ outcome, count }: SlotHistory): string {
  return `${outcome}${count === 1 ? '' : ` x${count ?? 'many'}`}`
}

function whatText({ reason, detail, fills, unsold }: SlotHistory): string {
  const why = reason === null ? [] : [reasonText(reason)]
  const more = detail === null || fills.length > 0 ? [] : [detail]
  const rest = unsold === null ? [] : [`it is over, ${shortText(unsold)} are not sold`]
  return [...fills.map(fillText), ...why, ...more, ...rest].join(', ')
}

function fillText({ paid, received, call, via, txHash }: SlotFill): string {
  const moved =
    paid === null || received === null ? call : `${shortText(paid)} -> ${shortText(received)}`
  const how = via === 'gasless' ? '' : ` (${via})`
  return `${moved}${how}${txHash === null ? '' : ` ${txHash}`}`
}
