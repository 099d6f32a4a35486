import type { AggregatorRoute } from '../../journal/runtime-event.ts'
import type { Aggregator, Queue, Turn } from '../../ports.ts'

export type PacedAggregator = Aggregator & {
  /** Runs `ask` at its turn, where it can check again that it is needed. Returns undefined at once if `end` aborts first. */
  onTurn<Result>(
    end: AbortSignal,
    route: AggregatorRoute,
    ask: (service: Aggregator, turn: Turn) => Promise<Result>,
  ): Promise<Result | undefined>
}

/** Puts the service behind a queue. Each method has its own share, so account reads cannot delay submissions. */
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
