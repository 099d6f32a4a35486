import { beforeEach, describe, expect, test } from 'vitest'
import { createPricePaths } from '../../../src/domain/money/price.ts'
import { type Address, baseUnits, type Hex } from '../../../src/domain/money/units.ts'
import { contractKey, type TrustedCode } from '../../../src/domain/order/contract.ts'
import { clientOrderId } from '../../../src/domain/order/intent.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Key, Signature, Signer } from '../../../src/ports.ts'
import { createPermitHasher } from '../../../src/signing/permit-digest.ts'
import type { Files } from '../../../src/signing/policy.ts'
import { createSigner } from '../../../src/signing/signer.ts'
import { payloadOf } from '../../../src/signing/wallet-transactions.ts'
import { AGGREGATOR, CALL_CHAIN_ID } from '../../simulation/aggregator/aggregation.ts'
import {
  PERMIT2,
  SIMULATED_CHAIN_ID,
  SPENDER,
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
import { filesOfAggregator, NO_CONTRACTS } from '../../support/signing.ts'

const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })

const NOW_MS = NOON_SECONDS * 1000
const OLD: Hex = `0x${'01'.repeat(32)}`
const NEW: Hex = `0x${'02'.repeat(32)}`

let state: DaemonState
let trusted: TrustedCode

beforeEach(() => {
  state = emptyState()
  trusted = { ...NO_CONTRACTS }
})

function journal(...events: readonly JournalEvent[]): void {
  for (const event of events) reduce(state, event, NOW_MS)
}

function code(chainId: number, address: Address, status: 'seen' | 'changed', hash: Hex): void {
  const name = 'a contract'
  journal({ type: 'contract-code', chainId, address, name, code: { hash }, status })
}

function changed(chainId: number, address: Address): void {
  code(chainId, address, 'seen', OLD)
  code(chainId, address, 'changed', NEW)
}

function signer(strategy = aStrategy()): Signer {
  const key: Key = {
    address: WALLET,
    signDigest: () => '0xed',
    signTransaction: () => ({ hash: '0x01', raw: '0x02' }),
    signDelegation: () => ({ hash: '0x01', raw: '0x02' }),
  }
  const files: Files = {
    ...filesOfAggregator(),
    strategies: new Map([[strategy.name, strategy]]),
    pricePath: createPricePaths([WETH_USDC]),
    trusted,
  }
  return createSigner({
    ...{ key, hashPermit: hash, files },
    journal: { state, isOnDisk: () => true },
    guard: { blocked: () => undefined },
    clock: { now: () => NOW_MS },
    prices: {
      pathOf: files.pricePath,
      readings: new Map([
        ['WETH/USDC', { reading: aReading(), blockTimeSeconds: NOON_SECONDS, readAtMs: NOW_MS }],
      ]),
    },
  })
}

const reasonOf = (signature: Signature<unknown>): string | undefined =>
  signature.ok ? undefined : signature.reason

describe('a permit', () => {
  const { id } = anIntent()

  beforeEach(() => {
    const permit = aPermit()
    const named = { attempt: 1, clientOrderId: clientOrderId(id, 1), quoteId: 'q', fromBlock: 1n }
    const { strategy, slotSeconds } = anIntent()
    journal(
      { type: 'strategy-scheduled', strategy, scheduleKey: '0 * * * * UTC', fromSeconds: 0 },
      { type: 'slot-opened', strategy, slotSeconds, intents: [anIntent()] },
      {
        type: 'permit-recorded',
        intentId: id,
        permit: { ...permit, ...named, digest: hash(permit) },
      },
    )
  })

  test.each([
    ['Permit2', PERMIT2],
    ['the spender', SPENDER],
    ['the sold token', USDC.address],
    ['the bought token', WETH.address],
    ['the feed', WETH_USDC.feed],
  ])('is not signed, and not signed again, once the code of %s has changed', (_, address) => {
    const made = signer()
    expect(made.permit(id).ok).toBe(true)
    changed(SIMULATED_CHAIN_ID, address)
    expect(made.permit(id)).toMatchObject({ ok: false, reason: 'code-changed' })
  })

  test('is signed even if a contract at the same address of another chain changes', () => {
    changed(CALL_CHAIN_ID, SPENDER)
    expect(signer().permit(id).ok).toBe(true)
  })

  test('is not signed while the code is unconfirmed, and is signed afterwards', () => {
    const detail = 'a node shows other code'
    trusted.conflict = (_, address) =>
      address === SPENDER ? { reason: 'code-unconfirmed', detail } : undefined
    const made = signer()
    expect(made.permit(id)).toEqual({ ok: false, reason: 'code-unconfirmed', detail })
    trusted.conflict = () => undefined
    expect(made.permit(id).ok).toBe(true)
  })

  test('is not signed if the config pins code that differs from the record', () => {
    code(SIMULATED_CHAIN_ID, SPENDER, 'seen', OLD)
    const key = contractKey({ chainId: SIMULATED_CHAIN_ID, address: SPENDER })
    trusted = { ...trusted, pins: new Map([[key, NEW]]) }
    expect(reasonOf(signer().permit(id))).toBe('code-changed')
    trusted = { ...trusted, pins: new Map([[key, OLD]]) }
    expect(reasonOf(signer().permit(id))).toBeUndefined()
  })
})

