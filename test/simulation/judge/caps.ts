import { DAY_MS, HOUR_MS } from '../../../src/domain/cap-windows.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { CLOCK_SKEW_MS_MAX } from '../../../src/domain/policy.ts'
import type { AccountLimits } from '../../../src/domain/settings.ts'
import type { StrategyLimits } from '../../../src/domain/strategy.ts'
import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { BLOCK_SECONDS } from '../chain/ledger.ts'

/**
 * An amount that left a wallet, or may still leave it, and when: from the ledger and the signatures, never from the
 * journal's own sums.
 */
export type Outflow = {
  readonly strategy: string
  readonly token: Address
  readonly amount: bigint
  /** Time of its block; infinity while it may still come. */
  readonly timeMs: number
}

type Cap = 'perHour' | 'perDay' | 'perWeek' | 'total'

const PERIODS: readonly { readonly cap: Cap; readonly label: string; readonly ms: number }[] = [
  { cap: 'perHour', label: 'an hour', ms: HOUR_MS },
  { cap: 'perDay', label: 'a day', ms: DAY_MS },
  { cap: 'perWeek', label: 'a week', ms: 7 * DAY_MS },
  { cap: 'total', label: 'all', ms: Number.POSITIVE_INFINITY },
]

/** The machine may be this far ahead of the chain when it signs, and a block is this long. */
const TOLERANCE_MS = CLOCK_SKEW_MS_MAX + BLOCK_SECONDS * 1_000

/** Caps exceeded at one moment: `requested` is about to be signed, the others went before or may still come. */
export function capsPassedNow(
  requested: Outflow,
  by: {
    readonly nowMs: number
    readonly files: readonly OperatorFiles[]
    readonly others: readonly Outflow[]
  },
): string[] {
  const { strategy, token, amount } = requested
  const ofToken = by.others.filter((each) => each.token === token)
  const own = ofToken.filter((each) => each.strategy === strategy)
  const within = (outflows: readonly Outflow[], ms: number): bigint =>
    amount + sumOf(outflows.filter(({ timeMs }) => timeMs > by.nowMs - ms + TOLERANCE_MS))
  const limits = limitsOf(strategy, by.files)
  const accounts = by.files.map(({ account }) => account)
  return [
    ...passed(`${strategy} in an order`, amount, widest(limits, 'perOrder', token)),
    ...passed('the account in an order', amount, widest(accounts, 'perOrder', token)),
    ...PERIODS.flatMap(({ cap, label, ms }) => [
      ...passed(`${strategy} in ${label}`, within(own, ms), widest(limits, cap, token)),
      ...passed(`the account in ${label}`, within(ofToken, ms), widest(accounts, cap, token)),
    ]),
  ]
}

/** Caps that the outflows have exceeded in any period: the widest that the files ever named. */
export function capsPassedEver(
  outflows: readonly Outflow[],
  files: readonly OperatorFiles[],
): string[] {
  const inOrder = outflows.toSorted((a, b) => a.timeMs - b.timeMs)
  const names = new Set(inOrder.map(({ strategy }) => strategy))
  const accounts = files.map(({ account }) => account)
  return [...new Set(inOrder.map(({ token }) => token))].flatMap((token) => {
    const ofToken = inOrder.filter((each) => each.token === token)
    return PERIODS.flatMap(({ cap, label, ms }) => [
      ...passed(`the account in ${label}`, mostWithin(ofToken, ms), widest(accounts, cap, token)),
      ...[...names].flatMap((name) => {
        const own = ofToken.filter(({ strategy }) => strategy === name)
        const limit = widest(limitsOf(name, files), cap, token)
        return passed(`${name} in ${label}`, mostWithin(own, ms), limit)
      }),
    ])
  })
}

function passed(who: string, used: bigint, cap: bigint | undefined): string[] {
  return cap !== undefined && used > cap ? [`${who} spent ${used}, its cap is ${cap}`] : []
}

function limitsOf(name: string, files: readonly OperatorFiles[]): readonly StrategyLimits[] {
  const named = files.flatMap(({ strategies }): readonly Strategy[] => strategies)
  return named.filter((each) => each.name === name).map(({ limits }) => limits)
}

/** Undefined if one of them has no such cap. */
function widest(
  limits: readonly (StrategyLimits | AccountLimits)[],
  cap: Cap | 'perOrder',
  token: Address,
): bigint | undefined {
  let most: bigint | undefined
  for (const each of limits) {
    const named = each[cap].get(token)
    if (named === undefined) return undefined
    if (most === undefined || named > most) most = named
  }
  return most
}

function sumOf(outflows: readonly Outflow[]): bigint {
  return outflows.reduce((sum, { amount }) => sum + amount, 0n)
}

/** The largest outflow in any period of a length; `outflows` are in order of time. */
function mostWithin(outflows: readonly Outflow[], ms: number): bigint {
  let most = 0n
  let sum = 0n
  let oldest = 0
  for (const { amount, timeMs } of outflows) {
    sum += amount
    for (;;) {
      const first = outflows[oldest]
      if (first === undefined || timeMs - first.timeMs < ms - TOLERANCE_MS) break
      sum -= first.amount
      oldest += 1
    }
    if (sum > most) most = sum
  }
  return most
}
