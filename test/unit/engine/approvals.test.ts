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

/** An in-memory journal that holds two strategies, the second of them first. */
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

test('pending approvals are listed oldest first', () => {
  expect(approvalsIn(journalWithHolds().state)).toEqual([
    { kind: 'strategy', name: 'stop', sinceMs: 1_000, detail: 'it would sell at once' },
    { kind: 'strategy', name: 'dip', sinceMs: 2_000, detail: 'it would buy at once' },
  ])
})

test('an approval is journaled for the held terms, and the other strategies still wait', async () => {
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

test('rejects a name without a pending approval and lists the pending names', async () => {
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

const CONTRACT = {
  chainId: 8453,
  address: `0x${'5e'.repeat(20)}`,
  name: 'gasless.spenders.0',
} as const
const [OLD, NEW] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`] as const
const codeOf = (status: 'seen' | 'changed', hash: Hex): JournalEvent => ({
  ...{ type: 'contract-code', ...CONTRACT },
  ...{ code: { hash }, status },
})

test('new code of a contract waits and is accepted by name or address', async () => {
  for (const name of [
    CONTRACT.name,
    CONTRACT.address,
    CONTRACT.address.toUpperCase().replace('0X', '0x'),
  ]) {
    const { journal, state, events } = journalWithHolds()
    reduce(state, codeOf('seen', OLD), 0)
    reduce(state, codeOf('changed', NEW), 500)
    expect(approvalsIn(state)[0]).toMatchObject({ kind: 'contract', name: CONTRACT.name })
    const answer = await approve({ journal }, name)
    expect(answer).toMatchObject({ ok: true, approved: [CONTRACT.name] })
    expect(JSON.stringify(answer)).toContain(`had code ${OLD} and has code ${NEW}`)
    expect(events).toEqual([
      { type: 'contract-code', ...CONTRACT, code: { hash: NEW }, status: 'accepted' },
    ])
    expect(state.contracts.get(`8453:${CONTRACT.address}`)).toMatchObject({
      ...{ code: { hash: NEW }, changed: undefined },
    })
  }
})

test.each([
  ['code that differs from the pin in the config', NEW, 'the pin', OLD],
  ['an address without code', NO_CODE, 'no code', undefined],
] as const)('%s cannot be accepted by a command', async (_, hash, text, pin) => {
  const { journal, state, events } = journalWithHolds()
  reduce(state, codeOf('seen', OLD), 0)
  reduce(state, codeOf('changed', hash), 500)
  const pins = new Map(pin === undefined ? [] : [[`8453:${CONTRACT.address}`, pin] as const])
  const answer = await approve({ journal }, CONTRACT.name, pins)
  expect(answer).toEqual({ ok: false, detail: expect.stringContaining(text) })
  expect(events).toEqual([])
})
