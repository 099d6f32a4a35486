import type { AggregatorRoute } from '../../journal/runtime-event.ts'
import type { Aggregator, AggregatorReply, Queue, Turn } from '../../ports.ts'

export type PacedAggregator = Aggregator & {
  /** Runs `ask` at its turn, where it can check again that it is needed. Returns undefined at once if `end` aborts first. */
  onTurn<Result>(
    end: AbortSignal,
    route: AggregatorRoute,
    ask: (service: Aggregator, turn: Turn) => Promise<Result>,
  ): Promise<Result | undefined>
}

/** A read is not queued behind a longer `retry-after`, so reads do not pile up. */
const READ_WAIT_MS_MAX = 60_000
const HELD_BACK = 'the service asked to wait before the next request'

/**
 * Puts the service behind a queue. Each method has its own share, so account reads cannot delay submissions. `heldMs` is the
 * time for which the service holds a route back.
 */
export function paceAggregator(
  service: Aggregator,
  queue: Queue<AggregatorRoute>,
  heldMs: (route: AggregatorRoute) => number = () => 0,
): PacedAggregator {
  const read = <Value>(route: AggregatorRoute, ask: () => Promise<AggregatorReply<Value>>) =>
    heldMs(route) > READ_WAIT_MS_MAX ? Promise.resolve(heldBack()) : queue.run(route, ask)
  return {
    sendRawTransaction: (raw) =>
      queue.run('sendRawTransaction', () => service.sendRawTransaction(raw)),
    sendBundle: (raw, block) => queue.run('sendBundle', () => service.sendBundle(raw, block)),
    receipt: (hash) => read('getTransactionReceipt', () => service.receipt(hash)),
    batchedReceipt: (hash) =>
      read('getBatchedTransactionReceipt', () => service.batchedReceipt(hash)),
    accountInfo: () => read('accountInfo', () => service.accountInfo()),
    transactionStatus: (hash) => read('transactionStatus', () => service.transactionStatus(hash)),
    onTurn: (end, route, ask) => queue.runUnless(end, route, (turn) => ask(service, turn)),
  }
}

function heldBack(): AggregatorReply<never> {
  return { ok: false, fault: { tag: 'rateLimited', message: HELD_BACK } }
}
