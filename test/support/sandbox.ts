import { randomBytes } from 'node:crypto'
import {
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  maxUint256,
  type PublicClient,
  parseAbi,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect } from 'vitest'
import type { AllSettings, SandboxOptions } from '../../src/sandbox/options.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import type { SandboxToken } from '../../src/sandbox/tokens.ts'
import {
  errorResponseSchema,
  type WireOrder,
  type WireQuoteResponse,
} from '../../src/venues/swap/client/gasless-wire.ts'
import { waitFor } from './wait-for.ts'

const ERC20 = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
])
const POLL_MS = 10

/** An answer of the REST service or the admin port. */
export type Response = {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of many shapes, wrong ones too
  readonly body: any
}

/** Shapes of services and contracts: a suite about them runs on both. */
export const READINGS: readonly AllSettings['reading'][] = ['deployed', 'described']

/** A sandbox for the whole suite with a still market, stopped after it; the node's watchdog covers a killed run. */
export function sandboxForSuite(options: SandboxOptions = {}): () => Sandbox {
  let sandbox: Sandbox | undefined
  beforeAll(async () => {
    sandbox = await startSandbox({ market: { feedInterval: 0 }, ...options })
  })
  afterAll(() => sandbox?.stop())
  return () => {
    if (sandbox === undefined) throw new Error('the sandbox runs only inside tests')
    return sandbox
  }
}

export function tokenOf(sandbox: Sandbox, symbol: string): SandboxToken {
  const token = sandbox.tokens.find((candidate) => candidate.symbol === symbol)
  if (token === undefined) throw new Error(`no token ${symbol}`)
  return token
}

export function publicClientOf(sandbox: Sandbox): PublicClient {
  return createPublicClient({
    transport: http(sandbox.rpcUrl, { retryCount: 0, timeout: 120_000 }),
    cacheTime: 0,
  })
}

export function traderOf(sandbox: Sandbox): PrivateKeyAccount {
  return privateKeyToAccount(sandbox.trader.privateKey)
}

/** A new funded account, so that tests do not see each other's balances. */
export async function newTrader(
  sandbox: Sandbox,
  funds: Readonly<Record<string, string>>,
): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
  await admin(sandbox, 'POST', '/fund', {
    address: account.address,
    token: 'ETH',
    amount: '1000000000000000000',
  })
  for (const [token, amount] of Object.entries(funds)) {
    await admin(sandbox, 'POST', '/fund', { address: account.address, token, amount })
    await approve(sandbox, account, token)
  }
  return account
}

/** Approves an unlimited amount of a token to Permit2. */
export async function approve(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  symbol: string,
): Promise<void> {
  const wallet = createWalletClient({
    account,
    transport: http(sandbox.rpcUrl, { retryCount: 0, timeout: 120_000 }),
  })
  const hash = await wallet.writeContract({
    chain: null,
    address: tokenOf(sandbox, symbol).address,
    abi: ERC20,
    functionName: 'approve',
    args: [sandbox.contracts.permit2, maxUint256],
  })
  await publicClientOf(sandbox).waitForTransactionReceipt({ hash, pollingInterval: POLL_MS })
}

export function balanceOf(sandbox: Sandbox, symbol: string, owner: Hex): Promise<bigint> {
  return publicClientOf(sandbox).readContract({
    address: tokenOf(sandbox, symbol).address,
    abi: ERC20,
    functionName: 'balanceOf',
    args: [owner],
  })
}

export async function rest(
  sandbox: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  return send(`${sandbox.gaslessUrl}/api/v1${path}`, method, body)
}

export async function admin(
  sandbox: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  return send(`${sandbox.adminUrl}${path}`, method, body)
}

async function send(url: string, method: string, body: unknown): Promise<Response> {
  // On a busy machine a kept connection may close in the moment in which the next request is sent on it.
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(url, { method, headers, ...sent })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** A well-formed sale of 25 USDC for WETH, with some of its fields replaced. */
export function quoteBody(
  sandbox: Sandbox,
  from: Hex,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    chainId: 8453,
    from,
    sellToken: tokenOf(sandbox, 'USDC').address,
    buyToken: tokenOf(sandbox, 'WETH').address,
    kind: 'sell',
    sellAmountBeforeFee: '25000000',
    signingScheme: 'eip712',
    ...changes,
  }
}

export async function quoteFor(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<WireQuoteResponse> {
  const body = quoteBody(sandbox, account.address, changes)
  const { status, body: quote } = await rest(sandbox, 'POST', '/quote', body)
  if (status !== 200) throw new Error(`no quote: ${status} ${JSON.stringify(quote)}`)
  return quote
}

/** Signs any response of the service unchecked, as no client should. */
export function signBlindly(account: PrivateKeyAccount, quote: WireQuoteResponse): Promise<Hex> {
  const data = quote.permit2.typedData as unknown as Parameters<typeof account.signTypedData>[0]
  return account.signTypedData(data)
}

/** Signs and submits a quote. */
export async function submit(
  sandbox: Sandbox,
  account: PrivateKeyAccount,
  quote: WireQuoteResponse,
  clientOrderId?: string,
): Promise<Response> {
  const signature = await signBlindly(account, quote)
  const body = { quoteId: quote.id, signature, ...(clientOrderId ? { clientOrderId } : {}) }
  return rest(sandbox, 'POST', '/orders', body)
}

/** Polls until the order is no longer pending. */
export async function settled(sandbox: Sandbox, orderId: string): Promise<WireOrder> {
  const read = async () => (await rest(sandbox, 'GET', `/orders/${orderId}`)).body as WireOrder
  return waitFor(`order ${orderId} to settle`, read, ({ status }) => status !== 'pending')
}

/** Fills an order that no price of WETH delays: all orders accepted before it have been due by then. */
export async function settleAnother(sandbox: Sandbox): Promise<void> {
  const trader = await newTrader(sandbox, { USDC: '25000000' })
  const buyToken = tokenOf(sandbox, 'DAI').address
  const { body } = await submit(sandbox, trader, await quoteFor(sandbox, trader, { buyToken }))
  expect((await settled(sandbox, body.orderId)).status).toBe('filled')
}

/** The answer is the error envelope with this status and code. */
export function expectError(
  response: Response,
  status: number,
  code: string,
  message?: RegExp,
): void {
  expect(response.status).toBe(status)
  expect(errorResponseSchema.parse(response.body).error.code).toBe(code)
  if (message !== undefined) expect(response.body.error.message).toMatch(message)
}

/** The answer carries the three rate-limit headers, as numbers in text. */
export function expectRateHeaders(response: Response): void {
  for (const name of ['limit', 'remaining', 'reset']) {
    expect(response.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/)
  }
}
