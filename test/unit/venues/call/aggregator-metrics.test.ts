import { expect, onTestFinished, test } from 'vitest'
import { composeAggregator } from '../../../../src/cli/compose/services.ts'
import type { Settings } from '../../../../src/domain/settings.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import { createMetrics } from '../../../../src/observe/metrics.ts'
import { createObserver } from '../../../../src/observe/observe.ts'
import { createKey } from '../../../../src/signing/keys/key.ts'
import { createClock } from '../../../../src/system/clock.ts'
import { AGGREGATOR } from '../../../simulation/aggregator/aggregation.ts'
import { HASH, RAW, results } from '../../../support/aggregator/aggregator-rpc-rig.ts'
import { captureLog } from '../../../support/capture-log.ts'
import {
  type ScriptedReply,
  startScriptedServer,
} from '../../../support/process/scripted-server.ts'
import { AMPLE_GAS, filesOfAggregator } from '../../../support/signing.ts'
import { waitFor } from '../../../support/wait-for.ts'

const LIMITS = { 'x-ratelimit-limit': '600', 'x-ratelimit-reset': '10000' }

/** The aggregation service as the daemon composes it, with its queue, against a scripted server. */
async function rig(replyTo: (method: keyof typeof results, count: number) => ScriptedReply) {
  const server = await startScriptedServer()
  const counts = new Map<string, number>()
  server.answerWith((request) => {
    const { id, method: name } = JSON.parse(request.body) as { id: number; method: string }
    const method = name.replace(/^(agg|eth)_/, '') as keyof typeof results
    const times = (counts.get(method) ?? 0) + 1
    counts.set(method, times)
    return { body: { jsonrpc: '2.0', id, result: results[method] }, ...replyTo(method, times) }
  })
  const { log } = await captureLog()
  const metrics = createMetrics({ version: '1' })
  const clock = createClock()
  const aggregator = { ...AGGREGATOR, rpcUrl: server.url }
  const chains = new Map([
    [
      'sepolia',
      {
        name: 'sepolia',
        chainId: 11_155_111,
        rpcUrls: [server.url],
        finality: 1,
        agree: 1,
        explorer: undefined,
        code: new Map(),
        gas: AMPLE_GAS,
      } as const,
    ],
  ])
  const composed = composeAggregator({
    settings: { aggregator, chains } as Partial<Settings> as Settings,
    clock,
    observe: createObserver({ log, metrics }).observe,
    operator: createKey(Buffer.from('11'.repeat(32), 'hex')),
    journal: { state: emptyState(), isOnDisk: () => false },
    guard: { blocked: () => undefined },
    files: filesOfAggregator(),
  })
  if (composed === undefined) throw new Error('the settings have an aggregator')
  onTestFinished(async () => {
    await composed.close()
    await clock.close()
    await server.close()
  })
  return { service: composed.context.service, metrics, server }
}

test('every route of the aggregation service has metrics for depth, waits, limit and requests', async () => {
  const { service, metrics } = await rig(() => ({
    headers: { ...LIMITS, 'x-ratelimit-remaining': '599' },
  }))
  await service.sendRawTransaction(RAW)
  await service.receipt(HASH)
  await service.batchedReceipt(HASH)
  await service.accountInfo()
  await service.transactionStatus(HASH)
  const text = await metrics.render()
  for (const route of [
    'sendRawTransaction',
    'getTransactionReceipt',
    'getBatchedTransactionReceipt',
    'accountInfo',
    'transactionStatus',
  ])
    for (const line of [
      `tranched_queue_depth{route="${route}"} 0`,
      `tranched_queue_wait_seconds_count{route="${route}"} 1`,
      `tranched_ratelimit_remaining{service="aggregator",route="${route}"} 599`,
      `tranched_requests_total{service="aggregator",route="${route}",status="200"} 1`,
    ])
      expect(text).toContain(line)
})

test('a limit of the aggregation service appears as a queue only for the limited route', async () => {
  const { service, metrics } = await rig((method, count) =>
    method === 'accountInfo' && count === 1
      ? { status: 429, headers: { 'retry-after': '5' }, body: 'too many requests' }
      : {},
  )
  expect(await service.accountInfo()).toMatchObject({ fault: { tag: 'rateLimited' } })
  const waiting = [service.accountInfo(), service.accountInfo()]
  expect((await service.receipt(HASH)).ok).toBe(true)
  const held = await metrics.render()
  expect(held).toContain('tranched_queue_depth{route="accountInfo"} 2')
  expect(held).toContain('tranched_queue_depth{route="getTransactionReceipt"} 0')
  expect(held).toContain(
    'tranched_requests_total{service="aggregator",route="accountInfo",status="429"} 1',
  )
  await Promise.all(waiting)
  await waitFor('an empty queue', async () =>
    (await metrics.render()).includes('tranched_queue_depth{route="accountInfo"} 0'),
  )
  const waits = /tranched_queue_wait_seconds_sum{route="accountInfo"} ([\d.]+)/
  const [, waited] = waits.exec(await metrics.render()) ?? []
  expect(Number(waited)).toBeGreaterThan(1.5)
})
