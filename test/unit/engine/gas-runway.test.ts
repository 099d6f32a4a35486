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
/** Base fee of the chain; offers exceed it. */
const GWEI = 10n ** 9n
const NO_ESTIMATES: ChargeEstimates = {
  calls: new Map(),
  delegation: { isAwaited: false, wei: undefined },
}

type Charge = { readonly charged: bigint | undefined; readonly via?: 'aggregated' | 'direct' }

/** A state with these charges per strategy, oldest first, recorded through journal events. */
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
  estimates = NO_ESTIMATES,
): GasRunway {
  return gasRunway(available, { state, strategies, nowSeconds: NOW, estimates })
}

const POKED = { poke: [{ charged: 400n }] }

describe('the runway of a deposit', () => {
  test('follows from upcoming slots and past charges, even after a single charge', () => {
    const runway = lasts(4_900n, charged(POKED), [aCall()])
    // The deposit covers twelve calls.
    expect(runway).toMatchObject({ tag: 'known', seconds: 13 * 600, perCall: 400n })
    expect(lastsText(runway)).toBe('2h 10m (1 call every 10m, 0.0000000000000004 ETH each)')
  })

  test("uses the average of each strategy's last twenty charges", () => {
    const old = Array.from({ length: 30 }, () => ({ charged: 1_000_000n }))
    const state = charged({ poke: [...old, ...Array(20).fill({ charged: 100n })] })
    expect(lasts(1_000n, state, [aCall()])).toMatchObject({ perCall: 100n, seconds: 11 * 600 })
  })

  test('uses the charges of other strategies for a strategy without charges', () => {
    const other = aCall({ name: 'other', schedule: aSchedule('5-59/10 * * * *') })
    const runway = lasts(1_000n, charged(POKED), [aCall(), other])
    expect(runway).toMatchObject({ perCall: 400n, seconds: 900, isSimulated: false })
  })

  test('ignores charges of direct calls, which the wallet paid', () => {
    const state = charged({ poke: [{ charged: 400n }, { charged: 9_000n, via: 'direct' }] })
    expect(lasts(1_000n, state, [aCall()])).toMatchObject({ perCall: 400n })
  })

  test('uses an estimate before the first charge, and marks it as simulated', () => {
    const estimates = { ...NO_ESTIMATES, calls: new Map([['poke', 300n]]) }
    const runway = lasts(1_000n, emptyState(), [aCall()], estimates)
    expect(runway).toMatchObject({ perCall: 300n, isSimulated: true, seconds: 4 * 600 })
    expect(lastsText(runway)).toMatch(/each by simulation\)$/)
  })

  test('is unknown if the cost of a call is unknown, and names the strategy', () => {
    const runway = lasts(1_000n, emptyState(), [aCall()])
    expect(lastsText(runway)).toBe('unknown: no cost is known yet for a call of poke')
    expect(runwayData(runway, undefined)).toMatchObject({
      runwaySeconds: null,
      runwayUnknown: expect.stringMatching(/poke/),
    })
  })

  test('ignores strategies that are disabled, paused or without calls', () => {
    const state = charged(POKED)
    const idle = { tag: 'idle' }
    expect(lasts(1_000n, state, [aCall({ enabled: false })])).toEqual(idle)
    expect(lasts(1_000n, state, [aStrategy()])).toEqual(idle)
    const paused = { type: 'strategy-paused', strategy: 'poke', cause: 'operator' } as const
    reduce(state, { ...paused, detail: '' }, 0)
    expect(lasts(1_000n, state, [aCall()])).toEqual(idle)
    expect(lastsText({ tag: 'idle' })).toBe('no call is due')
  })

  test('ignores slots within the cooldown of another slot', () => {
    const call = aCall()
    const hourly = aCall({ limits: { ...call.limits, cooldownMs: HOUR } })
    expect(lasts(1_000n, charged(POKED), [hourly])).toMatchObject({
      seconds: 2 * HOUR_SECONDS + 600,
    })
  })

  test('reserves the charge of a pending delegation', () => {
    const estimates = { calls: new Map(), delegation: { isAwaited: true, wei: 4_000n } }
    const runway = lasts(4_900n, charged(POKED), [aCall()], estimates)
    expect(runway).toMatchObject({ seconds: 3 * 600 })
    expect(lastsText(runway)).toMatch(/, after 0\.000000000000004 ETH for the delegation\)$/)
  })
})

describe('the expected charge', () => {
  const rig = () => fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })

  test('of a call is simulated once at the current gas price', async () => {
    const { tools, account } = rig()
    let simulations = 0
    tools.aggregator.chain.simulate = async () => {
      simulations += 1
      return { ok: true, value: { gasUsed: 30_000n } }
    }
    const simulated = new Map()
    const request = { state: emptyState(), strategies: [aCall()], view: account, simulated }
    await estimateCharges(tools.aggregator, request)
    const { calls } = await estimateCharges(tools.aggregator, request)
    expect(calls.get('poke')).toBe(30_000n * 2n * GWEI)
    expect(simulations).toBe(1)
  })

  test('of a call is not simulated if past charges are known', async () => {
    const { tools, account } = rig()
    const request = { state: charged(POKED), strategies: [aCall()], view: account }
    const { calls } = await estimateCharges(tools.aggregator, { ...request, simulated: new Map() })
    expect(calls.size).toBe(0)
  })

  test('of a delegation is its last charge, and absent once the account has the code', async () => {
    const { tools, account } = rig()
    const state = emptyState()
    const estimate = () =>
      estimateCharges(tools.aggregator, {
        ...{ state, strategies: [], view: account, simulated: new Map() },
      }).then(({ delegation }) => delegation)
    expect(await estimate()).toEqual({ isAwaited: true, wei: 50_000n * 2n * GWEI })
    const of = { chainId: SEPOLIA, account: tools.account, charged: 77n }
    reduce(state, { type: 'delegation-charged', ...of }, 0)
    expect(await estimate()).toEqual({ isAwaited: true, wei: 77n })
    account.code = `0xef0100${tools.aggregator.settings.contracts.trustlessProposer.slice(2)}`
    expect(await estimate()).toEqual({ isAwaited: false, wei: undefined })
  })
})

test('a schedule that changed between runs counts in its current form', () => {
  const state = charged(POKED)
  const schedule = aSchedule('0 * * * *')
  expect(state.strategies.get('poke')?.scheduleKey).not.toBe(scheduleKey(schedule))
  expect(lasts(400n, state, [aCall({ schedule })])).toMatchObject({ seconds: 2 * HOUR_SECONDS })
})
