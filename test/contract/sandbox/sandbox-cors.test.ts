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
  expect((await fetch(aggregatorUrl)).headers.get('allow')).toBe('POST')
})

test('the admin port grants pages nothing', async () => {
  const answer = await preflight(`${sandbox().adminUrl}/fund`)
  expect(answer.ok).toBe(false)
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
})
