import fc from 'fast-check'
import { hashTypedData } from 'viem/utils'
import { describe, expect, test } from 'vitest'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import {
  PERMIT_DOMAIN_NAME,
  PERMIT_PRIMARY_TYPE,
  PERMIT_TYPES,
  type Permit,
} from '../../../src/domain/order/permit.ts'
import { createPermitHasher, permit2DomainSeparator } from '../../../src/signing/permit-digest.ts'
import { readTypedData } from '../../../src/signing/typed-data.ts'
import { typedDataOf } from '../../simulation/gasless/offer.ts'
import { PERMIT2, SIMULATED_CHAIN_ID } from '../../simulation/stage.ts'
import { aPermit } from '../../support/builders.ts'

const address = fc
  .bigInt({ min: 0n, max: 2n ** 160n - 1n })
  .map((value): Address => `0x${value.toString(16).padStart(40, '0')}`)
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const amount = uint256.map(baseUnits)

const permits: fc.Arbitrary<Permit> = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 31 }),
  permit2: address,
  owner: address,
  token: address,
  amount,
  spender: address,
  nonce: uint256,
  deadlineSeconds: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  recipient: address,
  tokenOut: address,
  minAmountOut: amount,
})

function digestByLibrary(permit: Permit): Hex {
  const { chainId, permit2, token, spender, nonce, recipient, tokenOut, minAmountOut } = permit
  return hashTypedData({
    types: PERMIT_TYPES,
    primaryType: PERMIT_PRIMARY_TYPE,
    domain: { name: PERMIT_DOMAIN_NAME, chainId, verifyingContract: permit2 },
    message: {
      permitted: { token, amount: permit.amount },
      spender,
      nonce,
      deadline: BigInt(permit.deadlineSeconds),
      witness: { recipient, tokenOut, minAmountOut },
    },
  })
}

describe('the digest of a permit', () => {
  test("equals a general library's digest for every permit readable from typed data", async () => {
    await fc.assert(
      fc.asyncProperty(permits, async (offered) => {
        const read = readTypedData(typedDataOf(offered), offered.owner)
        if (!read.ok) throw new Error(read.detail)
        const { hash } = await createPermitHasher(read.permit)
        expect(hash(read.permit)).toBe(digestByLibrary(offered))
      }),
      { numRuns: 300 },
    )
  })

  test('changes with every field except the owner, which is not part of it', async () => {
    const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })
    const other: Address = '0x00000000000000000000000000000000000bad00'
    const changes: readonly Partial<Permit>[] = [
      { token: other },
      { amount: baseUnits(1n) },
      { spender: other },
      { nonce: 1n },
      { deadlineSeconds: 1 },
      { recipient: other },
      { tokenOut: other },
      { minAmountOut: baseUnits(1n) },
    ]
    const digests = changes.map((change) => hash(aPermit(change)))
    expect(new Set([hash(aPermit()), ...digests]).size).toBe(changes.length + 1)
    expect(hash(aPermit({ owner: other }))).toBe(hash(aPermit()))
  })

  test('is refused for a permit of another deployment', async () => {
    const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })
    expect(() => hash(aPermit({ chainId: 1 }))).toThrow(RangeError)
  })

  test('uses the domain separator of the deployed Permit2 on chain 1', () => {
    expect(permit2DomainSeparator(1, PERMIT2)).toBe(
      '0x866a5aba21966af95d6c7ab78eb2b2fc913915c28be3b9aa07cc04ff903e3f28',
    )
  })
})
