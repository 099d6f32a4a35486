import { type Hex, keccak256, recoverMessageAddress, stringToHex } from 'viem'
import { lower } from '../account/accounts.ts'

const HEADER = /^(0x[0-9a-fA-F]{40}):(0x[0-9a-fA-F]{130})$/

/**
 * Who signed a request body: the header reads `<address>:<signature>`, the signature an EIP-191 one over the 32
 * bytes of the body's Keccak-256. Undefined unless it is that address's signature of this very text.
 */
export async function authenticated(
  header: string | undefined,
  bodyText: string,
): Promise<Hex | undefined> {
  const parts = HEADER.exec(header ?? '')
  if (parts === null) return undefined
  const claimed = lower(parts[1] as Hex)
  try {
    const signer = await recoverMessageAddress({
      message: { raw: keccak256(stringToHex(bodyText)) },
      signature: parts[2] as Hex,
    })
    return lower(signer) === claimed ? claimed : undefined
  } catch {
    // Not a point on the curve: nobody's signature.
    return undefined
  }
}
