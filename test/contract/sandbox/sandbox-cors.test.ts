import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { QUIET } from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const origin = 'http://dapp.example'

function preflight(url: string): Promise<Response> {
  const asked = { 'access-control-request-method': 'POST' }
  const headers = {
    origin,
    ...asked,
    'access-control-request-headers': 'content-type,x-relay-signature',
    'access-control-request-private-network': 'true',
  }
  return fetch(url, { method: 'OPTIONS', headers })
}

test('both services answer the preflight of a page', async () => {
  const { gaslessUrl, aggregatorUrl } = sandbox()
  for (const url of [`${gaslessUrl}/api/v1/quote`, aggregatorUrl]) {
    const { status, headers } = await preflight(url)
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST')
    expect(headers.get('access-control-allow-headers')).toBe('content-type,x-relay-signature')
    expect(headers.get('access-control-allow-private-network')).toBe('true')
  }
})

test('a page may read answers, refusals and rate-limit headers', async () => {
  const { gaslessUrl, aggregatorUrl } = sandbox()
  for (const url of [`${gaslessUrl}/api/v1/tokens`, `${gaslessUrl}/nowhere`, aggregatorUrl]) {
    const { headers } = await fetch(url, { headers: { origin } })
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-expose-headers')).toContain('x-ratelimit-remaining')
  }
  expect((await fetch(aggregatorUrl)).headers.get('allow')).toBe('POST, OPTIONS')
})

test('HEAD answers like GET without a body, and OPTIONS without a preflight lists the methods', async () => {
  const { gaslessUrl, aggregatorUrl } = sandbox()
  const paths = [
    [`${gaslessUrl}/api/v1/tokens?chainId=8453`, 'GET, HEAD, OPTIONS'],
    [`${gaslessUrl}/api/v1/tokens/?chainId=8453`, 'GET, HEAD, OPTIONS'],
    [`${gaslessUrl}/api/v1/openapi.json`, 'GET, HEAD, OPTIONS'],
    [`${gaslessUrl}/api/v1/quote`, 'POST, OPTIONS'],
    [`${gaslessUrl}/api/v1/orders`, 'POST, OPTIONS'],
    [`${gaslessUrl}/api/v1/orders/some`, 'GET, HEAD, OPTIONS'],
    [`${aggregatorUrl}/`, 'POST, OPTIONS'],
    [`${aggregatorUrl}/docs`, 'GET, HEAD, OPTIONS'],
    [`${aggregatorUrl}/docs/`, 'GET, HEAD, OPTIONS'],
  ] as const
  for (const [url, allow] of paths) {
    const listed = await send('OPTIONS', url, {})
    expect([url, listed.status, listed.headers.get('allow')]).toEqual([url, 204, allow])
    expect(listed.headers.get('content-length')).toBeNull()
    const [whole, head] = [await send('GET', url, {}), await send('HEAD', url, {})]
    expect([url, head.status, await head.text()]).toEqual([url, whole.status, ''])
    expect(head.headers.get('content-type')).toBe('application/json')
    if (!allow.startsWith('GET')) expect(head.headers.get('allow')).toBe(allow)
  }
})

test('a wrong method of a known path gets 405 with Allow, an unknown path 404', async () => {
  const { gaslessUrl, aggregatorUrl } = sandbox()
  const gasless = await send('DELETE', `${gaslessUrl}/api/v1/orders`, {})
  expect([gasless.status, gasless.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  expect(await gasless.json()).toMatchObject({ error: { code: 'BAD_REQUEST' } })
  const aggregator = await send('PUT', `${aggregatorUrl}/docs`, {})
  expect([aggregator.status, aggregator.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  expect(await aggregator.json()).toMatchObject({ id: null, error: { code: -32600 } })
  for (const url of [`${gaslessUrl}/api/v1/nowhere`, `${gaslessUrl}/`, `${aggregatorUrl}/nowhere`])
    for (const method of ['GET', 'OPTIONS']) expect((await send(method, url, {})).status).toBe(404)
})

test('the admin port refuses whatever a page sends, and does none of it', async () => {
  const { adminUrl, market } = sandbox()
  const preflighted = await preflight(`${adminUrl}/fund`)
  expect(preflighted.status).toBe(403)
  expect(preflighted.headers.get('access-control-allow-origin')).toBeNull()
  const prices = market.state()
  for (const headers of [
    { origin },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    // No preflight comes before a POST without a body.
    const answer = await send('POST', `${adminUrl}/market/step`, headers)
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ error: { code: 'FORBIDDEN' } })
    expect((await send('GET', `${adminUrl}/orders`, headers)).status).toBe(403)
  }
  expect(market.state()).toEqual(prices)
})

test('the admin port answers programs and the address bar of a browser', async () => {
  const { adminUrl } = sandbox()
  for (const headers of [{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin' }])
    expect((await send('POST', `${adminUrl}/market/step`, headers)).status).toBe(200)
})

/** A request with any headers, which fetch does not allow. */
async function send(method: string, url: string, headers: OutgoingHttpHeaders): Promise<Response> {
  const request = httpRequest(url, { method, headers, agent: false }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const { statusCode = 0 } = response
  const given = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
  const body = await text(response)
  return new Response(body === '' ? null : body, {
    status: statusCode,
    headers: given as [string, string][],
  })
}
