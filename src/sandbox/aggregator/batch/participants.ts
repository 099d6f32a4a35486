import { randomBytes } from 'node:crypto'
import { encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type RpcAuthorization, sendOrThrow } from '../../evm/sender.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import { demoTargetAbi } from '../chain/abi.ts'
import { executeData } from '../chain/chain.ts'
import { type AggregatorDeployment, depositFor } from '../chain/deploy.ts'
import type { Batcher } from './batcher.ts'
import type { AggregatedCall } from './calls.ts'

const DEPOSIT = 100n * 10n ** 18n
const GAS_LIMIT = 150_000n
/** A stranger's call reserves this much: more than it can cost at any price the sandbox has. */
const RESERVED = 10n ** 16n

/** Makes accounts of strangers: delegated to the TrustedProposer in one transaction, with a deposit each. */
export async function createParticipants(
  deployment: AggregatorDeployment,
  { chainId, count }: { readonly chainId: number; readonly count: number },
): Promise<Hex[]> {
  const { contracts } = deployment
  const keys = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  const authorizations = await Promise.all(
    keys.map(async (account): Promise<RpcAuthorization> => {
      const { r, s, yParity } = await account.signAuthorization({
        chainId,
        contractAddress: contracts.trustedProposer,
        nonce: 0,
      })
      return {
        chainId: `0x${chainId.toString(16)}`,
        address: contracts.trustedProposer,
        nonce: '0x0',
        yParity: yParity === 1 ? '0x1' : '0x0',
        r: `0x${BigInt(r).toString(16)}`,
        s: `0x${BigInt(s).toString(16)}`,
      }
    }),
  )
  await sendOrThrow(deployment.deployer, 'delegating the participants', {
    to: zeroAddress,
    authorizations,
  })
  const accounts = keys.map(({ address }) => lower(address))
  for (const account of accounts) await depositFor(deployment, account, DEPOSIT)
  return accounts
}

/** Lets the next stranger call the demo target, unless its last call is still waiting. */
export function createTraffic(deps: {
  readonly participants: readonly Hex[]
  readonly demoTarget: Hex
  readonly batcher: Batcher
  readonly accounts: Accounts
  readonly patienceMs: number
}): () => Promise<void> {
  let turn = 0
  return async () => {
    const account = deps.participants[turn % deps.participants.length]
    turn += 1
    if (account === undefined || deps.batcher.queued(account).length > 0) return
    await deps.accounts.index()
    const isIndexed = deps.accounts.info(account) !== undefined
    if (!isIndexed || !deps.accounts.reserve(account, RESERVED)) return
    deps.batcher.add(strangersCall(account, deps))
  }
}

/** A call of a stranger that reverts whatever batch it is in. */
export function hostileCall(
  account: Hex,
  demoTarget: Hex,
): Pick<AggregatedCall, 'account' | 'work'> {
  const data = encodeFunctionData({ abi: demoTargetAbi, functionName: 'fail' })
  return { account, work: trustedWork(demoTarget, data) }
}

/** A batch that holds calls of strangers only: what a receipt can lie with. */
export async function executeForeignBatch(
  deployment: AggregatorDeployment,
  participants: readonly Hex[],
): Promise<Hex> {
  const { multicall, demoTarget } = deployment.contracts
  const calls = participants.map((account) => strangersCall(account, { demoTarget, patienceMs: 0 }))
  const { transactionHash } = await sendOrThrow(deployment.relayer, 'executing a batch', {
    to: multicall,
    data: executeData(calls),
  })
  return transactionHash
}

function strangersCall(
  account: Hex,
  terms: { demoTarget: Hex; patienceMs: number },
): AggregatedCall {
  const hash: Hex = `0x${randomBytes(32).toString('hex')}`
  const data = encodeFunctionData({ abi: demoTargetAbi, functionName: 'record', args: [hash] })
  const acceptedAtMs = Date.now()
  return {
    hash,
    account,
    work: trustedWork(terms.demoTarget, data),
    acceptedAtMs,
    faults: [],
    reserved: RESERVED,
    earliestBlock: 0n,
    patienceMs: terms.patienceMs,
    progress: { state: 'queued' },
    notBeforeMs: acceptedAtMs,
    revertedBatches: [],
    repeatedIn: [],
  }
}

function trustedWork(target: Hex, data: Hex): AggregatedCall['work'] {
  return {
    kind: 'aggregated',
    proposer: 'trusted',
    target,
    data,
    value: 0n,
    gasLimit: GAS_LIMIT,
    direct: { to: target, data, value: 0n },
    nonce: 0n,
    deadline: undefined,
  }
}
