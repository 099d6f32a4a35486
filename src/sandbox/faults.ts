import * as z from 'zod'
import { createRandom, type SeededRandom } from '../domain/random.ts'

/** Kinds of dishonest quotes. */
const tampering = z.enum([
  'wrongSpender',
  'wrongToken',
  'higherAmount',
  'foreignRecipient',
  'otherTokenOut',
  'lowerMinAmountOut',
  'longDeadline',
  'otherVerifyingContract',
  'otherChainId',
  'extraTypeField',
  'badPrice',
])
export type Tampering = z.infer<typeof tampering>

const trigger = {
  /** Chance that the rule applies, 0 to 1. */
  probability: z.number().min(0).max(1).default(1),
  /** Maximum number of times that the rule applies. Default: unlimited. */
  count: z.int().min(0).optional(),
}
const milliseconds = z.int().min(0).max(3_600_000)
const gaslessRoutes = ['tokens', 'quote', 'orders', 'order'] as const
const aggregatorRoutes = [
  'sendRawTransaction',
  'sendBundle',
  'transactionReceipt',
  'accountInfo',
  'transactionStatus',
  'batchedReceipt',
] as const
/** One route, all routes of one service, or all routes. */
const route = z.enum([...gaslessRoutes, ...aggregatorRoutes, 'gasless', 'aggregator', 'any'])
const onRoute = { route: route.default('any') }

function rule<Kind extends string, Own extends z.ZodRawShape>(kind: Kind, own: Own) {
  return z.strictObject({ kind: z.literal(kind), ...trigger, ...own })
}

const requestRule = z.discriminatedUnion('kind', [
  rule('rateLimit', { ...onRoute, retryAfterSeconds: z.int().min(0).default(1) }),
  rule('errorBefore', onRoute),
  rule('errorAfter', onRoute),
  rule('strayAfter', onRoute),
  rule('dropBefore', onRoute),
  rule('dropAfter', onRoute),
  rule('slow', { ...onRoute, delayMs: milliseconds }),
  rule('wrongDate', { ...onRoute, skewMs: z.int() }),
])
const quoteRule = rule('tamper', { tampering })
const orderRule = z.discriminatedUnion('kind', [
  rule('lateFill', { delayMs: milliseconds }),
  rule('neverFill', {}),
  rule('revertFill', {}),
  rule('lieFailed', {}),
  rule('lieFilled', {}),
  rule('notFoundYet', { forMs: milliseconds }),
])
const callRule = z.discriminatedUnion('kind', [
  rule('lateInclusion', { delayMs: milliseconds }),
  rule('neverIncluded', {}),
  /** A hostile call reverts the batch; without `retry` the call is then dropped. */
  rule('batchReverted', { retry: z.boolean().default(true) }),
  rule('includedTwice', {}),
  rule('lieReceipt', {}),
  rule('hashUnknownYet', { forMs: milliseconds }),
])

/** The `--faults` file and the body of `PUT /faults`. */
export const faultsSchema = z.strictObject({
  seed: z.int().min(0).default(1),
  rules: z.array(z.union([requestRule, quoteRule, orderRule, callRule])).default([]),
})
type FaultRule = z.infer<typeof faultsSchema>['rules'][number]
export type RequestFault = z.infer<typeof requestRule>
export type OrderFault = z.infer<typeof orderRule>
/** A fault of a transaction that the aggregation service accepted. */
export type CallFault = z.infer<typeof callRule>
export type Route = (typeof gaslessRoutes)[number]
export type AggregatorRoute = (typeof aggregatorRoutes)[number]

export type Faults = ReturnType<typeof createFaults>

type ArmedRule = { readonly rule: FaultRule; readonly random: SeededRandom; applied: number }

/** The active faults. Each rule draws from its own seeded sequence. */
export function createFaults(settings: unknown) {
  let seed = 1
  let armed: ArmedRule[] = []
  const set = (value: unknown): void => {
    const parsed = faultsSchema.parse(value ?? {})
    seed = parsed.seed
    armed = parsed.rules.map((rule, index) => ({
      rule,
      random: createRandom(`${parsed.seed}`).fork(`fault:${index}`),
      applied: 0,
    }))
  }
  const drawn = <Rule extends FaultRule>(is: (rule: FaultRule) => rule is Rule): Rule[] =>
    armed.flatMap((each) => (is(each.rule) && applies(each) ? [each.rule] : []))
  set(settings)
  return {
    /** Replaces all rules. Throws a ZodError. */
    set,
    snapshot: () => ({ seed, rules: armed.map(({ rule, applied }) => ({ ...rule, applied })) }),
    /** The faults that apply to one request, in the order of the file. */
    forRequest: (requested: Route | AggregatorRoute): RequestFault[] =>
      drawn((rule): rule is RequestFault => 'route' in rule && covers(rule.route, requested)),
    forQuote: (): Tampering[] =>
      drawn((rule) => rule.kind === 'tamper').map((rule) => rule.tampering),
    forOrder: (): OrderFault[] => drawn((rule): rule is OrderFault => ORDER_KINDS.has(rule.kind)),
    forCall: (): CallFault[] => drawn((rule): rule is CallFault => CALL_KINDS.has(rule.kind)),
  }
}

function applies(armed: ArmedRule): boolean {
  const { count, probability } = armed.rule
  if (count !== undefined && armed.applied >= count) return false
  if (armed.random.next() >= probability) return false
  armed.applied += 1
  return true
}

function covers(rule: z.infer<typeof route>, requested: Route | AggregatorRoute): boolean {
  if (rule === 'any' || rule === requested) return true
  const isGasless = gaslessRoutes.some((name) => name === requested)
  return rule === (isGasless ? 'gasless' : 'aggregator')
}

const ORDER_KINDS = new Set<string>(orderRule.options.map(({ shape }) => shape.kind.value))
const CALL_KINDS = new Set<string>(callRule.options.map(({ shape }) => shape.kind.value))
