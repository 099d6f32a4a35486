import type * as z from 'zod'
import { nearest } from '../../domain/nearest.ts'
import type { Strategy } from '../../domain/strategy.ts'
import { type ConfigDocument, type Fault, valueAt } from '../yaml/document.ts'
import { faultsOfIssues } from '../yaml/issues.ts'
import { buildCall, callSchema } from './call.ts'
import { buildCustom, customSchema } from './custom.ts'
import { buildDca, dcaSchema } from './dca.ts'
import type { StrategyContext } from './fields.ts'
import { kindHint, withHint } from './hints.ts'
import { buildRebalance, rebalanceSchema } from './rebalance.ts'
import { buildThreshold, thresholdSchema } from './threshold.ts'
import { buildTwap, twapSchema } from './twap.ts'

/** A kind of strategy: its schema, and what makes a domain value of what the schema read. */
type Kind = {
  readonly schema: z.ZodType
  readonly read: (document: ConfigDocument, context: StrategyContext) => Strategy | undefined
}

function kindOf<Schema extends z.ZodType>(
  schema: Schema,
  build: (input: z.output<Schema>, context: StrategyContext) => Strategy | undefined,
): Kind {
  return {
    schema,
    read: (document, context) => {
      const parsed = schema.safeParse(document.tree)
      if (parsed.success) return build(parsed.data, context)
      for (const fault of faultsOfIssues(document.tree, parsed.error.issues))
        context.report(withHint(fault, document.tree))
      return undefined
    },
  }
}

/** Every kind there is; JSON Schemas for editors and the reference are made from these. */
export const strategyKinds: Readonly<Record<Strategy['kind'], Kind>> = {
  dca: kindOf(dcaSchema, buildDca),
  rebalance: kindOf(rebalanceSchema, buildRebalance),
  threshold: kindOf(thresholdSchema, buildThreshold),
  twap: kindOf(twapSchema, buildTwap),
  call: kindOf(callSchema, buildCall),
  custom: kindOf(customSchema, buildCustom),
}

/**
 * Reads a strategy of whatever kind its file names. Returns undefined when faults were reported that leave nothing
 * to build; a returned strategy counts only if nothing was reported.
 */
export function readStrategy(
  document: ConfigDocument,
  context: StrategyContext,
): Strategy | undefined {
  const kind = valueAt(document.tree, ['kind'])
  if (typeof kind === 'string' && isKind(kind)) return strategyKinds[kind].read(document, context)
  context.report(unknownKind(document))
  return undefined
}

function isKind(kind: string): kind is Strategy['kind'] {
  return Object.hasOwn(strategyKinds, kind)
}

function unknownKind(document: ConfigDocument): Fault {
  const kinds = Object.keys(strategyKinds)
  const kind = valueAt(document.tree, ['kind'])
  const expected = `one of: ${kinds.join(', ')}`
  if (document.tree === null)
    return { path: [], message: 'this file is empty', expected: 'a strategy' }
  if (Array.isArray(document.tree))
    return {
      ...{ path: [], message: 'this is a list', hint: 'without the `-`, and one strategy a file' },
      expected: 'a strategy: a map with `name`, `kind` and what its kind asks for',
    }
  if (kind === undefined) return { path: ['kind'], message: 'this key is missing', expected }
  const suggestion = typeof kind === 'string' ? nearest(kind, kinds) : undefined
  const hint = typeof kind === 'string' ? kindHint(kind) : undefined
  return {
    path: ['kind'],
    message: 'there is no such kind of strategy',
    expected,
    suggestion,
    hint,
  }
}
