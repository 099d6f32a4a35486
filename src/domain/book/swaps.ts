import { InvariantError } from '../errors.ts'
import type { Intent, IntentId, SwapIntent } from '../intent.ts'
import { hasLiveAuthorization } from '../order.ts'
import { type Asset, NATIVE_TOKEN, type Token } from '../token.ts'
import { formatAmount } from '../units.ts'
import { liveSum } from './exposures.ts'
import type { EventOf } from './journal.ts'
import {
  type Authorization,
  checkRecord,
  checkUnclaimed,
  expose,
  openIntent,
  settle,
  stepAttempt,
  type VenueBook,
} from './orders.ts'
import { bookPurchase, unbookPurchase } from './purchases.ts'
import type { DaemonState, OpenSwap } from './state.ts'

/** The books of swaps through the gasless service. */
export const SWAPS: VenueBook<SwapIntent, OpenSwap> = {
  opened: (intent, base) => ({
    ...base,
    venue: 'gasless',
    intent,
    permit: undefined,
    fill: undefined,
  }),
  mostOf: ({ sell, maxSell }) => ({ token: sell.token, amount: maxSell }),
  authorizationOf: ({ permit }): Authorization | undefined => permit,
  forgetAuthorization(open) {
    open.permit = undefined
  },
  forgetProof(state, open) {
    const { intent, fill, taken } = open
    if (fill !== undefined) unbookPurchase(state, intent, { ...fill, taken })
    open.fill = undefined
    open.taken = undefined
  },
  bookOnPaper(state, open, { paid, received }) {
    const { paper } = state
    const { sell, buy } = open.intent
    open.fill = { paid, received }
    open.taken = bookPurchase(state, open.intent, open.fill)
    const [sold, bought] = [paperKey(sell), paperKey(buy)]
    paper.set(sold, (paper.get(sold) ?? 0n) - paid)
    paper.set(bought, (paper.get(bought) ?? 0n) + received)
  },
  movedOf: ({ sell, buy }, { paid, received }) => ({
    paid: amountText(paid, sell),
    received: amountText(received, buy),
  }),
  wordsOf({ sell, buy, size }) {
    const amount = amountText(size.amount, size.side === 'sell' ? sell : buy)
    return size.side === 'sell' ? `sell ${amount} for ${nameOf(buy)}` : `buy ${amount}`
  },
}

export function isSwap(intent: Intent): intent is SwapIntent {
  return intent.venue === 'gasless'
}

/** Swaps among the open intents. */
export function openSwaps(state: DaemonState): readonly OpenSwap[] {
  return [...state.intents.values()].filter((open) => open.venue === 'gasless')
}

/** Base units that orders of a strategy which are in flight may still take of a token: what is signed, and what is to be. */
export function promisedBy(state: DaemonState, token: Token, strategy: string): bigint {
  let planned = 0n
  for (const { intent, state: at } of openSwaps(state)) {
    if (at !== 'planned' || intent.strategy !== strategy) continue
    if (intent.sell.token.address === token.address) planned += intent.maxSell
  }
  return planned + liveSum(state, token.address, strategy)
}

/**
 * Permit2 nonces that a live permit carries, that of `except` left out. Two permits of one nonce cannot both settle, and
 * which of them a used nonce stands for could not be told.
 */
export function liveNonces(state: DaemonState, except: SwapIntent): ReadonlySet<bigint> {
  const nonces = new Set<bigint>()
  for (const { intent, permit, state: at } of openSwaps(state))
    if (permit !== undefined && intent.id !== except.id && hasLiveAuthorization(at))
      nonces.add(permit.nonce)
  return nonces
}

export function openSwap(state: DaemonState, id: IntentId): OpenSwap {
  const open = openIntent(state, id)
  if (open.venue !== 'gasless') throw new InvariantError(`intent ${id} is no swap`)
  return open
}

export function recordPermit(
  state: DaemonState,
  { permit, intentId }: EventOf<'permit-recorded'>,
  atMs: number,
): void {
  const open = openSwap(state, intentId)
  checkRecord(open, permit)
  if (permit.amount > open.intent.maxSell)
    throw new InvariantError(`${intentId}: the permit takes more than the intent allows`)
  stepAttempt(open, { step: 'authorization-recorded', attempt: permit.attempt })
  open.permit = permit
  expose(state, open, permit, atMs)
}

export function proveFill(state: DaemonState, event: EventOf<'fill-proven'>, atMs: number): void {
  const { fill, intentId, attempt, executedBySeconds } = event
  const open = openSwap(state, intentId)
  checkUnclaimed(state, fill.transfers)
  const { permit: authorization } = open
  stepAttempt(open, { step: 'fill-proven', attempt })
  if (authorization === undefined) throw new InvariantError(`${intentId}: a fill without a permit`)
  open.fill = fill
  open.taken = bookPurchase(state, open.intent, fill)
  settle(state, open, {
    authorization,
    paid: fill.paid,
    claims: fill.transfers,
    place: fill,
    atMs,
    executedBySeconds,
  })
}

function paperKey({ token, native }: Asset) {
  return native ? NATIVE_TOKEN : token.address
}

function amountText(amount: bigint, { token, native }: Asset): string {
  return `${formatAmount(amount, token.decimals)} ${nameOf({ token, native })}`
}

/** ETH where the strategy says so, the token's symbol elsewhere. */
function nameOf({ token, native }: Asset): string {
  return native ? 'ETH' : token.symbol
}
