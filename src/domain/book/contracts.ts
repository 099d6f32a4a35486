import { contractKey, isSameCode } from '../contract.ts'
import { InvariantError } from '../errors.ts'
import type { EventOf } from './journal.ts'
import type { DaemonState } from './state.ts'

export function noteCode(
  { contracts }: DaemonState,
  { chainId, address, name, code, status }: EventOf<'contract-code'>,
  atMs: number,
): void {
  const key = contractKey({ chainId, address })
  const known = contracts.get(key)
  const place = { chainId, address, name }
  if (status === 'seen') {
    if (known !== undefined) throw new InvariantError(`${name} has been seen already`)
    contracts.set(key, { ...place, code, changed: undefined })
    return
  }
  if (known === undefined) throw new InvariantError(`${name} was never seen`)
  if (status === 'changed') {
    contracts.set(key, { ...place, code: known.code, changed: { code, atMs } })
    return
  }
  const isThere = known.changed !== undefined && isSameCode(known.changed.code, code)
  if (!isThere) throw new InvariantError(`${name} has not changed to what was accepted`)
  contracts.set(key, { ...place, code, changed: undefined })
}
