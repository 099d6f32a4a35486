import type { SwapIntent } from '../../domain/intent.ts'
import type { Quote } from '../../domain/quote.ts'
import { type BaseUnits, BPS, baseUnits, mulDivUp } from '../../domain/units.ts'
import type { OrderContext } from '../context.ts'

/** What earlier paper orders have changed the balance of an intent's sell token by, in base units. */
export function paperOf({ mode, ports }: OrderContext, { sell }: SwapIntent): bigint {
  if (mode !== 'dry-run') return 0n
  // Nothing is wrapped on paper: an order that names ETH draws on the native balance, which its decision has checked.
  if (sell.native) return 2n ** 200n
  return ports.journal.state.paper.get(sell.token.address) ?? 0n
}

/** Exact output: the permit allows for slippage, which on paper does not occur. Rounded up. */
export function paidFor({ sellAmount }: Quote, { slippageBps }: SwapIntent): BaseUnits {
  return baseUnits(mulDivUp(sellAmount, BPS, BPS + BigInt(slippageBps)))
}
