import { type ConfigDocument, type Fault, valueAt } from '../config/yaml/document.ts'
import { nearest } from '../domain/text/nearest.ts'
import { callFile } from './call/call-schema.ts'
import { customFile } from './custom/custom-schema.ts'
import { dcaFile } from './dca/dca-schema.ts'
import type { StrategyContext } from './files/fields.ts'
import type { KindSchema } from './files/kind-schema.ts'
import { rebalanceFile } from './rebalance/rebalance-schema.ts'
import { isKindName, KIND_NAMES, type KindName, type Strategy } from './registry.ts'
import { thresholdFile } from './threshold/threshold-schema.ts'
import { twapFile } from './twap/twap-schema.ts'

export const SCHEMAS: {
  readonly [Name in KindName]: KindSchema<Extract<Strategy, { readonly kind: Name }>>
} = {
  dca: dcaFile,
  rebalance: rebalanceFile,
  threshold: thresholdFile,
  twap: twapFile,
  call: callFile,
  custom: customFile,
}

/** Undefined if faults leave nothing to build. A returned strategy is valid only if no fault was reported. */
export function readStrategy(
  document: ConfigDocument,
  context: StrategyContext,
): Strategy | undefined {
  const kind = valueAt(document.tree, ['kind'])
  if (isKindName(kind)) return SCHEMAS[kind].read(document, context)
  context.report(unknownKind(document))
  return undefined
}

function unknownKind({ tree }: ConfigDocument): Fault {
  const kind = valueAt(tree, ['kind'])
  const expected = `one of: ${KIND_NAMES.join(', ')}`
  if (tree === null) return { path: [], message: 'this file is empty', expected: 'a strategy' }
  if (Array.isArray(tree))
    return {
      path: [],
      message: 'this is a list',
      hint: 'without the `-`, and one strategy a file',
      expected: 'a strategy: a map with `name`, `kind` and what its kind asks for',
    }
  const fault = { path: ['kind'], message: 'there is no such kind of strategy', expected }
  if (kind === undefined) return { ...fault, message: 'this key is missing' }
  if (typeof kind !== 'string') return fault
  const word = kind.trim().toLowerCase()
  const otherNames = Object.values(SCHEMAS).flatMap(({ hints }) => hints.otherNames ?? [])
  const hint = otherNames.find(([names]) => names.test(word))?.[1]
  return { ...fault, suggestion: nearest(kind, KIND_NAMES), hint }
}
