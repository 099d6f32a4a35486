import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { QuoteRequest } from '../../../../src/domain/order/quote.ts'
import type { RoutingPreference } from '../../../../src/domain/settings.ts'
import {
  quoteBody,
  readCreatedOrder,
  readErrorMessage,
  readOrder,
  readQuote,
  readTokens,
} from '../../../../src/venues/swap/client/gasless-orders.ts'
import { quoteRequestSchema } from '../../../../src/venues/swap/client/gasless-wire.ts'
import { goldenExample } from '../../../support/gasless/gasless-golden.ts'

const words = { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' }
const request: QuoteRequest = {
  from: '0x1111111111111111111111111111111111111111',
  receiver: '0x2222222222222222222222222222222222222222',
  sellToken: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  buyToken: '0x4200000000000000000000000000000000000006',
  size: { side: 'sell', amount: baseUnits(25_000_000n) },
  slippageBps: 30,
}

describe('the body of a quote request', () => {
  test('has the exact input of a sell and no output', () => {
    expect(quoteBody(request, { preference: 'auto', words })).toEqual({
      chainId: 8453,
      from: request.from,
      receiver: request.receiver,
      sellToken: request.sellToken,
      buyToken: request.buyToken,
      kind: 'sell',
      sellAmountBeforeFee: '25000000',
      slippageBps: 30,
      routingPreference: 'auto',
      signingScheme: 'eip712',
    })
  })

  test('has the exact output of a buy and no input', () => {
    const size = { side: 'buy', amount: baseUnits(10n ** 30n) } as const
    const body = quoteBody({ ...request, size }, { preference: 'auto', words })
    expect(body).toMatchObject({
      kind: 'buy',
      buyAmountAfterFee: '1000000000000000000000000000000',
    })
    expect(body).not.toHaveProperty('sellAmountBeforeFee')
    expect(quoteRequestSchema.safeParse(body).success).toBe(true)
  })

  test.each<[RoutingPreference, string]>([
    ['auto', 'auto'],
    ['preferOwn', 'preferHouse'],
    ['onlyOwn', 'onlyHouse'],
  ])('maps the routing preference %s to the configured value', (preference, value) => {
    expect(quoteBody(request, { preference, words }).routingPreference).toBe(value)
  })
})

describe('a quote', () => {
  test('is parsed into base units, milliseconds and lower-case addresses', () => {
    const wire = goldenExample('quote-response')
    const quote = readQuote(JSON.stringify(wire))
    expect(quote).toEqual({
      ok: true,
      value: {
        id: 'quote-1',
        from: '0x1111111111111111111111111111111111111111',
        expirationMs: Date.UTC(2026, 10, 20, 12, 0, 30),
        sellToken: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
        buyToken: '0x4200000000000000000000000000000000000006',
        receiver: '0x2222222222222222222222222222222222222222',
        sellAmount: 1_000_000n,
        buyAmount: 250_000_000_000_000n,
        minBuyAmount: 248_750_000_000_000n,
        validToSeconds: 1_795_176_030,
        feeAmount: 1200n,
        side: 'sell',
        allowanceTarget: '0x000000000022d473030f116ddee9f6b43ac78ba3',
        spender: '0x3333333333333333333333333333333333333333',
        typedData: expect.objectContaining({ primaryType: 'PermitWitnessTransferFrom' }),
        witnessTypeString: expect.stringContaining('OrderWitness witness)'),
      },
    })
  })

  test('without a receiver leaves it undefined', () => {
    const text = JSON.stringify(goldenExample('quote-response')).replace(/"receiver":"[^"]*",/, '')
    expect(readQuote(text)).toMatchObject({ ok: true, value: { receiver: undefined } })
  })

  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    [(2n ** 256n - 1n).toString(), (2n ** 256n - 1n).toString()],
  ])('keeps a nonce written as the JSON number %s exact', (literal, expected) => {
    const text = withNonce(literal)
    expect(nonceOf(text)).toBe(expected)
    expect(nonceOf(text.replaceAll('":', '" :\n '))).toBe(expected)
  })

  test('leaves digits inside strings unchanged while it keeps numbers exact', () => {
    const note = 'escaped \\" quote: 12345678901234567890, [98765432109876543210'
    const text = withNonce('12345678901234567890').replace('"nonce":', `"note":"${note}","nonce":`)
    const reading = readQuote(text)
    expect(reading).toMatchObject({
      value: { typedData: { message: { note: note.replace('\\"', '"') } } },
    })
    expect(nonceOf(text)).toBe('12345678901234567890')
  })

  test('with an amount written as a large number is rejected', () => {
    const text = JSON.stringify(goldenExample('quote-response')).replace(
      '"sellAmount":"1000000"',
      '"sellAmount":12345678901234567890',
    )
    expect(readQuote(text)).toEqual({
      ok: false,
      fault: expect.stringMatching(/^quote\.sellAmount: /),
    })
  })

  test('with a prototype in its typed data does not inherit from it', () => {
    const text = JSON.stringify(goldenExample('quote-response')).replace(
      '"typedData":{',
      '"typedData":{"__proto__":{"primaryType":"Hostile"},',
    )
    const reading = readQuote(text)
    expect(reading.ok && Object.getPrototypeOf(reading.value.typedData)).toBe(Object.prototype)
  })

  test('nested a hundred thousand levels deep is parsed without a crash', () => {
    const deep = `${'['.repeat(100_000)}12345678901234567890${']'.repeat(100_000)}`
    expect(readQuote(withNonce(deep))).toMatchObject({ ok: true, value: { id: 'quote-1' } })
  })

  test('without valid JSON is reported as such', () => {
    expect(readQuote('<html>')).toEqual({ ok: false, fault: 'the body is not JSON' })
  })

  test('without a field is reported with the path of the field', () => {
    const wire = { ...goldenExample('quote-response'), permit2: {} }
    expect(readQuote(JSON.stringify(wire))).toEqual({
      ok: false,
      fault: expect.stringMatching(/^permit2\.allowanceTarget: /),
    })
  })
})

