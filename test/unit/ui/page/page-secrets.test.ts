import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../../../../src/control/http/http-server.ts'
import { createScrubber } from '../../../../src/system/scrubber.ts'
import { createSite, readAssets } from '../../../../src/ui/page/server/site.ts'
import { USDC } from '../../../simulation/stage.ts'
import { aStrategy } from '../../../support/builders.ts'
import { aPage } from '../../../support/page/a-page.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  filledSlot,
  intentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'

const KEY = `0x${'c0ffee'.repeat(10)}beef`
const TOKEN = 'canary-token-1234567890'
const SIGNATURE = `0x${'5e'.repeat(65)}`
/** Text that a careless service, module or node may return. */
const CANARY = `it said ${KEY} and https://node.example/v3/${TOKEN}?key=${TOKEN} and ${SIGNATURE}`
const SECRETS = [KEY, KEY.slice(2, 40), TOKEN, SIGNATURE.slice(2, 60)]

const SLOT = 1_800_000_000

test('no response contains a secret that the log would hide, in any field', async () => {
  const scrubber = createScrubber()
  scrubber.addKey(Buffer.from(KEY.slice(2), 'hex'))
  scrubber.add(`https://node.example/v3/${TOKEN}`)
  const daemon = await aPage({
    nowMs: SLOT * 1000,
    strategies: [aStrategy({ name: STRATEGY }), aStrategy({ name: 'skipper' })],
    input: {
      hiding: { clean: scrubber.text, value: scrubber.value },
      describe: ({ kind, enabled }) => ({ kind, enabled, does: CANARY, schedule: CANARY }),
    },
  })
  const { page, journal } = daemon
  await journal.append(BOUND, scheduled(), scheduled('skipper'), scheduled('caller'))
  for (const event of filledSlot(SLOT - 60)) await journal.append(event)
  const call = { ...callIntentOf(SLOT, 'caller'), label: CANARY }
  const record = { ...callFor(call, { attempt: 1, nonce: 1n }) }
  await journal.append(
    opened(call),
    { type: 'call-recorded', intentId: call.id, call: record },
    { type: 'call-proven', intentId: call.id, attempt: 1, execution: executionOf(call) },
  )
  const intent = intentOf(SLOT)
  await journal.append(opened(intent), exposed(intent))
  await journal.append({
    type: 'order-accepted',
    ...{ intentId: intent.id, attempt: 1, orderId: CANARY },
  })
  const skipped = { type: 'slot-closed', strategy: 'skipper', slotSeconds: SLOT } as const
  await journal.append({
    ...{ ...skipped, outcome: 'skipped', reason: 'module-failed', detail: CANARY },
    memory: { apiKey: TOKEN, [CANARY]: CANARY },
  })
  await journal.append({
    type: 'strategy-paused',
    strategy: 'skipper',
    cause: 'operator',
    detail: CANARY,
  })
  await journal.append({ type: 'halted', cause: 'operator', detail: CANARY })
  const holdings = [
    {
      ...{ token: TOKEN, decimals: 6, amount: 5n, value: 5n },
      pricedAtSeconds: undefined,
      ...{ address: USDC.address, price: undefined },
    },
  ]
  page.observe({ type: 'portfolio', valueToken: USDC, holdings })
  page.observe({ type: 'open-orders', openPermits: 0, unresolvedIntents: 0 })
  page.observe({ type: 'files-stale', files: 1, detail: CANARY })
  const unknown = { account: 'operator', isLogin: false, message: CANARY }
  page.observe({ type: 'gas-tank-unknown', ...unknown })
  page.observe({
    ...{ type: 'slot-waiting', strategy: STRATEGY, slotSeconds: SLOT + 60 },
    ...{ reason: 'cooldown', detail: CANARY },
  })
  page.observe({
    ...{ type: 'order-waits', strategy: STRATEGY, intentId: intent.id },
    ...{ reason: 'chain-unavailable', detail: CANARY, startBeforeMs: 0 },
  })
  page.observe({
    ...{ type: 'wallet-balance', wallet: TOKEN, token: TOKEN, amount: 1n, decimals: 1 },
  })

  const server = await createHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain', render: async () => '' },
    health: () => ({ ok: true, reasons: [] }),
    ready: () => ({ ok: true, reasons: [] }),
    site: createSite(page, await readAssets(undefined)),
  })
  onTestFinished(() => server.close())
  const answers = new Map<string, string>()
  for (const path of [
    '/',
    '/api/overview',
    '/api/strategies',
    '/api/fills',
    '/api/fills?before=9999',
    '/api/holdings?range=year',
    `/api/strategy?name=${STRATEGY}`,
    '/api/strategy?name=caller',
    `/api/strategy?name=${encodeURIComponent(CANARY)}`,
    `/api/why?slot=${STRATEGY}:${SLOT}`,
    `/api/why?slot=skipper:${SLOT}`,
    `/api/why?slot=caller:${SLOT}:0`,
    `/api/why?slot=${encodeURIComponent(CANARY)}`,
    `/api/fills?strategy=${encodeURIComponent(CANARY)}`,
    `/api/${TOKEN}`,
  ]) {
    const reply = await fetch(`${server.address}${path}`)
    answers.set(path, `${JSON.stringify([...reply.headers])}${await reply.text()}`)
  }
  answers.set('/events', await firstEvent(server.port))
  for (const [path, text] of answers)
    for (const secret of SECRETS)
      expect([path, text.toLowerCase().includes(secret)]).toEqual([path, false])
  // The text itself is present, with its secrets hidden.
  for (const path of [
    '/api/overview',
    '/api/strategies',
    '/api/fills',
    '/events',
    `/api/why?slot=skipper:${SLOT}`,
  ])
    expect(answers.get(path)).toContain('it said 0x***')
  expect(answers.get('/api/overview')).toContain('the service has it as it said 0x***')
})

async function firstEvent(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  socket.setEncoding('utf8')
  socket.write('GET /events?since=1 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
  let text = ''
  while (!/data: .*\n\n/.test(text)) text += (await once(socket, 'data'))[0]
  return text
}
