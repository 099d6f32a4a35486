import { encodeAbiParameters, keccak256, toHex } from 'viem/utils'
import * as z from 'zod'
import { etherOrNone } from '../../config/amount-scalars.ts'
import { integer, scalar, section, textLike } from '../../config/scalars.ts'
import type { Tree } from '../../config/yaml/document.ts'
import type { Path } from '../../config/yaml/problem.ts'
import { ETHER, NATIVE_TOKEN } from '../../domain/money/token.ts'
import {
  type Address,
  type BaseUnits,
  baseUnits,
  formatAmount,
  type Hex,
  parseAddress,
  ZERO_ADDRESS,
} from '../../domain/money/units.ts'
import type { StrategyLimits } from '../../domain/strategy.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { buildLimits, buildSchedule, commonFields, type StrategyContext } from '../files/fields.ts'
import { kindSchema } from '../files/kind-schema.ts'
import { type AbiValue, nameOf, readArguments } from './arguments-schema.ts'
import { type CallStrategy, call } from './call-kind.ts'
import { type FunctionSignature, parseSignature } from './signature-schema.ts'

const GAS_MIN = 21_000
const GAS_MAX = 30_000_000

const signature = scalar({
  expected: 'a function with its types, such as claim(address) or pay(address,uint256)',
  read: (text) => {
    const parsed = parseSignature(text)
    return parsed.ok ? { ok: true, value: { text, ...parsed.value } } : parsed
  },
})

/** Any tree of lists and scalars; checked against the function's types later. */
const argument = z.unknown().transform((given) => given as Tree)

const schema = section({
  ...commonFields,
  kind: z.literal('call', { error: 'call' }),
  to: textLike(/^\S{1,64}$/, 'a name of aggregator.targets').describe(
    'Contract to call: a name in aggregator.targets, or its address',
  ),
  function: signature.optional().describe('Function to call; without one, only ether is sent'),
  args: z
    .array(argument, { error: 'a list of arguments, one for each type of the function' })
    .optional()
    .describe('Arguments in the order of the function; a tuple is a list'),
  value: etherOrNone.prefault('0').describe('Ether to send with each call'),
  gasLimit: integer({ min: GAS_MIN, max: GAS_MAX }).describe(
    "Maximum gas of the whole call, including some 40,000 for the proposer's own checks",
  ),
})

type CallInput = z.output<typeof schema>

export const callFile = kindSchema(call, {
  schema,
  build,
  does: 'calls a contract on a schedule, through the aggregation service',
  // The config of `tranched init` has no contract to call.
  examples: { slow: 'claim-weekly', fast: 'call', runsAsIs: false },
  hints: {},
})

function build(input: CallInput, context: StrategyContext): CallStrategy | undefined {
  const target = targetOf(input, context)
  const calldata = buildCalldata(input, context)
  const value = baseUnits(input.value)
  // Caps are in wei of value on any chain.
  const limits = buildLimits(input.limits, ETHER, context)
  checkCanRun(value, limits, context)
  warnOfValue(input, limits, context)
  if (calldata === undefined) return undefined
  return {
    kind: 'call',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSchedule(input.schedule),
    limits,
    target,
    calldata,
    value,
    gasLimit: BigInt(input.gasLimit),
    label: input.function?.text ?? 'transfer',
    shown: shownText(input),
  }
}

const ARGS_LENGTH_MAX = 200

/** `claim(0x…) of demo`, with long arguments cut. */
function shownText({ function: called, args = [], to }: CallInput): string {
  if (called === undefined) return `transfer to ${to}`
  const text = args.map(argumentText).join(', ').replace(/\s+/g, ' ')
  const end = text.length > ARGS_LENGTH_MAX ? '…' : ''
  return `${called.name}(${text.slice(0, ARGS_LENGTH_MAX)}${end}) of ${to}`
}

function argumentText(given: Tree): string {
  return typeof given === 'string'
    ? given
    : `[${Object.values(given ?? [])
        .map(argumentText)
        .join(', ')}]`
}

/**
 * The contract to call, which the config must allow. A disabled file may lack the `aggregator` section, so that an example
 * does not keep a config without the service from loading.
 */
function targetOf(input: CallInput, { settings, report, warn }: StrategyContext): Address {
  const { aggregator } = settings
  const named = aggregator?.targets.get(input.to)
  if (named !== undefined) return named
  const address = parseAddress(input.to)
  if (aggregator === undefined) {
    if (!input.enabled) return address ?? ZERO_ADDRESS
    const message = 'calls go through the aggregation service, and the config has no `aggregator`'
    const expected = 'an `aggregator` section in the config, or `enabled: false` here'
    report({ path: ['kind'], message, expected })
    return ZERO_ADDRESS
  }
  const { targets } = aggregator
  if (address !== undefined && [...targets.values()].includes(address)) return address
  const add = input.enabled ? report : warn
  const names = [...targets.keys()]
  const isAddress = input.to.startsWith('0x')
  const message = isAddress
    ? 'the config does not allow calls to this contract'
    : 'nothing under `aggregator.targets` has this name'
  const expected =
    names.length === 0
      ? 'an entry under `aggregator.targets` in the config, such as { claim: "0x..." }'
      : `a name of \`aggregator.targets\`: ${names.join(', ')}`
  const suggestion = isAddress ? undefined : nearest(input.to, names)
  add({ path: ['to'], message, expected, suggestion })
  return address ?? ZERO_ADDRESS
}

function buildCalldata(input: CallInput, { report }: StrategyContext): Hex | undefined {
  const path = ['args']
  if (input.function === undefined) {
    if (input.args === undefined || input.args.length === 0) return '0x'
    const message = 'these arguments have no function'
    report({ path, at: 'key', message, expected: 'a `function` that takes them' })
    return undefined
  }
  const place = { path, report, what: input.function.text }
  const args = readArguments(input.function.inputs, input.args ?? [], place)
  return args === undefined ? undefined : encodeCall(input.function, args)
}

function encodeCall(called: FunctionSignature, args: readonly AbiValue[]): Hex {
  const canonical = `${called.name}(${called.inputs.map(nameOf).join(',')})`
  const selector = keccak256(toHex(canonical)).slice(0, 10)
  return `${selector}${encodeAbiParameters(called.inputs, args).slice(2)}` as Hex
}

/** Rejects a call above one of its caps, which would be skipped on every slot. */
function checkCanRun(value: BaseUnits, limits: StrategyLimits, { report }: StrategyContext): void {
  for (const name of ['perDay', 'total'] as const) {
    const cap = limits[name].get(NATIVE_TOKEN)
    if (cap === undefined || value <= cap) continue
    const message = `this call could never run: it carries more than limits.${name} allows`
    report({ path: ['value'], message, expected: `at most ${formatAmount(cap, 18)} ether` })
  }
}

function warnOfValue(input: CallInput, limits: StrategyLimits, { warn }: StrategyContext): void {
  const path: Path = ['value']
  if (input.value === 0n && input.function === undefined) {
    const message = 'this sends nothing and calls nothing'
    warn({ path, message, expected: 'a `value`, a `function`, or both' })
  }
  if (input.value === 0n || limits.perDay.size > 0 || limits.total.size > 0) return
  const message = 'nothing caps what this strategy sends in a day'
  warn({ path, message, expected: 'limits.perDay or limits.total, in ether' })
}
