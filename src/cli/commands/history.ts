import type { JournalEvent, JournalRecord } from '../../domain/book/journal.ts'
import type { Intent } from '../../domain/intent.ts'
import type { Token } from '../../domain/token.ts'
import { formatAmount } from '../../domain/units.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../io.ts'
import { type ConfigOptions, reportProblems, stateMissing } from '../load.ts'
import { loadForReading, readState } from './status.ts'

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
  readonly fills: SlotFill[]
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
  const slots = await collect(view.records())
  const wanted = slots.filter(
    ({ strategy }) => options.strategy === undefined || strategy === options.strategy,
  )
  const shown = wanted.slice(-options.limit)
  if (options.json) printJson(io, shown)
  else for (const slot of shown) io.stdout.write(`${lineOf(slot)}\n`)
  return EXIT.done
}

/** Folds records into slots. */
export async function collect(records: AsyncIterable<JournalRecord>): Promise<SlotHistory[]> {
  const book: Book = { slots: new Map(), intents: new Map() }
  for await (const { event } of records) note(book, event)
  return [...book.slots.values()]
}

/** Stands where a transaction's hash would: dry-run booked the order, nothing was signed. */
const PAPER = 'paper'

type Book = {
  readonly slots: Map<string, SlotHistory>
  readonly intents: Map<string, Intent>
}

function note(book: Book, event: JournalEvent): void {
  switch (event.type) {
    case 'slot-opened':
      book.slots.set(keyOf(event), newSlot(event, 'open'))
      for (const intent of event.intents) book.intents.set(intent.id, intent)
      return
    case 'slot-closed': {
      const slot = book.slots.get(keyOf(event)) ?? newSlot(event, event.outcome)
      book.slots.set(keyOf(event), slot)
      slot.outcome = event.outcome
      slot.reason = event.reason
      return
    }
    case 'slots-missed': {
      const { strategy, firstSeconds, count } = event
      const slot = newSlot({ strategy, slotSeconds: firstSeconds }, 'missed', count ?? null)
      book.slots.set(keyOf(slot), slot)
      return
    }
    case 'permit-recorded':
      slotOfIntent(book, event.intentId, (slot) => {
        slot.attempts += 1
      })
      return
    case 'fill-proven':
      slotOfIntent(book, event.intentId, (slot, intent) => {
        const { paid, received, txHash } = event.fill
        if (intent.venue !== 'gasless') return
        slot.fills.push({
          paid: amountText(paid, intent.sell.token),
          received: amountText(received, intent.buy.token),
          txHash,
        })
      })
      return
    case 'paper-filled':
      slotOfIntent(book, event.intentId, (slot, intent) => {
        const txHash = PAPER
        if (intent.venue === 'aggregated')
          slot.fills.push({ call: intent.label, via: PAPER, txHash })
        else
          slot.fills.push({
            paid: amountText(event.paid, intent.sell.token),
            received: amountText(event.received, intent.buy.token),
            txHash,
          })
      })
      return
    case 'call-recorded':
      slotOfIntent(book, event.intentId, (slot) => {
        slot.attempts += 1
      })
      return
    case 'call-proven':
      slotOfIntent(book, event.intentId, (slot, intent) => {
        const { txHash, via } = event.execution
        const label = intent.venue === 'aggregated' ? intent.label : ''
        slot.fills.push({ call: label, via, txHash })
      })
      return
    case 'intent-closed':
      book.intents.delete(event.intentId)
      return
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

function slotOfIntent(
  book: Book,
  id: string,
  change: (slot: SlotHistory, intent: Intent) => void,
): void {
  const intent = book.intents.get(id)
  const slot = intent === undefined ? undefined : book.slots.get(keyOf(intent))
  if (intent !== undefined && slot !== undefined) change(slot, intent)
}

function fillText(fill: SlotFill): string {
  return 'call' in fill ? `${fill.call} (${fill.via})` : `${fill.paid} -> ${fill.received}`
}

function lineOf(slot: SlotHistory): string {
  const at = new Date(slot.slotSeconds * 1000).toISOString().replace('.000', '')
  const reason = slot.reason === slot.outcome ? '' : ` (${slot.reason})`
  const many = slot.count === 1 ? '' : ` x${slot.count ?? 'many'}`
  const fills = slot.fills.map((fill) => `  ${fillText(fill)}  ${fill.txHash}`)
  return `${at}  ${slot.strategy}:${slot.slotSeconds}  ${slot.outcome}${reason}${many}${fills.join('')}`
}
