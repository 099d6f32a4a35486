import { expect, test } from 'vitest'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import { decideSlot } from '../../../src/engine/slot.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { ACCOUNT, WALLET } from '../../simulation/stage.ts'
import { aStrategy, aView, NOON_SECONDS } from '../../support/builders.ts'

test('a plain skip that is recorded later keeps the memory that its strategy got meanwhile', async () => {
  const strategy = aStrategy()
  const state = emptyState()
  const scheduled = {
    type: 'strategy-scheduled',
    strategy: strategy.name,
    scheduleKey: scheduleKey(strategy.schedule),
    fromSeconds: NOON_SECONDS - 1,
  } as const
  reduce(state, scheduled, 0)
  const known = state.strategies.get(strategy.name)
  if (known === undefined) throw new Error('the strategy is not registered')
  known.memory = { level: '1' }
  const appended: JournalEvent[] = []
  const append = async (...events: readonly JournalEvent[]) => void appended.push(...events)
  const context = {
    ...{ mode: 'live', account: ACCOUNT, pricePath: () => undefined },
    tokenFault: () => undefined,
    wallet: { signer: { address: WALLET } },
    ports: {
      journal: { state, append },
      signer: { address: WALLET },
      modules: { versionOf: () => undefined },
      observe: () => undefined,
    },
  } as unknown as OrderContext
  const at = { slotSeconds: NOON_SECONDS, nowMs: NOON_SECONDS * 1_000 }
  const decided = decideSlot({ context, strategy, view: aView(), ...at })
  if (typeof decided === 'number') throw new Error('the slot waits')
  expect(decided.isPlainSkip).toBe(true)
  known.memory = { level: '2' }
  await decided.record()
  expect(appended).toEqual([
    expect.objectContaining({ type: 'slot-closed', outcome: 'skipped', reason: 'price-missing' }),
  ])
  expect(appended[0]).toMatchObject({ memory: undefined })
})
