import { beforeEach, describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/domain/errors.ts'
import type { GasLimits } from '../../../src/domain/money/gas.ts'
import { createPricePaths } from '../../../src/domain/money/price.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { clientOrderId, type SwapIntent } from '../../../src/domain/order/intent.ts'
import { type EventOf, type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { gasInDay } from '../../../src/journal/projections/transactions.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Key, Signer } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { createPermitHasher } from '../../../src/signing/permit-digest.ts'
import type { Files } from '../../../src/signing/policy.ts'
import { createSigner } from '../../../src/signing/signer.ts'
import { payloadOf } from '../../../src/signing/wallet-transactions.ts'
import { AGGREGATOR, CALL_CHAIN_ID } from '../../simulation/aggregator/aggregation.ts'
import {
  ACCOUNT,
  GASLESS,
  PERMIT2,
  SIMULATED_CHAIN_ID,
  USDC,
  WALLET,
  WETH,
  WETH_USDC,
} from '../../simulation/stage.ts'
import {
  anIntent,
  aPermit,
  aReading,
  aStrategy,
  ETH,
  NOON_SECONDS,
} from '../../support/builders.ts'
import {
  AMPLE_GAS,
  AMPLE_GAS_EVERYWHERE,
  filesOfAggregator,
  NO_CONTRACTS,
  signerWith,
} from '../../support/signing.ts'

const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })

const NOW_MS = NOON_SECONDS * 1000
const TRANSACTION: TransactionRecord = {
  id: 'own',
  purpose: 'wrap',
  intentId: anIntent().id,
  chainId: SIMULATED_CHAIN_ID,
  from: WALLET,
  nonce: 0,
  to: WETH.address,
  data: '0xd0e30db0',
  value: 25n,
  gas: 100_000n,
  maxFeePerGas: 10n ** 9n,
  maxPriorityFeePerGas: 1n,
}

let state: DaemonState
let blocked: string | undefined
let isOnDisk: boolean

beforeEach(() => {
  state = emptyState()
  blocked = undefined
  isOnDisk = true
})

function signer(
  strategy = aStrategy(),
  gas: Files['gas'] = AMPLE_GAS_EVERYWHERE,
  gasless = GASLESS,
): Signer {
  const key: Key = {
    address: WALLET,
    signDigest: () => '0xed',
    signTransaction: () => ({ hash: '0x01', raw: '0x02' }),
    signDelegation: () => ({ hash: '0x01', raw: '0x02' }),
  }
  return createSigner({
    key,
    hashPermit: hash,
    journal: { state, isOnDisk: () => isOnDisk },
    guard: { blocked: () => blocked },
    clock: { now: () => NOW_MS },
    prices: {
      pathOf: createPricePaths([WETH_USDC]),
      readings: new Map([
        ['WETH/USDC', { reading: aReading(), blockTimeSeconds: NOON_SECONDS, readAtMs: NOW_MS }],
      ]),
    },
    files: {
      chainId: SIMULATED_CHAIN_ID,
      gasless,
      account: ACCOUNT,
      strategies: new Map([[strategy.name, strategy]]),
      versionOf: () => undefined,
      pricePath: () => undefined,
      trusted: NO_CONTRACTS,
      gas,
      aggregator: undefined,
    },
  })
}

function open(intent: SwapIntent): void {
  const { strategy, slotSeconds } = intent
  journal(
    { type: 'strategy-scheduled', strategy, scheduleKey: '0 * * * * UTC', fromSeconds: 0 },
    { type: 'slot-opened', strategy, slotSeconds, intents: [intent] },
  )
}

function journal(...events: readonly JournalEvent[]): void {
  for (const event of events) reduce(state, event, NOW_MS)
}

describe('a permit', () => {
  const { id } = anIntent()

  beforeEach(() => {
    const permit = aPermit()
    const named = { attempt: 1, clientOrderId: clientOrderId(id, 1), quoteId: 'q', fromBlock: 1n }
    open(anIntent())
    journal({
      type: 'permit-recorded',
      intentId: id,
      permit: { ...permit, ...named, digest: hash(permit) },
    })
  })

  test('is signed once its record is on disk', () => {
    expect(signer().permit(id)).toEqual({ ok: true, value: '0xed' })
  })

  test('is not signed before its record is on disk', () => {
    isOnDisk = false
    expect(signer().permit(id)).toMatchObject({ ok: false, reason: 'not-on-record' })
  })
})

