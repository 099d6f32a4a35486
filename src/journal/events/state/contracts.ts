import { InvariantError } from '../../../domain/errors.ts'
import {
  type ContractCode,
  contractKey,
  isSameCode,
  type TrustedContract,
} from '../../../domain/order/contract.ts'
import { defineEvent } from '../event.ts'

/**
 * Code of a contract that signatures depend on, at a final block: first seen, changed since, or a change accepted by an
 * operator (rule T13).
 */
export type ContractCodeEvent = TrustedContract & {
  readonly type: 'contract-code'
  readonly code: ContractCode
  readonly status: 'seen' | 'changed' | 'accepted'
}

type ContractCodeContext = {
  /** The previously recorded code; undefined for a contract first seen. */
  readonly before: ContractCode | undefined
}

export const contractCode = defineEvent<ContractCodeEvent, ContractCodeContext>({
  type: 'contract-code',
  reduce({ contracts }, { chainId, address, name, code, status }, atMs) {
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
    if (!isThere) throw new InvariantError(`${name} has not changed to the accepted code`)
    contracts.set(key, { ...place, code, changed: undefined })
  },
  context: ({ contracts }, event) => ({ before: contracts.get(contractKey(event))?.code }),
})

export const CONTRACT_EVENTS = [contractCode] as const
