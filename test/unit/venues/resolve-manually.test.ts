import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../../src/domain/order/manual-resolution.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { CallChain, Chain, Journal } from '../../../src/ports.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { createPendingRequests } from '../../../src/venues/manual/requests.ts'
import { inspectOrder, settle } from '../../../src/venues/manual/resolve-manually.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo } from '../../simulation/aggregator/ledger.ts'
import {
  callFor,
  callIntentOf,
  exposed,
  intentOf,
  OWNER,
  opened,
  permitFor,
  scheduled,
} from '../../support/state/journal-events.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

const SLOT = 2_000
const intent = intentOf(SLOT)
const EXECUTED: Verdict = { as: 'executed', txHash: undefined }
const SNAPSHOT = { blockNumber: 50_000n, blockTimeSeconds: SLOT + 90_000 }

async function journalWith(...events: readonly JournalEvent[]): Promise<Journal> {
  const { journal } = await openForTest(temporaryDirectory())
  await journal.append(scheduled(), ...events)
  return journal
}

function contextOf(journal: Journal, more: object): OrderContext {
  return {
    ports: {
      journal,
      clock: { now: () => SNAPSHOT.blockTimeSeconds * 1000 },
      gasless: { clockOffsetMs: () => undefined },
      observe: () => undefined,
    },
    finality: { finality: 2, agree: 1 },
    requests: createPendingRequests(new AbortController().signal),
    ...more,
  } as unknown as OrderContext
}

/** A swap whose nonce use is final. */
function swapContext(journal: Journal, chain: Partial<Chain>): OrderContext {
  const context = contextOf(journal, {})
  const used = { ...SNAPSHOT, nonceUsed: true }
  const full: Partial<Chain> = {
    permit: async () => ({
      ok: true,
      value: { ...used, ownerHasCode: false, transaction: undefined },
    }),
    finalPermit: async () => ({ ok: true, value: used }),
    outgoing: async () => ({ ok: true, value: { traces: [], cancelled: undefined } }),
    ...chain,
  }
  return { ...context, ports: { ...context.ports, chain: full as Chain } }
}

test('an order too old for a log search can be resolved, and the search is reported as failed', async () => {
  const journal = await journalWith(opened(intent), exposed(intent))
  const message = 'blocks 1 to 900000 are too many to search (at most 100000)'
  const context = swapContext(journal, {
    outgoing: async () => ({ ok: false, fault: { tag: 'unavailable', message } }),
  })
  const inspected = await inspectOrder(context, intent.id)
  expect(inspected).toMatchObject({
    ok: true,
    evidence: { searchFault: message, transactions: [] },
  })
  const resolved = await settle(context, intent.id, { verdict: EXECUTED, attempt: 1 })
  expect(resolved).toEqual({ ok: true, by: 'word', verdict: EXECUTED })
  const { amount, token } = permitFor(intent)
  expect(journal.state.spent.get(token)).toBe(amount)
})

test('an order that changes during the chain request is not resolved', async () => {
  const journal = await journalWith(opened(intent), exposed(intent))
  const own = { intentId: intent.id, attempt: 1 }
  const context = swapContext(journal, {
    outgoing: async () => {
      await journal.append({ type: 'order-accepted', ...own, orderId: 'order-1' })
      return { ok: true, value: { traces: [], cancelled: undefined } }
    },
  })
  const resolved = await settle(context, intent.id, { verdict: EXECUTED, attempt: 1 })
  expect(resolved).toMatchObject({ ok: false, reason: 'moved-on' })
  expect(journal.state.intents.get(intent.id)).toMatchObject({ state: 'accepted', attempt: 1 })
})

describe('a trusted call submitted to the service', () => {
  // Calls of odd slots are trusted.
  const call = callFor(callIntentOf(SLOT + 1), { attempt: 1, nonce: 0n })
  const { id } = callIntentOf(SLOT + 1)
  const TRUSTED = delegationTo(AGGREGATOR.contracts.trustedProposer)
  const own = { intentId: id, attempt: 1 }

  /** Result of resolving it as dead, with this code now and at a final block. */
  async function mayBeDead(at: {
    readonly head: `0x${string}`
    readonly final: `0x${string}`
    readonly isLost: boolean
    readonly more?: readonly JournalEvent[]
  }): Promise<string> {
    const journal = await journalWith(
      opened(callIntentOf(SLOT + 1)),
      { type: 'call-recorded', intentId: id, call },
      { type: 'call-signed', ...own, hash: `0x${'5e'.repeat(32)}` },
      ...(at.more ?? []),
    )
    const chain: Partial<CallChain> = {
      account: async () => ({ ok: true, value: { ...SNAPSHOT, code: at.head } as never }),
      finalAccount: async () => ({
        ok: true,
        value: { ...SNAPSHOT, nestedNonce: undefined, code: at.final },
      }),
      nonceOutcome: async () => ({ ok: true, value: at.isLost ? 'lost' : undefined }),
      trace: async () => ({ ok: true, value: undefined }),
    }
    const wallet = { chainId: call.chainId, signer: { address: OWNER } }
    const aggregator = { settings: AGGREGATOR, chain, wallet, finality: { finality: 2, agree: 1 } }
    const context = contextOf(journal, { aggregator })
    const resolved = await settle(context, id, { verdict: { as: 'dead' }, attempt: 1 })
    return resolved.ok ? 'dead' : resolved.reason
  }

  test.each([
    ['0x', '0x', true, 'dead'],
    ['0x', '0x', false, 'still-live'],
    ['0x', TRUSTED, true, 'still-live'],
    [TRUSTED, '0x', true, 'still-live'],
  ] as const)(
    'with code %s now, %s at a final block and its nonce lost %s: %s',
    async (head, final, isLost, end) => {
      expect(await mayBeDead({ head, final, isLost })).toBe(end)
    },
  )

  test('is not dead while its direct transaction is pending', async () => {
    const transaction = {
      id: `${id}:1:call`,
      purpose: 'call',
      intentId: id,
      ...{ chainId: call.chainId, from: OWNER, nonce: 9, to: call.target, data: call.calldata },
      ...{ value: 3n, gas: 1n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
    } as const
    const more = [{ type: 'transaction-recorded', transaction } as const]
    const end = await mayBeDead({ head: '0x', final: '0x', isLost: true, more })
    expect(end).toBe('still-live')
  })
})
