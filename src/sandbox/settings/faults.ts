import * as z from 'zod'
import { type Fault, isMap, type Tree, valueAt } from '../../config/yaml/document.ts'
import { faultsOfIssues } from '../../config/yaml/issues.ts'
import type { Path } from '../../config/yaml/problem.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { faultsSchema } from '../faults.ts'

const RULES: ReadonlyMap<string, z.ZodObject> = new Map(
  faultsSchema.shape.rules
    .unwrap()
    .element.options.flatMap((option): readonly RuleSchema[] =>
      option instanceof z.ZodObject ? [option] : option.options,
    )
    .map((rule) => [rule.shape.kind.value, rule]),
)

type RuleSchema = z.ZodObject<{ readonly kind: z.ZodLiteral<string> }>

type FaultsRead =
  | { readonly ok: true; readonly faults: unknown }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** Reads faults from a tree whose scalars are text. `path`: path of the tree in its document. */
export function readFaults(tree: Tree, path: Path = []): FaultsRead {
  const plain = plainOf(tree)
  const parsed = faultsSchema.safeParse(plain)
  if (parsed.success) return { ok: true, faults: plain }
  const ruleOf = ({ path: [section, index] }: z.core.$ZodIssue): number | undefined =>
    section === 'rules' && typeof index === 'number' ? index : undefined
  const { issues } = parsed.error
  const others = issues.filter((issue) => ruleOf(issue) === undefined)
  const wrong = new Set(issues.map(ruleOf).filter((index) => index !== undefined))
  const found = [
    ...inOperatorTerms(tree, others, faultsSchema),
    ...[...wrong].flatMap((index) =>
      faultsOfRule(valueAt(tree, ['rules', index]) ?? null).map((fault) =>
        at(['rules', index], fault),
      ),
    ),
  ]
  return { ok: false, faults: found.map((fault) => at(path, fault)) }
}

function faultsOfRule(rule: Tree): readonly Fault[] {
  const kinds = [...RULES.keys()]
  const expected = `one of: ${kinds.join(', ')}`
  if (!isMap(rule))
    return [{ path: [], message: 'this is not a rule', expected: 'a map with a kind' }]
  const kind = rule['kind']
  if (typeof kind !== 'string')
    return [{ path: ['kind'], message: 'this rule has no kind', expected }]
  const schema = RULES.get(kind)
  if (schema === undefined) {
    const message = 'there is no such fault'
    return [{ path: ['kind'], message, expected, suggestion: nearest(kind, kinds) }]
  }
  const parsed = schema.safeParse(plainOf(rule))
  return parsed.success ? [] : inOperatorTerms(rule, parsed.error.issues, schema)
}

/** Zod's issues in the config's wording. */
function inOperatorTerms(
  tree: Tree,
  issues: readonly z.core.$ZodIssue[],
  schema: z.ZodObject,
): readonly Fault[] {
  return issues.flatMap((issue) => {
    const message = expectationOf(issue, schema)
    const faults = faultsOfIssues(tree, [{ ...issue, message }])
    const isOutOfRange = issue.code === 'too_big' || issue.code === 'too_small'
    return isOutOfRange
      ? faults.map((fault) => ({ ...fault, message: 'this number is out of range' }))
      : faults
  })
}

function expectationOf(issue: z.core.$ZodIssue, schema: z.ZodObject): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return Object.keys(schema.shape).join(', ')
    case 'invalid_value':
      return `one of: ${issue.values.join(', ')}`
    case 'too_big':
      return `a number of at most ${issue.maximum}`
    case 'too_small':
      return `a number of at least ${issue.minimum}`
    case 'invalid_type':
      return EXPECTATIONS.get(issue.expected) ?? issue.expected
    default:
      return issue.message
  }
}

const EXPECTATIONS: ReadonlyMap<string, string> = new Map([
  ['int', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
  ['array', 'a list of rules'],
  ['object', 'a map with the keys seed, rules'],
])

function at(path: Path, fault: Fault): Fault {
  return { ...fault, path: [...path, ...fault.path] }
}

const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?([eE][-+]?\d{1,2})?$/

function plainOf(tree: Tree): unknown {
  if (typeof tree === 'string') return plainScalar(tree)
  if (Array.isArray(tree)) return tree.map(plainOf)
  if (!isMap(tree)) return null
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, plainOf(value)]))
}

function plainScalar(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  return NUMBER.test(text) ? Number(text) : text
}
