import type { Token } from '../../../src/domain/money/token.ts'
import { baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import {
  type CallIntent,
  type Intent,
  intentId,
  type Outcome,
  type SwapIntent,
} from '../../../src/domain/order/intent.ts'
import type { FillReopened } from '../../../src/journal/events/order/fills.ts'
import type {
  ContextOf,
  JournalEvent,
  Recorded,
  RecordPlace,
} from '../../../src/journal/events/registry.ts'
import type { Trade } from '../../../src/journal/ledger/entry.ts'
import type { CallCosts, CloseReason } from '../../../src/journal/records.ts'
import { bytes32, callIntentOf, executionOf, fillOf, intentOf } from './journal-events.ts'

/** An event with its preceding context, without its position in a journal. */
export type Happened = Pick<Recorded, 'event' | 'context'>

/** An event with the context that its module would give it. */
export function happened<Event extends JournalEvent>(
  event: Event,
  ...context: object extends ContextOf<Event['type']> ? [] : [ContextOf<Event['type']>]
): Happened {
  return { event, context: context[0] ?? {} } as Happened
}

export function onRecord(what: Happened, record: RecordPlace = { seq: 1, atMs: 0 }): Recorded {
  return { ...what, record } as Recorded
}

export function isHappened(what: object): what is Happened {
  return 'context' in what
}

type Order = { readonly strategy: string; readonly slotSeconds: number }

type Swap = Pick<Trade, 'sell' | 'buy' | 'vsFeedBps'> & {
  readonly paid: bigint
  readonly received: bigint
  readonly durationMs: number
}

function swapOf({ strategy, slotSeconds, sell, buy }: Order & Pick<Swap, 'sell' | 'buy'>) {
  const swap = intentOf(slotSeconds, strategy)
  const sides = {
    sell: { token: sell, native: false },
    buy: { token: buy, native: false },
  }
  return { ...swap, ...sides } satisfies SwapIntent
}

function tradeOf(intent: SwapIntent, { paid, received, vsFeedBps }: Swap): Omit<Trade, 'txHash'> {
  return {
    type: 'trade',
    atMs: 0,
    strategy: intent.strategy,
    intentId: intent.id,
    paper: false,
    sell: intent.sell.token,
    buy: intent.buy.token,
    paid: baseUnits(paid),
    received: baseUnits(received),
    vsFeedBps,
    fee: undefined,
  }
}

/** A proven swap. */
export function filled(
  of: Order & Swap & { readonly txHash: Hex; readonly isFinal?: boolean; readonly atMs?: number },
): Happened {
  const { txHash, durationMs, isFinal = false, atMs = 0 } = of
  const intent = swapOf(of)
  const entry = { ...tradeOf(intent, of), atMs, txHash }
  const { paid, received } = of
  const blockHash = isFinal ? undefined : bytes32(1)
  const fill = { ...fillOf(intent), paid: baseUnits(paid), received: baseUnits(received), txHash }
  return happened(
    { type: 'fill-proven', intentId: intent.id, attempt: 1, fill: { ...fill, blockHash } },
    { intent, entry, durationMs },
  )
}

/** A swap that dry-run recorded. */
export function filledOnPaper(
  of: Order & Swap & { readonly moved: { paid: string; received: string } },
): Happened {
  const { moved, durationMs } = of
  const intent = swapOf(of)
  const entry = { ...tradeOf(intent, of), paper: true, txHash: undefined }
  const [paid, received] = [baseUnits(of.paid), baseUnits(of.received)]
  return happened(
    { type: 'paper-filled', intentId: intent.id, attempt: 1, paid, received },
    { intent, entry, moved, durationMs },
  )
}

/** A proven call. */
export function executed(
  of: Order & {
    readonly via: 'aggregated' | 'direct'
    readonly label: string
    readonly costs: CallCosts
    readonly txHash: Hex
    readonly durationMs: number
  },
): Happened {
  const { strategy, slotSeconds, via, label, costs, txHash, durationMs } = of
  const intent: CallIntent = { ...callIntentOf(slotSeconds, strategy), label, value: baseUnits(0n) }
  const execution = { ...executionOf(intent), via, costs, txHash }
  const { charged, blob = 0n } = costs
  return happened(
    { type: 'call-proven', intentId: intent.id, attempt: 1, execution },
    {
      intent,
      entry: {
        ...{ type: 'call', atMs: 0, strategy, intentId: intent.id, paper: false, venue: via },
        ...{ label, value: intent.value, charged, blob, txHash },
      },
      durationMs,
    },
  )
}

/** The end of an intent: of a swap, or of a call. */
export function closed(
  of: Order & {
    readonly venue?: Intent['venue']
    readonly outcome: Outcome
    readonly reason: CloseReason
    readonly detail?: string
  },
): Happened {
  const { strategy, slotSeconds, venue = 'gasless', ...end } = of
  const intent =
    venue === 'gasless' ? intentOf(slotSeconds, strategy) : callIntentOf(slotSeconds, strategy)
  return happened({ type: 'intent-closed', intentId: intent.id, ...end }, { intent })
}

/** A fill that a reorganisation took back. */
export function reopened({ strategy, slotSeconds }: Order): Happened {
  const intent = intentOf(slotSeconds, strategy)
  const event: FillReopened = {
    ...{ type: 'fill-reopened', intentId: intent.id, attempt: 1 },
    ...{ blockNumber: 7n, blockHash: bytes32(2) },
  }
  return happened(event, { intent, moved: { paid: '25 USDC', received: '0.00998 WETH' } })
}

/** Fills that no reorganisation can take back any more. */
export function final(...orders: readonly Order[]): Happened {
  const intentIds = orders.map((order) => intentId({ ...order, leg: 0 }))
  return happened(
    { type: 'fills-final', orders: intentIds.map((id) => `${id}:1`), blockNumber: 9n },
    { intentIds },
  )
}

/** A token by its symbol. */
export function tokenOf(symbol: string, decimals: number): Token {
  return { symbol, chain: 'base', chainId: 8453, address: `0x${'11'.repeat(20)}`, decimals }
}
