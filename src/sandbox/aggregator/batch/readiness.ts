import type { Hex } from 'viem'
import type { Rpc } from '../../evm/rpc.ts'
import { executeData, nestedNonce, readAccount, revertOf } from '../chain/chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import type { AggregatedCall } from './calls.ts'

/** Whether a call can be executed: now, perhaps later, or never. */
export type Readiness =
  | { readonly kind: 'now' }
  | { readonly kind: 'later' }
  | { readonly kind: 'never'; readonly reason: string }

type ChainView = {
  readonly rpc: Rpc
  readonly contracts: AggregatorContracts
  readonly relayer: Hex
}
type Candidate = Pick<AggregatedCall, 'account' | 'work' | 'earliestBlock'>

const LATER: Readiness = { kind: 'later' }

/** Asks the chain at its latest block, and executes the call there without leaving a trace. */
export async function readinessOf(call: Candidate, view: ChainView): Promise<Readiness> {
  const { rpc, contracts } = view
  const { work } = call
  const [block, { code }] = await Promise.all([
    rpc.call<{ number: Hex; timestamp: Hex }>('eth_getBlockByNumber', ['latest', false]),
    readAccount(rpc, call.account),
  ])
  if (work.deadline !== undefined && BigInt(block.timestamp) > work.deadline) {
    return never('the deadline has passed')
  }
  const proposer =
    work.proposer === 'trusted' ? contracts.trustedProposer : contracts.trustlessProposer
  if (code.kind !== 'delegated' || code.to !== proposer.toLowerCase()) {
    return never('the account is not delegated to its proposer any more')
  }
  if (BigInt(block.number) + 1n < call.earliestBlock) return LATER
  if (work.proposer === 'trustless') {
    const next = await nestedNonce(rpc, call.account)
    if (work.nonce > next) return LATER
    if (work.nonce < next) return never('the nonce has been used')
  }
  const batch = { from: view.relayer, to: contracts.multicall, data: executeData([call]) }
  const revert = await revertOf(rpc, batch)
  return revert === undefined ? { kind: 'now' } : never(revert)
}

function never(reason: string): Readiness {
  return { kind: 'never', reason }
}
