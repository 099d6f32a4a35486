import { describe, expect, test } from 'vitest'
import { PERMIT_TYPES } from '../../../src/domain/order/permit.ts'
import { readTypedData } from '../../../src/signing/typed-data.ts'
import { typedDataOf } from '../../simulation/gasless/offer.ts'
import { WALLET } from '../../simulation/stage.ts'
import { aPermit } from '../../support/builders.ts'

type Json = Record<string, unknown>

/** The honest typed data with one value replaced; `remove` deletes the value. */
function changed(path: string, value: unknown): Json {
  const data = structuredClone(typedDataOf(aPermit())) as Json
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const parent = keys.reduce<Json>((at, key) => at[key] as Json, data)
  if (value === REMOVED) delete parent[last]
  else parent[last] = value
  return data
}

const REMOVED = Symbol('removed')

function detailOf(data: Json): string {
  const read = readTypedData(data, WALLET)
  return read.ok ? 'accepted' : read.detail
}

describe('typed data', () => {
  test('that is plain is parsed into its permit', () => {
    expect(readTypedData(typedDataOf(aPermit()), WALLET)).toEqual({ ok: true, permit: aPermit() })
  })

  test.each<[string, string, unknown]>([
    ['an amount in hex', 'message.permitted.amount', '0x17d7840'],
    ['an amount as a small number', 'message.permitted.amount', 25_000_000],
    ['a chain id as text', 'domain.chainId', '8453'],
    [
      'a checksummed token',
      'message.witness.tokenOut',
      '0x4200000000000000000000000000000000000006',
    ],
    [
      'the domain among its types',
      'types.EIP712Domain',
      [
        { name: 'name', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
    ],
  ])('may have %s, which changes nothing', (_name, path, value) => {
    const read = readTypedData(changed(path, value), WALLET)
    expect(read).toEqual({ ok: true, permit: aPermit() })
  })

  test.each<[string, string, unknown]>([
    ['another primary type', 'primaryType', 'PermitTransferFrom'],
    ['another domain name', 'domain.name', 'Permit3'],
    ['a domain with a version', 'domain.version', '1'],
    ['a domain with a salt', 'domain.salt', `0x${'00'.repeat(32)}`],
    ['a domain without its chain', 'domain.chainId', REMOVED],
    ['a fractional chain id', 'domain.chainId', 8453.5],
    ['a chain id beyond exact numbers', 'domain.chainId', (2n ** 53n).toString()],
    ['a contract that is not an address', 'domain.verifyingContract', '0x1234'],
    ['an extra field at the top', 'extra', 1],
    ['a message with an extra field', 'message.owner', WALLET],
    ['a message without a nonce', 'message.nonce', REMOVED],
    ['a witness with an extra field', 'message.witness.fee', '1'],
    ['a permitted list', 'message.permitted', []],
    ['a permitted null', 'message.permitted', null],
    ['an amount that JSON may have rounded', 'message.permitted.amount', 2 ** 53],
    ['a negative amount', 'message.permitted.amount', '-1'],
    ['an amount with a leading zero', 'message.permitted.amount', '01'],
    ['an amount with blanks', 'message.permitted.amount', ' 1'],
    ['an empty amount', 'message.permitted.amount', ''],
    ['an amount that is true', 'message.permitted.amount', true],
    ['an amount of 2^256', 'message.permitted.amount', (2n ** 256n).toString()],
    ['an amount with an exponent', 'message.permitted.amount', '1e6'],
    ['an empty hex amount', 'message.permitted.amount', '0x'],
    ['a spender that is not an address', 'message.spender', 'settlement.eth'],
    ['an extra type', 'types.Extra', []],
    ['a missing type', 'types.OrderWitness', REMOVED],
    [
      'fields in another order',
      'types.TokenPermissions',
      PERMIT_TYPES.TokenPermissions.toReversed(),
    ],
    [
      'a field of another type',
      'types.TokenPermissions',
      [
        { name: 'token', type: 'address' },
        { name: 'amount', type: 'uint160' },
      ],
    ],
    [
      'a type without one of its fields',
      'types.OrderWitness',
      PERMIT_TYPES.OrderWitness.slice(0, 2),
    ],
    [
      'a domain type with another field',
      'types.EIP712Domain',
      [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'verifyingContract', type: 'address' },
      ],
    ],
    ['types that are a list', 'types', [PERMIT_TYPES]],
  ])('with %s is malformed', (_name, path, value) => {
    expect(detailOf(changed(path, value))).not.toBe('accepted')
  })

  test('ignores fields that only exist on its prototype', () => {
    const data = changed('message.nonce', REMOVED)
    Object.setPrototypeOf(data['message'], { nonce: '7' })
    expect(detailOf(data)).toBe('message.nonce is missing')
  })
})
