import { once } from 'node:events'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type Running, run } from '../support/process/cli.ts'
import { serve } from '../support/process/serve.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
import { everySecond, metricsOf, redirect, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

async function untilCounted(daemon: Running, what: string): Promise<void> {
  const name = `tranched_disbelieved_total{service="gasless",what="${what}"}`
  await waitFor(name, async () => (await metricsOf(daemon)).get(name))
}

test('idle connections do not block a health check', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  const [, address = ''] = await daemon.sees(/metrics at (http:[^"\s]+)\/metrics/)
  const { hostname, port } = new URL(address)
  const silent = Array.from({ length: 80 }, () => connect(Number(port), hostname))
  onTestFinished(() => {
    for (const socket of silent) socket.destroy()
  })
  for (const socket of silent) socket.on('error', () => undefined)
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  const reply = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(120_000) })
  expect(reply.status).toBe(200)
})

/** A proxy of the service that, while switched on, lists all its tokens with wrong decimals. */
async function startMiscounting(target: string) {
  const service = { url: '', isMiscounting: false }
  service.url = await serve(async (request, response) => {
    const { method = 'GET', url = '/' } = request
    const body = await buffer(request)
    const headers = { 'content-type': 'application/json' }
    const sent = method === 'GET' ? {} : { headers, body }
    const reply = await fetch(new URL(url, target), { method, ...sent })
    const text = await reply.text()
    const isChanged = service.isMiscounting && url.includes('/tokens')
    response.writeHead(reply.status, headers)
    response.end(isChanged ? text.replace(/"decimals":(\d+)/g, '"decimals":1$1') : text)
  })
  return service
}

test("a service that changes a token's decimals after the start gets no order for it", async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { report, config } = rehearsal
  const service = await startMiscounting(report.gaslessUrl)
  redirect(config, { gaslessUrl: service.url, rpcUrl: report.rpcUrl })
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  service.isMiscounting = true
  expect((await run(['reload', '--config', config])).code).toBe(0)
  await daemon.sees(/rejected claim about the service: the service lists USDC with 16 decimals/)
  await untilCounted(daemon, 'tokens')
  await daemon.sees(/refused buy-weth[^\n]*token-mismatch/)
  service.isMiscounting = false
  expect((await run(['reload', '--config', config])).code).toBe(0)
  await daemon.sees(/agrees with the config on the decimals of USDC again[\s\S]*filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect(all(audited.events, 'slot-closed').map(({ reason }) => reason)).toContain('token-mismatch')
})

// This test runs last: its order stays open until its permit expires.
test('an unproven fill and an unanswered submission are logged and counted', async () => {
  const rehearsal = await rehearse(
    everySecond('buy-weth', { limits: { perDay: '100000', maxOpenIntents: 1 } }),
  )
  await rehearsal.fault([
    { kind: 'errorBefore', route: 'orders', count: 1 },
    { kind: 'neverFill' },
    { kind: 'lieFilled' },
  ])
  const daemon = rehearsal.daemon()
  await daemon.sees(/rejected claim about buy-weth:\d+:0: [^\n]*submi/)
  await untilCounted(daemon, 'submit')
  await daemon.sees(
    /rejected claim about buy-weth:\d+:0: the service says filled[^\n]*nonce unused/,
  )
  await untilCounted(daemon, 'filled')
})
