/**
 * What a service said that nobody else bears out, or left unsaid that it owed. Closed: each pair is the labels of a metric.
 *
 * - `filled`: an order that the chain does not show as filled
 * - `transaction`: a transaction named for a fill that shows no fill of ours
 * - `receipt`: a transaction named for a call that does not hold it
 * - `ended`: an order ended or refused that was executed all the same
 * - `submit`: no answer to a submission, so that it is made again
 * - `login`: our login refused
 * - `nodes-disagree`: nodes of one chain that say different things
 * - `reorganised`: a fill, or a transaction of the wallet, that a reorganisation took back
 * - `tokens`: other decimals of a token than the config's
 * - `code`: other code of a contract than is on record, or none, and no final block that shows it
 * - `clock`: the service's clock, which alone keeps an order from being dead
 */
export const DISBELIEVED = {
  gasless: ['filled', 'transaction', 'ended', 'submit', 'tokens', 'clock'],
  aggregator: ['receipt', 'ended', 'submit', 'login'],
  rpc: ['nodes-disagree', 'reorganised', 'code'],
} as const

export type Disbelief = {
  [Service in keyof typeof DISBELIEVED]: {
    readonly service: Service
    readonly what: (typeof DISBELIEVED)[Service][number]
  }
}[keyof typeof DISBELIEVED]
