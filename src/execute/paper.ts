import type { OpenIntent } from '../domain/book/state.ts'
import type { SwapIntent } from '../domain/intent.ts'
import type { Quote } from '../domain/quote.ts'
import { type BaseUnits, BPS, baseUnits, formatAmount, mulDivUp } from '../domain/units.ts'
import type { OrderContext } from './context.ts'

/** Books an order that passed every check as filled, without a signature: what dry-run does instead of trading. */
export async function bookOnPaper(
  context: OrderContext,
  open: OpenIntent,
  amounts: { readonly paid: BaseUnits; readonly received: BaseUnits },
): Promise<void> {
  const { journal, observe, clock } = context.ports
  const { intent, attempt, openedAtMs } = open
  await journal.append({ type: 'paper-filled', intentId: intent.id, attempt, ...amounts })
  observe({
    type: 'paper-filled',
    strategy: intent.strategy,
    intentId: intent.id,
    venue: intent.venue,
    what: wordsOf(open, amounts),
    durationMs: clock.now() - openedAtMs,
  })
}

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

function wordsOf(
  { intent }: OpenIntent,
  { paid, received }: { readonly paid: BaseUnits; readonly received: BaseUnits },
): string {
  if (intent.venue === 'aggregated') return intent.label
  const { sell, buy } = intent
  return `${formatAmount(paid, sell.token.decimals)} ${nameOf(sell)} -> ${formatAmount(received, buy.token.decimals)} ${nameOf(buy)}`
}

function nameOf({ token, native }: SwapIntent['sell']): string {
  return native ? 'ETH' : token.symbol
}
