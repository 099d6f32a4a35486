import { type BaseUnits, BPS, baseUnits, mulDivUp } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import type { Quote } from '../../domain/order/quote.ts'
import type { OrderContext } from '../context.ts'

/** Balance change of the intent's sell token by earlier paper orders, in base units. */
export function paperOf({ mode, ports }: OrderContext, { sell }: SwapIntent): bigint {
  if (mode !== 'dry-run') return 0n
  // Paper orders wrap nothing: an order that names ETH uses the native balance, checked at its decision.
  if (sell.native) return 2n ** 200n
  return ports.journal.state.paper.get(sell.token.address) ?? 0n
}

/** Exact output: the permit includes slippage, which does not occur on paper. Rounded up. */
export function paidFor({ sellAmount }: Quote, { slippageBps }: SwapIntent): BaseUnits {
  return baseUnits(mulDivUp(sellAmount, BPS, BPS + BigInt(slippageBps)))
}
