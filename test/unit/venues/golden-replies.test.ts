import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Token } from '../../../src/domain/money/token.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import type { Quote, Reply } from '../../../src/domain/order/quote.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { createPermitHasher } from '../../../src/signing/permit-digest.ts'
import { verify } from '../../../src/signing/verify.ts'
import {
  type AggregatorClient,
  createAggregatorRpc,
} from '../../../src/venues/call/client/aggregator-client.ts'
import {
  createGaslessHttp,
  type GaslessHttp,
} from '../../../src/venues/swap/client/gasless-client.ts'
import { GASLESS, PERMIT2, SIMULATED_CHAIN_ID, WETH_USDC } from '../../simulation/stage.ts'
import { anIntent, aView } from '../../support/builders.ts'
import { type ScriptedServer, startScriptedServer } from '../../support/process/scripted-server.ts'
import { signerWith } from '../../support/signing.ts'

/** A raw reply and the expected result of the client. `text` replaces `body` if JSON itself would round it. */
type GoldenReply = {
  readonly name: string
  readonly service: 'gasless' | 'aggregator'
  readonly route: string
  readonly status: number
  readonly body?: unknown
  readonly text?: string
  readonly expect: {
    readonly verdict?: string
    readonly nonce?: string
    readonly amount?: string
    readonly minAmountOut?: string
    readonly symbols?: readonly string[]
    readonly status?: string
    readonly txHash?: string
    readonly value?: unknown
    readonly fault?: string
  }
}

const OWNER: Address = `0x${'11'.repeat(20)}`
const SPENDER: Address = `0x${'33'.repeat(20)}`
/** Time at which the golden quotes were made. */
const NOW_MS = Date.UTC(2026, 10, 20, 12)

const USDC: Token = {
  ...{ symbol: 'USDC', chain: 'base', chainId: SIMULATED_CHAIN_ID, decimals: 6 },
  address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
}
const WETH: Token = {
  ...{ symbol: 'WETH', chain: 'base', chainId: SIMULATED_CHAIN_ID, decimals: 18 },
  address: '0x4200000000000000000000000000000000000006',
}
const INTENT = anIntent({
  owner: OWNER,
  recipient: OWNER,
  sell: { token: USDC, native: false },
  buy: { token: WETH, native: false },
})

const { hash } = await createPermitHasher({ chainId: SIMULATED_CHAIN_ID, permit2: PERMIT2 })

function replies(reading: string): readonly GoldenReply[] {
  const file = new URL(`../../support/golden/replies/${reading}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as readonly GoldenReply[]
}

let server: ScriptedServer
let gasless: GaslessHttp
let aggregator: AggregatorClient

beforeEach(async () => {
  server = await startScriptedServer()
  const clock = { now: () => NOW_MS }
  const limits = {
    observe: () => undefined,
    onRateLimit: () => undefined,
    onRetryAfter: () => undefined,
  }
  gasless = createGaslessHttp({
    baseUrl: server.url,
    wire: { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' },
    routingPreference: 'auto',
    clock,
    ...limits,
  })
  aggregator = createAggregatorRpc({
    url: server.url,
    methodPrefix: 'agg_',
    signatureHeader: 'X-Relay-Signature',
    signer: signerWith(createKey(new Uint8Array(32).fill(7))),
    clock,
    ...limits,
  })
})
afterEach(async () => {
  await Promise.all([gasless.close(), aggregator.close()])
  await server.close()
})

const HASH = `0x${'7d'.repeat(32)}` as const

/** Sends the daemon's request that this golden reply answers. */
function ask({ service, route }: GoldenReply): Promise<Reply<unknown, { readonly tag: string }>> {
  switch (`${service} ${route}`) {
    case 'gasless tokens':
      return gasless.tokens()
    case 'gasless quote':
      return gasless.quote({
        ...{ from: OWNER, receiver: OWNER, size: INTENT.size, slippageBps: 50 },
        ...{ sellToken: USDC.address, buyToken: WETH.address },
      })
    case 'gasless submit':
      return gasless.submit({ quoteId: 'quote-1', signature: '0xab', clientOrderId: 'a:1:0:1' })
    case 'gasless poll':
      return gasless.order('order-1')
    case 'aggregator accountInfo':
      return aggregator.accountInfo()
    case 'aggregator sendRawTransaction':
      return aggregator.sendRawTransaction('0x02ab')
    case 'aggregator getTransactionReceipt':
      return aggregator.receipt(HASH)
    case 'aggregator transactionStatus':
      return aggregator.transactionStatus(HASH)
    default:
      throw new Error(`nothing asks for ${service} ${route}`)
  }
}

/** Result of the firewall for a quote, and the amounts to sign. */
function verdictOf(quote: Quote) {
  const verdict = verify({
    intent: INTENT,
    quote,
    view: aView(),
    nowMs: NOW_MS,
    chainId: SIMULATED_CHAIN_ID,
    gasless: { ...GASLESS, spenders: [SPENDER] },
    path: [{ feed: WETH_USDC, inverted: false }],
    maxDeviationBps: 200,
    liveNonces: new Set(),
    hash,
  })
  if (!verdict.ok) return { verdict: `${verdict.reason}: ${verdict.detail}` }
  const { nonce, amount, minAmountOut } = verdict.permit
  expect(verdict.digest).toBe(hash(verdict.permit))
  return {
    verdict: 'signable',
    ...{ nonce: `${nonce}`, amount: `${amount}`, minAmountOut: `${minAmountOut}` },
  }
}

/** Base units as text, as in the golden files. */
const plain = (value: unknown): unknown =>
  value === undefined
    ? null
    : JSON.parse(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? `${item}` : item)))

describe.each(['described', 'published'])('a %s reply', (reading) => {
  test.each(replies(reading))('is parsed and verified: $service, $name', async (golden) => {
    const { status, expect: wanted } = golden
    const text = golden.text ?? JSON.stringify(golden.body)
    server.answerWith((request) => {
      const { id } = golden.service === 'aggregator' ? JSON.parse(request.body) : { id: 0 }
      return { status, body: text.replace('"ID"', `${id}`) }
    })
    const reply = await ask(golden)
    if (wanted.fault !== undefined) {
      expect(reply).toMatchObject({ ok: false, fault: { tag: wanted.fault } })
      return
    }
    if (!reply.ok) throw new Error(JSON.stringify(reply.fault))
    const { value } = reply
    if (golden.route === 'quote') expect(verdictOf(value as Quote)).toEqual(wanted)
    else if (wanted.symbols !== undefined)
      expect((value as { symbol: string }[]).map(({ symbol }) => symbol)).toEqual(wanted.symbols)
    else if (wanted.status === undefined) expect(plain(value)).toEqual(wanted.value)
    else expect(value).toMatchObject(wanted)
  })
})
