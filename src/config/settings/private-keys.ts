import { type ConfigDocument, type Fault, scalarsOf } from '../yaml/document.ts'
import { isPrivateKey } from '../yaml/mask.ts'

/**
 * Faults of values that are private keys, written or interpolated: files like these get backed up and shared. Arguments
 * of a call are left alone, because 32 bytes are an ordinary value there (a Merkle root, an order id), and so are pins of code.
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
