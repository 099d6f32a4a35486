import { expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { clientOrderId, intentId } from '../../../src/domain/order/intent.ts'
import type { PermitRecord } from '../../../src/domain/order/permit.ts'
import type { Chain, Outgoing, TransactionTrace } from '../../../src/ports.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { resolveSwap } from '../../../src/venues/swap/resolve.ts'
import { openSwap } from '../../../src/venues/swap/swap-projection.ts'
import { POOL, settlementInput } from '../../simulation/chain/ledger.ts'
import { USDC, WALLET, WETH } from '../../simulation/stage.ts'
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

/** One transaction that settles all of these permits. */
function settlement(permits: readonly PermitRecord[]): TransactionTrace {
  const transfers = permits.flatMap((_, n) => [
    { token: USDC.address, from: WALLET, to: POOL, amount: usdc(25), logIndex: 2 * n },
    { token: WETH.address, from: POOL, to: WALLET, amount: milliWeth(10), logIndex: 2 * n + 1 },
  ])
  const block = { hash: HASH, blockNumber: 7n, blockHash: HASH }
  return {
    ...block,
    success: true,
    transfers,
    input: settlementInput(permits.map((permit) => ({ permit, paid: permit.amount }))),
  }
}

/** Signed orders of one slot, and a node that reports their nonces as used. */
async function rig(legs: readonly number[], replies: Partial<Chain>) {
  const { journal } = await openForTest(temporaryDirectory())
  const slot = { strategy: 'hourly', slotSeconds: NOON_SECONDS }
  const intents = legs.map((leg) => anIntent({ leg, id: intentId({ ...slot, leg }) }))
  await journal.append(
    { type: 'strategy-scheduled', strategy: 'hourly', scheduleKey: 'k', fromSeconds: 1 },
    { type: 'slot-opened', ...slot, intents },
    ...legs.map((leg) => ({
      type: 'permit-recorded' as const,
      intentId: intentId({ ...slot, leg }),
      permit: permitOf(leg),
    })),
  )
  const head = { blockNumber: 9n, blockTimeSeconds: NOON_SECONDS + 20 }
  const view = { ...head, nonceUsed: true, ownerHasCode: false, transaction: undefined }
  const chain: Partial<Chain> = {
    permit: async () => ({ ok: true, value: view }),
    blocks: async () => ({
      ok: true,
      value: {
        ...{ final: 9n, lag: 0, head },
        blocks: new Map([[7n, { hash: HASH, timeSeconds: NOON_SECONDS + 10, depth: 2 }]]),
      },
    }),
    ...replies,
  }
  const context = {
    ports: { journal, chain, clock: { now: () => NOON_SECONDS * 1000 }, observe: () => undefined },
    finality: { finality: 0, agree: 1 },
  } as unknown as OrderContext
  const opens = intents.map(({ id }) => openSwap(journal.state, id))
  await Promise.all(opens.map((open) => resolveSwap(context, open)))
  return { journal, states: opens.map(({ state }) => state) }
}

/** Transfers out of the wallet according to one node. */
const found = (value: Outgoing): Chain['outgoing'] => {
  return async () => ({ ok: true, value })
}

/** Nonce status at a final block according to a quorum of nodes. */
const atLast = (nonceUsed: boolean): Chain['finalPermit'] => {
  const at = { blockNumber: 9n, blockTimeSeconds: NOON_SECONDS + 20 }
  return async () => ({ ok: true, value: { ...at, nonceUsed } })
}

test('orders of one transaction that are read concurrently are all proven', async () => {
  const traces = [settlement([0, 1, 2].map(permitOf))]
  const { journal, states } = await rig([0, 1, 2], {
    outgoing: found({ traces, cancelled: undefined }),
  })
  expect(states).toEqual(['filled', 'filled', 'filled'])
  expect(journal.state.spent.get(USDC.address)).toBe(usdc(75))
})

test.each([
  [true, 'filled'],
  [false, 'exposed'],
])(
  'a payment that does not name the permit proves it if its nonce use is final (%s)',
  async (isUsed, state) => {
    const other = settlement([permitOf(1)])
    const { states } = await rig([0], {
      outgoing: found({ traces: [other], cancelled: undefined }),
      finalPermit: atLast(isUsed),
    })
    expect(states).toEqual([state])
  },
)

test.each([
  [true, 'planned'],
  [false, 'exposed'],
])(
  'a cancellation reported by one node ends a permit if its nonce use is final (%s)',
  async (isUsed, state) => {
    const { states } = await rig([0], {
      outgoing: found({
        traces: [],
        cancelled: { txHash: HASH, blockNumber: 7n, blockHash: HASH },
      }),
      finalPermit: atLast(isUsed),
    })
    expect(states).toEqual([state])
  },
)

test.each([
  ['at a block that may contain it', 7n, 'filled'],
  ['at an earlier block', 6n, 'exposed'],
])(
  'a named but unpaid order is excluded if its nonce is unused %s',
  async (_, blockNumber, state) => {
    const both = settlement([permitOf(0), permitOf(1)])
    const traces = [{ ...both, transfers: both.transfers.slice(0, 2) }]
    const { states } = await rig([0, 1], {
      permit: async ({ nonce }) => ({
        ok: true,
        value: {
          ...{ blockNumber: 9n, blockTimeSeconds: NOON_SECONDS + 20, ownerHasCode: false },
          ...{ nonceUsed: nonce === permitOf(0).nonce, transaction: undefined },
        },
      }),
      outgoing: found({ traces, cancelled: undefined }),
      finalPermit: async ({ nonce }) => ({
        ok: true,
        value: {
          ...{ blockNumber, blockTimeSeconds: NOON_SECONDS + 20 },
          nonceUsed: nonce === permitOf(0).nonce,
        },
      }),
    })
    expect(states).toEqual([state, 'exposed'])
  },
)
