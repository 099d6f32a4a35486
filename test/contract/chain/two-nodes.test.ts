import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChain } from '../../../src/chain/chain.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { makeViemChainRig, type ViemChainRig } from '../../support/chain/viem-chain-rig.ts'
import { answerOf } from './chain.ts'

describe('two nodes of one chain', () => {
  let honest: ViemChainRig
  /** Its clock is 90 s ahead. */
  let ahead: ViemChainRig
  const observed: RuntimeEvent[] = []

  beforeAll(async () => {
    ;[honest, ahead] = await Promise.all([makeViemChainRig(), makeViemChainRig()])
    await ahead.rpc.call('evm_increaseTime', [90])
    await ahead.rpc.call('evm_mine')
  })
  afterAll(() => Promise.all([honest.close(), ahead.close()]))

  async function withNodes<Value>(
    nodes: readonly ViemChainRig[],
    rule: FinalityRule,
    query: (chain: ReturnType<typeof createChain>, latestSeconds: number) => Promise<Value>,
  ): Promise<Value> {
    observed.length = 0
    const chain = createChain({
      ...{ chainId: honest.chainId, rpcUrls: nodes.map(({ rpcUrl }) => rpcUrl), rule },
      ...{ permit2: honest.permit2, observe: (event) => observed.push(event), clock: Date },
    })
    try {
      return await query(chain, Math.floor(Date.now() / 1000) + 5)
    } finally {
      await chain.close()
    }
  }

  test('fall back to the second node when the first is 90 s ahead', async () => {
    const owner = honest.key.address
    const alone = await withNodes([ahead], { finality: 0, agree: 1 }, (chain, latestSeconds) =>
      chain.finalPermit({ owner, nonce: 1n, latestSeconds }),
    )
    expect(alone).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
    expect(JSON.stringify(alone)).toContain('ahead of this machine')
    const both = await withNodes(
      [ahead, honest],
      { finality: 0, agree: 1 },
      (chain, latestSeconds) => chain.finalPermit({ owner, nonce: 1n, latestSeconds }),
    )
    expect(answerOf(both)).toMatchObject({ nonceUsed: false })
  })

  test('must agree about a nonce when the quorum is two', async () => {
    const owner = honest.key.address
    const nonce = 5n
    const anyTime = { latestSeconds: Number.MAX_SAFE_INTEGER }
    const query = (chain: ReturnType<typeof createChain>) =>
      chain.finalPermit({ owner, nonce, ...anyTime })
    const alike = await withNodes([honest, ahead], { finality: 0, agree: 2 }, query)
    expect(answerOf(alike)).toMatchObject({ nonceUsed: false })
    await honest.useNonce(nonce)
    const reply = await withNodes([honest, ahead], { finality: 0, agree: 2 }, query)
    expect(reply).toEqual({
      ok: false,
      fault: { tag: 'disagreed', message: '1 say used, 1 say unused' },
    })
    const few = await withNodes([honest], { finality: 0, agree: 2 }, query)
    expect(few).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })

  test('leave out a block number on which they disagree, and report the conflict', async () => {
    const seen = await withNodes([honest, ahead], { finality: 1, agree: 2 }, (chain) =>
      chain.blocks({ numbers: [0n, 3n], latestSeconds: Number.MAX_SAFE_INTEGER }),
    )
    const { blocks, final, head } = answerOf(seen)
    expect([...blocks.keys()].includes(3n)).toBe(false)
    expect(final).toBeLessThanOrEqual(head.blockNumber - 1n)
    expect(observed.some(({ type }) => type === 'nodes-disagree')).toBe(true)
  })

  test('count a finality depth from the newest block and read at that block', async () => {
    const owner = honest.key.address
    const nonce = 600n
    await honest.useNonce(nonce)
    const latestSeconds = Number.MAX_SAFE_INTEGER
    const at = (finality: FinalityRule['finality']) =>
      withNodes([honest], { finality, agree: 1 }, (chain) =>
        chain.finalPermit({ owner, nonce, latestSeconds }),
      )
    expect(answerOf(await at(0))).toMatchObject({ nonceUsed: true })
    expect(answerOf(await at(5))).toMatchObject({ nonceUsed: false })
    for (const tag of ['safe', 'finalized'] as const) expect((await at(tag)).ok).toBe(true)
  })
})
