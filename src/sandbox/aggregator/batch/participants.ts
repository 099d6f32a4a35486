import { randomBytes } from 'node:crypto'
import { encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { rpcAuthorization, sendOrThrow } from '../../evm/sender.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import { demoTargetAbi } from '../chain/abi.ts'
import { executeData } from '../chain/aggregator-chain.ts'
import { type AggregatorDeployment, depositFor } from '../chain/deploy.ts'
import type { Batcher } from './batcher.ts'
import { type AggregatedCall, newCall, trustedWork } from './calls.ts'

const DEPOSIT = 100n * 10n ** 18n
const GAS_LIMIT = 150_000n
/** More than a participant's call costs at any gas price of the sandbox. */
const RESERVED = 10n ** 16n

/** Creates accounts with a deposit each, delegated to the TrustedProposer in one transaction. */
export async function createParticipants(
  deployment: AggregatorDeployment,
  { chainId, count }: { readonly chainId: number; readonly count: number },
): Promise<Hex[]> {
  const terms = { chainId, contractAddress: deployment.contracts.trustedProposer, nonce: 0 }
  const keys = Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()))
  const signed = await Promise.all(keys.map((account) => account.signAuthorization(terms)))
  await sendOrThrow(deployment.deployer, 'delegating the participants', {
    to: zeroAddress,
    authorizations: signed.map(rpcAuthorization),
  })
  const accounts = keys.map(({ address }) => lower(address))
  for (const account of accounts) await depositFor(deployment, account, DEPOSIT)
  return accounts
}

/**
 * Each run calls the demo target from the next participant, unless its last call still waits or its deposit is too small.
 */
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
    deps.batcher.add(participantCall(account, deps))
  }
}

/** A participant's call that reverts its batch. */
export function hostileCall(
  account: Hex,
  demoTarget: Hex,
): Pick<AggregatedCall, 'account' | 'work'> {
  const data = encodeFunctionData({ abi: demoTargetAbi, functionName: 'fail' })
  return { account, work: participantWork(demoTarget, data) }
}

/** Executes a batch without customers' calls. False receipts refer to it. */
export async function executeForeignBatch(
  deployment: AggregatorDeployment,
  participants: readonly Hex[],
): Promise<Hex> {
  const { multicall, demoTarget } = deployment.contracts
  const calls = participants.map((account) =>
    participantCall(account, { demoTarget, patienceMs: 0 }),
  )
  const { transactionHash } = await sendOrThrow(deployment.relayer, 'executing a batch', {
    to: multicall,
    data: executeData(calls),
  })
  return transactionHash
}

function participantCall(
  account: Hex,
  { demoTarget, patienceMs }: { demoTarget: Hex; patienceMs: number },
): AggregatedCall {
  const hash: Hex = `0x${randomBytes(32).toString('hex')}`
  const data = encodeFunctionData({ abi: demoTargetAbi, functionName: 'record', args: [hash] })
  return newCall(
    { hash, account, work: participantWork(demoTarget, data), faults: [] },
    { reserved: RESERVED, patienceMs },
  )
}

function participantWork(to: Hex, data: Hex): AggregatedCall['work'] {
  return trustedWork({ to, data, value: 0n }, { gas: GAS_LIMIT, nonce: 0 })
}
