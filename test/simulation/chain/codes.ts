import type { Address } from '../../../src/domain/money/units.ts'
import { type ContractCode, NO_CODE } from '../../../src/domain/order/contract.ts'
import { fingerprint } from '../../support/random-hex.ts'

type Change = { readonly block: number; readonly code: ContractCode }

/** Code of contracts with its full history. Every address has code from the beginning. */
export class Codes {
  readonly #changes = new Map<Address, Change[]>()
  readonly #first = new Map<Address, ContractCode>()

  /** `version` 0 is the initial code, and none means no code at all. */
  set(address: Address, version: number | 'none', block: number): void {
    const other = version === 'none' ? NO_CODE : fingerprint(`code ${version} ${address}`)
    const code = version === 0 ? this.#firstOf(address) : { hash: other }
    this.#changes.set(address, [...(this.#changes.get(address) ?? []), { block, code }])
  }

  at(address: Address, block: number): ContractCode {
    const changes = this.#changes.get(address)
    return changes?.findLast((each) => each.block <= block)?.code ?? this.#firstOf(address)
  }

  /** Every code that the address had from a block on. */
  since(address: Address, block: number): readonly ContractCode[] {
    const later = (this.#changes.get(address) ?? []).filter((each) => each.block > block)
    return [this.at(address, block), ...later.map(({ code }) => code)]
  }

  /** Drops changes after a block. */
  cut(block: number): void {
    for (const [address, changes] of this.#changes)
      this.#changes.set(
        address,
        changes.filter((each) => each.block <= block),
      )
  }

  #firstOf(address: Address): ContractCode {
    const known = this.#first.get(address) ?? { hash: fingerprint(`code of ${address}`) }
    this.#first.set(address, known)
    return known
  }
}
