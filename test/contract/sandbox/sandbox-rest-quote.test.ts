import { describe, expect, test } from 'vitest'
import {
  quoteResponseSchema,
  tokenListSchema,
} from '../../../src/venues/swap/client/gasless-wire.ts'
import {
  expectError,
  expectRateHeaders,
  quoteBody,
  quoteFor,
  rest,
  sandboxForSuite,
  tokenOf,
  traderOf,
} from '../../support/sandbox.ts'

const sandbox = sandboxForSuite()
const UNKNOWN = '0x00000000000000000000000000000000000000aa'

describe('GET /tokens', () => {
  test('lists the four tokens of the chain with rate-limit headers', async () => {
    const response = await rest(sandbox(), 'GET', '/tokens?chainId=8453')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expectRateHeaders(response)
    const tokens = tokenListSchema.parse(response.body)
    expect(tokens.map(({ symbol, decimals }) => `${symbol} ${decimals}`)).toEqual([
      'USDC 6',
      'WETH 18',
      'DAI 18',
      'AERO 18',
    ])
    expect(tokens[1]?.address).toBe('0x4200000000000000000000000000000000000006')
    expect(tokens.filter((token) => 'logoURI' in token)).toEqual([])
  })

  test.each(['', '?chainId=1', '?chainId=x', '?chainId=8453.0'])(
    'refuses the query "%s"',
    async (query) => {
      expectError(await rest(sandbox(), 'GET', `/tokens${query}`), 400, 'BAD_REQUEST', /chainId/)
    },
  )
})

