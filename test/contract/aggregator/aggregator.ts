import { afterEach, describe, expect, test } from 'vitest'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { AggregatorFault, AggregatorReply } from '../../../src/ports.ts'
import type { AggregatorClient } from '../../../src/venues/call/client/aggregator-client.ts'

/** Faults that a test injects into the service, before it handles a request or after. */
export type InjectedFault = 'rateLimit' | 'errorBefore' | 'errorAfter' | 'dropBefore' | 'dropAfter'
export type AggregatorCall =
  | 'sendRawTransaction'
  | 'sendBundle'
  | 'receipt'
  | 'batchedReceipt'
  | 'accountInfo'
  | 'transactionStatus'

export type AggregatorUnderTest = {
  readonly aggregator: AggregatorClient
  /** A client of the same service that signs with another key. */
  readonly impostor: AggregatorClient
  /** A funded account, delegated to a proposer and without a deposit. */
  readonly account: Address
  /** Deposits for the account. The service may show the deposit late. */
  deposit(wei: bigint): Promise<void>
  /** Signs a transaction that the service can execute once, after the previous transactions. */
  transaction(): Promise<Hex>
  /** Lets some of the service's time pass. */
  elapse(): Promise<void>
  /** Makes the next request of the kind fail once. */
  failNext(call: AggregatorCall, fault: InjectedFault): Promise<void> | void
  dispose(): Promise<void>
}

const TRIES_MAX = 300
const PLENTY = 10n ** 17n
const UNKNOWN_HASH: Hex = `0x${'77'.repeat(32)}`
const HASH = /^0x[0-9a-f]{64}$/
const INJECTED_FAULTS = [
  'rateLimit',
  'errorBefore',
  'errorAfter',
  'dropBefore',
  'dropAfter',
] as const
const sends = ['sendRawTransaction', 'sendBundle'] as const

/**
 * The contract of every Aggregator: the interface description as far as a client can observe it.
 * Each test makes a service with its own account and disposes of it.
 */
