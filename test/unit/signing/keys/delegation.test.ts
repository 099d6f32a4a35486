import { parseTransaction, recoverTransactionAddress, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverAuthorizationAddress } from 'viem/utils'
import { describe, expect, test } from 'vitest'
import type { Address, Hex } from '../../../../src/domain/money/units.ts'
import { reduce } from '../../../../src/journal/events/registry.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import type { AggregatorReply } from '../../../../src/ports.ts'
import { NO_DELEGATE } from '../../../../src/signing/delegation-policy.ts'
import { createKey } from '../../../../src/signing/keys/key.ts'
import { changeDelegation, type DelegationRoute } from '../../../../src/venues/wallet/delegate.ts'
import { fakeAggregator, SEPOLIA } from '../../venues/call/aggregator-fixture.ts'

const KEY: Hex = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const account = privateKeyToAccount(KEY)
const TRUSTLESS: Address = `0x${'04'.repeat(20)}`
const TRUSTED: Address = `0x${'03'.repeat(20)}`
const codeOf = (delegate: Address): Hex => `0xef0100${delegate.slice(2)}`

const newSigner = () => createKey(Uint8Array.from(Buffer.from(KEY.slice(2), 'hex')))

describe('a signed delegation', () => {
  const draft = {
    chainId: SEPOLIA,
    delegate: TRUSTLESS,
    authorizationNonce: 8,
    nonce: 7,
    gas: 150_000n,
    maxFeePerGas: 3_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  }

  test("equals viem's type-4 transaction to the zero address, byte for byte", async () => {
    const { authorizationNonce, delegate, ...fields } = draft
    const terms = { contractAddress: delegate, chainId: SEPOLIA, nonce: authorizationNonce }
    const authorizationList = [await account.signAuthorization(terms)]
    const raw = await account.signTransaction({
      ...fields,
      type: 'eip7702',
      to: zeroAddress,
      authorizationList,
    })
    expect(newSigner().signDelegation(draft).raw).toBe(raw)
  })

  test.each([0, -1, 1.5, Number.NaN])('is rejected for chain ID %s', (chainId) => {
    expect(() => newSigner().signDelegation({ ...draft, chainId })).toThrow(RangeError)
  })
})

/** Authorizations of a raw transaction as the chain parses them. */
async function readSent(raw: Hex) {
  const transaction = parseTransaction(raw as `0x04${string}`)
  const list = transaction.authorizationList ?? []
  for (const authorization of list)
    expect(await recoverAuthorizationAddress({ authorization })).toBe(account.address)
  expect(await recoverTransactionAddress({ serializedTransaction: raw as `0x04${string}` })).toBe(
    account.address,
  )
  return {
    nonce: transaction.nonce ?? 0,
    nonces: list.map(({ nonce }) => nonce),
    delegates: list.map(({ address }) => address.toLowerCase()),
    chains: list.map(({ chainId }) => chainId),
  }
}

type Service = (raw: Hex, sent: number) => AggregatorReply<Hex>

function stage(service: Service, start: { code?: Hex } = {}) {
  const fake = fakeAggregator({ key: newSigner() })
  fake.account.code = start.code ?? '0x'
  fake.account.transactionCount = 7
  fake.answers.sendRawTransaction = (raw) => service(raw, fake.sent.length)
  const state = emptyState()
  fake.tools.signBy({ state, isOnDisk: () => true })
  /** The last nonce of each signature, as recorded before signing. */
  const announced: number[] = []
  const change = (delegate: Address, route: DelegationRoute = 'service') =>
    changeDelegation({
      ...{ ...fake.tools, delegate, route },
      async record(event) {
        announced.push(event.lastNonce)
        reduce(state, event, fake.clock.now())
      },
    })
  return { ...fake, change, announced }
}

const TAKEN = { ok: true, value: `0x${'ab'.repeat(32)}` } as const
const refused = (message: string) => ({ ok: false, fault: { tag: 'rejected', message } }) as const

