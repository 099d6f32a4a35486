import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { composeAggregator } from '../../../src/cli/compose/services.ts'
import type { CallIntent } from '../../../src/domain/order/intent.ts'
import type { AggregatorSettings, Settings } from '../../../src/domain/settings.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { CallChain, Key } from '../../../src/ports.ts'
import type { CallRecord } from '../../../src/sandbox/aggregator/rpc/admin-routes.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { executeIntent } from '../../../src/venues/execute-intent.ts'
import { QUIET, SEPOLIA, sepoliaClient } from '../../support/aggregator/aggregator.ts'
import { MULTICALL } from '../../support/aggregator/aggregator-abi.ts'
import {
  aggregatorSettingsOf,
  callContext,
  callsSeen,
  delegatedKey,
  keyOf,
  memoOf,
  nestedNonceOf,
  recordIntent,
  recordStrategy,
  WALL_CLOCK,
} from '../../support/aggregator/call-venue.ts'
import { unpaced } from '../../support/aggregator/unpaced.ts'
import { admin, READINGS, sandboxForSuite } from '../../support/sandbox.ts'
import { AMPLE_GAS, filesOfAggregator } from '../../support/signing.ts'
import { collect, openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

/** The sandbox with the contracts under test. */
let sandbox: () => Sandbox = () => {
  throw new Error('no test runs')
}
/** Recipient of a trustless call's transaction. */
let envelopeTo: AggregatorSettings['wire']['envelopeTo'] = 'account'

const SLOT = 1_800_000_000

/** Composes the venue for one account as the daemon does, with its pacing. */
async function venue(key: Key, changes: Partial<AggregatorSettings> = {}) {
  const { wire } = aggregatorSettingsOf(sandbox())
  const own = { wire: { ...wire, envelopeTo } }
  const aggregator = aggregatorSettingsOf(sandbox(), { ...own, ...changes })
  const observed: (RuntimeEvent | JournalEvent)[] = []
  const observe = (event: RuntimeEvent): number => observed.push(event)
  const chains = new Map([
    [
      'sepolia',
      {
        name: 'sepolia',
        chainId: SEPOLIA,
        rpcUrls: [sandbox().sepolia.rpcUrl],
        finality: 1,
        agree: 1,
        explorer: undefined,
        code: new Map(),
        gas: AMPLE_GAS,
      } as const,
    ],
  ])
  const settings = { aggregator, chains } as Partial<Settings> as Settings
  const stubs = {
    journal: { state: emptyState(), isOnDisk: () => false },
    guard: { blocked: () => undefined },
    files: filesOfAggregator(),
  }
  const composed = composeAggregator({
    settings,
    clock: WALL_CLOCK,
    observe,
    operator: key,
    ...stubs,
  })
  if (composed === undefined) throw new Error('the settings have an aggregator')
  onTestFinished(() => composed.close())
  const { journal } = await openForTest(temporaryDirectory(), {
    clock: WALL_CLOCK,
    recorded: ({ event }) => observed.push(event),
  })
  const strategy = recordStrategy(sandbox(), 'caller')
  await journal.append({
    type: 'strategy-scheduled',
    strategy: strategy.name,
    scheduleKey: 'test',
    fromSeconds: SLOT - 1,
  })
  const context = callContext({
    key,
    lines: composed.context,
    journal,
    settings: aggregator,
    strategies: [strategy],
    observe,
  })
  const start = async (
    label: string,
    slotSeconds: number,
    own: Partial<CallIntent>,
  ): Promise<CallIntent> => {
    const named = recordIntent(strategy, { owner: key.address, slotSeconds, label })
    const intent = { ...named, ...own }
    await journal.append({
      type: 'slot-opened',
      strategy: strategy.name,
      slotSeconds,
      intents: [intent],
    })
    return intent
  }
  const make = async (
    label: string,
    slotSeconds = SLOT,
    own: Partial<CallIntent> = {},
  ): Promise<readonly JournalEvent[]> => {
    const intent = await start(label, slotSeconds, own)
    await executeIntent(context, intent.id)
    const records = await collect(journal.records())
    return records
      .map(({ event }) => event)
      .filter((event) => 'intentId' in event && event.intentId === intent.id)
  }
  return { context, journal, observed, make }
}

/** Gas that the multicall measured for each of its calls, in order. */
async function gasUsedIn(at: Sandbox): Promise<readonly bigint[]> {
  const { multicall: address } = at.sepolia.contracts
  const events = await sepoliaClient(at).getContractEvents({
    ...{ address, abi: MULTICALL, eventName: 'InternalGasUsed', fromBlock: 0n },
  })
  return events.flatMap(({ args }) => args.gasUsed ?? [])
}

async function timesSeen(label: string): Promise<number> {
  return (await callsSeen(sandbox())).filter(({ memo }) => memo === memoOf(label)).length
}

/** Keeps the base fee constant by empty blocks, and with it every field of the next transaction. */
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

describe.each(READINGS)('a call on contracts as %s', (reading) => {
  const started = sandboxForSuite({ reading, aggregator: QUIET })
  beforeEach(() => {
    sandbox = started
    envelopeTo = reading === 'deployed' ? 'account' : 'proposer'
  })

  test('a trustless call goes through the service, and its proof and both costs are recorded', async () => {
    const signer = keyOf(await delegatedKey(sandbox()))
    const { make, journal, observed } = await venue(signer)
    const events = await make('one')
    expect(events.map(({ type }) => type)).toEqual([
      'call-recorded',
      'call-signed',
      'order-accepted',
      'call-proven',
      'intent-closed',
    ])
    const [, , , proven, closed] = events
    expect(proven).toMatchObject({ execution: { via: 'aggregated' } })
    if (proven?.type !== 'call-proven') throw new Error('no proof')
    const { charged, direct } = proven.execution.costs
    expect(direct).toBeGreaterThan(0n)
    expect(charged).toBeGreaterThan(0n)
    expect(closed).toMatchObject({ outcome: 'filled' })
    expect(journal.state.intents.size).toBe(0)
    expect(await timesSeen('one')).toBe(1)
    expect(await nestedNonceOf(sandbox(), signer.address)).toBe(1n)
    expect(observed.filter(({ type }) => type === 'call-proven')).toHaveLength(1)
  })

  test('a refused trustless call is sent directly and proven there', async () => {
    const signer = keyOf(await delegatedKey(sandbox()))
    const { make, context } = await venue(signer)
    const { aggregator } = context
    if (aggregator === undefined) throw new Error('no aggregator')
    const service = unpaced({
      ...aggregator.service,
      sendRawTransaction: () =>
        Promise.resolve({ ok: false, fault: { tag: 'rejected', message: 'no' } } as const),
    })
    Object.assign(aggregator, { service })
    const events = await make('direct')
    expect(events.map(({ type }) => type)).toContain('call-proven')
    expect(events.find(({ type }) => type === 'call-proven')).toMatchObject({
      execution: { via: 'direct' },
    })
    expect(await timesSeen('direct')).toBe(1)
  })

  test('two trusted calls of the same bytes are two executions', async () => {
    const signer = keyOf(await delegatedKey(sandbox(), 'trusted'))
    const { make, context } = await venue(signer, { proposer: 'trusted' })
    steadyFees(context)
    const first = await make('again', SLOT)
    const second = await make('again', SLOT + 1)
    for (const events of [first, second])
      expect(events.map(({ type }) => type)).toEqual([
        'call-recorded',
        'call-signed',
        'order-accepted',
        'call-proven',
        'intent-closed',
      ])
    expect(await timesSeen('again')).toBe(2)
  })

  test("a call is signed for the account's domain and sent to the configured recipient", async () => {
    const signer = keyOf(await delegatedKey(sandbox()))
    const { make } = await venue(signer)
    const [recorded] = await make('domain')
    const { trustlessProposer } = aggregatorSettingsOf(sandbox()).contracts
    const of = { deployed: signer.address, described: trustlessProposer }
    expect(recorded).toMatchObject({
      call: { verifyingContract: of[reading], envelope: { to: of[reading] } },
    })
  })

  test('the charge and savings reported by the service are recorded, and the funds fall by the charge', async () => {
    const signer = keyOf(await delegatedKey(sandbox()))
    const { make } = await venue(signer)
    const proven = (await make('charged')).find(({ type }) => type === 'call-proven')
    if (proven?.type !== 'call-proven') throw new Error('no proof')
    const { charged, saved, blob, fall } = proven.execution.costs
    const { body } = await admin(sandbox(), 'GET', '/aggregator/calls')
    const served = (body as readonly CallRecord[]).find(
      ({ account, route }) => account === signer.address && route === 'aggregated',
    )
    expect(`${charged}`).toBe(served?.charged)
    expect([saved, blob]).toEqual([expect.any(BigInt), 0n])
    expect(fall).toBe(charged)
  })

  test('a gas limit too low for the whole call is refused by name, with the gas needed', async () => {
    const signer = keyOf(await delegatedKey(sandbox()))
    const { make } = await venue(signer)
    const refused = (await make('tight', SLOT, { gasLimit: 45_000n })).at(-1)
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'gas-limit-too-low' })
    const detail = refused?.type === 'intent-closed' ? (refused.detail ?? '') : ''
    const needed = BigInt(/the whole call may take (\d+)/.exec(detail)?.[1] ?? 0)
    // The named gas suffices and is close to the gas that the multicall measured.
    const executed = (await make('roomy', SLOT + 1, { gasLimit: needed })).at(-1)
    expect(executed).toMatchObject({ outcome: 'filled' })
    const used = (await gasUsedIn(sandbox())).at(-1) ?? 0n
    expect(needed).toBeGreaterThanOrEqual(used)
    expect(needed - used).toBeLessThan(15_000n)
  })

  test.each<[AggregatorSettings['proposer'], AggregatorSettings['wire']['bundle']]>([
    ['trustless', 'list'],
    ['trustless', 'object'],
    ['trusted', 'list'],
  ])(
    'a %s bundle (%s) with a lost answer is sent again and executes once',
    async (proposer, bundle) => {
      const signer = keyOf(await delegatedKey(sandbox(), proposer))
      const wire = { ...aggregatorSettingsOf(sandbox()).wire, envelopeTo, bundle }
      const fallback = { mode: 'rejected-only', deadlineMs: 3_600_000 } as const
      const { make, observed } = await venue(signer, { proposer, submit: 'bundle', wire, fallback })
      sandbox().faults.set({ rules: [{ kind: 'dropAfter', route: 'sendBundle', count: 1 }] })
      onTestFinished(() => sandbox().faults.set({}))
      const label = `bundle ${proposer} ${bundle}`
      const events = await make(label)
      expect(events.at(-1)).toMatchObject({ outcome: 'filled' })
      expect(events.find(({ type }) => type === 'call-proven')).toMatchObject({
        execution: { via: 'aggregated' },
      })
      expect(await timesSeen(label)).toBe(1)
      const routes = observed.flatMap((each) => (each.type === 'request' ? [each.route] : []))
      expect(routes).toContain('sendBundle')
      expect(routes).not.toContain('sendRawTransaction')
    },
  )

  describe('a call with a lost answer is proven long before its deadline', () => {
    test.each<[string, AggregatorSettings['proposer'], object]>([
      ['trustless', 'trustless', { kind: 'dropAfter', route: 'sendRawTransaction', count: 1 }],
      ['trusted', 'trusted', { kind: 'dropAfter', route: 'sendRawTransaction', count: 1 }],
      ['trustless', 'trustless', { kind: 'strayAfter', route: 'sendRawTransaction', count: 1 }],
      ['trusted', 'trusted', { kind: 'strayAfter', route: 'sendRawTransaction', count: 1 }],
      ['trustless', 'trustless', { kind: 'hashUnknownYet', forMs: 600_000, count: 1 }],
      ['trustless', 'trustless', { kind: 'errorAfter', route: 'transactionReceipt' }],
      ['trustless', 'trustless', { kind: 'strayAfter', route: 'transactionReceipt' }],
      ['trustless', 'trustless', { kind: 'lieReceipt', count: 1 }],
    ])('and executed once for a %s account (%j %j)', async (_, proposer, rule) => {
      const signer = keyOf(await delegatedKey(sandbox(), proposer))
      const fallback = { mode: 'rejected-only', deadlineMs: 3_600_000 } as const
      const { make } = await venue(signer, { proposer, fallback })
      sandbox().faults.set({ rules: [rule] })
      onTestFinished(() => sandbox().faults.set({}))
      const label = `lost ${JSON.stringify(rule)} ${proposer}`
      const events = await make(label)
      expect(events.at(-1)).toMatchObject({ outcome: 'filled' })
      expect(events.find(({ type }) => type === 'call-proven')).toMatchObject({
        execution: { via: 'aggregated' },
      })
      expect(await timesSeen(label)).toBe(1)
    })
  })
})
