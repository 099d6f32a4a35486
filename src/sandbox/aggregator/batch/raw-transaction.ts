import {
  decodeAbiParameters,
  decodeFunctionData,
  getAbiItem,
  type Hex,
  hexToBytes,
  keccak256,
  parseTransaction,
  type Signature,
  serializeTransaction,
  type TransactionSerialized,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { hashAuthorization } from 'viem/utils'
import { recoverAddress } from '../../evm/recover.ts'
import type { RpcAuthorization } from '../../evm/sender.ts'
import { lower } from '../account/accounts.ts'
import { trustlessProposerAbi } from '../chain/abi.ts'

/** A signed transaction taken apart; addresses in lower case. */
export type RawTransaction = {
  readonly raw: Hex
  /** Keccak-256 of the raw bytes; of a transaction with blobs, of the bytes without them, as the chain has it. */
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
export function readRawTransaction(raw: Hex): RawTransaction | undefined {
  try {
    const { r, s, v, yParity, ...unsigned } = parseTransaction(raw as TransactionSerialized)
    const withoutBlobs = { ...unsigned, sidecars: undefined }
    const carriesBlobs = unsigned.type === 'eip4844'
    const signature = { r, s, v, yParity }
    const list = 'authorizationList' in unsigned ? (unsigned.authorizationList ?? []) : []
    return {
      raw,
      hash: keccak256(
        carriesBlobs ? serializeTransaction(withoutBlobs, signature as Signature) : raw,
      ),
      sender: signerOf(keccak256(serializeTransaction(withoutBlobs)), signature),
      chainId: unsigned.chainId,
      nonce: unsigned.nonce ?? 0,
      gas: unsigned.gas ?? 0n,
      to: unsigned.to ? lower(unsigned.to) : undefined,
      data: unsigned.data ?? '0x',
      value: unsigned.value ?? 0n,
      carriesBlobs,
      authorizations: list.map(readAuthorization),
    }
  } catch {
    // The parser throws whatever it stumbled over: none of it tells the sender more than that.
    return undefined
  }
}

type SomeSignature = { readonly [Part in keyof Signature]?: Signature[Part] | undefined }

/** Throws for a signature that is missing, or nobody's. */
function signerOf(digest: Hex, { r, s, v, yParity }: SomeSignature): Hex {
  const parity = yParity ?? Number((v ?? 0n) + 1n) % 2
  const words = [r, s].map((half) =>
    BigInt(half ?? 0)
      .toString(16)
      .padStart(64, '0'),
  )
  const compact = hexToBytes(`0x${words.join('')}`)
  const signer = recoverAddress(digest, compact, parity === 0 ? 0 : 1)
  if (signer === undefined) throw new Error('nobody signed this')
  return signer
}

/** A transaction to the zero address that carries authorizations asks for nothing but delegation. */
export function asksForDelegation({ to, authorizations }: RawTransaction): boolean {
  return authorizations.length > 0 && to === zeroAddress
}

const ON_CALL = toFunctionSelector(getAbiItem({ abi: trustlessProposerAbi, name: 'onCall' }))

/** Whether calldata calls `onCall`, with arguments of whatever kind. */
export function isOnCall(data: Hex): boolean {
  return data.toLowerCase().startsWith(ON_CALL)
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

function readAuthorization(authorization: ListedAuthorization): Authorization {
  const { address, chainId, nonce, r, s, yParity } = authorization
  return {
    chainId,
    nonce,
    delegate: lower(address),
    signer: signerOf(hashAuthorization({ address, chainId, nonce }), { r, s, yParity }),
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
