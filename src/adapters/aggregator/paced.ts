import type { AggregatorRoute } from '../../domain/observation.ts'
import type { Aggregator, Queue } from '../../ports.ts'

/**
 * The aggregation service behind a queue. Each method has a share of its own, so that watching an account cannot keep a
 * call from being sent.
 */
export function paceAggregator(service: Aggregator, queue: Queue<AggregatorRoute>): Aggregator {
  return {
    sendRawTransaction: (raw) =>
      queue.run('sendRawTransaction', () => service.sendRawTransaction(raw)),
    receipt: (hash) => queue.run('getTransactionReceipt', () => service.receipt(hash)),
    batchedReceipt: (hash) =>
      queue.run('getBatchedTransactionReceipt', () => service.batchedReceipt(hash)),
    accountInfo: (account) => queue.run('accountInfo', () => service.accountInfo(account)),
    transactionStatus: (hash) =>
      queue.run('transactionStatus', () => service.transactionStatus(hash)),
  }
}
