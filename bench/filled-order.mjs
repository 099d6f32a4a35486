/** Records of filled orders for benchmarks that write a journal, as a daemon appends them in the lean market. */
import { CHAIN_ID, OWNER, PERMIT2, SETTLEMENT, USDC, WETH } from './orders/lean-simulation.mjs'

export const hex = (value) => `0x${value.toString(16).padStart(64, '0')}`
const asset = (symbol, address, decimals) => ({
  token: { symbol, chain: 'base', chainId: CHAIN_ID, address, decimals },
  native: false,
})
export const USDC_ASSET = asset('USDC', USDC, 6)
const WETH_ASSET = asset('WETH', WETH, 18)

export const bound = () => ({ type: 'bound', mode: 'live', chainId: CHAIN_ID, genesisHash: hex(1), owner: OWNER })
export const scheduled = (strategy) => ({ type: 'strategy-scheduled', strategy, scheduleKey: 'x', fromSeconds: 0 })

/** The wallet's activity was compared with the chain, so older claims are forgotten. */
export const compared = (number) => ({
  ...{ type: 'wallet-compared', chainId: CHAIN_ID, wallet: OWNER, sinceBlock: 0n },
  ...{ blockNumber: BigInt(number), transactionCount: 0, nestedNonce: undefined },
})

/**
 * The six records of one filled order, in the groups in which the daemon appends them. `number` makes ids and hashes
 * unique. With a `blockHash` the fill is watched until a `fills-final` record.
 */
export function* appendsOf(number, { strategy, slotSeconds, nowMs, isSale = false, blockHash }) {
  const intentId = `${strategy}:${slotSeconds}:0`
  const txHash = hex(number)
  const [sell, buy] = isSale ? [WETH_ASSET, USDC_ASSET] : [USDC_ASSET, WETH_ASSET]
  const price = 2_500n + (BigInt(number) % 400n)
  const wei = (25n * 10n ** 18n) / price
  const [amount, received] = isSale ? [wei, 25_000_000n] : [25_000_000n, wei]
  const intent = {
    id: intentId,
    venue: 'gasless',
    strategy,
    slotSeconds,
    leg: 0,
    owner: OWNER,
    recipient: OWNER,
    sell,
    buy,
    size: { side: 'sell', amount },
    maxSell: amount,
    slippageBps: 50,
    price: { min: undefined, max: undefined },
    startBeforeMs: 2e12,
  }
  const permit = {
    chainId: CHAIN_ID,
    permit2: PERMIT2,
    owner: OWNER,
    token: sell.token.address,
    amount,
    spender: SETTLEMENT,
    nonce: BigInt(number) << 100n,
    deadlineSeconds: Math.floor(nowMs / 1000) + 60,
    recipient: OWNER,
    tokenOut: buy.token.address,
    minAmountOut: (received * 995n) / 1000n,
    attempt: 1,
    clientOrderId: `${intentId}:1`,
    quoteId: `quote-${number}`,
    digest: txHash,
    fromBlock: BigInt(number),
  }
  const transfers = [`${txHash}:0`, `${txHash}:1`]
  const fill = { txHash, blockNumber: BigInt(number), blockHash, paid: amount, received, transfers }
  const end = { outcome: 'filled', reason: 'filled' }
  yield [{ type: 'slot-opened', strategy, slotSeconds, intents: [intent] }]
  yield [{ type: 'permit-recorded', intentId, permit }]
  yield [{ type: 'order-accepted', intentId, attempt: 1, orderId: `order-${number}` }]
  yield [{ type: 'fill-proven', intentId, attempt: 1, fill }]
  yield [
    { type: 'intent-closed', intentId, ...end },
    { type: 'slot-closed', strategy, slotSeconds, ...end },
  ]
}
