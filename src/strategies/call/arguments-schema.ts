import { isAddress } from 'viem/utils'
import type { Fault, Tree } from '../../config/yaml/document.ts'
import type { Path } from '../../config/yaml/problem.ts'
import type { AbiParam } from './signature-schema.ts'

export type AbiValue = string | boolean | bigint | readonly AbiValue[]

type Place = { readonly path: Path; readonly report: (fault: Fault) => void }

const ARRAY = /^(.*)\[(\d*)\]$/
const DECIMAL = /^-?(0|[1-9]\d{0,77})$/
const HEX_INTEGER = /^0x[0-9a-fA-F]{1,64}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** Reads arguments from source text, so that no integer passes through a double. Reports the fault if one does not fit. */
export function readArguments(
  params: readonly AbiParam[],
  args: readonly Tree[],
  place: Place & { readonly what: string },
): readonly AbiValue[] | undefined {
  const { path, report, what } = place
  if (args.length !== params.length) {
    const message = `${what} takes ${params.length} values, and ${args.length} are given`
    report({ path, message, expected: `a list of: ${params.map(nameOf).join(', ') || 'nothing'}` })
    return undefined
  }
  const values = params.map((param, index) =>
    readValue(param, args[index] ?? null, { path: [...path, index], report }),
  )
  return values.every((value) => value !== undefined) ? values : undefined
}

function readValue(param: AbiParam, given: Tree, place: Place): AbiValue | undefined {
  const array = ARRAY.exec(param.type)
  if (array !== null) return readArray(param, array, given, place)
  if (param.type === 'tuple') return readTuple(param, given, place)
  if (typeof given !== 'string') return refuse(param, place)
  const value = readScalar(param.type, given)
  return value.ok ? value.value : refuse(param, place, value.expected)
}

function readArray(
  param: AbiParam,
  [, type = '', size = '']: RegExpExecArray,
  given: Tree,
  place: Place,
): AbiValue | undefined {
  if (!Array.isArray(given)) return refuse(param, place, `a list of ${nameOf({ ...param, type })}`)
  const { name: _name, ...item } = { ...param, type }
  const length = size === '' ? given.length : Number(size)
  const params = Array.from({ length }, () => item)
  return readArguments(params, given, { ...place, what: param.type })
}

function readTuple(param: AbiParam, given: Tree, place: Place): AbiValue | undefined {
  const components = param.components ?? []
  if (!Array.isArray(given)) return refuse(param, place, 'a list in the order of the tuple')
  return readArguments(components, given, { ...place, what: nameOf(param) })
}

type Scalar = { ok: true; value: string | boolean | bigint } | { ok: false; expected: string }

function readScalar(type: string, text: string): Scalar {
  if (type === 'string') return { ok: true, value: text }
  if (type === 'bool')
    return text === 'true' || text === 'false'
      ? { ok: true, value: text === 'true' }
      : { ok: false, expected: 'true or false' }
  if (type === 'address') return readAddress(text)
  return type.startsWith('bytes') ? readBytes(type, text) : readInteger(type, text)
}

function readAddress(text: string): Scalar {
  const expected = '0x and 40 hex digits, all lower-case or with a correct checksum'
  const isWellFormed = isAddress(text, { strict: true })
  return isWellFormed ? { ok: true, value: text.toLowerCase() } : { ok: false, expected }
}

function readBytes(type: string, text: string): Scalar {
  const size = type === 'bytes' ? undefined : Number(type.slice('bytes'.length))
  const fits = BYTES.test(text) && (size === undefined || text.length === 2 + size * 2)
  if (fits) return { ok: true, value: text.toLowerCase() }
  const digits = size === undefined ? 'an even number of' : `exactly ${size * 2}`
  return { ok: false, expected: `0x and ${digits} hex digits` }
}

function readInteger(type: string, text: string): Scalar {
  const isSigned = type.startsWith('int')
  const bits = BigInt(type.slice(isSigned ? 'int'.length : 'uint'.length))
  const top = 2n ** (isSigned ? bits - 1n : bits)
  const least = isSigned ? -top : 0n
  const value = DECIMAL.test(text) || HEX_INTEGER.test(text) ? BigInt(text) : undefined
  if (value !== undefined && value >= least && value < top) return { ok: true, value }
  const floor = isSigned ? `-2^${bits - 1n}` : '0'
  const ceiling = isSigned ? bits - 1n : bits
  return { ok: false, expected: `a whole number from ${floor} to 2^${ceiling} - 1` }
}

function refuse(param: AbiParam, { path, report }: Place, expected = nameOf(param)): undefined {
  report({ path, message: `${nameOf(param)} expected`, expected })
  return undefined
}

/** A type as in a signature, with tuples spelled out. */
export function nameOf(param: AbiParam): string {
  const { type, components } = param
  if (components === undefined) return type
  return `(${components.map(nameOf).join(',')})${type.slice('tuple'.length)}`
}
