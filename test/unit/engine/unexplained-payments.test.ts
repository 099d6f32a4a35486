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

/** A node whose logs show a payment and whose receipts contain `transaction`. */
async function found(transaction: TransactionTrace | undefined) {
  const reported: RuntimeEvent[] = []
  const ports = {
    chain: {
      payments: async () => ({ ok: true, value: { payments: [PAID], fromBlock: 1n } }),
      permit: async () => ({ ok: true, value: { transaction } }),
    },
    signer: { address: WALLET },
    journal: { state: emptyState() },
    clock: { now: () => 0 },
    observe: (event: RuntimeEvent) => void reported.push(event),
  } as unknown as Ports
  const reply = await strangePayments(ports, [USDC], { fromBlock: 1n, toBlock: 10n })
  return { reply, reported: reported.map(({ type }) => type) }
}

test('a payment that the receipt confirms is evidence', async () => {
  const { reply } = await found(RECEIPT)
  expect(reply).toMatchObject({ ok: true, value: { strange: [{ txHash: '0x0f' }] } })
})

test('a log without a matching receipt is reported and is not evidence', async () => {
  for (const transfers of [[], RECEIPT.transfers.map((each) => ({ ...each, amount: 24n }))]) {
    const { reply, reported } = await found({ ...RECEIPT, transfers })
    expect(reply).toMatchObject({ ok: true, value: { strange: [] } })
    expect(reported).toEqual(['nodes-disagree'])
  }
})

test('a log whose transaction has no receipt is inconclusive', async () => {
  const { reply } = await found(undefined)
  expect(reply).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
})
