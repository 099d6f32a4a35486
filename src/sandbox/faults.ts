import * as z from 'zod'
import { createRandom, type SeededRandom } from '../domain/random.ts'

/** Ways in which a quote may be dishonest. */
export const tamperings = [
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
] as const
export type Tampering = (typeof tamperings)[number]

const trigger = {
  /** Chance that the rule applies when it is asked, 0 to 1. */
  probability: z.number().min(0).max(1).default(1),
  /** How often it may apply at most; without it, for ever. */
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
/** A route, all of one service's, or all there are. */
const route = z.enum([...gaslessRoutes, ...aggregatorRoutes, 'gasless', 'aggregator', 'any'])
const onRoute = { ...trigger, route: route.default('any') }

const requestRule = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('rateLimit'),
    ...onRoute,
    retryAfterSeconds: z.int().min(0).default(1),
  }),
  z.strictObject({ kind: z.literal('errorBefore'), ...onRoute }),
  z.strictObject({ kind: z.literal('errorAfter'), ...onRoute }),
  z.strictObject({ kind: z.literal('strayAfter'), ...onRoute }),
  z.strictObject({ kind: z.literal('dropBefore'), ...onRoute }),
  z.strictObject({ kind: z.literal('dropAfter'), ...onRoute }),
  z.strictObject({ kind: z.literal('slow'), ...onRoute, delayMs: milliseconds }),
  z.strictObject({ kind: z.literal('wrongDate'), ...onRoute, skewMs: z.int() }),
])
const quoteRule = z.strictObject({
  kind: z.literal('tamper'),
  ...trigger,
  tampering: z.enum(tamperings),
})
const orderRule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('lateFill'), ...trigger, delayMs: milliseconds }),
  z.strictObject({ kind: z.literal('neverFill'), ...trigger }),
  z.strictObject({ kind: z.literal('revertFill'), ...trigger }),
  z.strictObject({ kind: z.literal('lieFailed'), ...trigger }),
  z.strictObject({ kind: z.literal('lieFilled'), ...trigger }),
  z.strictObject({ kind: z.literal('notFoundYet'), ...trigger, forMs: milliseconds }),
])
const callRule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('lateInclusion'), ...trigger, delayMs: milliseconds }),
  z.strictObject({ kind: z.literal('neverIncluded'), ...trigger }),
  /** A stranger's call reverts the batch; without `retry` the call is given up then. */
  z.strictObject({
    kind: z.literal('batchReverted'),
    ...trigger,
    retry: z.boolean().default(true),
  }),
  z.strictObject({ kind: z.literal('includedTwice'), ...trigger }),
  z.strictObject({ kind: z.literal('lieReceipt'), ...trigger }),
  z.strictObject({ kind: z.literal('hashUnknownYet'), ...trigger, forMs: milliseconds }),
])

/** A set of faults: what the `--faults` file and `PUT /faults` hold. */
export const faultsSchema = z.strictObject({
  seed: z.int().min(0).default(1),
  rules: z.array(z.union([requestRule, quoteRule, orderRule, callRule])).default([]),
})
export type FaultSettings = z.infer<typeof faultsSchema>
type FaultRule = FaultSettings['rules'][number]
export type RequestFault = z.infer<typeof requestRule>
export type OrderFault = z.infer<typeof orderRule>
/** What happens to a transaction that the aggregation service took. */
export type CallFault = z.infer<typeof callRule>
/** Routes of the gasless service. */
export type Route = (typeof gaslessRoutes)[number]
/** Methods of the aggregation service. */
export type AggregatorRoute = (typeof aggregatorRoutes)[number]

const orderKinds = new Set<string>(orderRule.options.map((option) => option.shape.kind.value))
const callKinds = new Set<string>(callRule.options.map((option) => option.shape.kind.value))

/** The faults in force. Every question about them draws from one seeded sequence per rule. */
export type Faults = {
  /** Replaces all rules. Throws a ZodError if the settings are not well formed. */
  set(settings: unknown): void
  /** The rules with how often each has applied. */
  snapshot(): { seed: number; rules: (FaultRule & { applied: number })[] }
  /** Rules that apply to this request, in the order of the file. */
  forRequest(route: Route | AggregatorRoute): RequestFault[]
  /** Tamperings that apply to this quote. */
  forQuote(): Tampering[]
  /** What happens to this accepted order. */
  forOrder(): OrderFault[]
  /** What happens to this accepted transaction. */
  forCall(): CallFault[]
}

type ArmedRule = { readonly rule: FaultRule; readonly random: SeededRandom; applied: number }

/** Starts with the given settings, `{}` or undefined meaning none. */
export function createFaults(settings: unknown): Faults {
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
  const drawn = (matches: (rule: FaultRule) => boolean): FaultRule[] =>
    armed
      .filter(({ rule }) => matches(rule))
      .filter(applies)
      .map(({ rule }) => rule)
  set(settings)
  return {
    set,
    snapshot: () => ({ seed, rules: armed.map(({ rule, applied }) => ({ ...rule, applied })) }),
    forRequest: (asked) =>
      drawn((rule) => isRequestFault(rule) && covers(rule.route, asked)).filter(isRequestFault),
    forQuote: () =>
      drawn((rule) => rule.kind === 'tamper').flatMap((rule) =>
        rule.kind === 'tamper' ? [rule.tampering] : [],
      ),
    forOrder: () => drawn(isOrderFault).filter(isOrderFault),
    forCall: () => drawn(isCallFault).filter(isCallFault),
  }
}

function applies(armed: ArmedRule): boolean {
  const { count, probability } = armed.rule
  if (count !== undefined && armed.applied >= count) return false
  if (armed.random.next() >= probability) return false
  armed.applied += 1
  return true
}

function isRequestFault(rule: FaultRule): rule is RequestFault {
  return 'route' in rule
}

function covers(rule: z.infer<typeof route>, asked: Route | AggregatorRoute): boolean {
  if (rule === 'any' || rule === asked) return true
  const gasless = gaslessRoutes.some((name) => name === asked)
  return rule === (gasless ? 'gasless' : 'aggregator')
}

function isCallFault(rule: FaultRule): rule is CallFault {
  return callKinds.has(rule.kind)
}

function isOrderFault(rule: FaultRule): rule is OrderFault {
  return orderKinds.has(rule.kind)
}
