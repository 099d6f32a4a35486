import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import {
  type AccountCall,
  delegateOf,
  resolveVerifyingContract,
} from '../../../src/domain/order/call.ts'
import type { GasTankMethods } from '../../../src/domain/settings.ts'
import type { CallChain, CallTrace, Key } from '../../../src/ports.ts'
import { encodeSignedCall, hashCall } from '../../../src/signing/call-data.ts'
import { answerOf } from './chain.ts'

type Call = { readonly to: Address; readonly data: Hex }

/** A fresh chain of the aggregation service with a funded account, and controls over it. */
/** A search without a time limit. */
const WHOLE = { atLeastBlock: 0n, untilSeconds: Number.MAX_SAFE_INTEGER, isThorough: false }

export type CallChainRig = {
  readonly callChain: CallChain
  readonly chainId: number
  /** Signs for the account, which has coin but neither code nor deposit. */
  readonly key: Key
  /** The account's coin at the start, in wei. */
  readonly balance: bigint
  readonly gasTank: Address
  readonly gasTankMethods: GasTankMethods
  readonly multicall: Address
  readonly proposer: Address
  /** Target contract of both calls. */
  readonly target: Address
  readonly workingCall: Call
  /** Reverts with a custom error. */
  readonly failingCall: Call
  /** Delegates the account to the proposer, in a transaction of another sender. */
  delegate(): Promise<void>
  /** Deposits for the account. */
  deposit(wei: bigint): Promise<void>
  /** Has the service execute a call of an account in a batch. Resolves with the batch's hash once it is in a block. */
  batch(call: { account: Address; target: Address; payload: Hex }): Promise<Hex>
  /** Waits until the chain may have mined the broadcast transactions. */
  mine(): Promise<void>
  close(): Promise<void>
}

const UNKNOWN_HASH: Hex = `0x${'77'.repeat(32)}`
const STRANGER: Address = '0x00000000000000000000000000000000000abcde'
const MINE_TRIES_MAX = 200
const GAS_LIMIT = 120_000n
const ON_CALL_ARGUMENTS = 2 + 8