describe('POST /quote', () => {
  test('an exact input keeps the sell amount, contains the fee and lowers the minimum by the slippage', async () => {
    const response = await rest(
      sandbox(),
      'POST',
      '/quote',
      quoteBody(sandbox(), UNKNOWN, { slippageBps: 100 }),
    )
    expect(response.status).toBe(200)
    expectRateHeaders(response)
    const { quote } = quoteResponseSchema.parse(response.body)
    expect(quote.sellAmount).toBe('25000000')
    expect(quote.feeAmount).toBe('12500')
    expect(quote.minBuyAmount).toBe(`${(BigInt(quote.buyAmount) * 99n) / 100n}`)
    // 25 USDC at 3000 buy at most 0.008333 WETH; the fee and the impact take a little.
    expect(BigInt(quote.buyAmount)).toBeLessThan(8_333_333_333_333_333n)
    expect(BigInt(quote.buyAmount)).toBeGreaterThan(8_320_000_000_000_000n)
  })

  test('an exact output keeps the buy amount and raises the sell amount by the slippage', async () => {
    const request = { kind: 'buy', buyAmountAfterFee: '10000000000000000', slippageBps: 100 }
    const { quote } = await quoteFor(sandbox(), traderOf(sandbox()), request)
    expect(quote.buyAmount).toBe('10000000000000000')
    expect(quote.minBuyAmount).toBe('10000000000000000')
    expect(BigInt(quote.sellAmount)).toBeGreaterThan(30_300_000n)
    expect(BigInt(quote.sellAmount)).toBeLessThan(30_350_000n)
    expect(BigInt(quote.feeAmount)).toBeGreaterThan(0n)
  })

  test('slippage defaults to 50 basis points', async () => {
    const { quote } = await quoteFor(sandbox(), traderOf(sandbox()))
    expect(quote.minBuyAmount).toBe(`${(BigInt(quote.buyAmount) * 9950n) / 10_000n}`)
  })

  test('the typed data repeats the quote and names Permit2, the spender and the witness', async () => {
    const { contracts } = sandbox()
    const requestedMs = Date.now()
    const { quote, permit2, from, expiration } = await quoteFor(sandbox(), traderOf(sandbox()))
    expect(from).toBe(traderOf(sandbox()).address)
    expect(Date.parse(expiration)).toBe(quote.validTo * 1000)
    expect(quote.validTo - requestedMs / 1000).toBeGreaterThan(58)
    expect(permit2.allowanceTarget).toBe(contracts.permit2)
    expect(permit2.spender).toBe(contracts.settlement)
    expect(permit2.typedData).toMatchObject({
      domain: { name: 'Permit2', chainId: 8453, verifyingContract: contracts.permit2 },
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token: quote.sellToken, amount: quote.sellAmount },
        spender: contracts.settlement,
        deadline: String(quote.validTo),
        witness: { recipient: from, tokenOut: quote.buyToken, minAmountOut: quote.minBuyAmount },
      },
    })
    expect(permit2.witnessTypeString).toBe(
      'OrderWitness witness)OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)TokenPermissions(address token,uint256 amount)',
    )
  })

  test('two quotes never share a nonce', async () => {
    const nonces = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { permit2 } = await quoteFor(sandbox(), traderOf(sandbox()))
        return (permit2.typedData['message'] as { nonce: string }).nonce
      }),
    )
    expect(new Set(nonces).size).toBe(20)
  })

  test.each([
    ['another chain', { chainId: 1 }, /chainId/],
    ['a chain id as text', { chainId: '8453' }, /chainId/],
    ['a bad owner address', { from: '0x12' }, /from/],
    ['a bad receiver address', { receiver: 'me' }, /receiver/],
    ['an unknown kind', { kind: 'swap' }, /kind/],
    ['a sale without an amount', { sellAmountBeforeFee: undefined }, /sellAmountBeforeFee/],
    ['a purchase without an amount', { kind: 'buy' }, /buyAmountAfterFee/],
    ['a zero amount', { sellAmountBeforeFee: '0' }, /sellAmountBeforeFee/],
    ['an amount with leading zeros', { sellAmountBeforeFee: '025' }, /sellAmountBeforeFee/],
    ['an amount as a number', { sellAmountBeforeFee: 25 }, /sellAmountBeforeFee/],
    ['slippage 0', { slippageBps: 0 }, /slippageBps/],
    ['slippage 2001', { slippageBps: 2001 }, /slippageBps/],
    ['fractional slippage', { slippageBps: 1.5 }, /slippageBps/],
    ['another signing scheme', { signingScheme: 'ethsign' }, /signingScheme/],
    ['an unknown routing preference', { routingPreference: 'best' }, /routingPreference/],
    ['an unsupported sell token', { sellToken: UNKNOWN }, /unsupported token/],
    ['an unsupported buy token', { buyToken: UNKNOWN }, /unsupported token/],
    ['native ETH as zero', { buyToken: `0x${'0'.repeat(40)}` }, /use WETH/],
    ['native ETH as e', { sellToken: `0x${'Ee'.repeat(20)}` }, /use WETH/],
    ['an amount too small to trade', { sellAmountBeforeFee: '1' }, /too small/],
    ['more than all liquidity', { sellAmountBeforeFee: '90000000000000' }, /liquidity/],
  ])('refuses %s', async (_, changes, message) => {
    const response = await rest(
      sandbox(),
      'POST',
      '/quote',
      quoteBody(sandbox(), UNKNOWN, changes as Record<string, unknown>),
    )
    expectError(response, 400, 'BAD_REQUEST', message as RegExp)
  })

  test.each([1, 2000])('accepts slippage %i', async (slippageBps) => {
    await expect(quoteFor(sandbox(), traderOf(sandbox()), { slippageBps })).resolves.toBeDefined()
  })

  test('refuses selling a token for itself', async () => {
    const buyToken = tokenOf(sandbox(), 'USDC').address
    const body = quoteBody(sandbox(), UNKNOWN, { buyToken })
    expectError(await rest(sandbox(), 'POST', '/quote', body), 400, 'BAD_REQUEST')
  })

  test("onlyOwn fails beyond the service's own pool, where auto still finds a route", async () => {
    const large = { sellAmountBeforeFee: '1000000000000' }
    const body = quoteBody(sandbox(), UNKNOWN, { ...large, routingPreference: 'onlyOwn' })
    expectError(await rest(sandbox(), 'POST', '/quote', body), 400, 'BAD_REQUEST', /own liquidity/)
    await expect(quoteFor(sandbox(), traderOf(sandbox()), large)).resolves.toBeDefined()
  })

  test('auto is never worse than preferOwn, and preferOwn never worse than onlyOwn', async () => {
    const buyAmount = async (routingPreference: string) => {
      const changes = { sellAmountBeforeFee: '20000000000', routingPreference }
      return BigInt((await quoteFor(sandbox(), traderOf(sandbox()), changes)).quote.buyAmount)
    }
    const [auto, preferOwn, onlyOwn] = [
      await buyAmount('auto'),
      await buyAmount('preferOwn'),
      await buyAmount('onlyOwn'),
    ]
    expect(auto >= preferOwn && preferOwn >= onlyOwn).toBe(true)
    expect(auto).toBeGreaterThan(onlyOwn)
  })
})