export function aggregatorContract(
  name: string,
  makeService: () => Promise<AggregatorUnderTest> | AggregatorUnderTest,
): void {
  describe(`${name} as an Aggregator`, () => {
    const made: AggregatorUnderTest[] = []

    async function start(): Promise<AggregatorUnderTest> {
      const service = await makeService()
      made.push(service)
      return service
    }

    async function startFunded(): Promise<AggregatorUnderTest> {
      const service = await start()
      await service.deposit(PLENTY)
      await until(service, async () => (await service.aggregator.accountInfo()).ok)
      return service
    }

    afterEach(async () => {
      for (const service of made.splice(0)) await service.dispose()
    })

    test('does not know an account without a deposit', async () => {
      const { aggregator, transaction } = await start()
      expect(faultOf(await aggregator.accountInfo()).tag).toBe('accountNotFound')
      const raw = await transaction()
      expect(faultOf(await aggregator.sendRawTransaction(raw)).tag).toBe('accountNotFound')
    })

    test('shows an indexed deposit as the balance of the account', async () => {
      const { aggregator } = await startFunded()
      const info = granted(await aggregator.accountInfo())
      expect(info).toEqual({ balance: PLENTY, outstandingCharge: 0n })
    })

    test("refuses account info without the account's signature", async () => {
      const { impostor } = await startFunded()
      expect(faultOf(await impostor.accountInfo()).tag).toBe('unauthenticated')
    })

    test('refuses a transaction that the deposit cannot pay for', async () => {
      const service = await start()
      await service.deposit(1n)
      await until(service, async () => (await service.aggregator.accountInfo()).ok)
      const reply = await service.aggregator.sendRawTransaction(await service.transaction())
      expect(faultOf(reply).tag).toBe('insufficientBalance')
    })

    test('refuses bytes that are no transaction', async () => {
      const { aggregator } = await startFunded()
      expect(faultOf(await aggregator.sendRawTransaction('0x1234')).tag).toBe('rejected')
    })

    test.each(sends)('%s returns the same hash for the same bytes', async (send) => {
      const service = await startFunded()
      const raw = await service.transaction()
      const hash = granted(await submit(service.aggregator, send, raw))
      expect(hash).toMatch(HASH)
      expect(granted(await submit(service.aggregator, send, raw))).toBe(hash)
    })

    test.each(sends)(
      '%s executes the transaction: its receipt is empty at first, then names the batch',
      async (send) => {
        const service = await startFunded()
        const { aggregator } = service
        const hash = granted(await submit(aggregator, send, await service.transaction()))
        const { transactionHash } = await landed(service, hash)
        expect(transactionHash).toMatch(HASH)
        const batch = granted(await aggregator.batchedReceipt(transactionHash))
        expect(batch).toEqual({ transactionHash })
      },
    )

    test('charges for executed calls, at most the deposit', async () => {
      const service = await startFunded()
      const { aggregator } = service
      const hash = granted(await aggregator.sendRawTransaction(await service.transaction()))
      await landed(service, hash)
      const { balance, outstandingCharge } = granted(await aggregator.accountInfo())
      const available = balance - outstandingCharge
      expect(available).toBeLessThan(PLENTY)
      expect(available).toBeGreaterThanOrEqual(0n)
    })

    test('returns the status of an accepted transaction', async () => {
      const service = await startFunded()
      const { aggregator } = service
      const hash = granted(await aggregator.sendRawTransaction(await service.transaction()))
      expect(Object.keys(granted(await aggregator.transactionStatus(hash)))).not.toEqual([])
    })

    test('does not know a transaction that was never submitted', async () => {
      const { aggregator } = await startFunded()
      const status = faultOf(await aggregator.transactionStatus(UNKNOWN_HASH))
      expect(status.tag).toBe('transactionNotFound')
      for (const reply of [
        await aggregator.receipt(UNKNOWN_HASH),
        await aggregator.batchedReceipt(UNKNOWN_HASH),
      ])
        expect(reply.ok ? reply.value : reply.fault.tag).toBeOneOf([
          undefined,
          'transactionNotFound',
        ])
    })

    test.each(INJECTED_FAULTS)(
      'leaves the outcome of a submission unknown after %s',
      async (fault) => {
        const service = await startFunded()
        const { aggregator } = service
        const raw = await service.transaction()
        await service.failNext('sendRawTransaction', fault)
        const tag = fault === 'rateLimit' ? 'rateLimited' : 'unavailable'
        expect(faultOf(await aggregator.sendRawTransaction(raw)).tag).toBe(tag)
        // Therefore only the same bytes may be sent again.
        const hash = granted(await aggregator.sendRawTransaction(raw))
        expect((await landed(service, hash)).transactionHash).toMatch(HASH)
      },
    )

    test.each(['receipt', 'batchedReceipt', 'accountInfo', 'transactionStatus'] as const)(
      'reports a failing %s as unavailable and answers the next request',
      async (call) => {
        const service = await startFunded()
        const { aggregator } = service
        const hash = granted(await aggregator.sendRawTransaction(await service.transaction()))
        const requests: Readonly<Record<typeof call, () => Promise<AggregatorReply<unknown>>>> = {
          receipt: () => aggregator.receipt(hash),
          batchedReceipt: () => aggregator.batchedReceipt(hash),
          accountInfo: () => aggregator.accountInfo(),
          transactionStatus: () => aggregator.transactionStatus(hash),
        }
        await service.failNext(call, 'errorBefore')
        expect(faultOf(await requests[call]()).tag).toBe('unavailable')
        expect((await requests[call]()).ok).toBe(true)
      },
    )
  })
}

function submit(
  aggregator: AggregatorClient,
  send: (typeof sends)[number],
  raw: Hex,
): Promise<AggregatorReply<Hex>> {
  return send === 'sendBundle' ? aggregator.sendBundle(raw, 0n) : aggregator.sendRawTransaction(raw)
}

async function landed(
  service: AggregatorUnderTest,
  hash: Hex,
): Promise<{ readonly transactionHash: Hex }> {
  let receipt: { readonly transactionHash: Hex } | undefined
  await until(service, async () => {
    receipt = granted(await service.aggregator.receipt(hash))
    return receipt !== undefined
  })
  if (receipt === undefined) throw new Error('no receipt')
  return receipt
}

async function until(service: AggregatorUnderTest, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await isSo()) return
    await service.elapse()
  }
  throw new Error('the condition was never met')
}

function granted<Value>(reply: AggregatorReply<Value>): Value {
  if (!reply.ok) throw new Error(`${reply.fault.tag}: ${reply.fault.message}`)
  return reply.value
}

function faultOf(reply: AggregatorReply<unknown>): AggregatorFault {
  if (reply.ok) throw new Error(`expected a fault, got ${JSON.stringify(reply.value)}`)
  return reply.fault
}
