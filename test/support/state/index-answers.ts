import { collect } from '../../../src/cli/commands/inspect/history.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import { describeAll } from '../../../src/journal/describe.ts'
import { isAbout, postingOf, type ReadRecord } from '../../../src/journal/events/registry.ts'
import { type Account, accountOf } from '../../../src/journal/ledger/figures.ts'
import { Ledger } from '../../../src/journal/ledger/ledger.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import type { JournalIndex } from '../../../src/store/index/journal-index.ts'

export type Question = {
  readonly limit: number
  readonly strategy: string | undefined
  readonly slot: { readonly strategy: string; readonly slotSeconds: number }
  readonly sinceMs: number | undefined
  readonly valueToken: Token | undefined
}

const BY = { by: 'strategy', timezone: 'UTC' } as const

/** What `history`, `why`, `report` and `export` show of a journal, from its index. */
export async function answersOf(index: JournalIndex, question: Question) {
  const { limit, strategy, slot, sinceMs, valueToken } = question
  const slots = await collect(index.records(await index.lastSlots(limit, strategy)))
  const span = { ...slot, firstSeconds: slot.slotSeconds, lastSeconds: slot.slotSeconds }
  const ledger = await index.ledger({ valueToken, sinceMs })
  return answerOf(question, {
    slots,
    about: await readAll(index.records([span])),
    ledger,
    account: accountOf(ledger.entries, { ...question, ...BY }, ledger.costBases),
    posted: await readAll(index.posted()),
  })
}

/** The same from all records, described one by one. */
export async function answersOfRecords(dir: string, archive: string, question: Question) {
  const view = await readJournal(dir)
  const read = await readAll(
    describeAll(
      view.records(() => undefined, archive),
      view.state,
    ),
  )
  const ledger = new Ledger()
  const posted: unknown[] = []
  for (const each of read) {
    const posting = each.context === undefined ? undefined : postingOf(each)
    ledger.post(posting)
    if (posting !== undefined) posted.push([each.record.seq, posting])
  }
  return answerOf(question, {
    slots: await collect(inTurn(read)),
    about: read,
    ledger,
    account: accountOf(ledger.entries, { ...question, ...BY }),
    posted,
  })
}

function answerOf(
  { limit, strategy, slot, sinceMs = Number.NEGATIVE_INFINITY }: Question,
  of: {
    readonly slots: Awaited<ReturnType<typeof collect>>
    readonly about: readonly ReadRecord[]
    readonly ledger: Ledger
    readonly account: Account
    readonly posted: readonly unknown[]
  },
) {
  const { total, groups, costBases } = of.account
  return {
    history: of.slots.filter((each) => (strategy ?? each.strategy) === each.strategy).slice(-limit),
    why: of.about.filter((each) => isAbout(each, slot)),
    entries: of.ledger.entries.filter(({ atMs }) => atMs >= sinceMs),
    figures: { total, groups },
    fifo: costBases?.fifo.image(),
    average: costBases?.average.image(),
    posted: of.posted,
  }
}

async function readAll<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

async function* inTurn<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}
