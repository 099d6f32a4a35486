import type { Disbelief } from '../../../domain/disbelief.ts'

type Doubts = {
  readonly [Service in Disbelief['service']]: Readonly<
    Record<Extract<Disbelief, { service: Service }>['what'], string>
  >
}

const DOUBTS: Doubts = {
  gasless: {
    filled: 'the service says filled, and the chain does not show it',
    transaction: 'the service names a transaction that shows no such fill',
    ended: 'the service said that it was over, and it was executed all the same',
    submit: 'the service does not answer whether it has the order',
    tokens: 'the service counts a token otherwise than your config',
    clock: "only the service's clock keeps the order open",
  },
  aggregator: {
    receipt: 'the service names a transaction that does not hold the call',
    ended: 'the service said that it was over, and it was executed all the same',
    submit: 'the service does not answer whether it has the call',
    login: 'the service refuses our login',
  },
  rpc: {
    'nodes-disagree': 'the nodes say different things',
    reorganised: 'the chain took a fill back',
    code: 'a node shows other code of a contract than is on record',
  },
}

export function doubtText({ service, what }: Disbelief): string {
  return (DOUBTS[service] as Readonly<Record<string, string>>)[what] ?? what
}
