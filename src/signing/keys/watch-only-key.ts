import { InvariantError } from '../../domain/errors.ts'
import { type Address, parseAddress } from '../../domain/money/units.ts'
import type { WalletSource } from '../../domain/settings.ts'
import type { Key } from '../../ports.ts'
import { readSecretFile } from './keystore.ts'

/** A signer without a key, for dry runs and read-only commands: a signing request is a bug. */
export function createWatchOnlyKey(address: Address): Key {
  const refuse = (): never => {
    throw new InvariantError(`no key is loaded for ${address}, and it was about to sign something`)
  }
  return { address, signDigest: refuse, signTransaction: refuse, signDelegation: refuse }
}

/** A wallet's address if known without its key: from the config, or from the keystore's plain text. */
export async function readAddress(source: WalletSource): Promise<Address | undefined> {
  if (source.type === 'address') return source.address
  if (source.type !== 'keystore') return undefined
  try {
    const { text } = await readSecretFile(source.keystore)
    const { address } = JSON.parse(text) as { readonly address?: unknown }
    if (typeof address !== 'string') return undefined
    return parseAddress(address.startsWith('0x') ? address : `0x${address}`)
  } catch {
    // An unreadable keystore is reported when its key is needed.
    return undefined
  }
}
