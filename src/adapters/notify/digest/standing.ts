import { type CapUse, capsOf } from '../../../domain/book/caps.ts'
import type { DaemonState, Hold, Pause } from '../../../domain/book/state.ts'
import type { Standing as ProfitStanding } from '../../../domain/ledger/standing.ts'
import type { Observation } from '../../../domain/observation.ts'
import type { AccountLimits } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Token } from '../../../domain/token.ts'

/** A cap that is fuller than this is worth a line, in percent. */
const FULL_PERCENT = 80n

export type Balance = { readonly token: string; readonly amount: bigint; readonly decimals: number }

/** How things stand at the moment, beside what happened. */
export type Standing = {
  readonly halted: Pause | undefined
  readonly paused: readonly (readonly [string, Pause])[]
  /** Strategies that wait for an approval. */
  readonly held: readonly (readonly [string, Hold])[]
  /** Orders without an end, by their strategy, and since when. */
  readonly open: readonly { readonly strategy: string; readonly sinceMs: number }[]
  /** By wallet, as last read. */
  readonly balances: ReadonlyMap<string, readonly Balance[]>
  /** Wei that the GasTank has left, and how long it lasts by the schedules; undefined while nobody knows. */
  readonly gasTank:
    | { readonly available: bigint; readonly runwaySeconds: number | undefined }
    | undefined
  /** By the average; undefined until the journal was read back, and without a price feed. */
  readonly profit:
    | Pick<ProfitStanding, 'valueToken' | 'cost' | 'realised' | 'unrealised'>
    | undefined
  readonly fullCaps: readonly CapUse[]
}

/** What a running daemon goes by. */
export type DaemonView = {
  readonly state: DaemonState
  readonly strategies: () => Iterable<Strategy>
  readonly account: AccountLimits
  readonly tokens: readonly Token[]
}

/** Remembers the figures that only observations tell. */
export type Onlooker = {
  saw(event: Observation): void
  standing(daemon: DaemonView, nowMs: number): Standing
}

export function createOnlooker(): Onlooker {
  const balances = new Map<string, Map<string, Balance>>()
  let gasTank: Standing['gasTank']
  let profit: Standing['profit']
  return {
    saw(event) {
      switch (event.type) {
        case 'wallet-balance': {
          const { wallet, token, amount, decimals } = event
          const own = balances.get(wallet) ?? new Map<string, Balance>()
          balances.set(wallet, own)
          if (amount === undefined) own.delete(token)
          else own.set(token, { token, amount, decimals })
          return
        }
        case 'gas-tank':
          gasTank = {
            available: event.balance - event.outstanding,
            runwaySeconds: event.runwaySeconds,
          }
          return
        case 'profit':
          profit = event
          return
        case 'gas-tank-unknown':
          gasTank = undefined
          return
        default:
      }
    },
    standing({ state, strategies, account, tokens }, nowMs) {
      const caps = capsOf(state, { strategies: strategies(), account, tokens, nowMs })
      return {
        halted: state.halted,
        paused: [...state.strategies].flatMap(([name, { paused }]) =>
          paused === undefined ? [] : [[name, paused] as const],
        ),
        held: [...state.strategies].flatMap(([name, { held }]) =>
          held === undefined ? [] : [[name, held] as const],
        ),
        open: [...state.intents.values()].map(({ intent, openedAtMs }) => ({
          ...{ strategy: intent.strategy, sinceMs: openedAtMs },
        })),
        balances: new Map([...balances].map(([wallet, own]) => [wallet, [...own.values()]])),
        gasTank,
        profit,
        fullCaps: caps.filter(({ used, cap }) => used * 100n >= cap * FULL_PERCENT),
      }
    },
  }
}
