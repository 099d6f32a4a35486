import type { ModuleStrategy } from '../domain/module.ts'
import type { Asset } from '../domain/money/token.ts'
import type { CallBase, StrategyBase, SwapBase, TokenPair } from '../domain/strategy.ts'
import { call } from './call/call-kind.ts'
import { custom } from './custom/custom-kind.ts'
import { dca } from './dca/dca-kind.ts'
import type { StrategyKind } from './kind.ts'
import { manual } from './manual/manual-kind.ts'
import { rebalance } from './rebalance/rebalance-kind.ts'
import { threshold } from './threshold/threshold-kind.ts'
import { twap } from './twap/twap-kind.ts'

/** Kinds of strategies by their `kind` in files; `schemas.ts` has their schemas. */
const FILE_KINDS = { dca, rebalance, threshold, twap, call, custom }
/** Every kind, including the one that has no files. */
const KINDS = { ...FILE_KINDS, manual }

type StrategyOf<Kind> = Kind extends StrategyKind<infer S extends StrategyBase> ? S : never

export type Strategy = StrategyOf<(typeof KINDS)[keyof typeof KINDS]>
export type KindName = keyof typeof FILE_KINDS

export type SwapStrategy = Extract<Strategy, SwapBase>
type CallingStrategy = Extract<Strategy, CallBase>

export const KIND_NAMES = Object.keys(FILE_KINDS) as readonly KindName[]

export function isKindName(word: unknown): word is KindName {
  return typeof word === 'string' && Object.hasOwn(FILE_KINDS, word)
}

export function kindNamed(name: KindName): StrategyKind<Strategy> {
  return KINDS[name]
}

export function kindOf(strategy: Strategy): StrategyKind<Strategy> {
  return KINDS[strategy.kind]
}

/** True if it decides by balances and prices; others act on every slot. */
export function readsMarket(strategy: Strategy): strategy is SwapStrategy {
  return kindOf(strategy).decision.by !== 'calendar'
}

export function makesCalls(strategy: Strategy): strategy is CallingStrategy {
  return !readsMarket(strategy)
}

export function asksModule(strategy: Strategy): strategy is Extract<Strategy, ModuleStrategy> {
  return kindOf(strategy).decision.by === 'module'
}

export function assetsOf(strategy: Strategy): readonly Asset[] {
  return kindOf(strategy).assets(strategy)
}

export function pairsOf(strategy: Strategy): readonly TokenPair[] {
  return kindOf(strategy).pairs(strategy)
}