describe('the token list', () => {
  test('is parsed into lower-case addresses without logos', () => {
    expect(readTokens(JSON.stringify([goldenExample('token')]))).toEqual({
      ok: true,
      value: [
        {
          address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
          symbol: 'USDC',
          name: 'USD Coin',
          decimals: 6,
        },
      ],
    })
  })

  test('accepts an invalid logo address', () => {
    expect(readTokens(JSON.stringify([{ ...goldenExample('token'), logoURI: '' }])).ok).toBe(true)
  })

  test('with a token of another chain is rejected by its index', () => {
    const tokens = [goldenExample('token'), { ...goldenExample('token'), chainId: 1 }]
    expect(readTokens(JSON.stringify(tokens))).toMatchObject({
      ok: false,
      fault: expect.stringMatching(/^1\.chainId: /),
    })
  })
})

describe('an order', () => {
  test('keeps its IDs, status, hash and error', () => {
    expect(readOrder(JSON.stringify(goldenExample('order')), 'order-1')).toEqual({
      ok: true,
      value: {
        orderId: 'order-1',
        quoteId: 'quote-1',
        status: 'filled',
        txHash: `0x${'cd'.repeat(32)}`,
        error: { code: 'SETTLEMENT_FAILED', message: 'the settlement reverted' },
      },
    })
  })

  test.each(['0x1', `0x${'ab'.repeat(33)}`])('has no hash if it is %s', (txHash) => {
    const text = JSON.stringify({ ...goldenExample('order'), txHash })
    expect(readOrder(text, 'order-1')).toMatchObject({ ok: true, value: { txHash: undefined } })
  })

  test('with another ID is rejected', () => {
    expect(readOrder(JSON.stringify(goldenExample('order')), 'order-2')).toMatchObject({
      ok: false,
      fault: expect.stringContaining('orderId'),
    })
  })

  test.each(['a\u001b[2Jb', 'a\u202eb', 'a\nb', 'a\ud800b'])(
    'with an ID that is unsafe to log is rejected: %j',
    (orderId) => {
      const text = JSON.stringify({ ...goldenExample('create-order-response'), orderId })
      expect(readCreatedOrder(text)).toMatchObject({
        ok: false,
        fault: 'orderId: expected printable characters',
      })
    },
  )

  test('that was just placed names its quote', () => {
    const text = JSON.stringify(goldenExample('create-order-response'))
    expect(readCreatedOrder(text)).toMatchObject({ ok: true, value: { quoteId: 'quote-1' } })
  })
})

describe('an external message', () => {
  const message = (text: string) => readErrorMessage(JSON.stringify({ error: { message: text } }))

  test('becomes one line without control and direction marks', () => {
    expect(message('a\nb\u0000\u001b[31mc\u202ed\u2028e')).toBe('a b [31mc d e')
  })

  test('is cut at 300 characters', () => {
    expect(message('x'.repeat(300))).toHaveLength(300)
    expect(message('x '.repeat(5_000))).toHaveLength(300)
  })

  test('loses signatures but keeps hashes and addresses', () => {
    const hash = `0x${'ab'.repeat(32)}`
    expect(message(`bad signature 0x${'cd'.repeat(65)} for ${hash}`)).toBe(
      `bad signature [hex] for ${hash}`,
    )
  })

  test('loses a signature across the cut', () => {
    expect(message(`${'x '.repeat(140)}0x${'cd'.repeat(65)}`)).not.toContain('cdcd')
    expect(message(`${'x '.repeat(599)}0x${'cd'.repeat(65)}`)).not.toContain('cdcd')
  })

  test('loses the credentials of a URL', () => {
    expect(message('proxy https://user:secret@host/x failed')).toBe('proxy https://host/x failed')
  })

  test('is undefined without an envelope', () => {
    for (const text of ['', 'oops', '{}', '{"error":"no"}', '{"error":{"code":"X"}}', '[]'])
      expect(readErrorMessage(text)).toBeUndefined()
    expect(message('\n')).toBeUndefined()
  })

  test('is read whatever its code', () => {
    expect(readErrorMessage('{"error":{"code":"TEAPOT","message":"short"}}')).toBe('short')
  })
})

function withNonce(literal: string): string {
  return JSON.stringify(goldenExample('quote-response')).replace(
    '"nonce":"1"',
    `"nonce":${literal}`,
  )
}

function nonceOf(text: string): unknown {
  const reading = readQuote(text)
  if (!reading.ok) throw new Error(reading.fault)
  const { message } = reading.value.typedData
  return (message as { nonce: unknown }).nonce
}
