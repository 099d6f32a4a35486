import { type ConfigDocument, type Fault, scalarsOf } from '../yaml/document.ts'
import { isPrivateKey } from '../yaml/mask.ts'

/**
 * Faults of values that are private keys, written or interpolated: config and strategy files are backed up and shared. Skips
 * arguments of calls, where 32 bytes are ordinary (a Merkle root, an order id), and pinned code hashes.
 */
export function privateKeyFaults(document: ConfigDocument): Fault[] {
  return [...scalarsOf(document.tree)]
    .filter(({ path, text }) => !isOrdinary(path) && isPrivateKey(text))
    .map(({ path }) => ({
      path,
      message: 'this is a private key, and it must not stand in a file like this',
      expected: 'a keystore, privateKeyFile or privateKeyEnv; treat this key as leaked',
    }))
}

function isOrdinary(path: Fault['path']): boolean {
  return path[0] === 'args' || (path[0] === 'chains' && path[2] === 'code')
}
