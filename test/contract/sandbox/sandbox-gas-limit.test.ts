import { encodeFunctionData, type Hex, parseEventLogs } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  READINGS,
  recordData,
  type SignedTerms,
  signedPayload,
} from '../../support/aggregator/aggregator.ts'
import { DEMO, MULTICALL, PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { aggregatorChainForSuite } from '../../support/aggregator/aggregator-chain.ts'

const GENEROUS = 400_000n

describe.each(READINGS)('the signed gas limit as %s', (reading) => {
  const chain = aggregatorChainForSuite(reading)
  const contracts = () => chain().deployment.contracts
  const delegated = () => chain().delegated(contracts().trustlessProposer)

  const signed = async (
    account: PrivateKeyAccount,
    { gasLimit, calldata = recordData('22') }: Pick<SignedTerms, 'gasLimit'> & { calldata?: Hex },
  ) => {
    const target = contracts().demoTarget
    const terms = { deadline: 2n ** 40n, nonce: 0n, target, value: 0n, calldata, gasLimit }
    const contract = reading === 'deployed' ? account.address : contracts().trustlessProposer
    return { account, target, gasLimit, payload: await signedPayload(account, contract, terms) }
  }
  type Signed = Awaited<ReturnType<typeof signed>>

  const selfCall = ({ target, payload }: Signed): Hex =>
    encodeFunctionData({
      ...{ abi: PROPOSER, functionName: 'onCall', args: [target, payload, 0n] },
    })
  const revertOfSelf = (call: Signed) => {
    const { address } = call.account
    return chain().revertOf({ from: address, to: address, data: selfCall(call) })
  }
  const batch = ({ account, target, payload, gasLimit }: Signed) => {
    const call = { account: account.address, target, data: payload, value: 0n, gasLimit }
    const data = encodeFunctionData({
      ...{ abi: MULTICALL, functionName: 'execute', args: [[call]] },
    })
    return { to: contracts().multicall, data }
  }
  const revertOfBatch = (call: Signed) =>
    chain().revertOf({ from: chain().deployment.relayer.address, ...batch(call) })

  /** Gas of an account's first call as measured by the multicall. */
  const measured = async (): Promise<bigint> => {
    const { logs } = await chain().deployment.relayer.send(
      batch(await signed(await delegated(), { gasLimit: GENEROUS })),
    )
    const [event] = parseEventLogs({ abi: MULTICALL, logs: logs as never })
    return event?.args.gasUsed[0] ?? 0n
  }

  const burn = (gas: bigint): Hex =>
    encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [gas] })

  test('reverts a self-call that needs more, and leaves the nonce unused', async () => {
    const account = await delegated()
    const greedy = await signed(account, { gasLimit: 100_000n, calldata: burn(150_000n) })
    expect((await chain().sendSelf(account, selfCall(greedy))).status).toBe('0x0')
    const nonce = encodeFunctionData({ abi: PROPOSER, functionName: 'nestedNonce' })
    expect(await chain().read(account.address, nonce)).toBe(0n)
    const generous = await signed(account, { gasLimit: 300_000n, calldata: burn(150_000n) })
    expect((await chain().sendSelf(account, selfCall(generous))).status).toBe('0x1')
    expect(await chain().read(account.address, nonce)).toBe(1n)
  })

  if (reading === 'deployed') {
    test('covers all of onCall in a batch, to the unit of gas', async () => {
      // Two calls cost the same only after the target's slots were written.
      await measured()
      const gas = await measured()
      const account = await delegated()
      expect(await revertOfBatch(await signed(account, { gasLimit: gas }))).toBeUndefined()
      expect(await revertOfBatch(await signed(account, { gasLimit: gas - 1n }))).toBe(
        'GasLimitExceeded',
      )
    })

    test('covers a self-call, with the same error', async () => {
      await measured()
      const gas = await measured()
      const account = await delegated()
      expect(await revertOfSelf(await signed(account, { gasLimit: gas }))).toBeUndefined()
      const tooLow = await signed(account, { gasLimit: gas - 10_000n })
      expect(await revertOfSelf(tooLow)).toBe('GasLimitExceeded')
      expect(await revertOfBatch(tooLow)).toBe('CallFailed:GasLimitExceeded')
    })

    test('is a bound, not a guarantee: a call may start with less', async () => {
      const account = await delegated()
      const data = selfCall(await signed(account, { gasLimit: 6_000_000n }))
      expect((await chain().sendSelf(account, data)).status).toBe('0x1')
    })
  } else {
    test("covers only the target: the proposer's own gas comes on top", async () => {
      await measured()
      const gas = await measured()
      const account = await delegated()
      const call = await signed(account, { gasLimit: gas - 20_000n })
      expect(await revertOfSelf(call)).toBeUndefined()
      expect(await revertOfBatch({ ...call, gasLimit: gas })).toBeUndefined()
      expect(await revertOfBatch(call)).toBe('GasLimitExceeded')
    })

    test('prevents a call from starting with less gas than signed', async () => {
      const account = await delegated()
      const call = await signed(account, { gasLimit: 6_000_000n })
      expect(await revertOfSelf(call)).toBe('NotEnoughGas')
    })
  }
})
