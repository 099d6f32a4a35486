import { InvariantError } from '../../domain/errors.ts'
import { amountText, boundText, quotedText } from '../../domain/money/amount-text.ts'
import { againstFeedBps } from '../../domain/money/price.ts'
import { shownToken, type Token } from '../../domain/money/token.ts'
import type { Intent, IntentId, SwapIntent } from '../../domain/order/intent.ts'
import { hasLiveAuthorization } from '../../domain/order/order.ts'
import type { Trade } from '../../journal/ledger/entry.ts'
import { liveSum } from '../../journal/projections/exposures.ts'
import {
  type Authorization,
  type Booked,
  openIntent,
  type VenueProjection,
} from '../../journal/projections/order-reducer.ts'
import { recordPurchase, reversePurchase } from '../../journal/projections/purchases.ts'
import type { DaemonState, OpenIntent, OpenSwap } from '../../journal/state/daemon-state.ts'

/** Swaps through the gasless service. */
export const SWAPS = {
  routes: { gasless: { costs: ['gas'], sent: 'through the service' } },
  unfilled: 'did not trade',
  isRejectionFinal: false,
  chainIn: ({ gasless }) => gasless.chain,
  // One literal: an object that begins with a spread is slow at every later step of the order.
  opened: (intent, { state, attempt, orderId, ended, died, reopened, settled, openedAtMs }) => ({
    state,
    attempt,
    orderId,
    ended,
    died,
    reopened,
    settled,
    openedAtMs,
    venue: 'gasless',
    intent,
    permit: undefined,
    fill: undefined,
  }),
  mostOf: ({ sell, maxSell }) => ({ token: sell.token, amount: maxSell, shown: shownToken(sell) }),
  authorizationOf: ({ permit }): Authorization | undefined => permit,
  // The order claims its transfers, so they explain no other order.
  noteUse({ claimedTransfers }, { permit }, claims) {
    const atMs = (permit?.deadlineSeconds ?? 0) * 1000
    for (const claim of claims) claimedTransfers.set(claim, atMs)
  },
  forgetAuthorization(open) {
    open.permit = undefined
  },
  forgetProof(state, open) {
    const { intent, fill, taken } = open
    if (fill !== undefined) reversePurchase(state, intent, { ...fill, taken })
    open.fill = undefined
    open.taken = undefined
  },
  fillOnPaper(state, open, { paid, received }) {
    const { paper } = state
    const { sell, buy } = open.intent
    open.fill = { paid, received }
    open.taken = recordPurchase(state, open.intent, open.fill)
    const [sold, bought] = [shownToken(sell).address, shownToken(buy).address]
    paper.set(sold, (paper.get(sold) ?? 0n) - paid)
    paper.set(bought, (paper.get(bought) ?? 0n) + received)
  },
  movedOf: ({ sell, buy }, { paid, received }) => ({
    paid: amountText(paid, shownToken(sell)),
    received: amountText(received, shownToken(buy)),
  }),
  paperEntry: (intent, booked, atMs) => tradeOf(intent, booked, { atMs, txHash: undefined }),
  describe({ sell, buy, size }, text = amountText) {
    const [sold, bought] = [shownToken(sell), shownToken(buy)]
    return size.side === 'sell'
      ? `sell ${text(size.amount, sold)} for ${bought.symbol}`
      : `buy ${text(size.amount, bought)} with ${sold.symbol}`
  },
  boundsOf({ sell, buy, maxSell, slippageBps, price, size }) {
    const most = size.side === 'buy' ? `, at most ${amountText(maxSell, sell.token)}` : ''
    const sides = { sell: sell.token, buy: buy.token }
    const within = (['min', 'max'] as const).map((bound) => {
      const level = price[bound]
      const text = level && boundText(bound, level, sides)
      return text === undefined ? '' : `, ${text}`
    })
    return `${most}, slippage at most ${slippageBps / 100} %${within.join('')}`
  },
  triggersOf({ trigger, entry, sell }) {
    const { symbol } = sell.token
    const whose =
      entry === undefined ? [] : [`It sells ${symbol} that ${entry.of} has bought, and no other.`]
    if (trigger === undefined) return whose
    const { pair, base, quote, atLeast, atMost, rungs = [] } = trigger
    const levels = [
      ...(atLeast === undefined ? [] : [`at least ${quotedText(atLeast, { base, quote })}`]),
      ...(atMost === undefined ? [] : [`at most ${quotedText(atMost, { base, quote })}`]),
    ]
    const what = rungs.length === 0 ? '' : ` ${rungs.join(' and ')}:`
    return [`Set off by${what} ${pair} ${levels.join(' and ')}.`, ...whose]
  },
  closingOf: ({ buy }) =>
    buy.native ? 'what was bought is being unwrapped' : 'it is being closed',
} as const satisfies VenueProjection<SwapIntent, OpenSwap>

/** The ledger entry of a swap; `txHash` is undefined on paper. */
export function tradeOf(
  { strategy, id, sell, buy }: SwapIntent,
  { paid, received, feed, worth, fee }: Booked,
  { atMs, txHash }: Pick<Trade, 'atMs' | 'txHash'>,
): Trade {
  return {
    type: 'trade',
    atMs,
    strategy,
    intentId: id,
    paper: txHash === undefined,
    sell: sell.token,
    buy: buy.token,
    paid,
    received,
    vsFeedBps: againstFeedBps({ paid, received, feed }),
    worth,
    fee,
    txHash,
  }
}

export function swapOf(open: OpenIntent | undefined): OpenSwap | undefined {
  return open?.venue === 'gasless' ? open : undefined
}

export function isSwap(intent: Intent): intent is SwapIntent {
  return intent.venue === 'gasless'
}

export function openSwaps({ intents }: DaemonState): readonly OpenSwap[] {
  if (intents.size === 0) return NO_SWAPS
  return [...intents.values()].filter((open) => open.venue === 'gasless')
}

const NO_SWAPS: readonly OpenSwap[] = []

/** Base units of a token that a strategy's pending orders may still spend, signed or not. */
export function promisedBy(state: DaemonState, token: Token, strategy: string): bigint {
  let planned = 0n
  for (const { intent, state: at } of state.intents.of(strategy))
    if (at === 'planned' && isSwap(intent) && intent.sell.token.address === token.address)
      planned += intent.maxSell
  return planned + liveSum(state, token.address, strategy)
}

/** Permit2 nonces of other live permits. If two permits had one nonce, its use would not show which one settled. */
export function liveNonces(state: DaemonState, except: SwapIntent): ReadonlySet<bigint> {
  const nonces = new Set<bigint>()
  for (const open of state.intents.values()) {
    const { intent, state: at } = open
    const nonce = hasLiveAuthorization(at) ? swapOf(open)?.permit?.nonce : undefined
    if (nonce !== undefined && intent.id !== except.id) nonces.add(nonce)
  }
  return nonces
}

export function openSwap(state: DaemonState, id: IntentId): OpenSwap {
  const open = openIntent(state, id)
  if (open.venue !== 'gasless') throw new InvariantError(`intent ${id} is no swap`)
  return open
}
