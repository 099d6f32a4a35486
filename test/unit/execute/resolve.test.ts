import { expect, test } from 'vitest'
import { openSwap } from '../../../src/domain/book/swaps.ts'
import { clientOrderId, intentId } from '../../../src/domain/intent.ts'
import type { PermitRecord } from '../../../src/domain/permit.ts'
import type { Hex } from '../../../src/domain/units.ts'
import type { OrderContext } from '../../../src/execute/context.ts'
import { resolveSwap } from '../../../src/execute/swap/resolve.ts'
import type { Chain, TransactionTrace } from '../../../src/ports.ts'
import { POOL, settlementInput } from '../../../src/simulate/chain/ledger.ts'
import { USDC, WALLET, WETH } from '../../../src/simulate/stage.ts'
import { anIntent, aPermit, milliWeth, NOON_SECONDS, usdc } from '../../support/builders.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

const HASH: Hex = `0x${'11'.repeat(32)}`

function permitOf(leg: number): PermitRecord {
  const id = intentId({ strategy: 'hourly', slotSeconds: NOON_SECONDS, leg })
  return {
    ...aPermit({ nonce: 0xfeed_0000_0000_0000n + BigInt(leg) }),
    ...{ attempt: 1, clientOrderId: clientOrderId(id, 1), quoteId: 'q', fromBlock: 1n },
    digest: `0x${`${leg}`.padStart(64, '0')}`,
  }
}

/** One transaction that settles all of them. */
function settlement(permits: readonly PermitRecord[]): TransactionTrace {
  const transfers = permits.flatMap((_, n) => [
    { token: USDC.address, from: WALLET, to: POOL, amount: usdc(25), logIndex: 2 * n },
    { token: WETH.address, from: POOL, to: WALLET, amount: milliWeth(10), logIndex: 2 * n + 1 },
  ])
  const place = { hash: HASH, blockNumber: 7n, blockHash: HASH }
  return {
    ...place,
    success: true,
    transfers,
    input: settlementInput(permits.map((permit) => ({ permit, paid: permit.amount }))),
  }
}

test('orders of one transaction that are looked at in the same instant are each proven', async () => {
  const { journal } = await openForTest(temporaryDirectory())
  const legs = [0, 1, 2]
  const intents = legs.map((leg) =>
    anIntent({ leg, id: intentId({ strategy: 'hourly', slotSeconds: NOON_SECONDS, leg }) }),
  )
  const permits = legs.map(permitOf)
  const slot = { strategy: 'hourly', slotSeconds: NOON_SECONDS }
  await journal.append(
    { type: 'strategy-scheduled', strategy: 'hourly', scheduleKey: 'k', fromSeconds: 1 },
    { type: 'slot-opened', ...slot, intents },
    ...permits.map((permit, leg) => ({
      type: 'permit-recorded' as const,
      intentId: intentId({ ...slot, leg }),
      permit,
    })),
  )
  const head = { blockNumber: 9n, blockTimeSeconds: NOON_SECONDS + 20 }
  const view = { ...head, nonceUsed: true, ownerHasCode: false, transaction: undefined }
  const traces = [settlement(permits)]
  const chain: Partial<Chain> = {
    permit: async () => ({ ok: true, value: view }),
    outgoing: async () => ({ ok: true, value: { traces, cancelled: undefined } }),
    blocks: async () => ({
      ok: true,
      value: {
        ...{ final: 9n, lag: 0, head },
        blocks: new Map([[7n, { hash: HASH, timeSeconds: NOON_SECONDS + 10, depth: 2 }]]),
      },
    }),
  }
  const context = {
    ports: { journal, chain, clock: { now: () => NOON_SECONDS * 1000 }, observe: () => undefined },
    finality: { finality: 0, agree: 1 },
  } as unknown as OrderContext
  const opens = intents.map(({ id }) => openSwap(journal.state, id))
  await Promise.all(opens.map((open) => resolveSwap(context, open)))
  expect(opens.map(({ state }) => state)).toEqual(['filled', 'filled', 'filled'])
  expect(journal.state.spent.get(USDC.address)).toBe(usdc(75))
})
