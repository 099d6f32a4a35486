import { describe, expect, test } from 'vitest'
import { lastsText, runwayData } from '../../../src/cli/commands/account/gastank-text.ts'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import {
  type ChargeEstimates,
  estimateCharges,
  type GasRunway,
  gasRunway,
} from '../../../src/engine/accounts/gas-runway.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { aCall, aSchedule, aStrategy, HOUR } from '../../support/builders.ts'
import {
  callFor,
  callIntentOf,
  executionOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'
import { fakeAggregator, SEPOLIA } from '../venues/call/aggregator-fixture.ts'

const HOUR_SECONDS = HOUR / 1000
/** A full hour. */
const NOW = 1_800_000_000
/** The base fee of the chain, and what is offered above it. */
const GWEI = 10n ** 9n
const UNASKED: ChargeEstimates = {
  calls: new Map(),
  delegation: { isAwaited: false, wei: undefined },
}

type Charge = { readonly charged: bigint | undefined; readonly via?: 'aggregated' | 'direct' }

/** A state whose strategies were charged these, oldest first, proven in the journal's own way. */
function charged(charges: Readonly<Record<string, readonly Charge[]>>): DaemonState {
  const state = emptyState()
  let slot = 2_000
  for (const [strategy, list] of Object.entries(charges)) {
    reduce(state, scheduled(strategy), 0)
    for (const { charged: wei, via = 'aggregated' } of list) {
      slot += 2
      const intent = callIntentOf(slot, strategy)
      const call = callFor(intent, { attempt: 1, nonce: BigInt(slot) })
      const costs = { charged: wei, direct: undefined }
      const of = { intentId: intent.id, attempt: 1 }
      reduce(state, opened(intent), 0)
      reduce(state, { type: 'call-recorded', intentId: intent.id, call }, 0)
      const execution = { ...executionOf(intent), via, costs }
      reduce(state, { type: 'call-proven', ...of, execution }, 0)
      const end = { outcome: 'filled', reason: 'filled' } as const
      reduce(state, { type: 'intent-closed', intentId: intent.id, ...end }, 0)
      reduce(state, { type: 'slot-closed', strategy, slotSeconds: slot, ...end }, 0)
    }
  }
  return state
}

function lasts(
  available: bigint,
  state: DaemonState,
  strategies: readonly Strategy[],
  estimates = UNASKED,
): GasRunway {
  return gasRunway(available, { state, strategies, nowSeconds: NOW, estimates })
}

const POKED = { poke: [{ charged: 400n }] }

describe('how long the deposit lasts', () => {
  test('follows from the slots to come and what a call was charged, however short a time was seen', () => {
    const runway = lasts(4_900n, charged(POKED), [aCall()])
    // Twelve calls are covered, the thirteenth is not.
    expect(runway).toMatchObject({ tag: 'known', seconds: 13 * 600, perCall: 400n })
    expect(lastsText(runway)).toBe('2h 10m (1 call every 10m, 0.0000000000000004 ETH each)')
  })

  test('goes by the average of the last twenty charges of each strategy, and by none older', () => {
    const old = Array.from({ length: 30 }, () => ({ charged: 1_000_000n }))
    const state = charged({ poke: [...old, ...Array(20).fill({ charged: 100n })] })
    expect(lasts(1_000n, state, [aCall()])).toMatchObject({ perCall: 100n, seconds: 11 * 600 })
  })

  test('takes a strategy that was never charged for one like the others', () => {
    const other = aCall({ name: 'other', schedule: aSchedule('5-59/10 * * * *') })
    const runway = lasts(1_000n, charged(POKED), [aCall(), other])
    expect(runway).toMatchObject({ perCall: 400n, seconds: 900, isSimulated: false })
  })

  test('counts no charge of a call that went directly, which the wallet paid', () => {
    const state = charged({ poke: [{ charged: 400n }, { charged: 9_000n, via: 'direct' }] })
    expect(lasts(1_000n, state, [aCall()])).toMatchObject({ perCall: 400n })
  })

  test('goes by an estimate where nothing was charged yet, and says so', () => {
    const estimates = { ...UNASKED, calls: new Map([['poke', 300n]]) }
    const runway = lasts(1_000n, emptyState(), [aCall()], estimates)
    expect(runway).toMatchObject({ perCall: 300n, isSimulated: true, seconds: 4 * 600 })
    expect(lastsText(runway)).toMatch(/each by simulation\)$/)
  })

  test('is not known where nobody can tell what a call costs, which is said', () => {
    const runway = lasts(1_000n, emptyState(), [aCall()])
    expect(lastsText(runway)).toBe('unknown: no cost is known yet for a call of poke')
    expect(runwayData(runway, undefined)).toMatchObject({
      runwaySeconds: null,
      runwayUnknown: expect.stringMatching(/poke/),
    })
  })

  test('counts no strategy that is disabled, paused or makes no calls', () => {
    const state = charged(POKED)
    const idle = { tag: 'idle' }
    expect(lasts(1_000n, state, [aCall({ enabled: false })])).toEqual(idle)
    expect(lasts(1_000n, state, [aStrategy()])).toEqual(idle)
    const paused = { type: 'strategy-paused', strategy: 'poke', cause: 'operator' } as const
    reduce(state, { ...paused, detail: '' }, 0)
    expect(lasts(1_000n, state, [aCall()])).toEqual(idle)
    expect(lastsText({ tag: 'idle' })).toBe('no call is due')
  })

  test('counts no slot that comes within the cooldown of another', () => {
    const call = aCall()
    const hourly = aCall({ limits: { ...call.limits, cooldownMs: HOUR } })
    expect(lasts(1_000n, charged(POKED), [hourly])).toMatchObject({
      seconds: 2 * HOUR_SECONDS + 600,
    })
  })

  test('leaves the delegation its charge, where calls wait for it', () => {
    const estimates = { calls: new Map(), delegation: { isAwaited: true, wei: 4_000n } }
    const runway = lasts(4_900n, charged(POKED), [aCall()], estimates)
    expect(runway).toMatchObject({ seconds: 3 * 600 })
    expect(lastsText(runway)).toMatch(/, after 0\.000000000000004 ETH for the delegation\)$/)
  })
})

