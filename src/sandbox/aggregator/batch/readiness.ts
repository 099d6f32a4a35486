import type { Hex } from 'viem'
import { blockAt, type Rpc } from '../../evm/rpc.ts'
import { executeData, nestedNonce, readAccount, revertOf } from '../chain/aggregator-chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { type AggregatedCall, blobsOf } from './calls.ts'

type Readiness =
  | { readonly kind: 'now' | 'later' }
  | { readonly kind: 'never'; readonly reason: string }

const LATER: Readiness = { kind: 'later' }

/** Simulates the call at the latest block, after earlier calls of its account. */
export async function readinessOf(
  call: Pick<AggregatedCall, 'account' | 'work' | 'earliestBlock' | 'blobs'>,
  deps: { readonly rpc: Rpc; readonly contracts: AggregatorContracts; readonly relayer: Hex },
  before: readonly AggregatedCall[] = [],
): Promise<Readiness> {
  const { rpc, contracts, relayer: from } = deps
  const { work } = call
  const [block, { code }] = await Promise.all([
    blockAt(rpc, 'latest'),
    readAccount(rpc, call.account),
  ])
  if (work.deadline !== undefined && BigInt(block.timestamp) > work.deadline)
    return never('the deadline has passed')
  const proposer =
    work.proposer === 'trusted' ? contracts.trustedProposer : contracts.trustlessProposer
  if (code.kind !== 'delegated' || code.to !== proposer.toLowerCase())
    return never('the account is not delegated to its proposer any more')
  if (BigInt(block.number) + 1n < call.earliestBlock) return LATER
  if (work.proposer === 'trustless') {
    const next = (await nestedNonce(rpc, call.account)) + BigInt(before.length)
    if (work.nonce > next) return LATER
    if (work.nonce < next) return never('the nonce has been used')
  }
  const calls = [...before, call]
  const batch = { from, to: contracts.multicall, data: executeData(calls) }
  const revert = await revertOf(rpc, { ...batch, ...blobHashes(calls) })
  return revert === undefined ? { kind: 'now' } : never(revert)
}

/** The hashes of the calls' blobs, for a simulation. */
export function blobHashes(calls: readonly Pick<AggregatedCall, 'blobs'>[]) {
  const blobs = blobsOf(calls)
  return blobs && { blobVersionedHashes: blobs.blobVersionedHashes }
}

function never(reason: string): Readiness {
  return { kind: 'never', reason }
}