describe('a wrapping', () => {
  const strategy = aStrategy({ sell: ETH, buy: { token: USDC, native: false } })

  beforeEach(() => {
    open(anIntent({ sell: ETH, buy: { token: USDC, native: false } }))
  })

  test('is signed for the token that its order sells', () => {
    journal({ type: 'transaction-recorded', transaction: TRANSACTION })
    expect(signer(strategy).transaction('own').ok).toBe(true)
  })

  test('is not signed for another contract', () => {
    const transaction = { ...TRANSACTION, to: USDC.address }
    journal({ type: 'transaction-recorded', transaction })
    expect(signer(strategy).transaction('own')).toMatchObject({
      ok: false,
      reason: 'sell-token-mismatch',
    })
  })
})

describe('a transaction that clears a nonce', () => {
  const transaction: TransactionRecord = {
    ...TRANSACTION,
    ...{ intentId: undefined, isCancelling: true, to: WALLET, data: '0x', value: 0n },
  }

  beforeEach(() => {
    journal({ type: 'transaction-recorded', transaction })
  })

  test('is signed', () => {
    expect(signer().transaction('own').ok).toBe(true)
  })

  test('is not signed under a halt', () => {
    blocked = 'the file HALT is there'
    expect(signer().transaction('own')).toMatchObject({ ok: false, reason: 'halted' })
  })
})

describe('an approval', () => {
  const approving = (amount: bigint, token = USDC.address): TransactionRecord => ({
    ...TRANSACTION,
    ...{ purpose: 'approve', intentId: undefined, value: 0n },
    ...payloadOf({ type: 'approve', token, spender: PERMIT2, amount }),
  })
  const other = `0x${'0d'.repeat(20)}` as const

  test.each([
    ['of a positive amount of a traded token is signed', approving(25n), undefined, undefined],
    [
      'of a positive amount of another token is refused',
      approving(25n, other),
      undefined,
      'sell-token-mismatch',
    ],
    ['of zero of another token is signed', approving(0n, other), undefined, undefined],
    [
      'of a positive amount under a halt is refused',
      approving(25n),
      'the file HALT is there',
      'halted',
    ],
    ['of zero under a halt is signed', approving(0n), 'the file HALT is there', undefined],
  ] as const)('%s', (_, transaction, halt, reason) => {
    blocked = halt
    journal({ type: 'transaction-recorded', transaction })
    const signature = signer().transaction('own')
    expect(signature.ok ? undefined : signature.reason).toBe(reason)
  })

  test.each([
    ['exact', 25n, undefined],
    ['exact', 26n, 'amount-above-limit'],
    // The account's daily cap is 1,000 USDC.
    ['budget', 1_000_000_000n, undefined],
    ['budget', 1_000_000_001n, 'amount-above-limit'],
    ['budget', 2n ** 254n, 'amount-above-limit'],
    ['unlimited', 2n ** 256n - 1n, undefined],
  ] as const)('with approval: %s is checked for an amount of %s', (approval, amount, reason) => {
    open(anIntent({ maxSell: baseUnits(25n) }))
    const transaction = { ...approving(amount), intentId: anIntent().id }
    journal({ type: 'transaction-recorded', transaction })
    const signature = signer(aStrategy(), AMPLE_GAS_EVERYWHERE, {
      ...GASLESS,
      approval,
    }).transaction('own')
    expect(signature.ok ? undefined : signature.reason).toBe(reason)
  })

  test.each([
    ['exact', 25n, undefined],
    ['exact', 2n ** 256n - 1n, 'amount-above-limit'],
  ] as const)(
    'already signed with approval: %s, of %s is checked again without an order',
    (approval, amount, reason) => {
      const transaction = approving(amount)
      journal({ type: 'transaction-recorded', transaction })
      journal({ type: 'transaction-signed', id: transaction.id, hash: '0x01' })
      const signature = signer(aStrategy(), AMPLE_GAS_EVERYWHERE, {
        ...GASLESS,
        approval,
      }).transaction('own')
      expect(signature.ok ? undefined : signature.reason).toBe(reason)
    },
  )

  test('of zero is not signed on another chain', () => {
    journal({ type: 'transaction-recorded', transaction: { ...approving(0n), chainId: 1 } })
    expect(signer().transaction('own')).toMatchObject({ ok: false, reason: 'owner-mismatch' })
  })
})

