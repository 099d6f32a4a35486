import { type Address, type Hex, parseAddress } from '../../domain/units.ts'
import { UnusableAnswer } from './json-rpc-batch.ts'

/** The value encodings of Ethereum JSON-RPC (EIP-1474). All throw UnusableAnswer for anything else. */

const QUANTITY = /^0x[0-9a-f]{1,64}$/i
const DATA = /^0x(?:[0-9a-f]{2})*$/i
const HASH = /^0x[0-9a-f]{64}$/i

export function quantity(value: unknown, name: string): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw unusable(name)
  return BigInt(value)
}

/** A quantity that fits a JavaScript integer: ids, counts and nonces. */
export function count(value: unknown, name: string): number {
  const number = Number(quantity(value, name))
  if (!Number.isSafeInteger(number)) throw unusable(name)
  return number
}

export function bytes(value: unknown, name: string): Hex {
  if (typeof value !== 'string' || !DATA.test(value)) throw unusable(name)
  return value.toLowerCase() as Hex
}

export function hash(value: unknown, name: string): Hex {
  if (typeof value !== 'string' || !HASH.test(value)) throw unusable(name)
  return value.toLowerCase() as Hex
}

export function address(value: unknown, name: string): Address {
  const parsed = typeof value === 'string' ? parseAddress(value) : undefined
  if (parsed === undefined) throw unusable(name)
  return parsed
}

/** An object of which the named fields, and no others, may be read. */
export function object<Field extends string>(
  value: unknown,
  name: string,
): { readonly [field in Field]: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unusable(name)
  return value as { readonly [field in Field]: unknown }
}

export function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw unusable(name)
  return value
}

/** The 0x text of a number as a call's parameter. */
export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}

function unusable(name: string): UnusableAnswer {
  return new UnusableAnswer(`answered no usable ${name}`)
}
