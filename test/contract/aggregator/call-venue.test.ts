import { expect, onTestFinished, test } from 'vitest'
import { composeAggregator } from '../../../src/cli/compose/services.ts'
import type { JournalEvent } from '../../../src/domain/book/journal.ts'
import type { CallIntent } from '../../../src/domain/intent.ts'
import type { Observation } from '../../../src/domain/observation.ts'
import type { AggregatorSettings, Settings } from '../../../src/domain/settings.ts'
import type { OrderContext } from '../../../src/execute/context.ts'
import { executeIntent } from '../../../src/execute/order.ts'
import type { CallChain, Signer } from '../../../src/ports.ts'
import { QUIET, SEPOLIA } from '../../support/aggregator/aggregator.ts'
import {
  aggregatorSettingsOf,
  callContext,
  callsSeen,
  delegatedKey,
  memoOf,
  nestedNonceOf,
  recordIntent,
  recordStrategy,
  signerOf,
  WALL_CLOCK,
} from '../../support/aggregator/call-venue.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'
import { collect, openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const SLOT = 1_800_000_000

/** The venue as the daemon composes it, with its pacing, for one account. */
async function venue(signer: Signer, changes: Partial<AggregatorSettings> = {}) {
  const aggregator = aggregatorSettingsOf(sandbox(), changes)
  const observed: Observation[] = []
  const observe = (event: Observation): number => observed.push(event)
  const chains = new Map([
    ['sepolia', { name: 'sepolia', chainId: SEPOLIA, rpcUrls: [sandbox().sepolia.rpcUrl] }],
  ])
  const settings = { aggregator, chains } as Partial<Settings> as Settings
  const composed = composeAggregator({ settings, clock: WALL_CLOCK, observe, operator: signer })
  if (composed === undefined) throw new Error('the settings have an aggregator')
  onTestFinished(() => composed.close())
  const { journal } = await openForTest(temporaryDirectory(), { clock: WALL_CLOCK, observe })
  const strategy = recordStrategy(sandbox(), 'caller')
  await journal.append({
    type: 'strategy-scheduled',
    strategy: strategy.name,
    scheduleKey: 'test',
    fromSeconds: SLOT - 1,
  })
  const context = callContext({
    signer,
    lines: composed.context,
    journal,
    settings: aggregator,
    strategies: [strategy],
    observe,
  })
  const start = async (label: string, slotSeconds = SLOT): Promise<CallIntent> => {
    const intent = recordIntent(strategy, { owner: signer.address, slotSeconds, label })
    await journal.append({
      type: 'slot-opened',
      strategy: strategy.name,
      slotSeconds,
      intents: [intent],
    })
    return intent
  }
  const make = async (label: string, slotSeconds = SLOT): Promise<readonly JournalEvent[]> => {
    const intent = await start(label, slotSeconds)
    await executeIntent(context, intent.id)
    const records = await collect(journal.records())
    return records
      .map(({ event }) => event)
      .filter((event) => 'intentId' in event && event.intentId === intent.id)
  }
  return { context, journal, observed, make }
}

async function timesSeen(label: string): Promise<number> {
  return (await callsSeen(sandbox())).filter(({ memo }) => memo === memoOf(label)).length
}

test('a trustless call goes through the service, and its proof and both costs are on record', async () => {
  const signer = signerOf(await delegatedKey(sandbox()))
  const { make, journal, observed } = await venue(signer)
  const events = await make('one')
  expect(events.map(({ type }) => type)).toEqual([
    'call-recorded',
    'order-accepted',
    'call-proven',
    'intent-closed',
  ])
  const [, , proven, closed] = events
  expect(proven).toMatchObject({ execution: { via: 'aggregated' } })
  if (proven?.type !== 'call-proven') throw new Error('no proof')
  const { charged, direct } = proven.execution.costs
  expect(direct).toBeGreaterThan(0n)
  expect(charged).toBeGreaterThan(0n)
  expect(closed).toMatchObject({ outcome: 'filled' })
  expect(journal.state.intents.size).toBe(0)
  expect(await timesSeen('one')).toBe(1)
  expect(await nestedNonceOf(sandbox(), signer.address)).toBe(1n)
  expect(observed.filter(({ type }) => type === 'executed')).toHaveLength(1)
})

test('a refused trustless call goes directly, and is proven there', async () => {
  const signer = signerOf(await delegatedKey(sandbox()))
  const { make, context } = await venue(signer)
  const { aggregator } = context
  if (aggregator === undefined) throw new Error('no aggregator')
  const service = {
    ...aggregator.service,
    sendRawTransaction: () =>
      Promise.resolve({ ok: false, fault: { tag: 'rejected', message: 'no' } } as const),
  }
  Object.assign(aggregator, { service })
  const events = await make('direct')
  expect(events.map(({ type }) => type)).toContain('call-proven')
  expect(events.find(({ type }) => type === 'call-proven')).toMatchObject({
    execution: { via: 'direct' },
  })
  expect(await timesSeen('direct')).toBe(1)
})

/** Where blocks are empty the base fee stays the same, and with it every field of the next transaction. */
function steadyFees({ aggregator }: OrderContext): void {
  if (aggregator === undefined) throw new Error('no aggregator')
  const { chain } = aggregator
  const account: CallChain['account'] = async (query) => {
    const reply = await chain.account(query)
    if (!reply.ok) return reply
    return { ok: true, value: { ...reply.value, baseFeePerGas: 10n ** 9n } }
  }
  Object.assign(aggregator, { chain: { ...chain, account } })
}

test('two trusted calls of the same bytes are two executions', async () => {
  const signer = signerOf(await delegatedKey(sandbox(), 'trusted'))
  const { make, context } = await venue(signer, { proposer: 'trusted' })
  steadyFees(context)
  const first = await make('again', SLOT)
  const second = await make('again', SLOT + 1)
  for (const events of [first, second])
    expect(events.map(({ type }) => type)).toEqual([
      'call-recorded',
      'order-accepted',
      'call-proven',
      'intent-closed',
    ])
  expect(await timesSeen('again')).toBe(2)
})
