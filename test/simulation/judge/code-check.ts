import type { Address } from '../../../src/domain/money/units.ts'
import {
  type ContractCode,
  codeText,
  contractKey,
  isSameCode,
} from '../../../src/domain/order/contract.ts'
import { contractCode } from '../../../src/journal/events/state/contracts.ts'
import type { Codes } from '../chain/codes.ts'
import { BLOCK_SECONDS } from '../chain/ledger.ts'
import type { SimulatedDisk } from '../journal.ts'
import type { SigningStatus } from './signing-status.ts'

/**
 * How long a final change may go unnoticed: a read is valid for a minute, with four reads in that time; the newest
 * block of a valid node may be two minutes old.
 */
const UNNOTICED_SECONDS = 200

/** Contracts in a state directory: the code that may be signed with, or that it has changed. */
type Read = { cuts: number; records: number; readonly known: Map<string, ContractCode | 'changed'> }

/** Checks whether a signature depends on a contract whose code has changed without an operator's approval. */
export class CodeCheck {
  readonly #read = new WeakMap<SimulatedDisk, Read>()
  readonly #chainId: number
  readonly #codes: Codes
  readonly #block: () => number
  readonly #depth: number

  constructor(parts: {
    readonly chainId: number
    readonly codes: Codes
    readonly block: () => number
    /** How many blocks below the newest one a block is final. */
    readonly depth: number
  }) {
    this.#chainId = parts.chainId
    this.#codes = parts.codes
    this.#block = parts.block
    this.#depth = parts.depth
  }

  /** Violations as text; none for contracts that the directory has never recorded. */
  violations({ disk }: SigningStatus, addresses: readonly Address[]): readonly string[] {
    const known = this.#knownOn(disk)
    const since = this.#block() - this.#depth - UNNOTICED_SECONDS / BLOCK_SECONDS
    return addresses.flatMap((address) => {
      const code = known.get(contractKey({ chainId: this.#chainId, address }))
      if (code === undefined) return []
      if (code === 'changed') return [`it depends on ${address}, whose change is on record`]
      const has = this.#codes.since(address, since)
      if (has.some((each) => isSameCode(each, code))) return []
      const now = has.map(codeText).join(', ')
      return [`it depends on ${address}, which was accepted with ${codeText(code)} and has ${now}`]
    })
  }

  #knownOn(disk: SimulatedDisk): Read['known'] {
    const records = disk.records()
    const before = this.#read.get(disk)
    const isFresh = before === undefined || before.cuts !== disk.cuts
    const read = isFresh ? { cuts: disk.cuts, records: 0, known: new Map() } : before
    for (const { event } of records.slice(read.records))
      if (contractCode.is(event))
        read.known.set(contractKey(event), event.status === 'changed' ? 'changed' : event.code)
    read.records = records.length
    this.#read.set(disk, read)
    return read.known
  }
}
