import { type Hex, hashMessage, hexToBytes, keccak256, stringToHex } from 'viem'
import { recoverAddress } from '../../evm/recover.ts'
import { lower } from '../account/accounts.ts'

const HEADER = /^(0x[0-9a-fA-F]{40}):(0x[0-9a-fA-F]{130})$/

/**
 * Who signed a request body: the header reads `<address>:<signature>`, the signature an EIP-191 one over the 32
 * bytes of the body's Keccak-256. Undefined unless it is that address's signature of this very text.
 */
export function authenticated(header: string | undefined, bodyText: string): Hex | undefined {
  const parts = HEADER.exec(header ?? '')
  if (parts === null) return undefined
  const claimed = lower(parts[1] as Hex)
  const signature = hexToBytes(parts[2] as Hex)
  const v = signature[64] ?? 0
  const parity = v >= 27 ? v - 27 : v
  if (parity !== 0 && parity !== 1) return undefined
  const digest = hashMessage({ raw: keccak256(stringToHex(bodyText)) })
  const signer = recoverAddress(digest, signature.subarray(0, 64), parity)
  return signer === claimed ? claimed : undefined
}
