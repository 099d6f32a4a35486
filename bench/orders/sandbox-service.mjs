// The sandbox as the service: both services' code, a real EVM node, the real Permit2. It is slower than either client,
// so it shows the end-to-end cost of an order, not the cost of a client.
import { startSandbox } from '../../src/sandbox/sandbox.ts'

const PLENTY = { limit: 1_000_000, windowMs: 1_000 }

const sandbox = await startSandbox({
  gasless: {
    rateLimits: { tokens: PLENTY, quote: PLENTY, orders: PLENTY, order: PLENTY },
    ordersPerTransaction: 16,
  },
})
const stop = () => void sandbox.stop().then(() => process.exit(0))
process.stdin.resume().once('end', stop)
process.once('SIGTERM', stop)

const places = { stateDir: '.', strategiesDir: '.', keyFile: '.' }
const tokenOf = (symbol) => sandbox.tokens.find((token) => token.symbol === symbol).address
const service = {
  gaslessUrl: sandbox.gaslessUrl,
  rpcUrl: sandbox.rpcUrl,
  adminUrl: sandbox.adminUrl,
  privateKey: sandbox.trader.privateKey,
  permit2: sandbox.contracts.permit2,
  sellToken: tokenOf('USDC'),
  buyToken: tokenOf('WETH'),
  config: sandbox.config(places),
}
process.stdout.write(`${JSON.stringify(service)}\n`)
