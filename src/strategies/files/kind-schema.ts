import type * as z from 'zod'
import type { ConfigDocument } from '../../config/yaml/document.ts'
import { faultsOfIssues } from '../../config/yaml/issues.ts'
import type { StrategyBase } from '../../domain/strategy.ts'
import type { StrategyKind } from '../kind.ts'
import { KIND_NAMES, kindNamed } from '../registry.ts'
import type { LimitsInput, StrategyContext } from './fields.ts'
import { type KindHints, withHint } from './hints.ts'

/** The parts of a kind that trading does not need. */
export interface KindSchema<S extends StrategyBase> {
  /** Source of the editors' JSON Schemas and of the reference. */
  readonly schema: z.ZodObject
  /** Undefined if reported faults leave nothing to build. */
  read(document: ConfigDocument, context: StrategyContext): S | undefined
  /** Description in `tranched init`. */
  readonly does: string
  /** Names of its shipped examples, in `strategies` and `strategies/sandbox`. */
  readonly examples: {
    readonly slow: string
    readonly fast: string
    /** True if the slow one runs with the config of `tranched init`. */
    readonly runsAsIs: boolean
  }
  readonly hints: KindHints
}

export function kindSchema<
  S extends StrategyBase,
  Schema extends z.ZodObject & z.ZodType<{ limits: LimitsInput }>,
>(
  kind: StrategyKind<S>,
  spec: Omit<KindSchema<S>, 'schema' | 'read'> & {
    readonly schema: Schema
    readonly build: (input: z.output<Schema>, context: StrategyContext) => S | undefined
  },
): KindSchema<S> {
  const { schema, build, hints } = spec
  return {
    ...spec,
    read({ tree }, context) {
      const parsed = schema.safeParse(tree, { jitless: true })
      if (!parsed.success) {
        for (const fault of faultsOfIssues(tree, parsed.error.issues))
          context.report(withHint(fault, tree, hints))
        return undefined
      }
      if (kind.portfolio === undefined && parsed.data.limits.drawdown !== undefined) {
        const holding = KIND_NAMES.filter((name) => kindNamed(name).portfolio !== undefined)
        const message = `only ${holding.join(' and ')} have a portfolio whose value can fall`
        const path = ['limits', 'drawdown']
        context.report({ path, at: 'key', message, expected: 'nothing' })
      }
      return build(parsed.data, context)
    },
  }
}