describe('a wallet transaction after a code change', () => {
  const TRANSACTION: TransactionRecord = {
    ...{ id: 'own', purpose: 'approve', intentId: undefined, chainId: SIMULATED_CHAIN_ID },
    ...{ from: WALLET, nonce: 0, gas: 100_000n, maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n },
    ...payloadOf({ type: 'approve', token: USDC.address, spender: PERMIT2, amount: 25n }),
  }
  const nothing = payloadOf({ type: 'approve', token: USDC.address, spender: PERMIT2, amount: 0n })
  const { gasTank } = AGGREGATOR.contracts
  const deposit: Partial<TransactionRecord> = {
    ...{ purpose: 'deposit', chainId: CALL_CHAIN_ID, isAsked: true },
    ...payloadOf({
      type: 'deposit',
      gasTank,
      methods: 'balances',
      account: WALLET,
      amount: baseUnits(5n),
    }),
  }

  test.each<readonly [string, Partial<TransactionRecord>, Address, string | undefined]>([
    ['of its token blocks an approval', {}, USDC.address, 'code-changed'],
    ['of Permit2 blocks an approval', {}, PERMIT2, 'code-changed'],
    [
      'of its token does not block a zero approval, which only revokes a right',
      nothing,
      USDC.address,
      undefined,
    ],
    ['of the GasTank blocks a deposit', deposit, gasTank, 'code-changed'],
  ])('%s', (_, change, address, reason) => {
    const transaction = { ...TRANSACTION, ...change }
    journal({ type: 'transaction-recorded', transaction })
    expect(reasonOf(signer().transaction('own'))).toBeUndefined()
    changed(transaction.chainId, address)
    expect(reasonOf(signer().transaction('own'))).toBe(reason)
  })

  test('of the wrapped token blocks a wrapping', () => {
    const strategy = aStrategy({ sell: ETH, buy: { token: USDC, native: false } })
    const intent = anIntent({ sell: ETH, buy: { token: USDC, native: false } })
    const { slotSeconds } = intent
    journal(
      {
        ...{ type: 'strategy-scheduled', strategy: intent.strategy },
        ...{ scheduleKey: '0 * * * * UTC', fromSeconds: 0 },
      },
      { type: 'slot-opened', strategy: intent.strategy, slotSeconds, intents: [intent] },
      {
        type: 'transaction-recorded',
        transaction: {
          ...{ ...TRANSACTION, purpose: 'wrap', intentId: intent.id },
          ...payloadOf({ type: 'wrap', token: WETH.address, amount: 25n }),
        },
      },
    )
    expect(reasonOf(signer(strategy).transaction('own'))).toBeUndefined()
    changed(SIMULATED_CHAIN_ID, WETH.address)
    expect(reasonOf(signer(strategy).transaction('own'))).toBe('code-changed')
  })
})

test('a delegation to a proposer whose code has changed is blocked, but removing a delegation is not', () => {
  const { trustlessProposer } = AGGREGATOR.contracts
  changed(CALL_CHAIN_ID, trustlessProposer)
  const recorded = (delegate: Address) =>
    journal({
      ...{ type: 'delegation-signed', chainId: CALL_CHAIN_ID, account: WALLET, delegate },
      ...{ lastNonce: 1 },
      draft: {
        ...{ authorizationNonce: 1, nonce: 0, gas: 100_000n },
        ...{ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
      },
    })
  const made = signer()
  recorded(trustlessProposer)
  expect(reasonOf(made.delegation())).toBe('code-changed')
  recorded(`0x${'00'.repeat(20)}`)
  expect(reasonOf(made.delegation())).toBeUndefined()
})
