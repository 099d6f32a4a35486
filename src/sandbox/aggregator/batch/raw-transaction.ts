import {
  concatHex,
  decodeAbiParameters,
  decodeFunctionData,
  getAbiItem,
  type Hex,
  hexToBytes,
  keccak256,
  numberToHex,
  parseAbiParameters,
  parseTransaction,
  type Signature,
  serializeTransaction,
  sidecarsToVersionedHashes,
  type TransactionSerialized,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import { hashAuthorization } from 'viem/utils'
import { recoverAddress } from '../../evm/recover.ts'
import { rpcAuthorization } from '../../evm/sender.ts'
import { lower } from '../account/accounts.ts'
import { trustlessProposerAbi } from '../chain/abi.ts'

export type RawTransaction = NonNullable<ReturnType<typeof readRawTransaction>>
export type Authorization = ReturnType<typeof readAuthorization>

/** EIP-4844 */
const GAS_PER_BLOB = 131_072n

const SIGNED_CALL = parseAbiParameters('bytes, uint256, uint256, bytes, uint256')

/** Decodes a signed transaction, with addresses in lower case; undefined for other bytes. */
export function readRawTransaction(raw: Hex) {
  try {
    const { r, s, v, yParity, ...unsigned } = parseTransaction(raw as TransactionSerialized)
    const withoutBlobs = { ...unsigned, sidecars: undefined }
    const hashes = (unsigned.type === 'eip4844' && unsigned.blobVersionedHashes) || []
    const sidecars = 'sidecars' in unsigned && unsigned.sidecars ? [...unsigned.sidecars] : []
    const signature = { r, s, v, yParity }
    const list = 'authorizationList' in unsigned ? (unsigned.authorizationList ?? []) : []
    const onChain =
      hashes.length > 0 ? serializeTransaction(withoutBlobs, signature as Signature) : raw
    return {
      raw,
      /** Without blobs. */
      onChain,
      hash: keccak256(onChain),
      sender: signerOf(keccak256(serializeTransaction(withoutBlobs)), signature),
      type: unsigned.type,
      chainId: unsigned.chainId,
      nonce: unsigned.nonce ?? 0,
      gas: unsigned.gas ?? 0n,
      /** Undefined if the transaction creates a contract. */
      to: unsigned.to ? lower(unsigned.to) : undefined,
      data: unsigned.data ?? '0x',
      value: unsigned.value ?? 0n,
      blobGas: BigInt(hashes.length) * GAS_PER_BLOB,
      hasItsBlobs: sidecarsToVersionedHashes({ sidecars, to: 'hex' }).join() === hashes.join(),
      blobs: sidecars,
      authorizations: list.map(readAuthorization),
    }
  } catch {
    // The parser's errors do not help the sender.
    return undefined
  }
}

type SomeSignature = { readonly [Part in keyof Signature]?: Signature[Part] | undefined }

/** Throws for a missing or invalid signature. */
function signerOf(digest: Hex, { r, s, v, yParity }: SomeSignature): Hex {
  const parity = yParity ?? Number((v ?? 0n) + 1n) % 2
  const words = [r, s].map((half) => numberToHex(BigInt(half ?? 0), { size: 32 }))
  const compact = hexToBytes(concatHex(words))
  const signer = recoverAddress(digest, compact, parity === 0 ? 0 : 1)
  if (signer === undefined) throw new Error('invalid signature')
  return signer
}

/** A transaction with authorizations to the zero address only sets delegations. */
export function asksForDelegation({ to, authorizations }: RawTransaction): boolean {
  return authorizations.length > 0 && to === zeroAddress
}

const ON_CALL = toFunctionSelector(getAbiItem({ abi: trustlessProposerAbi, name: 'onCall' }))

export function isOnCall(data: Hex): boolean {
  return data.toLowerCase().startsWith(ON_CALL)
}

/** The signed call inside `onCall` calldata, with its original `payload`; undefined for other data. */
export function readSignedCall(data: Hex) {
  try {
    const { args } = decodeFunctionData({ abi: trustlessProposerAbi, data })
    if (args === undefined || args.length !== 3) return undefined
    const [target, payload, value] = args
    const [, deadline, nonce, callData, gasLimit] = decodeAbiParameters(SIGNED_CALL, payload)
    return { deadline, nonce, target: lower(target), value, callData, gasLimit, payload }
  } catch {
    // Not `onCall` calldata, or a payload that no TrustlessProposer can decode.
    return undefined
  }
}

type ListedAuthorization = NonNullable<
  Extract<ReturnType<typeof parseTransaction>, { authorizationList?: unknown }>['authorizationList']
>[number]

function readAuthorization(authorization: ListedAuthorization) {
  const { address, chainId, nonce, r, s, yParity } = authorization
  return {
    chainId,
    nonce,
    /** Delegated code; the zero address clears the delegation. */
    delegate: lower(address),
    signer: signerOf(hashAuthorization({ address, chainId, nonce }), { r, s, yParity }),
    rpc: rpcAuthorization(authorization),
  }
}
