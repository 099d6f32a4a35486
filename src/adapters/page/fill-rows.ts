import type { Fact } from '../../domain/book/fact.ts'
import { ETHER, type Token } from '../../domain/token.ts'
import { formatAmount } from '../../domain/units.ts'
import type { Explorer } from './explorer.ts'
import type { Amount, FillRow } from './model.ts'

/** A fact that says that something was filled. */
export type FillFact = Extract<Fact, { type: 'filled' | 'paper-filled' | 'executed' }>

/** What was filled, and where in the journal that stands. */
export type FillEntry = {
  /** Number of its record. */
  readonly seq: number
  readonly atMs: number
  /** Whether a reorganisation took it back since. */
  readonly undone: boolean
  readonly fill: FillFact | BareFill
}

/** A fill whose record alone is at hand, without those that say what was to be traded. */
export type BareFill = {
  readonly type: 'bare'
  readonly strategy: string
  readonly intentId: string
  readonly venue: string
  readonly paper: boolean
  readonly txHash: string | undefined
}

/** Where each venue's transactions can be looked at. */
export type Explorers = { readonly swaps: Explorer; readonly calls: Explorer }

export function isFill(fact: Fact): fact is FillFact {
  return fact.type === 'filled' || fact.type === 'paper-filled' || fact.type === 'executed'
}

export function fillRow(entry: FillEntry, explorers: Explorers): FillRow {
  const { atMs, undone, fill } = entry
  const { strategy, intentId, venue } = fill
  const txHash = 'txHash' in fill ? (fill.txHash ?? null) : null
  const explorer = venue === 'gasless' ? explorers.swaps : explorers.calls
  const paper = fill.type === 'paper-filled' || (fill.type === 'bare' && fill.paper)
  return {
    intentId,
    strategy,
    slotSeconds: slotOf(intentId),
    atMs,
    venue,
    paper,
    ...movedIn(fill),
    txHash,
    explorerUrl: explorer.transaction(txHash ?? undefined),
    undone,
  }
}

type Moved = Pick<FillRow, 'sold' | 'bought' | 'call' | 'vsFeedBps' | 'charged'>

const NOTHING: Moved = { sold: null, bought: null, call: null, vsFeedBps: null, charged: null }

function movedIn(fill: FillFact | BareFill): Moved {
  switch (fill.type) {
    case 'filled':
      return swapped(fill)
    case 'executed': {
      const { charged } = fill.costs
      return {
        ...NOTHING,
        call: fill.label,
        charged: charged === undefined ? null : amountOf(charged, ETHER),
      }
    }
    case 'paper-filled':
      if (fill.swap !== undefined) return swapped(fill.swap)
      return { ...NOTHING, call: 'call' in fill.moved ? fill.moved.call : null }
    case 'bare':
      return NOTHING
  }
}

function swapped(swap: {
  readonly sell: Token
  readonly buy: Token
  readonly paid: bigint
  readonly received: bigint
  readonly vsFeedBps: number | undefined
}): Moved {
  return {
    ...NOTHING,
    sold: amountOf(swap.paid, swap.sell),
    bought: amountOf(swap.received, swap.buy),
    vsFeedBps: swap.vsFeedBps ?? null,
  }
}

function amountOf(amount: bigint, { symbol, decimals }: Token): Amount {
  return { amount: formatAmount(amount, decimals), token: symbol }
}

/** `<strategy>:<slot>:<leg>` */
function slotOf(intentId: string): number {
  return Number(intentId.split(':')[1] ?? 0)
}