describe('the gas cost of a wallet transaction', () => {
  const strategy = aStrategy({ sell: ETH, buy: { token: USDC, native: false } })
  const GWEI = 10n ** 9n
  const limits: GasLimits = {
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: 2n * GWEI,
    perTransaction: 100_000n * 5n * GWEI,
    perDay: 100_000n * 12n * GWEI,
  }
  const offering = (offer: Partial<TransactionRecord>): TransactionRecord => ({
    ...TRANSACTION,
    ...{ gas: 100_000n, maxFeePerGas: 5n * GWEI, maxPriorityFeePerGas: GWEI },
    ...offer,
  })
  const verdict = (id = 'own'): string | undefined => {
    const signature = signer(strategy, new Map([[SIMULATED_CHAIN_ID, limits]])).transaction(id)
    return signature.ok ? undefined : `${signature.reason}: ${signature.detail}`
  }

  beforeEach(() => {
    open(anIntent({ sell: ETH, buy: { token: USDC, native: false } }))
  })

  test.each([
    ['may equal the limits', {}, undefined],
    [
      'must not have a fee above maxFeePerGas',
      { gas: 30_000n, maxFeePerGas: 11n * GWEI },
      /maxFeePerGas/,
    ],
    [
      'must not have a tip above maxPriorityFeePerGas, as a single node suggested',
      { maxPriorityFeePerGas: 3n * GWEI },
      /gas would cost 3 gwei; .*maxPriorityFeePerGas allows 2 gwei/,
    ],
    [
      'must not exceed the limit per transaction by one wei per gas',
      { maxFeePerGas: 5n * GWEI + 1n },
      /perTransaction/,
    ],
    [
      'must not have zero gas',
      { gas: 0n },
      /^gas-limit-too-low: no block accepts a gas limit of 0/,
    ],
    [
      'must not have more gas than a block takes',
      { gas: 2n ** 24n + 1n, maxFeePerGas: 1n },
      /no block accepts/,
    ],
  ] as const)('%s', (_, offer, expected) => {
    journal({ type: 'transaction-recorded', transaction: offering(offer) })
    const reason = verdict()
    if (expected === undefined) expect(reason).toBeUndefined()
    else expect(reason).toMatch(expected)
  })

  test('is limited per day, as actual cost of ended and maximum cost of pending transactions', () => {
    const first = offering({ id: 'first' })
    journal(
      { type: 'transaction-recorded', transaction: first },
      { type: 'transaction-signed', id: 'first', hash: '0x01' },
      { type: 'transaction-recorded', transaction: offering({ id: 'second', nonce: 1 }) },
    )
    expect(verdict('second')).toBeUndefined()
    journal({ type: 'transaction-recorded', transaction: offering({ id: 'third', nonce: 2 }) })
    expect(verdict('third')).toMatch(
      /^gas-too-dear: .*beside 0\.001 ETH .*perDay allows 0\.0012 ETH/,
    )
    // The first cost a tenth of its maximum.
    const fee = 50_000n * GWEI
    const mined = { status: 'mined', hash: '0x01', blockNumber: 1n } as const
    journal({ type: 'transaction-ended', id: 'first', ...mined, fee })
    expect(verdict('third')).toBeUndefined()
  })

  test('counts each transaction once, at its most expensive version', () => {
    for (const fee of [3n, 5n, 4n])
      journal({
        type: 'transaction-recorded',
        transaction: offering({ maxFeePerGas: fee * GWEI }),
      })
    expect(gasInDay(state, { chainId: SIMULATED_CHAIN_ID, nowMs: NOW_MS })).toBe(
      100_000n * 5n * GWEI,
    )
  })

  test('is released if the record was withdrawn unsigned, or after a day', () => {
    const day = (nowMs: number) => gasInDay(state, { chainId: SIMULATED_CHAIN_ID, nowMs })
    journal(
      { type: 'transaction-recorded', transaction: offering({}) },
      ...[{ type: 'transaction-ended', id: 'own', status: 'withdrawn' } as const].map((event) => ({
        ...event,
        ...{ hash: undefined, blockNumber: undefined },
      })),
    )
    expect(day(NOW_MS)).toBe(0n)
    journal(
      { type: 'transaction-recorded', transaction: offering({}) },
      { type: 'transaction-signed', id: 'own', hash: '0x01' },
    )
    const most = 100_000n * 5n * GWEI
    // A transaction that may still be mined counts at any age.
    expect(day(NOW_MS + 3 * 86_400_000)).toBe(most)
    journal({ type: 'transaction-ended', id: 'own', status: 'lost', hash: '0x01', blockNumber: 1n })
    expect([day(NOW_MS + 86_399_999), day(NOW_MS + 86_400_000)]).toEqual([most, 0n])
    // A clock that was set back does not release it.
    expect(day(NOW_MS - 86_400_000)).toBe(most)
  })
})

