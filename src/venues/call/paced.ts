import type { AggregatorRoute } from '../../domain/observation.ts'
import type { Aggregator, Queue, Turn } from '../../ports.ts'

/** The aggregation service behind its queue. */
export type PacedAggregator = Aggregator & {
  /**
   * Runs `ask` when its turn comes, so that it can look once more whether there is still something to ask. A turn that
   * has not come when `end` is aborted never does, and undefined is the answer at once.
   */
  onTurn<Result>(
    end: AbortSignal,
    route: AggregatorRoute,
    ask: (service: Aggregator, turn: Turn) => Promise<Result>,
  ): Promise<Result | undefined>
}

/**
 * Puts the service behind a queue. Each method has a share of its own, so that watching an account cannot keep a call from
 * being sent.
 */
export function paceAggregator(
  service: Aggregator,
  queue: Queue<AggregatorRoute>,
): PacedAggregator {
  return {
    sendRawTransaction: (raw) =>
      queue.run('sendRawTransaction', () => service.sendRawTransaction(raw)),
    receipt: (hash) => queue.run('getTransactionReceipt', () => service.receipt(hash)),
    batchedReceipt: (hash) =>
      queue.run('getBatchedTransactionReceipt', () => service.batchedReceipt(hash)),
    accountInfo: () => queue.run('accountInfo', () => service.accountInfo()),
    transactionStatus: (hash) =>
      queue.run('transactionStatus', () => service.transactionStatus(hash)),
    onTurn: (end, route, ask) => queue.runUnless(end, route, (turn) => ask(service, turn)),
  }
}
