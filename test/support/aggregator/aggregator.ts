import {
  createPublicClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  type PublicClient,
  stringToHex,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { DeploymentTerms } from '../../../src/sandbox/aggregator/chain/deploy.ts'
import type { CallRecord } from '../../../src/sandbox/aggregator/rpc/admin-routes.ts'
import { type AllSettings, type SandboxOptions, settingsOf } from '../../../src/sandbox/options.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { admin } from '../sandbox.ts'
import { waitFor } from '../wait-for.ts'
import { DEMO, PROPOSER } from './aggregator-abi.ts'

export const SEPOLIA = 11_155_111
export const ETHER = 10n ** 18n

/** No strangers, no automatic settlement, no delays: tests enable what they need. */
export const QUIET: SandboxOptions['aggregator'] = {
  window: 50,
  indexingDelay: 0,
  settleEvery: 0,
  traffic: { every: 0 },
  rateLimit: { limit: 1_000_000, windowMs: 10_000 },
}

/** Both readings of the interface descriptions, for suites that hold for either. */
export const READINGS: readonly AllSettings['reading'][] = ['deployed', 'described']

/** The contracts of a reading. */
export function contractsOfReading(reading: AllSettings['reading']): DeploymentTerms {
  return settingsOf({ reading }).aggregator
}

/** An HTTP answer of the JSON-RPC endpoint. */
export type RpcReply = {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of many shapes, wrong ones too
  readonly body: any
}

export function sepoliaClient(sandbox: Sandbox): PublicClient {
  const transport = http(sandbox.sepolia.rpcUrl, { retryCount: 0, timeout: 120_000 })
  return createPublicClient({ transport, cacheTime: 0 })
}

/** Posts a body exactly as given. */
export async function post(
  sandbox: Sandbox,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcReply> {
  const response = await fetch(sandbox.aggregatorUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    body: text,
  })
  const body = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: body === '' ? undefined : JSON.parse(body),
  }
}