describe('changing the delegation', () => {
  test('through the service is authorized for the current nonce and only this chain', async () => {
    const { change, sent, broadcast, announced, account: state, clock } = stage(() => TAKEN)
    clock.at(5_000, () => {
      state.code = codeOf(TRUSTLESS)
    })
    expect(await change(TRUSTLESS)).toMatchObject({ tag: 'changed' })
    expect(await Promise.all(sent.map(readSent))).toEqual([
      { nonce: 7, nonces: [7], delegates: [TRUSTLESS], chains: [SEPOLIA] },
    ])
    expect(broadcast).toEqual([])
    expect(announced).toEqual([7])
  })

  test('through the service reports its charge: as stated by the service, else the decrease of the funds', async () => {
    const service = { 'costs.charged': undefined as string | undefined, available: 900n }
    const charge = async () => {
      const { change, account: state, clock, answers, tools } = stage(() => TAKEN)
      let available = 1_000n
      answers.accountInfo = () => ({
        ok: true,
        value: { balance: available, outstandingCharge: 0n },
      })
      tools.aggregator.service.transactionStatus = async () => ({
        ok: true,
        value: { costs: { charged: service['costs.charged'] ?? null } },
      })
      clock.at(5_000, () => {
        state.code = codeOf(TRUSTLESS)
        available = service.available
      })
      return change(TRUSTLESS)
    }
    expect(await charge()).toMatchObject({ tag: 'changed', charged: 100n })
    service['costs.charged'] = '70'
    expect(await charge()).toMatchObject({
      charged: 70n,
      message: expect.stringMatching(/The service charged 0\.0+70? ETH for it$/),
    })
    service['costs.charged'] = undefined
    service.available = 1_000n
    expect((await charge()).charged).toBeUndefined()
  })

  test('directly is an ordinary transaction, authorized for the next nonce', async () => {
    const { change, sent, broadcast, announced, account: state, clock } = stage(() => TAKEN)
    clock.at(5_000, () => {
      state.code = codeOf(TRUSTLESS)
      state.transactionCount = 9
    })
    expect(await change(TRUSTLESS, 'direct')).toMatchObject({ tag: 'changed' })
    expect(await Promise.all(broadcast.map(readSent))).toEqual([
      { nonce: 7, nonces: [8], delegates: [TRUSTLESS], chains: [SEPOLIA] },
    ])
    expect(sent).toEqual([])
    expect(announced).toEqual([8])
  })

  test('is blocked by a halt, but removing a delegation is not', async () => {
    const set = stage(() => TAKEN)
    set.halt.blocked = 'the file HALT is there'
    expect(await set.change(TRUSTLESS)).toEqual({
      tag: 'failed',
      message: 'nothing was signed: the file HALT is there',
    })
    expect(set.sent).toEqual([])
    const clear = stage(() => TAKEN, { code: codeOf(TRUSTLESS) })
    clear.halt.blocked = 'the file HALT is there'
    clear.clock.at(5_000, () => {
      clear.account.code = '0x'
    })
    expect(await clear.change(NO_DELEGATE)).toMatchObject({ tag: 'changed' })
  })

  test('does nothing if the account already has the requested delegation, or already has none', async () => {
    const set = stage(() => TAKEN, { code: codeOf(TRUSTED) })
    expect(await set.change(TRUSTED)).toMatchObject({ tag: 'unchanged' })
    const clear = stage(() => TAKEN)
    expect(await clear.change(NO_DELEGATE)).toMatchObject({ tag: 'unchanged' })
    expect([...set.sent, ...clear.sent]).toEqual([])
  })

  test('tries the next authorization nonce after a refusal, with the same transaction nonce', async () => {
    const {
      change,
      sent,
      account: state,
    } = stage(
      (_raw, count) => {
        if (count < 2) return refused('authorization nonce 7')
        state.code = '0x'
        return TAKEN
      },
      { code: codeOf(TRUSTLESS) },
    )
    expect(await change(NO_DELEGATE)).toMatchObject({ tag: 'changed' })
    const read = await Promise.all(sent.map(readSent))
    expect(read.map(({ nonces }) => nonces)).toEqual([[7], [8]])
    expect(read.map(({ nonce }) => nonce)).toEqual([7, 7])
    expect(new Set(read.flatMap(({ delegates }) => delegates))).toEqual(new Set([NO_DELEGATE]))
  })

  test('continues from the new nonce if a transaction was executed without effect', async () => {
    const {
      change,
      sent,
      account: state,
    } = stage((_raw, count) => {
      state.transactionCount = 8
      if (count === 2) state.code = codeOf(TRUSTLESS)
      return TAKEN
    })
    expect(await change(TRUSTLESS)).toMatchObject({ tag: 'changed' })
    const read = await Promise.all(sent.map(readSent))
    expect(read.map(({ nonce, nonces }) => [nonce, nonces])).toEqual([
      [7, [7]],
      [8, [9]],
    ])
  })

  test('reports the reason if every form is refused', async () => {
    const { change, sent } = stage(() => refused('not today'))
    const outcome = await change(TRUSTLESS)
    expect(outcome).toMatchObject({ tag: 'failed', message: expect.stringMatching(/not today/) })
    expect(sent).toHaveLength(2)
  })

  test('to the TrustedProposer sends only the first form, and suggests the direct route', async () => {
    const { change, sent } = stage(() => refused('authorization nonce 7'))
    expect(await change(TRUSTED)).toEqual({
      tag: 'failed',
      message: expect.stringMatching(/nonce 7\. `tranched delegation set --trusted --direct` does/),
    })
    expect((await Promise.all(sent.map(readSent))).map(({ nonces }) => nonces)).toEqual([[7]])
  })

  test.each([
    [TRUSTLESS, '0x', 'set'],
    [NO_DELEGATE, codeOf(TRUSTLESS), 'clear'],
  ] as const)(
    'reports a live authorization for the next nonce after a failure or timeout',
    async (delegate, code, verb) => {
      const taken = stage((_raw, count) => (count < 2 ? refused('nonce') : TAKEN), { code })
      const warning = new RegExp(
        `next nonce \\(8\\) is out.*\`tranched delegation ${verb} --direct\` uses it up`,
      )
      expect(await taken.change(delegate)).toMatchObject({
        message: expect.stringMatching(warning),
      })
      const refuses = stage(() => refused('not today'), { code })
      expect(await refuses.change(delegate)).toMatchObject({
        message: expect.stringMatching(warning),
      })
    },
  )

  test('does not report an authorization that was used or never made', async () => {
    const { change, account: state } = stage((_raw, count) => {
      if (count < 2) return refused('authorization nonce 7')
      state.transactionCount = 9
      return TAKEN
    })
    const spent = await change(TRUSTLESS)
    expect(spent).toMatchObject({ tag: 'failed', message: expect.stringMatching(/executed/) })
    expect(spent.message).not.toMatch(/is out/)
    const early = stage(() => TAKEN)
    expect((await early.change(TRUSTLESS)).message).not.toMatch(/is out/)
  })

  test('resends the same bytes without an answer, then waits for the chain', async () => {
    const {
      change,
      sent,
      account: state,
      clock,
    } = stage((_raw, count) =>
      count < 3 ? { ok: false, fault: { tag: 'unavailable', message: 'gone' } } : TAKEN,
    )
    clock.at(60_000, () => {
      state.code = codeOf(TRUSTLESS)
    })
    expect(await change(TRUSTLESS)).toMatchObject({ tag: 'changed' })
    expect(sent).toHaveLength(3)
    expect(new Set(sent).size).toBe(1)
  })

  test('gives up after five minutes and reports the wait meanwhile', async () => {
    const { change, clock, reports } = stage(() => TAKEN)
    const outcome = await change(TRUSTLESS)
    expect(outcome).toMatchObject({ tag: 'failed', message: expect.stringMatching(/not show it/) })
    expect(Math.floor(clock.now() / 1_000)).toBe(300)
    expect(reports.filter((line) => /does not show it yet/.test(line)).length).toBeGreaterThan(10)
  })

  test('names the remedy for a missing deposit', async () => {
    const { change } = stage(() => ({
      ok: false,
      fault: { tag: 'accountNotFound', message: 'Account not found' },
    }))
    expect((await change(TRUSTLESS)).message).toMatch(/gastank deposit/)
  })

  test.each([
    ['other code', '0x6001'],
    ['a delegation to code that the config does not name', codeOf(`0x${'99'.repeat(20)}`)],
  ] as const)('never changes an account with %s', async (_what, code) => {
    const { change, sent } = stage(() => TAKEN, { code })
    for (const delegate of [TRUSTLESS, NO_DELEGATE])
      expect(await change(delegate)).toMatchObject({ tag: 'failed' })
    expect(sent).toEqual([])
  })

  test('never authorizes code that is not in the config', async () => {
    const { change, sent } = stage(() => TAKEN)
    await expect(change(`0x${'99'.repeat(20)}`)).rejects.toThrow(/no proposer/)
    expect(sent).toEqual([])
  })
})