describe('a mined transaction removed by a reorganisation', () => {
  const strategy = aStrategy({ sell: ETH, buy: { token: USDC, native: false } })
  const gone = {
    type: 'transaction-reopened',
    id: 'own',
    blockNumber: 1n,
    blockHash: '0x0b',
  } as const

  beforeEach(() => {
    open(anIntent({ sell: ETH, buy: { token: USDC, native: false } }))
    journal(
      { type: 'transaction-recorded', transaction: TRANSACTION },
      { type: 'transaction-signed', id: 'own', hash: '0x01' },
      {
        ...{ type: 'transaction-ended', id: 'own', status: 'mined', hash: '0x01' },
        ...{ blockNumber: 1n, blockHash: '0x0a' },
      },
    )
  })

  test('is signed again after its order has ended, because its bytes are public and change nothing', () => {
    const { id: intentId, strategy: name, slotSeconds } = anIntent()
    const end = { outcome: 'failed', reason: 'too-late' } as const
    journal(
      { type: 'intent-closed', intentId, ...end },
      { type: 'slot-closed', strategy: name, slotSeconds, ...end },
      gone,
    )
    expect(signer(strategy).transaction('own')).toEqual({
      ok: true,
      value: { hash: '0x01', raw: '0x02' },
    })
  })

  test('is not signed under a halt', () => {
    journal(gone)
    blocked = 'the file HALT is there'
    expect(signer(strategy).transaction('own')).toMatchObject({ ok: false, reason: 'halted' })
  })

  test('cannot be reopened once it is final', () => {
    journal({ type: 'transactions-final', ids: ['own'], blockNumber: 9n })
    expect(() => journal(gone)).toThrow(InvariantError)
  })
})

describe('a delegation', () => {
  const key = createKey(Buffer.from('11'.repeat(32), 'hex'))
  const { trustlessProposer } = AGGREGATOR.contracts
  const draft = {
    ...{ authorizationNonce: 7, nonce: 7, gas: 100_000n },
    ...{ maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n },
  }
  const recorded: EventOf<'delegation-signed'> = {
    ...{ type: 'delegation-signed', chainId: CALL_CHAIN_ID, account: key.address },
    ...{ delegate: trustlessProposer, lastNonce: 7, draft },
  }
  const delegation = () =>
    signerWith(key, { journal: { state, isOnDisk: () => isOnDisk } }).delegation()

  test('is signed exactly as recorded', () => {
    journal(recorded)
    const { chainId, delegate } = recorded
    expect(delegation()).toEqual({
      ok: true,
      value: key.signDelegation({ chainId, delegate, ...draft }),
    })
  })

  test('counts against the daily gas limit, but not against itself', () => {
    const gas = new Map([[CALL_CHAIN_ID, { ...AMPLE_GAS, perDay: 100_000n * 10n ** 9n }]])
    const signed = () =>
      signerWith(key, {
        ...{ journal: { state, isOnDisk: () => true }, files: { ...filesOfAggregator(), gas } },
      }).delegation()
    journal(recorded)
    expect(signed()).toMatchObject({ ok: true })
    const next = { ...draft, nonce: 8, authorizationNonce: 9 }
    journal({ ...recorded, draft: next })
    expect(signed()).toMatchObject({ ok: false, reason: 'gas-too-dear' })
  })

  test('is not signed without a record', () => {
    expect(delegation()).toMatchObject({ ok: false, reason: 'not-on-record' })
  })

  test('is not signed before its record is on disk', () => {
    journal(recorded)
    isOnDisk = false
    expect(delegation()).toMatchObject({ ok: false, reason: 'not-on-record' })
  })

  test.each([
    ['of an older journal without gas', { draft: undefined }, 'not-on-record'],
    ['of another account', { account: WALLET }, 'not-on-record'],
    ['on another chain', { chainId: 1 }, 'owner-mismatch'],
    ['to code that is not in the config', { delegate: WALLET }, 'foreign-delegation'],
    [
      'with more gas than a block takes',
      { draft: { ...draft, gas: 2n ** 25n } },
      'gas-limit-too-low',
    ],
  ] as const)('is not signed with a record %s', (_, change, reason) => {
    journal(recorded, { ...recorded, ...change })
    expect(delegation()).toMatchObject({ ok: false, reason })
  })
})

describe('a login to the aggregation service', () => {
  const key = createKey(Buffer.from('11'.repeat(32), 'hex'))
  const guard = { blocked: () => blocked }

  test('holds only the login request for its own account', () => {
    const login = signerWith(key, { guard }).login(7)
    expect(login.ok && JSON.parse(login.value.body)).toEqual({
      ...{ jsonrpc: '2.0', id: 7 },
      ...{ method: 'agg_accountInfo', params: [key.address] },
    })
  })

  test('is not signed under a halt', () => {
    blocked = 'the file HALT is there'
    const login = signerWith(key, { guard }).login(7)
    expect(login).toEqual({ ok: false, reason: 'halted', detail: blocked })
  })
})
