import { InvariantError } from '../../domain/errors.ts'
import type { WalletSource } from '../../domain/settings.ts'
import { type Address, parseAddress } from '../../domain/units.ts'
import type { Key } from '../../ports.ts'
import { readSecretFile } from './keystore.ts'

/** A signer without a key, for dry-run and for commands that only look: being asked to sign is a bug. */
export function createWatchOnlyKey(address: Address): Key {
  const refuse = (): never => {
    throw new InvariantError(`nobody has the key of ${address}, and it was about to sign something`)
  }
  return { address, signDigest: refuse, signTransaction: refuse, signDelegation: refuse }
}

/** The address of a wallet where it can be told without its key: as configured, or as a keystore says in the open. */
export async function readAddress(source: WalletSource): Promise<Address | undefined> {
  if (source.type === 'address') return source.address
  if (source.type !== 'keystore') return undefined
  try {
    const { text } = await readSecretFile(source.keystore)
    const { address } = JSON.parse(text) as { readonly address?: unknown }
    if (typeof address !== 'string') return undefined
    return parseAddress(address.startsWith('0x') ? address : `0x${address}`)
  } catch {
    // A keystore that cannot be read is told about where its key is asked for.
    return undefined
  }
}
