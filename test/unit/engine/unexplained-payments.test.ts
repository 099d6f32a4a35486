import { expect, test } from 'vitest'
import { strangePayments } from '../../../src/engine/chain-comparison/unexplained-payments.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Payment, Ports, TransactionTrace } from '../../../src/ports.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'

const PAID: Payment = {
  token: USDC.address,
  amount: 25n,
  logIndex: 3,
  txHash: '0x0f',
  blockNumber: 9n,
}
const RECEIPT: TransactionTrace = {
  hash: '0x0f',
  success: true,
  blockNumber: 9n,
  blockHash: '0x09',
  transfers: [{ ...PAID, from: WALLET, to: USDC.address }],
  input: '0x',
}

/** A node whose logs show a payment, and whose receipts say this of it. */
async function found(transaction: TransactionTrace | undefined) {
  const told: RuntimeEvent[] = []
  const ports = {
    chain: {
      payments: async () => ({ ok: true, value: { payments: [PAID], fromBlock: 1n } }),
      permit: async () => ({ ok: true, value: { transaction } }),
    },
    signer: { address: WALLET },
    journal: { state: emptyState() },
    clock: { now: () => 0 },
    observe: (event: RuntimeEvent) => void told.push(event),
  } as unknown as Ports
  const reply = await strangePayments(ports, [USDC], { fromBlock: 1n, toBlock: 10n })
  return { reply, told: told.map(({ type }) => type) }
}

test('a payment that its receipt shows too is evidence', async () => {
  const { reply } = await found(RECEIPT)
  expect(reply).toMatchObject({ ok: true, value: { strange: [{ txHash: '0x0f' }] } })
})

test('a log that its receipt does not have is told, and is no evidence', async () => {
  for (const transfers of [[], RECEIPT.transfers.map((each) => ({ ...each, amount: 24n }))]) {
    const { reply, told } = await found({ ...RECEIPT, transfers })
    expect(reply).toMatchObject({ ok: true, value: { strange: [] } })
    expect(told).toEqual(['nodes-disagree'])
  }
})

test('a log of a transaction that nobody has a receipt of says nothing yet', async () => {
  const { reply } = await found(undefined)
  expect(reply).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
})
