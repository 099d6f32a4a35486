import { decodeFunctionResult, encodeFunctionData, type Hex, keccak256, toHex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  READINGS,
  recordData,
  SEPOLIA,
  type SignedTerms,
  signedPayload,
} from '../../support/aggregator/aggregator.ts'
import { DEMO, PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { aggregatorChainForSuite } from '../../support/aggregator/aggregator-chain.ts'

/** Offset of the signature, the payload's first dynamic value, after five words and its length. */
const SIGNATURE_AT = 2 + 6 * 64
const SIGNATURE_DIGITS = 130

function signatureIn(payload: Hex): string {
  return payload.slice(SIGNATURE_AT, SIGNATURE_AT + SIGNATURE_DIGITS)
}

function withSignature(payload: Hex, signature: string): Hex {
  const rest = payload.slice(SIGNATURE_AT + SIGNATURE_DIGITS)
  return `0x${payload.slice(2, SIGNATURE_AT)}${signature}${rest}`
}

function onCallWith({ target, value }: SignedTerms, payload: Hex): Hex {
  const args = [target, payload, value] as const
  return encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
}

const fromSelf = (account: PrivateKeyAccount, data: Hex) => ({
  ...{ from: account.address, to: account.address, data },
})

describe.each(READINGS)('the TrustlessProposer as %s', (reading) => {
  const chain = aggregatorChainForSuite(reading)
  const contracts = () => chain().deployment.contracts
  const deployer = () => chain().deployment.deployer

  const terms = (changes: Partial<SignedTerms> = {}): SignedTerms => ({
    deadline: BigInt(Math.floor(Date.now() / 1000)) + 120n,
    nonce: 0n,
    target: contracts().demoTarget,
    value: 0n,
    calldata: recordData('22'),
    gasLimit: 120_000n,
    ...changes,
  })

  /** Domain fields that signatures for the account must contain. */
  const domainContract = (account: PrivateKeyAccount): Hex =>
    reading === 'deployed' ? account.address : contracts().trustlessProposer

  /** onCall calldata for an account, with an inner call signed by the account or a stranger. */
  const onCall = async (
    account: PrivateKeyAccount,
    changes: Partial<SignedTerms> = {},
    { signer = account, contract = domainContract(account) } = {},
  ): Promise<Hex> => {
    const signed = terms(changes)
    return onCallWith(signed, await signedPayload(signer, contract, signed))
  }

  const fromMulticall = (account: PrivateKeyAccount, data: Hex) => ({
    ...{ from: contracts().multicall, to: account.address, data },
  })
  const nestedNonce = (account: PrivateKeyAccount): Promise<bigint> => {
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'nestedNonce' })
    return chain().read(account.address, data)
  }

  test('executes a call signed by the owner and advances the nonce', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    expect(await nestedNonce(account)).toBe(0n)
    expect((await chain().sendSelf(account, await onCall(account))).status).toBe('0x1')
    expect(await nestedNonce(account)).toBe(1n)
    expect((await chain().sendSelf(account, await onCall(account, { nonce: 1n }))).status).toBe(
      '0x1',
    )
    expect(await chain().callsOf(account)).toBe(2n)
  })

  test('sends a signed value from the account', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const before = await chain().balance(contracts().demoTarget)
    await chain().sendSelf(account, await onCall(account, { value: 1234n }))
    const after = await chain().balance(contracts().demoTarget)
    expect(after - before).toBe(1234n)
  })

  test('refuses a replay, an earlier nonce and a later nonce', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const first = await onCall(account)
    await chain().sendSelf(account, first)
    expect(await chain().revertOf(fromSelf(account, first))).toBe('WrongNonce')
    expect(await chain().revertOf(fromSelf(account, await onCall(account, { nonce: 2n })))).toBe(
      'WrongNonce',
    )
  })

  test('accepts only the multicall and the account itself as callers', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const data = await onCall(account)
    expect(await chain().revertOf(fromMulticall(account, data))).toBeUndefined()
    expect(await chain().revertOf(fromSelf(account, data))).toBeUndefined()
    const stranger = { from: deployer().address, to: account.address, data }
    expect(await chain().revertOf(stranger)).toBe('OnlyMulticallOrSelf')
  })

  test('refuses a call after its deadline and accepts it in the last second', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const { timestamp } = await chain().rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', [
      'latest',
      false,
    ])
    const late = await onCall(account, { deadline: BigInt(timestamp) - 1n })
    expect(await chain().revertOf(fromSelf(account, late))).toBe('DeadlinePassed')
    const farFromLate = await onCall(account, { deadline: BigInt(timestamp) + 60n })
    expect(await chain().revertOf(fromSelf(account, farFromLate))).toBeUndefined()
  })

  test('refuses a signature by any other account', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const thief = privateKeyToAccount(generatePrivateKey())
    expect(await chain().revertOf(fromSelf(account, await onCall(thief)))).toBe('WrongSigner')
  })

  test.each([
    ['deadline', { deadline: 2n ** 40n }],
    ['target', { target: '0x00000000000000000000000000000000000000aa' as Hex }],
    ['value', { value: 1n }],
    ['calldata', { calldata: '0x1234' as Hex }],
    ['gasLimit', { gasLimit: 121_000n }],
  ])('refuses a payload whose %s differs from the signed value', async (_, change) => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const signed = terms()
    const used = { ...signed, ...change }
    const payload = await signedPayload(account, domainContract(account), signed)
    const other = await signedPayload(account, domainContract(account), used)
    const forged = withSignature(other, signatureIn(payload))
    expect(forged).not.toBe(other)
    expect(await chain().revertOf(fromSelf(account, onCallWith(used, forged)))).toBe('WrongSigner')
    const genuine = withSignature(forged, signatureIn(other))
    expect(await chain().revertOf(fromSelf(account, onCallWith(used, genuine)))).not.toBe(
      'WrongSigner',
    )
  })

  test('refuses the mirror image of a valid signature', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const signed = terms()
    const payload = await signedPayload(account, domainContract(account), signed)
    const signature = signatureIn(payload)
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const mirroredS = order - BigInt(`0x${signature.slice(64, 128)}`)
    const v = signature.endsWith('1b') ? '1c' : '1b'
    const mirrored = `${signature.slice(0, 64)}${mirroredS.toString(16).padStart(64, '0')}${v}`
    const twisted = onCallWith(signed, withSignature(payload, mirrored))
    expect(await chain().revertOf(fromSelf(account, twisted))).toBe('WrongSigner')
    const straight = onCallWith(signed, withSignature(payload, signature))
    expect(await chain().revertOf(fromSelf(account, straight))).toBeUndefined()
  })

  test('reverts everything for a reverting call, whose signature stays valid', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const failing = encodeFunctionData({ abi: DEMO, functionName: 'fail' })
    const data = await onCall(account, { calldata: failing })
    expect(await chain().revertOf(fromSelf(account, data))).toBe('Refused')
    expect((await chain().sendSelf(account, data)).status).toBe('0x0')
    expect(await nestedNonce(account)).toBe(0n)
    expect(await chain().revertOf(fromSelf(account, await onCall(account)))).toBeUndefined()
  })

  test('keeps its nonce at a fixed slot while the account runs other code', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    await chain().sendSelf(account, await onCall(account))
    // This code counts its calls in the first slots, where storage without a namespace would collide.
    await chain().delegate(account, contracts().demoTarget)
    await deployer().send({ to: account.address, value: 1n })
    expect(
      BigInt(await chain().rpc.call<Hex>('eth_getStorageAt', [account.address, '0x2', 'latest'])),
    ).toBe(1n)
    await chain().delegate(account, contracts().trustlessProposer)
    expect(await nestedNonce(account)).toBe(1n)
    const inner = BigInt(keccak256(toHex('tranched.sandbox.TrustlessProposer'))) - 1n
    const slot = BigInt(keccak256(toHex(inner, { size: 32 }))) & ~0xffn
    const stored = await chain().rpc.call<Hex>('eth_getStorageAt', [
      account.address,
      toHex(slot, { size: 32 }),
      'latest',
    ])
    expect(BigInt(stored)).toBe(1n)
  })

  test('cannot be used without a delegation, since its own code has no owner', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    const call = { from: contracts().multicall, to: contracts().trustlessProposer }
    expect(await chain().revertOf({ ...call, data: await onCall(account) })).toBe('WrongSigner')
  })

  test('reports the domain that signatures must use, and accepts no other', async () => {
    const account = await chain().delegated(contracts().trustlessProposer)
    const { address } = account
    const proposer = contracts().trustlessProposer
    const to = address
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'eip712Domain' })
    const answer = await chain().rpc.call<Hex>('eth_call', [{ to, data }, 'latest'])
    const [fields, name, version, chainId, verifyingContract] = decodeFunctionResult({
      ...{ abi: PROPOSER, functionName: 'eip712Domain', data: answer },
    })
    expect([fields, name, version]).toEqual(['0x0f', 'TrustlessProposer', '1'])
    expect(chainId).toBe(BigInt(SEPOLIA))
    const [own, other] = reading === 'deployed' ? [address, proposer] : [proposer, address]
    expect(verifyingContract.toLowerCase()).toBe(own.toLowerCase())
    const forOther = await onCall(account, {}, { contract: other })
    expect(await chain().revertOf(fromSelf(account, forOther))).toBe('WrongSigner')
    expect(await chain().revertOf(fromSelf(account, await onCall(account)))).toBeUndefined()
  })
})