describe('what a call and a delegation are expected to be charged', () => {
  const rig = () => fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })

  test('is what a simulation takes at the present price of gas, asked once for each call', async () => {
    const { tools, account } = rig()
    let asked = 0
    tools.aggregator.chain.simulate = async () => {
      asked += 1
      return { ok: true, value: { gasUsed: 30_000n } }
    }
    const simulated = new Map()
    const asking = { state: emptyState(), strategies: [aCall()], view: account, simulated }
    await estimateCharges(tools.aggregator, asking)
    const { calls } = await estimateCharges(tools.aggregator, asking)
    expect(calls.get('poke')).toBe(30_000n * 2n * GWEI)
    expect(asked).toBe(1)
  })

  test('asks the chain for nothing that the books know', async () => {
    const { tools, account } = rig()
    const asking = { state: charged(POKED), strategies: [aCall()], view: account }
    const { calls } = await estimateCharges(tools.aggregator, { ...asking, simulated: new Map() })
    expect(calls.size).toBe(0)
  })

  test('is for a delegation what the last one was charged, and nothing once the account has its code', async () => {
    const { tools, account } = rig()
    const state = emptyState()
    const ask = () =>
      estimateCharges(tools.aggregator, {
        ...{ state, strategies: [], view: account, simulated: new Map() },
      }).then(({ delegation }) => delegation)
    expect(await ask()).toEqual({ isAwaited: true, wei: 50_000n * 2n * GWEI })
    const of = { chainId: SEPOLIA, account: tools.account, charged: 77n }
    reduce(state, { type: 'delegation-charged', ...of }, 0)
    expect(await ask()).toEqual({ isAwaited: true, wei: 77n })
    account.code = `0xef0100${tools.aggregator.settings.contracts.trustlessProposer.slice(2)}`
    expect(await ask()).toEqual({ isAwaited: false, wei: undefined })
  })
})

test('a schedule that changed while nobody ran is counted as it is now', () => {
  const state = charged(POKED)
  const schedule = aSchedule('0 * * * *')
  expect(state.strategies.get('poke')?.scheduleKey).not.toBe(scheduleKey(schedule))
  expect(lasts(400n, state, [aCall({ schedule })])).toMatchObject({ seconds: 2 * HOUR_SECONDS })
})
