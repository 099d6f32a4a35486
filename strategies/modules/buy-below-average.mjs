// A strategy of one's own: an ES module with a `schema` for its params and a pure `decide`.
import * as z from 'zod'

/** Params come as the text of the YAML file, so that no number is rounded on its way. */
export const schema = z.strictObject({
  /** Whole USDC that one order spends. */
  spend: z.string().regex(/^\d{1,9}$/, 'whole USDC, such as "20"'),
  /** Percent below the average at which it buys. */
  discount: z.coerce.number().min(0).max(50),
  /** Prices that the average is taken over; what they take as text has to fit what may be remembered. */
  samples: z.coerce.number().int().min(2).max(300),
})

const SCALE = 10n ** 18n

/**
 * @typedef {object} View What one slot is decided by; frozen
 * @property {number} slotSeconds The slot, in epoch seconds
 * @property {number} nowSeconds Time of the block that was read
 * @property {import('zod').infer<typeof schema>} params What `schema` made of the file's `params`
 * @property {Record<string, { amount: bigint, decimals: number }>} balances What is free, in base units, by token
 * @property {Record<string, { num: bigint, den: bigint, updatedAtSeconds: number }>} prices
 *   By `SELL/BUY`: num / den base units of SELL per base unit of BUY, exact. A price without a fresh feed is not there
 * @property {Record<string, string>} memory What was remembered, texts by name; empty at the first slot
 *
 * @typedef {object} Orders
 * @property {{ sell: string, buy: string, amount: bigint }[]} orders At most 8; amounts are base units that are sold
 * @property {Record<string, string>} [memory] Replaces what is remembered, whatever becomes of the orders
 * @property {Record<string, string>} [memoryOnFill] Replaces it once all orders are filled
 *
 * @typedef {{ skip: string, memory?: Record<string, string> }} Skip Why nothing is traded
 */

/**
 * Pure and synchronous: everything that it may depend on is in `view`, and what it wants to remember it returns.
 *
 * @param {View} view
 * @returns {Orders | Skip}
 */
export function decide(view) {
  const price = view.prices['USDC/WETH']
  if (price === undefined) return { skip: 'no price of WETH' }
  const now = (price.num * SCALE) / price.den
  const seen = (view.memory.prices ?? '').split(',').filter(Boolean).map(BigInt)
  const memory = { prices: [...seen, now].slice(-view.params.samples).join(',') }
  if (seen.length < view.params.samples) return { skip: `${seen.length} prices seen so far`, memory }
  const average = seen.reduce((sum, each) => sum + each, 0n) / BigInt(seen.length)
  const level = (average * BigInt(Math.round((100 - view.params.discount) * 100))) / 10_000n
  if (now > level) return { skip: 'not below the average', memory }
  const amount = BigInt(view.params.spend) * 10n ** BigInt(view.balances.USDC.decimals)
  return { orders: [{ sell: 'USDC', buy: 'WETH', amount }], memory }
}
