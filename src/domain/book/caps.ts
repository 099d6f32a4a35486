import type { SpendingCaps } from '../strategy.ts'
import type { Token } from '../token.ts'
import type { Address } from '../units.ts'
import { oldestUsedAfter } from './exposures.ts'
import { type CapSubject, usedInTotal, usedInWindow, WINDOWS } from './limits.ts'
import type { DaemonState } from './state.ts'

/** How full one cap is, in base units. */
export type CapUse = {
  /** Undefined for the account's own. */
  readonly strategy: string | undefined
  readonly token: Token
  readonly window: 'hour' | 'day' | 'week' | 'total'
  /** More than `cap` where a file was changed since. */
  readonly used: bigint
  readonly cap: bigint
  /** When what fills it begins to free; undefined where time frees nothing. Epoch ms. */
  readonly freesAtMs: number | undefined
}

export type CapsQuery = {
  readonly strategies: Iterable<{ readonly name: string; readonly limits: SpendingCaps }>
  readonly account: SpendingCaps
  /** Those that caps may be on, ETHER among them. A cap on what is not named here is left out. */
  readonly tokens: Iterable<Token>
  readonly nowMs: number
}

/**
 * Every cap over a time or in total, the account's first, and what counts against it by the rule that orders are bound by
 * (`limitHit`). A cap of nothing is a cap: nothing may be spent.
 */
export function capsOf(state: DaemonState, query: CapsQuery): readonly CapUse[] {
  const { strategies, account, tokens, nowMs } = query
  // One address on two chains is one cap: it is told by the first of its tokens.
  const named = new Map<Address, Token>()
  for (const token of tokens) if (!named.has(token.address)) named.set(token.address, token)
  const uses = capsOfOne(state, { caps: account, strategy: undefined, named, nowMs })
  for (const { name, limits } of strategies)
    uses.push(...capsOfOne(state, { caps: limits, strategy: name, named, nowMs }))
  return uses
}

type One = {
  readonly caps: SpendingCaps
  readonly strategy: string | undefined
  readonly named: ReadonlyMap<Address, Token>
  readonly nowMs: number
}

function capsOfOne(state: DaemonState, { caps, strategy, named, nowMs }: One): CapUse[] {
  const uses: CapUse[] = []
  for (const window of WINDOWS) {
    const afterMs = nowMs - window.ms
    for (const [address, cap] of caps[window.cap]) {
      const token = named.get(address)
      if (token === undefined) continue
      const of: CapSubject = { token: address, strategy }
      const used = usedInWindow(state, of, afterMs)
      const oldestMs = oldestUsedAfter(state, { ...of, afterMs })
      const freesAtMs = oldestMs === undefined ? undefined : oldestMs + window.ms
      uses.push({ strategy, token, window: window.name, used, cap, freesAtMs })
    }
  }
  for (const [address, cap] of caps.total) {
    const token = named.get(address)
    if (token === undefined) continue
    const used = usedInTotal(state, { token: address, strategy })
    uses.push({ strategy, token, window: 'total', used, cap, freesAtMs: undefined })
  }
  return uses
}
