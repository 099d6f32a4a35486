import { minOf } from '../domain/units.ts'

/** What one member of a portfolio has too much (positive) or too little of (negative), in one unit of value. */
export type Balance<Member> = { readonly member: Member; readonly delta: bigint }

/** Value that goes from one member to another. */
export type Transfer<Member> = {
  readonly from: Member
  readonly to: Member
  readonly value: bigint
}

/** Subsets are searched exactly up to this many members; 2^12 of them take well under a millisecond. */
const EXACT_MEMBERS_MAX = 12

/**
 * The fewest transfers that settle the balances, leaving at most `tolerance` with anyone. As many groups as can settle
 * among themselves are found first: a group of n needs n - 1 transfers.
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
 * Splits into the most groups whose sums are nearly nothing: members are lined up so that as many beginnings of the line
 * as possible sum to nothing, and between two such beginnings stands a group. `most[set]` counts them for the best line
 * of a subset, and `last[set]` is who stands at its end.
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

/** Walks the line back from its end and parts it wherever what is left settles by itself. */
function groupsOf<Member>(
  open: readonly Balance<Member>[],
  line: { readonly settles: readonly boolean[]; readonly last: readonly number[] },
): readonly (readonly Balance<Member>[])[] {
  const groups: Balance<Member>[][] = []
  let group: Balance<Member>[] = []
  for (let set = (1 << open.length) - 1; set !== 0; ) {
    const index = line.last[set] ?? 0
    group.push(...open.slice(index, index + 1))
    set = without(set, index)
    if (!line.settles[set]) continue
    groups.push(group)
    group = []
  }
  return groups
}

/** Largest surplus to largest lack, until one side is settled: each transfer settles at least one member. */
function settleGroup<Member>(group: readonly Balance<Member>[]): readonly Transfer<Member>[] {
  const byDelta = [...group].sort((a, b) => compare(a.delta, b.delta))
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
