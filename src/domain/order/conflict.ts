/**
 * Claims of a service that no other source confirms, or answers that it owed. Closed: each pair is the labels of a metric.
 *
 * - `filled`: an order that the chain does not show as filled
 * - `transaction`: a transaction named for a fill that shows no fill of ours
 * - `receipt`: a transaction named for a call that does not contain it
 * - `ended`: an order reported as ended or refused that was executed
 * - `submit`: no answer to a submission, so it is retried
 * - `login`: our login refused
 * - `nodes-disagree`: nodes of one chain contradict each other
 * - `reorganised`: a fill or wallet transaction removed by a reorg
 * - `tokens`: token decimals that differ from the config's
 * - `code`: contract code that differs from the record, or none, and no final block confirms it
 * - `clock`: only the service's clock keeps an order from having expired
 */
export const DISBELIEVED = {
  gasless: ['filled', 'transaction', 'ended', 'submit', 'tokens', 'clock'],
  aggregator: ['receipt', 'ended', 'submit', 'login'],
  rpc: ['nodes-disagree', 'reorganised', 'code'],
} as const

export type ServiceConflict = {
  [Service in keyof typeof DISBELIEVED]: {
    readonly service: Service
    readonly what: (typeof DISBELIEVED)[Service][number]
  }
}[keyof typeof DISBELIEVED]
