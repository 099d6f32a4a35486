import type { GasLimits } from '../../src/domain/money/gas.ts'
import type { TrustedCode } from '../../src/domain/order/contract.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import type { Clock, Guard, Journal, Key, Signer } from '../../src/ports.ts'
import type { Files } from '../../src/signing/policy.ts'
import { createSigner } from '../../src/signing/signer.ts'
import { AGGREGATOR, CALL_CHAIN_ID } from '../simulation/aggregator/aggregation.ts'
import { ACCOUNT, GASLESS } from '../simulation/stage.ts'

/** For tests that are not about gas. */
export const AMPLE_GAS: GasLimits = {
  maxFeePerGas: 10n ** 15n,
  maxPriorityFeePerGas: 10n ** 15n,
  perTransaction: 10n ** 20n,
  perDay: 10n ** 22n,
}
export const AMPLE_GAS_EVERYWHERE: Files['gas'] = new Map(
  [1, 8453, 31_337, 11_155_111].map((chainId) => [chainId, AMPLE_GAS]),
)

/** No contract is watched. */
export const NO_CONTRACTS: TrustedCode = {
  contracts: [],
  pins: new Map(),
  conflict: () => undefined,
}

/** Files without strategies: anything signed by them needs no order. */
export const NO_FILES: Files = {
  chainId: 8453,
  gasless: GASLESS,
  account: ACCOUNT,
  strategies: new Map(),
  versionOf: () => undefined,
  pricePath: () => undefined,
  trusted: NO_CONTRACTS,
  gas: AMPLE_GAS_EVERYWHERE,
  aggregator: undefined,
}

/** Files with only an aggregation service. */
export function filesOfAggregator(settings = AGGREGATOR): Files {
  return { ...NO_FILES, aggregator: { settings, chainId: CALL_CHAIN_ID } }
}

type SignerJournal = Pick<Journal, 'state' | 'isOnDisk'>
type SignerParts = {
  readonly journal?: SignerJournal
  readonly files?: Files
  readonly clock?: Pick<Clock, 'now'>
  readonly guard?: Guard
}

/** The signer of a key, for tests that set only the parts under test. */
export function signerWith(key: Key, parts: SignerParts = {}): Signer {
  return createSigner({
    key,
    hashPermit: () => {
      throw new Error('no permit is signed here')
    },
    journal: parts.journal ?? { state: emptyState(), isOnDisk: () => false },
    guard: parts.guard ?? { blocked: () => undefined },
    clock: parts.clock ?? { now: () => Date.now() },
    files: parts.files ?? filesOfAggregator(),
  })
}

/** A journal that the test supplies after the signer is made. */
export function lateJournal(): SignerJournal & { use(journal: SignerJournal): void } {
  let current: SignerJournal = { state: emptyState(), isOnDisk: () => false }
  return {
    get state() {
      return current.state
    },
    isOnDisk: (name) => current.isOnDisk(name),
    use(journal) {
      current = journal
    },
  }
}
