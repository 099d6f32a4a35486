import { expect, test } from 'vitest'
import { createWatch } from '../../../src/control/probes.ts'
import type { IntentId } from '../../../src/domain/order/intent.ts'

function request(service: 'gasless' | 'aggregator' | 'rpc', status: string) {
  const chain = service === 'rpc' ? 'base' : undefined
  return { type: 'request', service, chain, route: 'poll', status, durationMs: 1 } as const
}

function ready() {
  const watch = createWatch({ now: () => 0 }, () => 0)
  watch.ready()
  return watch
}

test.each(['200', '201', '400', '404', '429', 'accountNotFound', 'rejected'])(
  'a service that answered %s is reachable',
  (status) => {
    const watch = ready()
    watch.saw(request('aggregator', status))
    expect(watch.probes.ready()).toMatchObject({ ok: true, reasons: [] })
  },
)

test.each([
  ['500', 'answered last: 500'],
  ['5xx', 'answered last: 5xx'],
  ['malformed', 'answered last: malformed'],
  ['unavailable', 'answered last: unavailable'],
  ['timeout', 'did not answer (no answer in time)'],
  ['network', 'did not answer (connection failed)'],
  ['unreachable', 'did not answer (connection failed)'],
])(
  'a service whose last request ended as %s is unreachable until it answers again',
  (status, text) => {
    const watch = ready()
    watch.saw(request('gasless', status))
    watch.saw(request('rpc', '200'))
    expect(watch.probes.ready()).toMatchObject({
      ok: false,
      reasons: [`gasless ${text}`],
    })
    watch.saw(request('gasless', '200'))
    expect(watch.probes.ready().ok).toBe(true)
  },
)

test('nodes are named by their chain, and one chain does not answer for another', () => {
  const watch = ready()
  watch.saw(request('rpc', 'unreachable'))
  watch.saw({ ...request('rpc', '200'), chain: 'mainnet' })
  expect(watch.failing()).toEqual(['a node of chain base did not answer (connection failed)'])
  watch.saw({ ...request('rpc', 'timeout'), chain: undefined })
  expect(watch.failing()[1]).toBe('a node did not answer (no answer in time)')
})

test('what an unsigned order waits for is kept until it stops waiting or ends', () => {
  const watch = ready()
  const waits = (intentId: IntentId) =>
    watch.saw({
      ...{ type: 'order-waits', strategy: 'dca', intentId, reason: 'quote-unavailable' },
      ...{ detail: 'connection failed', startBeforeMs: 60_000 },
    })
  waits('dca:1:0')
  waits('dca:2:0')
  const text = 'waits, until 1970-01-01T00:01:00.000Z at most: quote-unavailable, connection failed'
  expect([...watch.waits()]).toEqual([
    ['dca:1:0', text],
    ['dca:2:0', text],
  ])
  const waited = { strategy: 'dca', reason: 'quote-unavailable', waitedMs: 1 } as const
  watch.saw({ type: 'order-waited', intentId: 'dca:1:0', ...waited })
  const end = { outcome: 'expired', reason: 'too-late' } as const
  watch.recorded({ type: 'intent-closed', intentId: 'dca:2:0', ...end })
  expect(watch.waits().size).toBe(0)
})

test('an account that is not delegated is named as long as a strategy makes calls', () => {
  const watch = ready()
  expect(watch.probes.ready().details).toMatchObject({ delegated: null })
  const read = { type: 'account-delegation', account: 'operator', isUnread: false } as const
  const refusal = 'not-delegated: run `tranched delegation set` for the account'
  watch.saw({ ...read, refusal, isNeeded: true })
  expect(watch.probes.ready()).toMatchObject({
    ok: false,
    reasons: [`account operator is ${refusal}`],
    details: { delegated: false },
  })
  watch.saw({ ...read, refusal, isNeeded: false })
  expect(watch.probes.ready()).toMatchObject({ ok: true, details: { delegated: false } })
  watch.saw({ ...read, refusal: undefined, isUnread: true, isNeeded: true })
  expect(watch.probes.ready()).toMatchObject({ ok: true, details: { delegated: null } })
  watch.saw({ ...read, refusal: undefined, isNeeded: true })
  expect(watch.probes.ready()).toMatchObject({ ok: true, details: { delegated: true } })
})

test('a draining daemon is not ready, and a daemon with a stuck loop is not healthy', () => {
  let ranMs = 0
  const watch = createWatch({ now: () => 0 }, () => ranMs)
  expect(watch.probes.ready().reasons).toEqual(['starting'])
  watch.ready()
  watch.saw({ type: 'daemon-stopping', cause: 'SIGTERM', openIntents: 0 })
  expect(watch.probes.ready().reasons).toEqual(['stopping'])
  expect(watch.probes.health().ok).toBe(true)
  ranMs = 120_001
  expect(watch.probes.health().ok).toBe(false)
  watch.ticked()
  expect(watch.probes.health().ok).toBe(true)
})

test('a daemon with a stuck loop is not ready either', () => {
  let ranMs = 0
  const watch = createWatch({ now: () => 0 }, () => ranMs)
  watch.ready()
  expect(watch.probes.ready().ok).toBe(true)
  ranMs = 120_001
  expect(watch.probes.ready()).toMatchObject({
    ok: false,
    reasons: ['the loop has not turned for 120001 ms'],
  })
  watch.ticked()
  expect(watch.probes.ready().ok).toBe(true)
})

test.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])('a wall clock set %s changes neither probe nor the age of the last turn', (_way, stepMs) => {
  let nowMs = 10_000_000
  let ranMs = 0
  const watch = createWatch({ now: () => nowMs }, () => ranMs)
  watch.ready()
  ranMs += 700
  nowMs += 700 + stepMs
  expect(watch.probes.health()).toMatchObject({ ok: true, details: { lastTurnAgeMs: 700 } })
  expect(watch.probes.ready().ok).toBe(true)
  expect(watch.turnedAtMs()).toBe(nowMs - 700)
})

test('a rejected login makes the daemon unready until its funds are known', () => {
  const watch = ready()
  const unknown = { type: 'gas-tank-unknown', account: 'operator', message: 'no' } as const
  watch.saw({ ...unknown, isLogin: true })
  expect(watch.probes.ready()).toMatchObject({
    ok: false,
    reasons: ['aggregator does not accept the login of wallet operator: its funds are unknown'],
  })
  watch.saw({ ...unknown, isLogin: false })
  expect(watch.probes.ready().reasons).toEqual(['aggregator reports no funds of wallet operator'])
  const known = { balance: 1n, outstanding: 0n, isLow: false }
  const funds = { ...known, runwaySeconds: undefined, alertBelow: undefined }
  watch.saw({ type: 'gas-tank', account: 'operator', ...funds })
  expect(watch.probes.ready().ok).toBe(true)
})

test('refused files are listed with readiness until they are accepted', () => {
  const watch = createWatch({ now: () => 0 }, () => 0)
  watch.ready()
  watch.saw({ type: 'files-stale', files: 1, detail: 'weekly.yaml:3: unknown key' })
  const { ok, details } = watch.probes.ready()
  expect([ok, details]).toEqual([
    true,
    {
      halted: false,
      delegated: null,
      refusedFiles: { files: 1, detail: 'weekly.yaml:3: unknown key' },
    },
  ])
  watch.saw({ type: 'files-stale', files: 0, detail: '' })
  expect(watch.probes.ready().details).toMatchObject({ refusedFiles: null })
})