/** The contract of every port to the aggregation service's chain, as far as the core relies on it. */
export function callChainContract(name: string, makeRig: () => Promise<CallChainRig>): void {
  describe(`call chain contract: ${name}`, () => {
    let rig: CallChainRig
    beforeEach(async () => {
      rig = await makeRig()
    })
    afterEach(() => rig.close())

    const account = async () =>
      answerOf(await rig.callChain.account({ account: rig.key.address, gasTank: rig.gasTank }))

    /** A call of the account signed by its owner, with changes applied before the signature. */
    async function signedCall(changes: Partial<AccountCall> = {}): Promise<Hex> {
      const { chainId, proposer, key, workingCall } = rig
      const view = await account()
      const verifyingContract = resolveVerifyingContract({
        answered: view.domain,
        chainId,
        proposer,
        account: key.address,
      })
      if (verifyingContract === undefined) throw new Error('no usable domain')
      const call: AccountCall = {
        chainId,
        account: key.address,
        verifyingContract,
        deadlineSeconds: view.blockTimeSeconds + 600,
        nonce: view.nestedNonce ?? 0n,
        target: workingCall.to,
        value: 0n,
        calldata: workingCall.data,
        gasLimit: GAS_LIMIT,
        ...changes,
      }
      return encodeSignedCall(call, key.signDigest(hashCall(call)))
    }

    function selfCall(data: Hex) {
      const { address } = rig.key
      return { from: address, to: address, data, value: 0n }
    }

    /** Sends a call of the account to itself, and waits for its trace. */
    async function sendSelf(data: Hex): Promise<CallTrace> {
      const draft = answerOf(await rig.callChain.draft(selfCall(data)))
      const { raw, hash } = rig.key.signTransaction(draft)
      expect(answerOf(await rig.callChain.broadcast(raw))).toBe(hash)
      for (let tries = 0; tries < MINE_TRIES_MAX; tries++) {
        const trace = answerOf(await rig.callChain.trace(hash))
        if (trace !== undefined) return trace
        await rig.mine()
      }
      throw new Error('the transaction was never mined')
    }

    /** `_data` of a signed onCall, which the multicall passes to the account. */
    function payloadOf(onCall: Hex): Hex {
      const words = onCall.slice(ON_CALL_ARGUMENTS)
      const at = 2 * Number(`0x${words.slice(64, 128)}`)
      const length = 2 * Number(`0x${words.slice(at, at + 64)}`)
      return `0x${words.slice(at + 64, at + 64 + length)}`
    }

    /** A batch with a signed call of the account, identified by its payload. */
    async function batched(): Promise<{ hash: Hex; mark: Hex }> {
      const payload = payloadOf(await signedCall())
      const account = rig.key.address
      return { hash: await rig.batch({ account, target: rig.target, payload }), mark: payload }
    }

    test('returns its chain id and the same genesis each time', async () => {
      const first = answerOf(await rig.callChain.identity())
      expect(first.chainId).toBe(rig.chainId)
      expect(first.genesisHash).toMatch(/^0x[0-9a-f]{64}$/)
      expect(answerOf(await rig.callChain.identity())).toEqual(first)
    })

    test('shows an account without code with coin, no deposit, nonce or domain', async () => {
      const view = await account()
      expect(view).toMatchObject({
        balance: rig.balance,
        transactionCount: 0,
        code: '0x',
        nestedNonce: undefined,
        domain: undefined,
        gasTank: expect.objectContaining({ [rig.gasTankMethods]: 0n }),
      })
      expect(view.blockNumber).toBeGreaterThan(0n)
      expect(view.baseFeePerGas).toBeGreaterThan(0n)
      expect(Math.abs(view.blockTimeSeconds - Date.now() / 1000)).toBeLessThan(3_600)
    })

    test('shows a deposit in the GasTank', async () => {
      await rig.deposit(5_000n)
      await rig.deposit(1n)
      const { gasTank } = await account()
      expect(gasTank[rig.gasTankMethods]).toBe(5_001n)
      expect(Object.values(gasTank).filter((wei) => wei === undefined)).toHaveLength(1)
    })

    test('shows no balance for a GasTank without code', async () => {
      const query = { account: rig.key.address, gasTank: STRANGER }
      const nothing = { balances: undefined, balanceOf: undefined }
      expect(answerOf(await rig.callChain.account(query)).gasTank).toEqual(nothing)
    })

    test('shows the delegate, nonce and domain of a delegated account', async () => {
      await rig.delegate()
      const view = await account()
      const { chainId, proposer } = rig
      expect(delegateOf(view.code)).toBe(proposer)
      expect(view.nestedNonce).toBe(0n)
      expect(view.domain).toMatchObject({ name: 'TrustlessProposer', version: '1' })
      const query = { answered: view.domain, chainId, proposer, account: rig.key.address }
      expect(resolveVerifyingContract(query)).toBeDefined()
    })

    test('executes a signed self-call, which uses its nonce', async () => {
      await rig.delegate()
      const data = await signedCall()
      const before = await account()
      const trace = await sendSelf(data)
      const { address } = rig.key
      expect(trace).toMatchObject({ success: true, from: address, to: address, input: data })
      expect(trace.gasUsed).toBeGreaterThan(21_000n)
      expect(trace.effectiveGasPrice).toBeGreaterThan(0n)
      const after = await account()
      expect(after.nestedNonce).toBe(1n)
      expect(after.transactionCount).toBe(before.transactionCount + 1)
      expect(after.balance).toBe(before.balance - trace.gasUsed * trace.effectiveGasPrice)
    })

    test('simulates a call, returns its gas and changes nothing', async () => {
      await rig.delegate()
      const data = await signedCall()
      const { gasUsed } = answerOf(await rig.callChain.simulate(selfCall(data)))
      expect((await account()).nestedNonce).toBe(0n)
      const trace = await sendSelf(data)
      expect(gasUsed).toBeGreaterThanOrEqual(trace.gasUsed)
      // The proposer requires the call's whole gas limit, used or not.
      expect(gasUsed).toBeLessThan(trace.gasUsed + 3n * GAS_LIMIT)
    })

    test('refuses a reverting call in its simulation and in its draft', async () => {
      await rig.delegate()
      const { to, data } = rig.failingCall
      const broken = [
        await signedCall({ target: to, calldata: data }),
        await signedCall({ nonce: 1n }),
        await signedCall({ deadlineSeconds: 1 }),
        await signedCall({ verifyingContract: STRANGER }),
      ]
      for (const call of broken.map(selfCall)) {
        expect(await rig.callChain.simulate(call)).toMatchObject({ fault: { tag: 'refused' } })
        expect(await rig.callChain.draft(call)).toMatchObject({ fault: { tag: 'refused' } })
      }
    })

    test('distinguishes a call with more coin than the account has', async () => {
      const call = { from: rig.key.address, ...rig.workingCall, value: rig.balance + 1n }
      expect(await rig.callChain.simulate(call)).toMatchObject({
        fault: { tag: 'insufficientFunds' },
      })
    })

    test('returns no trace for an unknown transaction', async () => {
      expect(answerOf(await rig.callChain.trace(UNKNOWN_HASH))).toBeUndefined()
    })

    test('finds a mined transaction among others, and its nonce advances', async () => {
      await rig.delegate()
      const { hash, blockNumber } = await sendSelf(await signedCall())
      const from = rig.key.address
      const found = answerOf(
        await rig.callChain.transaction({ from, hashes: [UNKNOWN_HASH, hash] }),
      )
      expect(found.receipt).toMatchObject({ hash, success: true, blockNumber })
      expect(found.latestNonce).toBe((await account()).transactionCount)
    })

    test("finds the batch of a call among others by the owner's signature", async () => {
      await rig.delegate()
      const { blockNumber } = await account()
      const batches = [await batched(), await batched(), await batched()]
      expect((await account()).nestedNonce).toBe(3n)
      for (const { hash, mark } of batches) {
        const query = { contract: rig.multicall, mark, fromBlock: blockNumber }
        const [call, ...others] = answerOf(await rig.callChain.callsWith({ ...query, ...WHOLE }))
        expect(others).toEqual([])
        expect(call).toMatchObject({ hash, success: true, to: rig.multicall })
        expect(call).toEqual(answerOf(await rig.callChain.trace(hash)))
        // The same search in whole blocks, with a contract that emits nothing.
        const silent = { ...query, ...WHOLE, contract: STRANGER }
        expect(answerOf(await rig.callChain.callsWith(silent))).toEqual([call])
      }
      const [{ mark = UNKNOWN_HASH } = {}, later] = batches
      const trace = answerOf(await rig.callChain.trace(later?.hash ?? UNKNOWN_HASH))
      const query = { contract: rig.multicall, mark, fromBlock: trace?.blockNumber ?? 0n }
      expect(answerOf(await rig.callChain.callsWith({ ...query, ...WHOLE }))).toEqual([])
    })

    test('finds no transaction for an unsigned call, with and without events of the contract', async () => {
      await rig.delegate()
      await batched()
      for (const contract of [rig.multicall, rig.target, STRANGER]) {
        const query = { contract, mark: UNKNOWN_HASH, fromBlock: 0n }
        expect(answerOf(await rig.callChain.callsWith({ ...query, ...WHOLE }))).toEqual([])
      }
    })

    test('refuses a search from a block that the chain has not reached', async () => {
      const query = { contract: rig.multicall, mark: UNKNOWN_HASH, fromBlock: 1_000_000n }
      expect(await rig.callChain.callsWith({ ...query, ...WHOLE })).toMatchObject({
        fault: { tag: 'unavailable' },
      })
    })
  })
}
