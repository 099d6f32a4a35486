import { DAY_MS } from '../../domain/cap-windows.ts'
import { delegateOf } from '../../domain/order/call.ts'
import { proposerOf } from '../../domain/order/contract.ts'
import { averageCharge, delegationCharge } from '../../journal/projections/charges.ts'
import { type Outgoing, runwaySeconds } from '../../journal/projections/runway.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type { AccountView } from '../../ports.ts'
import type { CallStrategy } from '../../strategies/call/call-kind.ts'
import { makesCalls, type Strategy } from '../../strategies/registry.ts'
import { type ReadAhead, scheduleAhead, slotsAhead } from '../../strategies/spending/slots-ahead.ts'
import { PRIORITY_FEE_WEI } from '../../venues/call/envelope.ts'
import type { AggregatorContext } from '../../venues/context.ts'

/** Gas of setting an account's code for the first time, including its transaction. */
const DELEGATION_GAS = 50_000n

/** How long the GasTank deposit lasts for the scheduled calls, and the inputs of that estimate. */
export type GasRunway =
  | {
      readonly tag: 'known'
      /** Undefined if all future calls are covered. */
      readonly seconds: number | undefined
      readonly callsPerDay: number
      /** Wei per call, averaged over scheduled calls. */
      readonly perCall: bigint
      /** True if a strategy's cost is simulated, because it has not been charged yet. */
      readonly isSimulated: boolean
      /** Expected charge, in wei, of a pending delegation; undefined if unknown. */
      readonly delegation: Expected
    }
  | { readonly tag: 'idle' }
  | { readonly tag: 'unknown'; readonly strategies: readonly string[] }

type Expected = { readonly isAwaited: boolean; readonly wei: bigint | undefined }

/** Expected charges in wei, used before the first actual charge. */
export type ChargeEstimates = {
  readonly calls: ReadonlyMap<string, bigint>
  readonly delegation: Expected
}

type RunwayState = { readonly state: DaemonState; readonly strategies: Iterable<Strategy> }

/** Estimates the runway. Cost per call: the mean of the strategy's last charges, or of all strategies', or the estimate. */
export function gasRunway(
  available: bigint,
  input: RunwayState & {
    readonly nowSeconds: number
    readonly estimates: ChargeEstimates
    readonly readAhead?: ReadAhead
  },
): GasRunway {
  const { state, nowSeconds, estimates, readAhead = slotsAhead } = input
  const unknown: string[] = []
  const due: Outgoing[] = []
  let isSimulated = false
  for (const strategy of callersOf(input)) {
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

function callersOf({ state, strategies }: RunwayState): readonly CallStrategy[] {
  return [...strategies].filter(
    (each): each is CallStrategy =>
      makesCalls(each) && each.enabled && state.strategies.get(each.name)?.paused === undefined,
  )
}

/** Calls per day over the given slots. For a single slot, one call in the time until it. */
function callsPerDay({ slots }: Outgoing, nowSeconds: number): number {
  const first = slots[0] ?? nowSeconds
  const last = slots.at(-1) ?? first
  const gaps = slots.length - 1
  const seconds = gaps > 0 ? (last - first) / gaps : first - nowSeconds
  return DAY_MS / 1000 / Math.max(1, seconds)
}

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

export type SimulatedGas = Map<string, bigint>

/**
 * Estimates the cost of calls that were never charged, and of a delegation that is still pending. Skips recorded charges.
 */
export async function estimateCharges(
  { chain, wallet, settings }: AggregatorContext,
  input: RunwayState & { readonly view: AccountView | undefined; readonly simulated: SimulatedGas },
): Promise<ChargeEstimates> {
  const { state, view, simulated } = input
  const calls = new Map<string, bigint>()
  const account = wallet.signer.address
  if (view === undefined) return { calls, delegation: { isAwaited: false, wei: undefined } }
  const price = view.baseFeePerGas + PRIORITY_FEE_WEI
  for (const { name, target, calldata, value } of callersOf(input)) {
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
