// A strategy of one's own: an ES module with a `schema` for its params and a pure `decide`. Its types are in tranched.d.ts.

/** @typedef {{ spend: string, discount: number, samples: number }} Params What `schema` makes of the file's `params` */
/** @typedef {'USDC' | 'WETH'} Tokens As the file names them */

/**
 * Params come as the text of the YAML file, so that no number is rounded on its way. The daemon hands its own zod in.
 *
 * @param {import('./tranched.d.ts').Given} given
 * @returns {import('./tranched.d.ts').Schema<Params>}
 */
export const schema = ({ z }) =>
  z.strictObject({
    /** Whole USDC that one order spends. */
    spend: z.string().regex(/^\d{1,9}$/, 'whole USDC, such as "20"'),
    /** Percent below the average at which it buys. */
    discount: z.coerce.number().min(0).max(50),
    /** Prices that the average is taken over; what they take as text has to fit what may be remembered. */
    samples: z.coerce.number().int().min(2).max(300),
  })

const SCALE = 10n ** 18n

/**
 * Pure and synchronous: everything that it may depend on is in `view`, and what it wants to remember it returns.
 *
 * @param {import('./tranched.d.ts').View<Params, Tokens>} view
 * @returns {import('./tranched.d.ts').Answer<Tokens>}
 */
export function decide(view) {
  const price = view.prices['USDC/WETH']
  if (price === undefined) return { skip: 'no price of WETH' }
  const now = (price.num * SCALE) / price.den
  const seen = (view.memory.prices ?? '').split(',').filter(Boolean).map(BigInt)
  const memory = { prices: [...seen, now].slice(-view.params.samples).join(',') }
  if (seen.length < view.params.samples) return { skip: `${seen.length} of ${view.params.samples} prices seen`, memory }
  const average = seen.reduce((sum, each) => sum + each, 0n) / BigInt(seen.length)
  const level = (average * BigInt(Math.round((100 - view.params.discount) * 100))) / 10_000n
  if (now > level) return { skip: 'not below the average', memory }
  const amount = BigInt(view.params.spend) * 10n ** BigInt(view.balances.USDC.decimals)
  return { orders: [{ sell: 'USDC', buy: 'WETH', amount }], memory }
}
