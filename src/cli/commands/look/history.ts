import type { Fact } from '../../../domain/book/fact.ts'
import { type Told, tellAll } from '../../../domain/book/tell.ts'
import type { Token } from '../../../domain/token.ts'
import { formatAmount } from '../../../domain/units.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, lineTo, printJson } from '../../io.ts'
import { type ConfigOptions, loadForReading, reportProblems, stateMissing } from '../../load.ts'

export type HistoryOptions = ConfigOptions & {
  readonly strategy?: string
  /** Newest slots shown. */
  readonly limit: number
}

type SlotFill =
  | { readonly paid: string; readonly received: string; readonly txHash: string }
  | { readonly call: string; readonly via: string; readonly txHash: string }

/** One slot's record, oldest first in the list. */
export type SlotHistory = {
  readonly strategy: string
  readonly slotSeconds: number
  outcome: string
  reason: string
  attempts: number
  /** More than one for a run of missed slots that share a line; null when too many to count. */
  readonly count: number | null
  /** Without those that a reorganisation took away. */
  fills: SlotFill[]
  /** After the last slot of a program of slices: what it has not sold. */
  unsold?: string
}

/** `tranched history`: every slot and its outcome, from the journal. */
export async function history(options: HistoryOptions, io: Io): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { settings } = loaded
  const view = await readState(settings.stateDir)
  if (view === undefined) {
    reportProblems([stateMissing(settings.stateDir)], io, options)
    return EXIT.failed
  }
  const records = recordsAtHand(view, {
    ...{ stateDir: settings.stateDir, archive: settings.journal.archive },
    tell: lineTo(io.stderr),
  })
  const slots = await collect(tellAll(records, view.state))
  const wanted = slots.filter(
    ({ strategy }) => options.strategy === undefined || strategy === options.strategy,
  )
  const shown = wanted.slice(-options.limit)
  if (options.json) printJson(io, shown)
  else for (const slot of shown) io.stdout.write(`${lineOf(slot)}\n`)
  return EXIT.done
}

/** Folds what the journal tells into slots. */
export async function collect(told: AsyncIterable<Told>): Promise<SlotHistory[]> {
  const slots = new Map<string, SlotHistory>()
  for await (const { fact } of told) if (fact !== undefined) note(slots, fact)
  return [...slots.values()]
}

/** Stands where a transaction's hash would: dry-run booked the order, nothing was signed. */
const PAPER = 'paper'

type Slots = Map<string, SlotHistory>

function note(slots: Slots, fact: Fact): void {
  switch (fact.type) {
    case 'slot-opened':
      slots.set(keyOf(fact), newSlot(fact, 'open'))
      return
    case 'slot-closed': {
      const slot = slots.get(keyOf(fact)) ?? newSlot(fact, fact.outcome, fact.count ?? null)
      slots.set(keyOf(fact), slot)
      slot.outcome = fact.outcome
      slot.reason = fact.reason
      return
    }
    case 'fill-reopened': {
      const slot = slotOf(slots, fact)
      if (slot === undefined) return
      Object.assign(slot, { outcome: 'open', reason: 'fill-reopened', fills: [] })
      return
    }
    case 'program-ended': {
      const last = [...slots.values()].findLast(({ strategy }) => strategy === fact.strategy)
      if (last !== undefined) last.unsold = amountText(fact.unsold, fact.token)
      return
    }
    case 'authorization-recorded': {
      const slot = slotOf(slots, fact)
      if (slot !== undefined) slot.attempts += 1
      return
    }
    case 'filled': {
      const { paid, received, sell, buy, txHash } = fact
      const fill = { paid: amountText(paid, sell), received: amountText(received, buy), txHash }
      slotOf(slots, fact)?.fills.push(fill)
      return
    }
    case 'executed':
      slotOf(slots, fact)?.fills.push({ call: fact.label, via: fact.venue, txHash: fact.txHash })
      return
    case 'paper-filled': {
      const { moved } = fact
      const fill = { ...moved, txHash: PAPER }
      slotOf(slots, fact)?.fills.push('call' in fill ? { ...fill, via: PAPER } : fill)
      return
    }
    default:
  }
}

function amountText(amount: bigint, token: Token): string {
  return `${formatAmount(amount, token.decimals)} ${token.symbol}`
}

type SlotName = { readonly strategy: string; readonly slotSeconds: number }

function keyOf({ strategy, slotSeconds }: SlotName): string {
  return `${strategy}:${slotSeconds}`
}

function newSlot(
  { strategy, slotSeconds }: SlotName,
  outcome: string,
  count: number | null = 1,
): SlotHistory {
  return { strategy, slotSeconds, outcome, reason: outcome, attempts: 0, count, fills: [] }
}

/** The slot of an intent: its id without the leg. */
function slotOf(slots: Slots, { intentId }: { readonly intentId: string }) {
  return slots.get(intentId.slice(0, intentId.lastIndexOf(':')))
}

function fillText(fill: SlotFill): string {
  return 'call' in fill ? `${fill.call} (${fill.via})` : `${fill.paid} -> ${fill.received}`
}

function lineOf(slot: SlotHistory): string {
  const at = new Date(slot.slotSeconds * 1000).toISOString().replace('.000', '')
  const reason = slot.reason === slot.outcome ? '' : ` (${slot.reason})`
  const many = slot.count === 1 ? '' : ` x${slot.count ?? 'many'}`
  const unsold = slot.unsold === undefined ? '' : `  it is over, ${slot.unsold} are not sold`
  const fills = slot.fills.map((fill) => `  ${fillText(fill)}  ${fill.txHash}`)
  return `${at}  ${slot.strategy}:${slot.slotSeconds}  ${slot.outcome}${reason}${many}${fills.join('')}${unsold}`
}
