import type { OpenIntent } from '../domain/book/state.ts'
import type { Disbelief } from '../domain/disbelief.ts'
import type { OrderContext } from './context.ts'

/** Nodes, services and clocks see a thing some seconds apart: until then nobody has been told anything wrong. */
const GRACE_MS: Partial<Record<Disbelief['what'], number>> = {
  filled: 10_000,
  receipt: 10_000,
  clock: 10_000,
}
/** From then on somebody should look at it: what was signed hangs in the air. */
const WAITING_MS = 30_000

/** What is not believed, and why, in words. */
export type Doubted = Disbelief & { readonly detail: string }

/** Tells of every answer about one order that is not believed, or missing, once its time of grace is over. */
export function createDoubts(context: OrderContext, open: OpenIntent): (doubted: Doubted) => void {
  const sinceMs = new Map<Disbelief['what'], number>()
  return (doubted) => {
    const nowMs = context.ports.clock.now()
    const firstMs = sinceMs.get(doubted.what) ?? nowMs
    sinceMs.set(doubted.what, firstMs)
    // The distance: a clock that was set back must not silence it.
    const forMs = Math.abs(nowMs - firstMs)
    if (forMs < (GRACE_MS[doubted.what] ?? 0)) return
    tellDoubt(context, open, { ...doubted, moneyWaits: forMs >= WAITING_MS })
  }
}

/** Tells of one such answer. */
export function tellDoubt(
  { ports }: OrderContext,
  { intent }: OpenIntent,
  doubted: Doubted & { readonly moneyWaits: boolean },
): void {
  const { strategy, id: intentId } = intent
  ports.observe({ type: 'disbelieved', strategy, intentId, ...doubted })
}
