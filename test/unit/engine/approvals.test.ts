import { expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { NO_CODE } from '../../../src/domain/order/contract.ts'
import { approvalsIn, approve } from '../../../src/engine/limits/approvals.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Journal } from '../../../src/ports.ts'
import { scheduled } from '../../support/state/journal-events.ts'

const held = (strategy: string, detail: string): JournalEvent => ({
  ...{ type: 'strategy-held', strategy },
  ...{ terms: `terms of ${strategy}`, detail },
})

/** A journal in memory that holds two strategies, the second of them first. */
function journalWithHolds(): { journal: Journal; state: DaemonState; events: JournalEvent[] } {
  const state = emptyState()
  const events: JournalEvent[] = []
  for (const name of ['dip', 'stop']) reduce(state, scheduled(name), 0)
  reduce(state, held('stop', 'it would sell at once'), 1_000)
  reduce(state, held('dip', 'it would buy at once'), 2_000)
  const append: Journal['append'] = async (...appended) => {
    for (const event of appended) reduce(state, event, 3_000)
    events.push(...appended)
  }
  return { journal: { state, append } as Journal, state, events }
}

test('what waits for an approval is listed, the oldest first', () => {
  expect(approvalsIn(journalWithHolds().state)).toEqual([
    { kind: 'strategy', name: 'stop', sinceMs: 1_000, detail: 'it would sell at once' },
    { kind: 'strategy', name: 'dip', sinceMs: 2_000, detail: 'it would buy at once' },
  ])
})

test('an approval is journaled for the terms that were held, and the others still wait', async () => {
  const { journal, state, events } = journalWithHolds()
  expect(await approve({ journal }, 'dip')).toMatchObject({
    ...{ ok: true, approved: ['dip'] },
    waiting: [{ name: 'stop' }],
  })
  expect(events).toEqual([
    {
      ...{ type: 'hold-lifted', strategy: 'dip', terms: 'terms of dip' },
      ...{ cause: 'operator', detail: 'approved by the operator' },
    },
  ])
  expect(state.strategies.get('dip')?.held).toBeUndefined()
})

test('a name that waits for nothing is refused with what does', async () => {
  const { journal, events } = journalWithHolds()
  const details = await Promise.all(
    ['stopp', 'weekly'].map(async (name) => approve({ journal }, name)),
  )
  expect(details).toEqual([
    { ok: false, detail: 'stopp waits for no approval; did you mean stop?' },
    { ok: false, detail: 'weekly waits for no approval; these do: stop, dip' },
  ])
  await approve({ journal }, 'dip')
  await approve({ journal }, 'stop')
  expect(await approve({ journal }, 'dip')).toEqual({
    ok: false,
    detail: 'dip waits for no approval; nothing does',
  })
  expect(events).toHaveLength(2)
})

const PLACE = {
  chainId: 8453,
  address: `0x${'5e'.repeat(20)}`,
  name: 'gasless.spenders.0',
} as const
const [OLD, NEW] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`] as const
const codeOf = (status: 'seen' | 'changed', hash: Hex): JournalEvent => ({
  ...{ type: 'contract-code', ...PLACE },
  ...{ code: { hash }, status },
})

test('the new code of a contract waits, and is accepted by its name or its address', async () => {
  for (const name of [PLACE.name, PLACE.address, PLACE.address.toUpperCase().replace('0X', '0x')]) {
    const { journal, state, events } = journalWithHolds()
    reduce(state, codeOf('seen', OLD), 0)
    reduce(state, codeOf('changed', NEW), 500)
    expect(approvalsIn(state)[0]).toMatchObject({ kind: 'contract', name: PLACE.name })
    const answer = await approve({ journal }, name)
    expect(answer).toMatchObject({ ok: true, approved: [PLACE.name] })
    expect(JSON.stringify(answer)).toContain(`had code ${OLD} and has code ${NEW}`)
    expect(events).toEqual([
      { type: 'contract-code', ...PLACE, code: { hash: NEW }, status: 'accepted' },
    ])
    expect(state.contracts.get(`8453:${PLACE.address}`)).toMatchObject({
      ...{ code: { hash: NEW }, changed: undefined },
    })
  }
})

test.each([
  ['what the config pins otherwise', NEW, 'the pin', OLD],
  ['an address without code', NO_CODE, 'no code', undefined],
] as const)('%s is not accepted by a command', async (_, hash, words, pin) => {
  const { journal, state, events } = journalWithHolds()
  reduce(state, codeOf('seen', OLD), 0)
  reduce(state, codeOf('changed', hash), 500)
  const pins = new Map(pin === undefined ? [] : [[`8453:${PLACE.address}`, pin] as const])
  const answer = await approve({ journal }, PLACE.name, pins)
  expect(answer).toEqual({ ok: false, detail: expect.stringContaining(words) })
  expect(events).toEqual([])
})
