import { type Address, type BaseUnits, parseAddress } from '../domain/money/units.ts'
import {
  PERMIT_DOMAIN_NAME,
  PERMIT_PRIMARY_TYPE,
  PERMIT_TYPES,
  type Permit,
} from '../domain/order/permit.ts'

/**
 * Parses typed data from the wire into a permit, or reports the fault. Strict: an extra field, a type in another order, or a
 * number that JSON may have rounded is malformed. Accepted typed data has exactly one EIP-712 digest, that of the returned
 * permit.
 */
export function readTypedData(
  typedData: Readonly<Record<string, unknown>>,
  owner: Address,
): { ok: true; permit: Permit } | { ok: false; detail: string } {
  try {
    return { ok: true, permit: permitOf(typedData, owner) }
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, detail: error.message }
    throw error
  }
}

class Malformed extends Error {}

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const

function permitOf(typedData: Readonly<Record<string, unknown>>, owner: Address): Permit {
  const root = record(typedData, 'typedData', ['types', 'primaryType', 'domain', 'message'])
  if (root.primaryType !== PERMIT_PRIMARY_TYPE)
    throw new Malformed(`primaryType is not ${PERMIT_PRIMARY_TYPE}`)
  checkTypes(root.types)
  const domain = record(root.domain, 'domain', ['name', 'chainId', 'verifyingContract'])
  if (domain.name !== PERMIT_DOMAIN_NAME) throw new Malformed('domain.name is not Permit2')
  const message = record(root.message, 'message', [
    'permitted',
    'spender',
    'nonce',
    'deadline',
    'witness',
  ])
  const permitted = record(message.permitted, 'message.permitted', ['token', 'amount'])
  const witness = record(message.witness, 'message.witness', [
    'recipient',
    'tokenOut',
    'minAmountOut',
  ])
  return {
    chainId: count(domain.chainId, 'domain.chainId'),
    permit2: address(domain.verifyingContract, 'domain.verifyingContract'),
    owner,
    token: address(permitted.token, 'message.permitted.token'),
    amount: uint(permitted.amount, 'message.permitted.amount') as BaseUnits,
    spender: address(message.spender, 'message.spender'),
    nonce: uint(message.nonce, 'message.nonce'),
    deadlineSeconds: count(message.deadline, 'message.deadline'),
    recipient: address(witness.recipient, 'message.witness.recipient'),
    tokenOut: address(witness.tokenOut, 'message.witness.tokenOut'),
    minAmountOut: uint(witness.minAmountOut, 'message.witness.minAmountOut') as BaseUnits,
  }
}

function checkTypes(value: unknown): void {
  const expected = new Map<string, readonly { name: string; type: string }[]>(
    Object.entries(PERMIT_TYPES),
  )
  const types = record<string>(value, 'types', [...expected.keys()], ['EIP712Domain'])
  if (Object.hasOwn(types, 'EIP712Domain')) expected.set('EIP712Domain', DOMAIN_FIELDS)
  for (const [name, fields] of expected) sameFields(types[name], fields, name)
}

function sameFields(
  value: unknown,
  expected: readonly { name: string; type: string }[],
  name: string,
): void {
  const where = `types.${name}`
  if (!Array.isArray(value) || value.length !== expected.length)
    throw new Malformed(`${where} does not have ${expected.length} fields`)
  for (const [index, field] of expected.entries()) {
    const got = record(value[index], `${where}[${index}]`, ['name', 'type'])
    if (got.name !== field.name || got.type !== field.type)
      throw new Malformed(`${where}[${index}] is not ${field.type} ${field.name}`)
  }
}

/** A plain object with exactly the given keys (`optional` ones may be missing). */
function record<Key extends string>(
  value: unknown,
  where: string,
  keys: readonly Key[],
  optional: readonly string[] = [],
): Record<Key, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Malformed(`${where} is not an object`)
  const fields = value as Record<string, unknown>
  for (const key of keys) {
    if (!Object.hasOwn(fields, key)) throw new Malformed(`${where}.${key} is missing`)
  }
  for (const key of Object.keys(fields)) {
    if (!(keys as readonly string[]).includes(key) && !optional.includes(key))
      throw new Malformed(`${where} has an unexpected field`)
  }
  return fields as Record<Key, unknown>
}

function address(value: unknown, where: string): Address {
  const parsed = typeof value === 'string' ? parseAddress(value) : undefined
  if (parsed === undefined) throw new Malformed(`${where} is not an address`)
  return parsed
}

const UINT256_MAX = 2n ** 256n - 1n

/** A uint256 as decimal or hex text, or as a number too small to have been rounded by JSON. */
function uint(value: unknown, where: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^(0|[1-9]\d{0,77}|0x[0-9a-fA-F]{1,64})$/.test(value)) {
    const parsed = BigInt(value)
    if (parsed <= UINT256_MAX) return parsed
  }
  throw new Malformed(`${where} is not an exact unsigned integer`)
}

/** A safe integer (seconds, chain ids). */
function count(value: unknown, where: string): number {
  const parsed = uint(value, where)
  if (parsed > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed(`${where} is out of range`)
  return Number.parseInt(parsed.toString(), 10)
}
