import {
  decodeAbiParameters,
  decodeFunctionData,
  type Hex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
  zeroAddress,
} from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import type { RpcAuthorization } from '../../evm/sender.ts'
import { lower } from '../account/accounts.ts'
import { trustlessProposerAbi } from '../chain/abi.ts'

/** A signed transaction taken apart; addresses in lower case. */
export type RawTransaction = {
  readonly raw: Hex
  /** Keccak-256 of the raw bytes. */
  readonly hash: Hex
  readonly sender: Hex
  readonly chainId: number | undefined
  readonly nonce: number
  readonly gas: bigint
  /** Undefined creates a contract. */
  readonly to: Hex | undefined
  readonly data: Hex
  readonly value: bigint
  readonly carriesBlobs: boolean
  readonly authorizations: readonly Authorization[]
}

export type Authorization = {
  readonly chainId: number
  readonly nonce: number
  /** Code to delegate to; the zero address clears. */
  readonly delegate: Hex
  readonly signer: Hex
  readonly rpc: RpcAuthorization
}

/** A call as the TrustlessProposer's owner signed it. */
export type SignedCall = {
  readonly deadline: bigint
  readonly nonce: bigint
  readonly target: Hex
  readonly value: bigint
  readonly callData: Hex
  readonly gasLimit: bigint
  /** `_data` of onCall, as it came. */
  readonly payload: Hex
}

const SIGNED_CALL = [
  { type: 'bytes' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes' },
  { type: 'uint256' },
] as const

/** Undefined if the bytes are no signed transaction. */
export async function readRawTransaction(raw: Hex): Promise<RawTransaction | undefined> {
  try {
    const transaction = parseTransaction(raw as TransactionSerialized)
    const serializedTransaction = raw as Parameters<
      typeof recoverTransactionAddress
    >[0]['serializedTransaction']
    const list = 'authorizationList' in transaction ? (transaction.authorizationList ?? []) : []
    return {
      raw,
      hash: keccak256(raw),
      sender: lower(await recoverTransactionAddress({ serializedTransaction })),
      chainId: transaction.chainId,
      nonce: transaction.nonce ?? 0,
      gas: transaction.gas ?? 0n,
      to: transaction.to ? lower(transaction.to) : undefined,
      data: transaction.data ?? '0x',
      value: transaction.value ?? 0n,
      carriesBlobs: transaction.type === 'eip4844',
      authorizations: await Promise.all(list.map(readAuthorization)),
    }
  } catch {
    // The parser throws whatever it stumbled over: none of it tells the sender more than that.
    return undefined
  }
}

/** A transaction to the zero address that carries authorizations asks for nothing but delegation. */
export function asksForDelegation({ to, authorizations }: RawTransaction): boolean {
  return authorizations.length > 0 && to === zeroAddress
}

/** The signed call inside onCall calldata; undefined if it is something else. */
export function readSignedCall(data: Hex): SignedCall | undefined {
  try {
    const { args } = decodeFunctionData({ abi: trustlessProposerAbi, data })
    if (args === undefined || args.length !== 3) return undefined
    const [target, payload, value] = args
    const [, deadline, nonce, callData, gasLimit] = decodeAbiParameters(SIGNED_CALL, payload)
    return { deadline, nonce, target: lower(target), value, callData, gasLimit, payload }
  } catch {
    // Not the calldata of onCall, or a payload that no TrustlessProposer could decode.
    return undefined
  }
}

type ListedAuthorization = NonNullable<
  Extract<ReturnType<typeof parseTransaction>, { authorizationList?: unknown }>['authorizationList']
>[number]

async function readAuthorization(authorization: ListedAuthorization): Promise<Authorization> {
  const { address, chainId, nonce, r, s, yParity } = authorization
  return {
    chainId,
    nonce,
    delegate: lower(address),
    signer: lower(await recoverAuthorizationAddress({ authorization })),
    rpc: {
      chainId: quantity(chainId),
      address,
      nonce: quantity(nonce),
      yParity: quantity(yParity ?? 0),
      // A quantity has no leading zeros, which a signature's half may have.
      r: quantity(BigInt(r)),
      s: quantity(BigInt(s)),
    },
  }
}

function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}
