import type { Aggregator, Queue } from '../../ports.ts'

/**
 * The aggregation service behind a queue: submissions and receipt polls have shares of their own, so that watching an
 * account cannot keep a call from being sent.
 */
export function paceAggregator(service: Aggregator, queue: Queue): Aggregator {
  return {
    sendRawTransaction: (raw) => queue.run('submit', () => service.sendRawTransaction(raw)),
    sendBundle: (raw, block) => queue.run('submit', () => service.sendBundle(raw, block)),
    receipt: (hash) => queue.run('poll', () => service.receipt(hash)),
    batchedReceipt: (hash) => queue.run('poll', () => service.batchedReceipt(hash)),
    accountInfo: (account) => queue.run('quote', () => service.accountInfo(account)),
    transactionStatus: (hash, token) =>
      queue.run('tokens', () => service.transactionStatus(hash, token)),
  }
}
