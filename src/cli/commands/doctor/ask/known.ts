import type { DaemonState } from '../../../../domain/book/state.ts'
import type { ChainSettings, Settings } from '../../../../domain/settings.ts'
import type { Strategy } from '../../../../domain/strategy.ts'
import type { Address } from '../../../../domain/units.ts'

/** What is known before anything outside is asked. */
export type Known = {
  readonly settings: Settings
  /** None where they cannot be read. */
  readonly strategies: readonly Strategy[]
  readonly state: DaemonState
  /** Of the wallet that trades; undefined where nothing says it. */
  readonly owner: Address | undefined
  readonly operator: Address | undefined
}

/** None of its nodes can be asked: the settings hold those alone that can. */
export function isSilent({ rpcUrls }: ChainSettings): boolean {
  return rpcUrls.length === 0
}
