// Simulates the REST service and the node at low cost, so that the client is the bottleneck. Quotes carry the typed
// data of the real service; an order is settled when it is submitted. Everything that the daemon checks is present: see
// README.md. Signatures are collected and checked when the statistics are requested, not while timing.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { verifyTypedData } from 'viem'
import { startLeanServer } from './lean-http.mjs'
import { createLeanNode } from './lean-node.mjs'
import {
  buyAmountOf,
  CHAIN_ID,
  leanConfig,
  minimumOf,
  OWNER,
  PERMIT2,
  PRIVATE_KEY,
  SETTLEMENT,
  USDC,
  WETH,
} from './lean-simulation.mjs'

const WITNESS_TYPE_STRING =
  'OrderWitness witness)OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)TokenPermissions(address token,uint256 amount)'
const TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'OrderWitness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  OrderWitness: [
    { name: 'recipient', type: 'address' },
    { name: 'tokenOut', type: 'address' },
    { name: 'minAmountOut', type: 'uint256' },
  ],
}
const LIFETIME_SECONDS = 120
const SAMPLE_EVERY = 97
const RATE_LIMIT = 'x-ratelimit-limit: 1000000\r\nx-ratelimit-remaining: 999999\r\nx-ratelimit-reset: 1000\r\n'
const TOKENS = JSON.stringify([
  { chainId: CHAIN_ID, address: USDC, symbol: 'USDC', name: 'USD Coin', decimals: 6 },
  { chainId: CHAIN_ID, address: WETH, symbol: 'WETH', name: 'Wrapped Ether', decimals: 18 },
])

const node = createLeanNode()
const quotes = new Map()
const orders = new Map()
const samples = []
const requests = { rest: 0, rpc: 0 }
const firstNonce = BigInt(`0x${randomBytes(24).toString('hex')}`) << 32n
let lastId = 0

const ok = (status, text) => ({ status, body: text, headers: RATE_LIMIT })
const problem = (status, code, message) =>
  ok(status, JSON.stringify({ error: { code, message } }))

function quote(body) {
  const { from, receiver = from, sellToken, buyToken, kind, sellAmountBeforeFee, slippageBps = 50 } = body
  if (kind !== 'sell') return problem(400, 'BAD_REQUEST', 'the bench sells exact amounts')
  lastId += 1
  const id = `q-${lastId}`
  const nonce = firstNonce + BigInt(lastId)
  const sellAmount = BigInt(sellAmountBeforeFee)
  const buyAmount = buyAmountOf(sellAmount)
  const minBuyAmount = minimumOf(buyAmount, slippageBps)
  const deadline = Math.floor(Date.now() / 1000) + LIFETIME_SECONDS
  const typedData = {
    domain: { name: 'Permit2', chainId: CHAIN_ID, verifyingContract: PERMIT2 },
    primaryType: 'PermitWitnessTransferFrom',
    types: TYPES,
    message: {
      permitted: { token: sellToken, amount: sellAmountBeforeFee },
      spender: SETTLEMENT,
      nonce: nonce.toString(),
      deadline: String(deadline),
      witness: { recipient: receiver, tokenOut: buyToken, minAmountOut: minBuyAmount.toString() },
    },
  }
  const fill = { owner: from.toLowerCase(), recipient: receiver.toLowerCase(), sellToken, buyToken }
  quotes.set(id, { fill: { ...fill, sellAmount, buyAmount, nonce, deadline }, typedData })
  const response = {
    id,
    from,
    expiration: new Date((deadline - 1) * 1000).toISOString(),
    quote: {
      sellToken,
      buyToken,
      receiver,
      sellAmount: sellAmountBeforeFee,
      buyAmount: buyAmount.toString(),
      minBuyAmount: minBuyAmount.toString(),
      validTo: deadline,
      feeAmount: '0',
      kind,
      partiallyFillable: false,
      signingScheme: 'eip712',
    },
    permit2: {
      allowanceTarget: PERMIT2,
      spender: SETTLEMENT,
      typedData,
      witnessTypeString: WITNESS_TYPE_STRING,
    },
  }
  return ok(200, JSON.stringify(response))
}

function submit({ quoteId, signature }) {
  const found = quotes.get(quoteId)
  if (found === undefined) return problem(400, 'BAD_REQUEST', 'request a fresh quote')
  quotes.delete(quoteId)
  const orderId = `o-${quoteId.slice(2)}`
  const { fill, typedData } = found
  if (orders.size % SAMPLE_EVERY === 0) samples.push({ typedData, signature })
  const { sellToken, buyToken } = fill
  const amounts = { executedSellAmount: `${fill.sellAmount}`, executedBuyAmount: `${fill.buyAmount}` }
  const txHash = node.settle(fill)
  const order = { orderId, quoteId, status: 'filled', sellToken, buyToken, ...amounts, txHash }
  orders.set(orderId, JSON.stringify(order))
  return ok(201, JSON.stringify({ orderId, quoteId, status: 'pending' }))
}

function readOrder(id) {
  const order = orders.get(id)
  return order === undefined ? problem(404, 'NOT_FOUND', 'unknown order') : ok(200, order)
}

function rest({ method, path, body }) {
  requests.rest += 1
  if (path === '/api/v1/quote') return quote(JSON.parse(body))
  if (path === '/api/v1/orders' && method === 'POST') return submit(JSON.parse(body))
  if (path.startsWith('/api/v1/orders/')) return readOrder(path.slice('/api/v1/orders/'.length))
  if (path.startsWith('/api/v1/tokens')) return ok(200, TOKENS)
  return problem(404, 'NOT_FOUND', `no route ${path}`)
}

function rpc(request) {
  requests.rpc += 1
  return node.handle(request)
}

/** Checks a sample of the signatures with viem, which made none of the daemon's. */
async function checkSamples() {
  let wrong = 0
  for (const { typedData, signature } of samples) {
    if (!(await verifyTypedData({ address: OWNER, ...typedData, signature }))) wrong += 1
  }
  return { checked: samples.length, wrong }
}

/** Statistics so far, for the parent process. CPU time shows whether this process was the bottleneck. */
async function startAdmin() {
  const server = createServer(async (request, response) => {
    const signatures = request.url === '/check' ? await checkSamples() : undefined
    const cpu = process.cpuUsage()
    response.end(JSON.stringify({ requests, orders: orders.size, cpu, signatures }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

const gaslessUrl = await startLeanServer(rest)
const rpcUrl = await startLeanServer(rpc)
const adminUrl = await startAdmin()
process.stdin.resume().once('end', () => process.exit(0))
process.once('SIGTERM', () => process.exit(0))
const service = {
  gaslessUrl,
  rpcUrl,
  adminUrl,
  privateKey: PRIVATE_KEY,
  permit2: PERMIT2,
  sellToken: USDC,
  buyToken: WETH,
  config: leanConfig({ gaslessUrl, rpcUrl }),
}
process.stdout.write(`${JSON.stringify(service)}\n`)
