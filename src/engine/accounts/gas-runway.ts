import { averageCharge, delegationCharge } from '../domain/book/charges.ts'
import { DAY_MS } from '../domain/book/limits.ts'
import { type Outgoing, runwaySeconds } from '../domain/book/runway.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { delegateOf } from '../domain/call.ts'
import { proposerOf } from '../domain/contract.ts'
import { type CallStrategy, makesCalls, type Strategy } from '../domain/strategy.ts'
import { PRIORITY_FEE_WEI } from '../execute/call/envelope.ts'
import type { AggregatorContext } from '../execute/context.ts'
import type { AccountView } from '../ports.ts'
import { type ReadAhead, scheduleAhead, slotsAhead } from './slots-ahead.ts'

/** What setting an account's code for the first time uses, its transaction included. */
const DELEGATION_GAS = 50_000n

/** For how long the deposit in the GasTank lasts by what the schedules will use of it, and what that rests on. */
export type GasRunway =
  | {
      readonly tag: 'known'
      /** Undefined where all calls that will ever be due are covered. */
      readonly seconds: number | undefined
      readonly callsPerDay: number
      /** Wei of one call, on average over those that are due. */
      readonly perCall: bigint
      /** Whether a strategy is counted by a simulation, because nothing was charged yet. */
      readonly isSimulated: boolean
      /** Wei that the delegation will be charged which calls wait for, if any is; undefined where nobody can tell. */
      readonly delegation: Expected
    }
  /** No call is due. */
  | { readonly tag: 'idle' }
  /** Strategies whose calls are due and cost nobody knows what. */
  | { readonly tag: 'unknown'; readonly strategies: readonly string[] }

type Expected = { readonly isAwaited: boolean; readonly wei: bigint | undefined }

/** Wei that calls and a delegation will likely be charged where nothing was yet. */
export type ChargeEstimates = {
  readonly calls: ReadonlyMap<string, bigint>
  readonly delegation: Expected
}

type Asking = {
  readonly state: DaemonState
  readonly strategies: Iterable<Strategy>
}

/**
 * What follows from the schedules of the strategies that make calls and are neither disabled nor paused. A call is expected to
 * be charged what the strategy's last ones were on average, or those of all strategies, or what is estimated.
 */
export function gasRunway(
  available: bigint,
  {
    state,
    strategies,
    nowSeconds,
    estimates,
    readAhead = slotsAhead,
  }: Asking & {
    readonly nowSeconds: number
    readonly estimates: ChargeEstimates
    readonly readAhead?: ReadAhead
  },
): GasRunway {
  const unknown: string[] = []
  const due: Outgoing[] = []
  let isSimulated = false
  for (const strategy of callersOf({ state, strategies })) {
    const { name, limits } = strategy
    const schedule = scheduleAhead(state, strategy, nowSeconds)
    const ahead = readAhead(schedule, { nowSeconds, cooldownMs: limits.cooldownMs })
    if (ahead.slots.length === 0) continue
    const charged = averageCharge(state, name)?.wei
    const amount = charged ?? estimates.calls.get(name)
    if (amount === undefined) unknown.push(name)
    else due.push({ ...ahead, amount })
    isSimulated ||= charged === undefined
  }
  if (unknown.length > 0) return { tag: 'unknown', strategies: unknown }
  if (due.length === 0) return { tag: 'idle' }
  const { delegation } = estimates
  const seconds = runwaySeconds(available - (delegation.wei ?? 0n), due, nowSeconds)
  const rates = due.map((each) => ({ ...each, perDay: callsPerDay(each, nowSeconds) }))
  const perDay = rates.reduce((sum, each) => sum + each.perDay, 0)
  const perCall = weightedMean(rates)
  return { tag: 'known', seconds, callsPerDay: perDay, perCall, isSimulated, delegation }
}

function callersOf({ state, strategies }: Asking): readonly CallStrategy[] {
  return [...strategies].filter(
    (each): each is CallStrategy =>
      makesCalls(each) && each.enabled && state.strategies.get(each.name)?.paused === undefined,
  )
}

/** Over the slots that are named; of one that has no other, one in the time until then. */
function callsPerDay({ slots }: Outgoing, nowSeconds: number): number {
  const first = slots[0] ?? nowSeconds
  const last = slots.at(-1) ?? first
  const gaps = slots.length - 1
  const seconds = gaps > 0 ? (last - first) / gaps : first - nowSeconds
  return DAY_MS / 1000 / Math.max(1, seconds)
}

/** Of what a call of each costs, by how often it is made. */
function weightedMean(
  rates: readonly { readonly amount: bigint; readonly perDay: number }[],
): bigint {
  let sum = 0n
  let weights = 0n
  for (const { amount, perDay } of rates) {
    const weight = BigInt(Math.ceil(perDay * 1_000))
    sum += amount * weight
    weights += weight
  }
  return sum / weights
}

/** Gas of calls that were simulated, so that each is asked for once. */
export type SimulatedGas = Map<string, bigint>

/**
 * What the chain lets one expect of the calls that nothing was charged for yet, and of a delegation that they wait for. The
 * chain is asked for nothing that the books know.
 */
export async function estimateCharges(
  { chain, wallet, settings }: AggregatorContext,
  {
    view,
    simulated,
    ...asking
  }: Asking & {
    /** Of the account; undefined where it could not be read. */
    readonly view: AccountView | undefined
    readonly simulated: SimulatedGas
  },
): Promise<ChargeEstimates> {
  const calls = new Map<string, bigint>()
  const { state } = asking
  const account = wallet.signer.address
  if (view === undefined) return { calls, delegation: { isAwaited: false, wei: undefined } }
  const price = view.baseFeePerGas + PRIORITY_FEE_WEI
  for (const { name, target, calldata, value } of callersOf(asking)) {
    if (averageCharge(state, name) !== undefined) continue
    const key = `${target} ${calldata} ${value}`
    let gas = simulated.get(key)
    if (gas === undefined) {
      const reply = await chain.simulate({ from: account, to: target, data: calldata, value })
      if (!reply.ok) continue
      gas = reply.value.gasUsed
      simulated.set(key, gas)
    }
    calls.set(name, gas * price)
  }
  const isAwaited = delegateOf(view.code) !== proposerOf(settings)
  const before = delegationCharge(state, { chainId: wallet.chainId, account })
  const wei = isAwaited ? (before ?? DELEGATION_GAS * price) : undefined
  return { calls, delegation: { isAwaited, wei } }
}
