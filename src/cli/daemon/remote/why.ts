import { setImmediate } from 'node:timers/promises'
import type { Why } from '../../../adapters/page/model.ts'
import type { JournalRecord } from '../../../domain/book/journal.ts'
import { isAbout } from '../../../domain/book/tell.ts'
import type { Journal } from '../../../ports.ts'

/** How long others wait for this at most, about. */
const SLICE_MS = 4
const RECORDS_MAX = 200

/** What the journal holds about one slot, oldest first; undefined where it holds nothing. Lets others have their turn. */
export async function findWhy(
  journal: Pick<Journal, 'records'>,
  slot: string,
): Promise<Why | undefined> {
  const [strategy = '', seconds = ''] = slot.split(':')
  const wanted = { strategy, slotSeconds: Number.parseInt(seconds, 10) }
  const found: JournalRecord[] = []
  const transactions = new Set<string>()
  let sinceMs = performance.now()
  for await (const record of journal.records()) {
    if (isOf(record, wanted, transactions)) found.push(record)
    if (found.length >= RECORDS_MAX) break
    if (performance.now() - sinceMs < SLICE_MS) continue
    await setImmediate()
    sinceMs = performance.now()
  }
  if (found.length === 0) return undefined
  const lines = found.map(({ atMs, event }) => ({
    atMs,
    title: event.type.replaceAll('-', ' '),
    facts: leavesOf(event),
  }))
  return { slot: `${wanted.strategy}:${wanted.slotSeconds}`, lines }
}

/** What ends a transaction of our own does not say for which slot it was made. */
function isOf(
  { event }: JournalRecord,
  wanted: { readonly strategy: string; readonly slotSeconds: number },
  transactions: Set<string>,
): boolean {
  if (event.type === 'transaction-signed' || event.type === 'transaction-ended')
    return transactions.has(event.id)
  if (event.type === 'transaction-recorded') {
    const { id, intentId } = event.transaction
    const isOwn = intentId?.startsWith(`${wanted.strategy}:${wanted.slotSeconds}:`) === true
    if (isOwn) transactions.add(id)
    return isOwn
  }
  if (event.type === 'slots-missed') {
    const { strategy, firstSeconds, lastSeconds } = event
    const { slotSeconds } = wanted
    return strategy === wanted.strategy && firstSeconds <= slotSeconds && slotSeconds <= lastSeconds
  }
  return isAbout(event, wanted)
}

/** Leaves of a record as dotted names and text. */
function leavesOf(value: object, prefix = ''): (readonly [string, string])[] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    if (field === undefined || field === null) return []
    if (typeof field === 'object') return leavesOf(field, `${prefix}${name}.`)
    return [[`${prefix}${name}`, String(field)] as const]
  })
}
