import { setTimeout as sleep } from 'node:timers/promises'
import { parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { tokenListSchema } from '../../../src/venues/swap/client/gasless-wire.ts'
import {
  expectError,
  newTrader,
  publicClientOf,
  quoteBody,
  quoteFor,
  rest,
  sandboxForSuite,
  settled,
  submit,
  traderOf,
} from '../../support/sandbox.ts'

const usdcAndWeth = { USDC: '1000000000', WETH: '1000000000000000000' }

describe('the REST API with short lifetimes and small limits', () => {
  const small = sandboxForSuite({
    gasless: {
      quoteLifetime: 10,
      listDomainType: false,
      logoURI: 'https://tokens.example/{symbol}.png',
      wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
      rateLimits: { tokens: { limit: 2, windowMs: 60_000 } },
      rateLimitReset: 'duration',
    },
  })

  test('the third request in a window gets 429 with retry-after and the route', async () => {
    const startedMs = performance.now()
    const first = await rest(small(), 'GET', '/tokens?chainId=8453')
    expect(first.headers.get('x-ratelimit-limit')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    const reset = Number(first.headers.get('x-ratelimit-reset'))
    expect(reset).toBeGreaterThan(0)
    expect(reset).toBeLessThanOrEqual(60_000)
    // The limit allows two requests for tokens.
    expect(tokenListSchema.parse(first.body).map(({ logoURI }) => logoURI)).toEqual(
      ['USDC', 'WETH', 'DAI', 'AERO'].map((symbol) => `https://tokens.example/${symbol}.png`),
    )
    await rest(small(), 'GET', '/tokens?chainId=8453')
    const refused = await rest(small(), 'GET', '/tokens?chainId=8453')
    expectError(refused, 429, 'RATE_LIMITED', /tokens/)
    const passedSeconds = (performance.now() - startedMs) / 1_000
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(59 - passedSeconds)
    expect((await rest(small(), 'GET', '/orders/nothing')).status).toBe(404)
  })

  test('an expired quote is refused, but the replay of its order is not', async () => {
    const trader = await newTrader(small(), usdcAndWeth)
    const [used, unused] = [await quoteFor(small(), trader), await quoteFor(small(), trader)]
    const first = await submit(small(), trader, used, 'late')
    expect(first.status).toBe(201)
    await sleep(unused.quote.validTo * 1_000 - Date.now() + 50)
    expectError(await submit(small(), trader, unused), 400, 'BAD_REQUEST', /fresh quote/)
    const replay = await submit(small(), trader, used, 'late')
    expect(replay.status).toBe(200)
    expect(replay.body.orderId).toBe(first.body.orderId)
  })

  test('configured routing names select the route, and the default names are unknown', async () => {
    const trader = traderOf(small())
    await expect(
      quoteFor(small(), trader, { routingPreference: 'onlyHouse' }),
    ).resolves.toBeDefined()
    const body = quoteBody(small(), trader.address, { routingPreference: 'onlyOwn' })
    expectError(await rest(small(), 'POST', '/quote', body), 400, 'BAD_REQUEST')
  })

  test('the types omit EIP712Domain when configured', async () => {
    const { permit2 } = await quoteFor(small(), traderOf(small()))
    expect(Object.keys(permit2.typedData['types'] as object)).toEqual([
      ...['PermitWitnessTransferFrom', 'TokenPermissions', 'OrderWitness'],
    ])
  })

  test('an order not filled in time expires and leaves its nonce unused', async () => {
    const trader = await newTrader(small(), usdcAndWeth)
    small().faults.set({ rules: [{ kind: 'neverFill' }] })
    const quote = await quoteFor(small(), trader)
    const { body } = await submit(small(), trader, quote)
    small().faults.set({})
    expect((await settled(small(), body.orderId)).status).toBe('expired')
    const nonce = BigInt((quote.permit2.typedData['message'] as { nonce: string }).nonce)
    const word = await publicClientOf(small()).readContract({
      address: small().contracts.permit2,
      abi: parseAbi(['function nonceBitmap(address owner, uint256 word) view returns (uint256)']),
      functionName: 'nonceBitmap',
      args: [trader.address, nonce >> 8n],
    })
    expect((word >> (nonce & 255n)) & 1n).toBe(0n)
  })
})
