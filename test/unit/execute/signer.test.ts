import { beforeEach, describe, expect, test } from 'vitest'
import { emptyState } from '../../../src/domain/book/fields.ts'
import { applyEvent } from '../../../src/domain/book/fold.ts'
import type { JournalEvent, TransactionRecord } from '../../../src/domain/book/journal.ts'
import type { DaemonState } from '../../../src/domain/book/state.ts'
import { clientOrderId, type SwapIntent } from '../../../src/domain/intent.ts'
import { payloadOf } from '../../../src/execute/authority/deeds.ts'
import { createPermitHasher } from '../../../src/execute/authority/permit-digest.ts'
import { createSigner } from '../../../src/execute/authority/signer.ts'
import type { Key, Signer } from '../../../src/ports.ts'
import {
  ACCOUNT,
  GASLESS,
  PERMIT2,
  SIMULATED_CHAIN_ID,
  USDC,
  WALLET,
  WETH,
} from '../../../src/simulate/stage.ts'
import { anIntent, aPermit, aStrategy, ETH, NOON_SECONDS } from '../../support/builders.ts'

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
let barred: string | undefined
let isOnDisk: boolean

beforeEach(() => {
  state = emptyState()
  barred = undefined
  isOnDisk = true
})

function signer(strategy = aStrategy()): Signer {
  const { hash } = createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })
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
    guard: { barred: () => barred },
    clock: { now: () => NOW_MS },
    files: {
      chainId: SIMULATED_CHAIN_ID,
      gasless: GASLESS,
      account: ACCOUNT,
      strategies: new Map([[strategy.name, strategy]]),
      versionOf: () => undefined,
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
  for (const event of events) applyEvent(state, event, NOW_MS)
}

describe('a permit', () => {
  const { id } = anIntent()

  beforeEach(() => {
    const permit = aPermit()
    const { hash } = createPermitHasher(permit)
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

  test('is not signed while its record is on its way there', () => {
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

  test('is not signed at another contract', () => {
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
    barred = 'the file HALT is there'
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
    ['of something, of a token that strategies trade', approving(25n), undefined, undefined],
    ['of something, of another token', approving(25n, other), undefined, 'sell-token-mismatch'],
    ['of nothing, of another token', approving(0n, other), undefined, undefined],
    ['of something, under a halt', approving(25n), 'the file HALT is there', 'halted'],
    ['of nothing, under a halt', approving(0n), 'the file HALT is there', undefined],
  ] as const)('%s', (_, transaction, halt, reason) => {
    barred = halt
    journal({ type: 'transaction-recorded', transaction })
    const signature = signer().transaction('own')
    expect(signature.ok ? undefined : signature.reason).toBe(reason)
  })

  test('of nothing is not signed on another chain', () => {
    journal({ type: 'transaction-recorded', transaction: { ...approving(0n), chainId: 1 } })
    expect(signer().transaction('own')).toMatchObject({ ok: false, reason: 'owner-mismatch' })
  })
})
