import { encodeAbiParameters, keccak256, toHex } from 'viem/utils'
import * as z from 'zod'
import { nearest } from '../../domain/nearest.ts'
import type { CallStrategy, StrategyLimits } from '../../domain/strategy.ts'
import { ETHER, NATIVE_TOKEN } from '../../domain/token.ts'
import {
  type Address,
  type BaseUnits,
  baseUnits,
  formatAmount,
  type Hex,
  parseAddress,
  ZERO_ADDRESS,
} from '../../domain/units.ts'
import { etherOrNone, integer, scalar, section, textLike } from '../scalars.ts'
import type { Tree } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'
import { type AbiValue, nameOf, readArguments } from './call-arguments.ts'
import { refuseDrawdown } from './checks.ts'
import { buildLimits, buildSchedule, commonFields, type StrategyContext } from './fields.ts'
import { type FunctionSignature, parseSignature } from './function-signature.ts'

const GAS_MIN = 21_000
const GAS_MAX = 30_000_000

const signature = scalar({
  expected: 'a function with its types, such as claim(address) or pay(address,uint256)',
  read: (text) => {
    const parsed = parseSignature(text)
    return parsed.ok ? { ok: true, value: { text, ...parsed.value } } : parsed
  },
})

/** Any tree of lists and scalars: only the function tells what belongs there. The YAML reader makes nothing else. */
const argument = z.unknown().transform((given) => given as Tree)

const { name, enabled, schedule, limits } = commonFields

/** `kind: call`: one contract call on every slot, through the aggregation service. */
export const callSchema = section({
  name,
  enabled,
  schedule,
  limits,
  kind: z.literal('call', { error: 'call' }),
  to: textLike(/^\S{1,64}$/, 'a name of aggregator.targets').describe(
    'Contract that is called: a name of aggregator.targets, or the address of one',
  ),
  function: signature.optional().describe('Its function; without one ether is sent, and no data'),
  args: z
    .array(argument, { error: 'a list of arguments, one for each type of the function' })
    .optional()
    .describe('In the order of the function; a tuple is a list'),
  value: etherOrNone.prefault('0').describe('Ether that each call carries'),
  gasLimit: integer({ min: GAS_MIN, max: GAS_MAX }).describe(
    "Most gas that the whole call may use, some 40,000 of the proposer's own checks included",
  ),
})

type CallInput = z.output<typeof callSchema>

/** The strategy, or undefined when something was reported that leaves it without a meaning. */
export function buildCall(input: CallInput, context: StrategyContext): CallStrategy | undefined {
  const target = targetOf(input, context)
  refuseDrawdown(input.limits, context)
  const calldata = buildCalldata(input, context)
  const value = baseUnits(input.value)
  // Caps are in wei of value, whichever chain it is on.
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
  }
}

/**
 * The contract that is called. Nothing else than an allowed one ever is: a strategy without one is refused, or disabled.
 * A disabled file may wait for the section that it needs: it calls nothing, and an example must not keep a config
 * without the service from loading.
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
  const tell = input.enabled ? report : warn
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
  tell({ path: ['to'], message, expected, suggestion })
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

/** Four bytes of the signature's hash, then the arguments. */
function encodeCall(called: FunctionSignature, args: readonly AbiValue[]): Hex {
  const canonical = `${called.name}(${called.inputs.map(nameOf).join(',')})`
  const selector = keccak256(toHex(canonical)).slice(0, 10)
  return `${selector}${encodeAbiParameters(called.inputs, args).slice(2)}` as Hex
}

/** A call above one of its caps would be skipped on every slot, and the operator would learn it weeks later. */
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
