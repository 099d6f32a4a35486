import { minOf } from '../../domain/money/units.ts'

/** Surplus (positive) or lack (negative) of one member, in a common unit. */
type Balance<Member> = { readonly member: Member; readonly delta: bigint }

type Transfer<Member> = {
  readonly from: Member
  readonly to: Member
  readonly value: bigint
}

/** All subsets of up to so many members are searched, in well under a millisecond. */
const EXACT_MEMBERS_MAX = 12

/**
 * The fewest transfers that settle the balances within `tolerance`. First finds the most groups that settle among
 * themselves, because a group of n needs n - 1 transfers. Beyond EXACT_MEMBERS_MAX members, settles all as one group.
 */
export function settle<Member>(
  balances: readonly Balance<Member>[],
  tolerance: bigint,
): readonly Transfer<Member>[] {
  const open = balances.filter(({ delta }) => delta !== 0n)
  const groups = open.length > EXACT_MEMBERS_MAX ? [open] : selfSettlingGroups(open, tolerance)
  return groups.flatMap(settleGroup)
}

/**
 * The most groups with sums near 0. Orders the members so that as many prefixes as possible sum to about 0, each of which
 * ends a group. `most[set]` counts those prefixes for the best order of a subset; `last[set]` is its last member.
 */
function selfSettlingGroups<Member>(
  open: readonly Balance<Member>[],
  tolerance: bigint,
): readonly (readonly Balance<Member>[])[] {
  const sets = 1 << open.length
  const settles: boolean[] = new Array(sets).fill(true)
  const most: number[] = new Array(sets).fill(0)
  const last: number[] = new Array(sets).fill(0)
  for (let set = 1; set < sets; set += 1) {
    const members = open.flatMap(({ delta }, index) =>
      contains(set, index) ? [{ delta, index }] : [],
    )
    const sum = members.reduce((total, { delta }) => total + delta, 0n)
    const end = members.reduce((best, each) =>
      (most[without(set, each.index)] ?? 0) > (most[without(set, best.index)] ?? 0) ? each : best,
    )
    settles[set] = sum <= tolerance / 2n && sum >= -tolerance / 2n
    last[set] = end.index
    most[set] = (most[without(set, end.index)] ?? 0) + (settles[set] ? 1 : 0)
  }
  return groupsOf(open, { settles, last })
}

function contains(set: number, index: number): boolean {
  return (set & (1 << index)) !== 0
}

function without(set: number, index: number): number {
  return set & ~(1 << index)
}

/** Walks the order backwards and splits it wherever the rest settles by itself. */
function groupsOf<Member>(
  open: readonly Balance<Member>[],
  order: { readonly settles: readonly boolean[]; readonly last: readonly number[] },
): readonly (readonly Balance<Member>[])[] {
  const groups: Balance<Member>[][] = []
  let group: Balance<Member>[] = []
  for (let set = (1 << open.length) - 1; set !== 0; ) {
    const index = order.last[set] ?? 0
    group.push(...open.slice(index, index + 1))
    set = without(set, index)
    if (!order.settles[set]) continue
    groups.push(group)
    group = []
  }
  return groups
}

/** Transfers from the largest surplus to the largest lack: each transfer settles at least one member. */
function settleGroup<Member>(group: readonly Balance<Member>[]): readonly Transfer<Member>[] {
  const byDelta = group.toSorted((a, b) => compare(a.delta, b.delta))
  const lacking = byDelta.filter(({ delta }) => delta < 0n).map((each) => ({ ...each }))
  const surplus = byDelta.filter(({ delta }) => delta > 0n).map((each) => ({ ...each }))
  const transfers: Transfer<Member>[] = []
  let from = surplus.pop()
  let to = lacking.shift()
  while (from !== undefined && to !== undefined) {
    const value = minOf(from.delta, -to.delta)
    transfers.push({ from: from.member, to: to.member, value })
    from = { ...from, delta: from.delta - value }
    to = { ...to, delta: to.delta + value }
    if (from.delta === 0n) from = surplus.pop()
    if (to.delta === 0n) to = lacking.shift()
  }
  return transfers
}

function compare(a: bigint, b: bigint): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
