import type { Strategy } from '../domain/strategy.ts'
import { type ConfigDocument, type Fault, valueAt } from './document.ts'
import { faultsOfIssues } from './issues.ts'
import { nearest } from './nearest.ts'
import { buildCall, callSchema } from './strategy-call.ts'
import { buildDca, dcaSchema } from './strategy-dca.ts'
import type { StrategyContext } from './strategy-fields.ts'

/** The schema of each kind of strategy; JSON Schemas for editors are made from these. */
export const strategySchemas = { dca: dcaSchema, call: callSchema }

/**
 * Reads a strategy of whatever kind its file names. Returns undefined when faults were reported that leave nothing
 * to build; a returned strategy counts only if nothing was reported.
 */
export function readStrategy(
  document: ConfigDocument,
  context: StrategyContext,
): Strategy | undefined {
  const kind = valueAt(document.tree, ['kind'])
  switch (kind) {
    case 'dca': {
      const parsed = dcaSchema.safeParse(document.tree)
      if (parsed.success) return buildDca(parsed.data, context)
      faultsOfIssues(document.tree, parsed.error.issues).forEach(context.report)
      return undefined
    }
    case 'call': {
      const parsed = callSchema.safeParse(document.tree)
      if (parsed.success) return buildCall(parsed.data, context)
      faultsOfIssues(document.tree, parsed.error.issues).forEach(context.report)
      return undefined
    }
    default:
      context.report(unknownKind(document))
      return undefined
  }
}

function unknownKind(document: ConfigDocument): Fault {
  const kinds = Object.keys(strategySchemas)
  const kind = valueAt(document.tree, ['kind'])
  const expected = `one of: ${kinds.join(', ')}`
  if (document.tree === null)
    return { path: [], message: 'this file is empty', expected: 'a strategy' }
  if (kind === undefined) return { path: ['kind'], message: 'this key is missing', expected }
  const suggestion = typeof kind === 'string' ? nearest(kind, kinds) : undefined
  return { path: ['kind'], message: 'there is no such kind of strategy', expected, suggestion }
}
