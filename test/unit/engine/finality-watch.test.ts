import { expect, onTestFinished, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import { createFinalityWatch } from '../../../src/engine/chain-comparison/finality-watch.ts'
import type { FinalCount } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator, SEPOLIA } from '../venues/call/aggregator-fixture.ts'

const HASH: Hex = `0x${'ab'.repeat(32)}`
const BLOCK_HASH: Hex = `0x${'cd'.repeat(32)}`
const fail = (error: unknown): never => {
  throw error
}

/** Journals a wrapping mined in block 98, then reports its nonce as unused once; returns the types of the later records. */
async function afterNonceUnused(
  count: Pick<FinalCount, 'blockNumber' | 'transactionCount'>,
  { closesMeanwhile = false } = {},
) {
  const { tools, clock } = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const { wallet } = tools.aggregator
  const { journal, close } = await openJournal({ dir: temporaryDirectory(), clock, onFatal: fail })
  onTestFinished(close)
  const draft = await wallet.chain.draft({
    ...{ from: wallet.signer.address, to: wallet.signer.address, data: '0x', value: 1n },
  })
  if (!draft.ok) throw new Error('the draft was refused')
  const own = { id: 'a', purpose: 'wrap', intentId: undefined, hash: HASH } as const
  const mined = { hash: HASH, success: true, blockNumber: 98n, blockHash: BLOCK_HASH }
  await journal.append(
    { type: 'transaction-recorded', transaction: { ...draft.value, ...own } },
    { type: 'transaction-ended', id: 'a', status: 'mined', ...mined },
  )
  const closing = new AbortController()
  const outcomes = closesMeanwhile ? [mined] : [undefined, mined]
  const head = { blockNumber: 103n, blockTimeSeconds: 1 }
  const blocks = new Map([[98n, { hash: BLOCK_HASH, timeSeconds: 1, depth: 5 }]])
  Object.assign(wallet.chain, {
    blocks: async () => ({ ok: true, value: { final: 100n, lag: 3, head, blocks } }),
    async nonceOutcome() {
      if (closesMeanwhile) {
        closing.abort()
        await close()
      }
      return { ok: true, value: outcomes.shift() }
    },
    finalCount: async () => ({ ok: true, value: { ...count, blockTimeSeconds: 1 } }),
    transaction: async () => ({ ok: true, value: { receipt: mined, latestNonce: 1 } }),
  })
  const { signal } = closing
  const ports = { clock, journal, observe: () => undefined, chain: wallet.chain }
  const context = {
    ...{ ports, wallet, chainId: SEPOLIA, gasless: { chain: 'sepolia' }, policy: DEFAULT_POLICY },
    ...{
      finality: { finality: 3, agree: 1 },
      aggregator: undefined,
      closing: signal,
      stop: signal,
    },
  } as unknown as OrderContext
  const watch = createFinalityWatch({ context, onReopened: fail, onFailure: fail })
  for (let reads = 0; reads < 4; reads += 1) {
    watch.readDue()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clock.sleep(60_000)
  }
  const types: string[] = []
  for await (const { event } of journal.records()) types.push(event.type)
  return types.slice(2)
}

test('a transaction in a final block stays mined if a lagging node reports its nonce as unused', async () => {
  expect(await afterNonceUnused({ blockNumber: 95n, transactionCount: 0 })).toEqual([
    'transactions-final',
  ])
})

test('a transaction is reopened if its final block exists without it', async () => {
  const types = await afterNonceUnused({ blockNumber: 100n, transactionCount: 0 })
  expect(types[0]).toBe('transaction-reopened')
})

test('a stopping daemon journals no result of a pending read', async () => {
  const count = { blockNumber: 100n, transactionCount: 1 }
  expect(await afterNonceUnused(count, { closesMeanwhile: true })).toEqual([])
})
