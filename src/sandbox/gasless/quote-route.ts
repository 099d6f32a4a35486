import type { IncomingMessage } from 'node:http'
import { quoteRequestSchema, type WireQuoteRequest } from '../../wire/gasless.ts'
import type { Reply } from '../http/json-server.ts'
import type { Pair } from '../market/market.ts'
import { errorReply } from './envelope.ts'
import { createQuote } from './quotes.ts'
import { readBody } from './read-body.ts'
import type { Preference } from './routing.ts'
import type { GaslessDeps, GaslessSettings } from './settings.ts'

const NATIVE_PLACEHOLDERS = new Set([
  '0x0000000000000000000000000000000000000000',
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
])

/** `POST /quote`. */
export function createQuoteRoute(
  settings: GaslessSettings,
  deps: GaslessDeps,
): (request: IncomingMessage) => Promise<Reply> {
  const pairOf = createPairFinder(deps)
  const preferences = new Map<string, Preference>([
    ['auto', 'auto'],
    [settings.routingWords.preferOwn, 'preferOwn'],
    [settings.routingWords.onlyOwn, 'onlyOwn'],
  ])
  return async (request) => {
    const body = await readBody(request, quoteRequestSchema)
    if (!body.ok) return body.reply
    const pair = pairOf(body.value)
    if (typeof pair === 'string') return errorReply('BAD_REQUEST', pair)
    const preference = preferences.get(body.value.routingPreference ?? 'auto')
    if (preference === undefined) return errorReply('BAD_REQUEST', 'unknown routingPreference')
    const result = createQuote(settings, deps.market, {
      request: body.value,
      pair,
      preference,
      nowMs: Date.now(),
      tamperings: deps.faults.forQuote(),
    })
    if (!result.ok) return errorReply('BAD_REQUEST', result.message)
    deps.book.addQuote(result.quote)
    return { status: 200, body: result.response }
  }
}

/** Finds the two tokens of a request, or says what is wrong with them. */
function createPairFinder(deps: GaslessDeps): (request: WireQuoteRequest) => Pair | string {
  const tokens = new Map(deps.tokens.map((token) => [token.address.toLowerCase(), token]))
  return ({ sellToken, buyToken }) => {
    if (isNative(sellToken) || isNative(buyToken)) return 'native ETH is not traded here: use WETH'
    const sell = tokens.get(sellToken.toLowerCase())
    const buy = tokens.get(buyToken.toLowerCase())
    if (sell === undefined) return `unsupported token ${sellToken}`
    if (buy === undefined) return `unsupported token ${buyToken}`
    return sell === buy ? 'sellToken and buyToken are the same' : { sell, buy }
  }
}

function isNative(token: string): boolean {
  return NATIVE_PLACEHOLDERS.has(token.toLowerCase())
}