export function bodyOf(method: string, params: readonly unknown[], id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export function call(
  sandbox: Sandbox,
  method: string,
  params: readonly unknown[],
): Promise<RpcReply> {
  return post(sandbox, bodyOf(method, params))
}

/** The result, or a failed test. */
// biome-ignore lint/suspicious/noExplicitAny: results have many shapes
export async function result(sandbox: Sandbox, method: string, params: unknown[]): Promise<any> {
  const { body } = await call(sandbox, method, params)
  if (body.error !== undefined) throw new Error(`${method}: ${body.error.message}`)
  return body.result
}

/** Signs a body as its sender's credential. */
export async function credential(account: PrivateKeyAccount, text: string): Promise<string> {
  const signature = await account.signMessage({ message: { raw: keccak256(stringToHex(text)) } })
  return `${account.address}:${signature}`
}

export async function accountInfo(sandbox: Sandbox, account: PrivateKeyAccount): Promise<RpcReply> {
  const text = bodyOf('agg_accountInfo', [account.address])
  return post(sandbox, text, { 'x-relay-signature': await credential(account, text) })
}

/** Balance and charges in wei. */
export async function funds(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
): Promise<{ balance: bigint; outstanding: bigint }> {
  const { body } = await accountInfo(sandbox, account)
  return {
    balance: BigInt(body.result.balance),
    outstanding: BigInt(body.result.outstanding_charge),
  }
}

/** Wei of a new account, and its key if a test needs to know it. */
type AccountTerms = { readonly coin?: bigint; readonly deposit?: bigint; readonly key?: Hex }

/** A new account with coin and, by default, a deposit. */
export async function newAccount(
  sandbox: Sandbox,
  terms: AccountTerms = {},
): Promise<PrivateKeyAccount> {
  const { coin = ETHER, deposit = ETHER / 10n, key = generatePrivateKey() } = terms
  const account = privateKeyToAccount(key)
  const grant = (amount: bigint) => ({ address: account.address, amount: amount.toString() })
  if (coin > 0n) await admin(sandbox, 'POST', '/aggregator/fund', grant(coin))
  if (deposit > 0n) await admin(sandbox, 'POST', '/aggregator/deposit', grant(deposit))
  return account
}

type TransactionFields = {
  readonly to?: Hex
  readonly data?: Hex
  readonly value?: bigint
  readonly nonce?: number
  readonly gas?: bigint
  readonly chainId?: number
}

/** A signed ordinary transaction; its nonce is the account's unless given. */
export async function rawTransaction(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  fields: TransactionFields,
): Promise<Hex> {
  const nonce = fields.nonce ?? (await nonceOf(sandbox, account))
  return account.signTransaction({
    type: 'eip1559',
    chainId: sandbox.sepolia.chainId,
    gas: 300_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    ...fields,
    nonce,
  })
}

export function nonceOf(sandbox: Sandbox, account: PrivateKeyAccount): Promise<number> {
  return sepoliaClient(sandbox).getTransactionCount({ address: account.address })
}

/** A transaction to the zero address with an authorization. */
export async function delegationTransaction(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  terms: {
    delegate: Hex
    /** Of the authorization, over the account's nonce. */
    nonceAhead?: number
    /** Of the transaction around it; default the account's. */
    envelopeNonce?: number
    chainId?: number
    signer?: PrivateKeyAccount
    to?: Hex
  },
): Promise<Hex> {
  const nonce = await nonceOf(sandbox, account)
  const authorization = await (terms.signer ?? account).signAuthorization({
    chainId: terms.chainId ?? sandbox.sepolia.chainId,
    contractAddress: terms.delegate,
    nonce: nonce + (terms.nonceAhead ?? 0),
  })
  return account.signTransaction({
    type: 'eip7702',
    chainId: sandbox.sepolia.chainId,
    to: terms.to ?? zeroAddress,
    nonce: terms.envelopeNonce ?? nonce,
    gas: 200_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    authorizationList: [authorization],
  })
}

/** A new account delegated through the service. */
export async function delegatedAccount(
  sandbox: Sandbox,
  proposer: 'trusted' | 'trustless',
  terms: AccountTerms = {},
): Promise<PrivateKeyAccount> {
  const account = await newAccount(sandbox, terms)
  const { trustedProposer, trustlessProposer } = sandbox.sepolia.contracts
  const delegate = proposer === 'trusted' ? trustedProposer : trustlessProposer
  await submitAndLand(sandbox, await delegationTransaction(sandbox, account, { delegate }))
  return account
}

export type SignedTerms = {
  readonly deadline: bigint
  readonly nonce: bigint
  readonly target: Hex
  readonly value: bigint
  readonly calldata: Hex
  readonly gasLimit: bigint
}

const CALL_TYPES = {
  Call: [
    { name: 'deadline', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'target', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'calldata', type: 'bytes' },
    { name: 'gasLimit', type: 'uint256' },
  ],
} as const

/** The `_data` of onCall, signed for the given verifying contract; by default on Sepolia. */
export async function signedPayload(
  signer: PrivateKeyAccount,
  verifyingContract: Hex,
  terms: SignedTerms,
  chainId: number = SEPOLIA,
): Promise<Hex> {
  const signature = await signer.signTypedData({
    domain: { name: 'TrustlessProposer', version: '1', chainId, verifyingContract },
    types: CALL_TYPES,
    primaryType: 'Call',
    message: terms,
  })
  const { deadline, nonce, calldata, gasLimit } = terms
  return encodeAbiParameters(
    [
      { type: 'bytes' },
      { type: 'uint256' },
      { type: 'uint256' },
      { type: 'bytes' },
      { type: 'uint256' },
    ],
    [signature, deadline, nonce, calldata, gasLimit],
  )
}

export function termsOf(sandbox: Sandbox, changes: Partial<SignedTerms> = {}): SignedTerms {
  return {
    deadline: BigInt(Math.floor(Date.now() / 1000) + 120),
    nonce: 0n,
    target: sandbox.sepolia.contracts.demoTarget,
    value: 0n,
    calldata: recordData('11'),
    gasLimit: 120_000n,
    ...changes,
  }
}

export function recordData(byte: string): Hex {
  return encodeFunctionData({
    abi: DEMO,
    functionName: 'record',
    args: [`0x${byte.repeat(32)}`],
  })
}

/** The contract that the account's signatures must name: by its code, or the proposer if it has none. */
export async function domainContractOf(
  sandbox: Sandbox,
  { address }: PrivateKeyAccount,
): Promise<Hex> {
  const code = await sepoliaClient(sandbox).getCode({ address })
  if (!code?.endsWith(sandbox.sepolia.contracts.trustlessProposer.slice(2).toLowerCase()))
    return sandbox.sepolia.contracts.trustlessProposer
  const domain = await sepoliaClient(sandbox).readContract({
    ...{ address, abi: PROPOSER, functionName: 'eip712Domain' },
  })
  return domain[4]
}

/** Calldata of onCall with a signed call inside, for the account's domain. */
export async function onCallData(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  terms: SignedTerms,
): Promise<Hex> {
  const contract = await domainContractOf(sandbox, account)
  const payload = await signedPayload(account, contract, terms, sandbox.sepolia.chainId)
  const args = [terms.target, payload, terms.value] as const
  return encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
}

/** Addressed to the account itself, as published clients do, or to the TrustlessProposer, as described. */
type Envelope = { readonly to?: 'account' | 'proposer'; readonly nonce?: number }

/** A signed transaction with a signed call inside. */
export async function trustlessTransaction(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  changes: Partial<SignedTerms> = {},
  envelope: Envelope = {},
): Promise<Hex> {
  const data = await onCallData(sandbox, account, termsOf(sandbox, changes))
  const { trustlessProposer } = sandbox.sepolia.contracts
  const to = envelope.to === 'proposer' ? trustlessProposer : account.address
  const { nonce } = envelope
  return rawTransaction(sandbox, account, { to, data, ...(nonce === undefined ? {} : { nonce }) })
}

export function submit(sandbox: Sandbox, raw: Hex): Promise<RpcReply> {
  return call(sandbox, 'eth_sendRawTransaction', [raw])
}

/** Submits and waits for the receipt. */
// biome-ignore lint/suspicious/noExplicitAny: tests read receipts
export async function submitAndLand(sandbox: Sandbox, raw: Hex): Promise<any> {
  return landed(sandbox, await result(sandbox, 'eth_sendRawTransaction', [raw]))
}

// biome-ignore lint/suspicious/noExplicitAny: tests read receipts
export async function landed(sandbox: Sandbox, hash: Hex): Promise<any> {
  return waitFor(`${hash} to land`, () => result(sandbox, 'eth_getTransactionReceipt', [hash]))
}

/** The true state of a transaction, once it is as the test needs it. */
export async function recordWhen(
  sandbox: Sandbox,
  hash: Hex,
  isSo: (record: CallRecord) => boolean,
): Promise<CallRecord> {
  const read = async () => {
    const all: CallRecord[] = (await admin(sandbox, 'GET', '/aggregator/calls')).body
    return all.find((candidate) => candidate.hash === hash)
  }
  return waitFor(`a record of ${hash}`, read, (record) => record !== undefined && isSo(record))
}

export function callsOf(sandbox: Sandbox, account: PrivateKeyAccount): Promise<bigint> {
  return sepoliaClient(sandbox).readContract({
    address: sandbox.sepolia.contracts.demoTarget,
    abi: DEMO,
    functionName: 'callsOf',
    args: [account.address],
  })
}
