import { expect, test } from 'vitest'
import type { Rpc } from '../../../src/sandbox/evm/rpc.ts'
import { createSender } from '../../../src/sandbox/evm/sender.ts'

const ADDRESS = `0x${'aa'.repeat(20)}` as const
const HASH = `0x${'bb'.repeat(32)}` as const

/** A node that accepts only the account's next nonce, and may accept a transaction without an answer. */
function node() {
  const state = { next: 0, isMute: false, nonceReads: 0 }
  const call = async (method: string, params: unknown): Promise<unknown> => {
    if (method === 'eth_getTransactionReceipt') return { transactionHash: HASH, status: '0x1' }
    if (method === 'eth_getTransactionCount') {
      state.nonceReads += 1
      return `0x${state.next.toString(16)}`
    }
    const [{ nonce }] = params as [{ nonce: string }]
    if (Number(nonce) !== state.next) throw new Error(`nonce ${nonce} is not ${state.next}`)
    state.next += 1
    if (state.isMute) throw new Error('no answer')
    return HASH
  }
  return { state, rpc: { call } as unknown as Rpc }
}

test('a send after an accepted but unanswered send uses the following nonce', async () => {
  const { state, rpc } = node()
  const sender = createSender(rpc, ADDRESS)
  await sender.send({})
  state.isMute = true
  await expect(sender.send({})).rejects.toThrow('no answer')
  state.isMute = false
  expect((await sender.send({})).status).toBe('0x1')
  expect((await sender.send({})).status).toBe('0x1')
  expect(state).toMatchObject({ next: 4, nonceReads: 1 })
})
