import type { Address } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import { backoffMs } from '../../domain/policy.ts'
import { liveSum } from '../../journal/projections/exposures.ts'
import { approvalOf } from '../../journal/projections/limits.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { ChainView } from '../../ports.ts'
import { payloadOf } from '../../signing/wallet-transactions.ts'
import { type Closing, failure, mayNotStart } from '../close.ts'
import type { OrderContext, SendingContext, WalletContext } from '../context.ts'
import { type RetryLater, retryLater } from '../retry.ts'
import { type TransactionOutcome, transactOnce } from '../wallet/transaction.ts'

/** Failed unwraps before the intent is closed without one. */
const UNWRAP_TRIES_MAX = 20

/** `ready`: nothing to do. `changed`: the chain changed, so earlier reads are outdated. */
type Done = { readonly tag: 'ready' | 'changed' }
type Prepared = Done | { readonly tag: 'stopped' } | Closing | RetryLater

export function isPrepared(prepared: Prepared): prepared is Done {
  return prepared.tag === 'ready' || prepared.tag === 'changed'
}

/** Wraps the intent's whole amount if the strategy sells ETH, once per intent. */
export async function wrapIfNative(context: OrderContext, intent: SwapIntent): Promise<Prepared> {
  if (!intent.sell.native || context.mode === 'dry-run') return { tag: 'ready' }
  const id = wrapId(intent)
  if (context.ports.journal.state.endedTransactions.get(id) === 'mined') return { tag: 'ready' }
  const outcome = await transactOnce(context, context.wallet, {
    id,
    purpose: 'wrap',
    intentId: intent.id,
    blocked: () => blockedNow(context, intent),
    ...payloadOf({ type: 'wrap', token: intent.sell.token.address, amount: intent.maxSell }),
  })
  return prepared(outcome)
}

/**
 * Raises the sell token's Permit2 allowance by the operator's approval policy if it does not cover this intent and all live
 * permits. Also covers other unsigned intents: an approval replaces the previous one, so intents of one slot would take the
 * allowance from each other.
 */
export async function ensureAllowance(
  context: OrderContext,
  intent: SwapIntent,
  view: ChainView,
): Promise<Prepared> {
  if (isCovered(context, intent, view)) return { tag: 'ready' }
  const { token } = intent.sell
  const { journal, clock } = context.ports
  const { permit2, approval } = context.gasless
  const { account } = context
  const own = context.strategies.get(intent.strategy)?.limits
  const query = { approval, token, nowMs: clock.now(), account, own }
  const amount = approvalOf(journal.state, query)
  const outcome = await transactOnce(context, context.wallet, {
    id: undefined,
    purpose: 'approve',
    intentId: intent.id,
    blocked: () => blockedNow(context, intent),
    ...payloadOf({ type: 'approve', token: token.address, spender: permit2, amount }),
  })
  // A smaller amount is needed now, or the nonce was cleared: make another approval.
  const isStale = outcome.tag === 'blocked' && outcome.closing.reason === 'amount-above-limit'
  return isStale || outcome.tag === 'lost' ? { tag: 'changed' } : prepared(outcome)
}

function blockedNow(context: OrderContext, { id }: SwapIntent): Closing | undefined {
  const open = context.ports.journal.state.intents.get(id)
  return open && mayNotStart(context, open)
}

/** A missing allowance must not trigger an approval, which would replace the actual one. */
export function isAllowanceUnread(
  { mode }: Pick<OrderContext, 'mode'>,
  { sell }: SwapIntent,
  { allowances }: ChainView,
): boolean {
  return mode !== 'dry-run' && !allowances.has(sell.token.address)
}

/** True if the allowance covers all live permits and `amount` more. */
export function isCovered(
  context: OrderContext,
  { sell, maxSell }: SwapIntent,
  view: ChainView,
  amount: bigint = maxSell,
): boolean {
  if (context.mode === 'dry-run') return true
  const { address } = sell.token
  const allowance = view.allowances.get(address)
  const live = liveSum(context.ports.journal.state, address)
  return allowance !== undefined && allowance >= live + amount
}

/**
 * Unwraps WETH if the strategy names ETH: bought by an order, or wrapped and not sold. First follows a pending wrap to its
 * end, because its nonce cannot be withdrawn. Returns true if the intent may be closed; after UNWRAP_TRIES_MAX rejections
 * the WETH stays. Returns false if the daemon stops first.
 */
export async function leaveNoWeth(context: OrderContext, open: OpenSwap): Promise<boolean> {
  // WETH bought before a reorg was unwrapped then; a second unwrap would take other WETH.
  if (context.mode === 'dry-run' || open.reopened) return true
  const { clock, random } = context.ports
  for (let tries = 1; tries <= UNWRAP_TRIES_MAX; ) {
    const outcome = await unwrapRest(context, open)
    if (outcome === undefined || outcome.tag === 'stopped') return outcome === undefined
    if (outcome.tag !== 'unsent' && outcome.tag !== 'lost') return true
    await clock.sleep(backoffMs(context.policy, tries, random.jitter()), context.stop)
    // A silent node does not count as a rejection: no other trade is possible then either.
    if (outcome.tag === 'lost' || outcome.why !== 'unavailable') tries += 1
  }
  return true
}

async function unwrapRest(
  context: OrderContext,
  open: OpenSwap,
): Promise<TransactionOutcome | undefined> {
  const { intent } = open
  if (context.stop.aborted) return { tag: 'stopped' }
  if (context.ports.journal.state.transactions.has(wrapId(intent))) {
    const wrapping = await wrapIfNative(context, intent)
    if (wrapping.tag === 'stopped') return wrapping
  }
  const amount = restToUnwrap(context, open)
  if (amount === 0n) return undefined
  const token = (intent.buy.native ? intent.buy : intent.sell).token.address
  return transactOnce(context, context.wallet, {
    id: unwrapId(intent),
    purpose: 'unwrap',
    intentId: intent.id,
    ...payloadOf({ type: 'unwrap', token, amount }),
  })
}

function restToUnwrap(context: OrderContext, open: OpenSwap): bigint {
  const { intent, fill } = open
  if (intent.buy.native) return fill?.received ?? 0n
  // An unknown use of the permit may have taken the wrapped WETH; other WETH does not belong to the intent.
  if (open.died === 'cancelled') return 0n
  const wrapped = context.ports.journal.state.endedTransactions.get(wrapId(intent)) === 'mined'
  return wrapped ? intent.maxSell - (fill?.paid ?? 0n) : 0n
}

function wrapId(intent: SwapIntent): string {
  return `${intent.id}:wrap`
}

function unwrapId(intent: SwapIntent): string {
  return `${intent.id}:unwrap`
}

/** True if the intent's WETH is or was being unwrapped: the intent was abandoned, even if the process died then. */
export function isUnwrapping(context: OrderContext, intent: SwapIntent): boolean {
  const { transactions, endedTransactions } = context.ports.journal.state
  const id = unwrapId(intent)
  return transactions.has(id) || endedTransactions.has(id)
}

function prepared(outcome: TransactionOutcome): Prepared {
  switch (outcome.tag) {
    case 'mined':
      return { tag: 'changed' }
    case 'stopped':
      return { tag: 'stopped' }
    case 'reverted':
      return failure('transaction-reverted', 'the transaction reverted')
    case 'lost':
      return failure(
        'transaction-lost',
        'its nonce was cleared, or used by a transaction that is not ours',
      )
    case 'blocked':
      return outcome.closing
    case 'unsent':
      return UNSENT[outcome.why](outcome.detail)
  }
}

/** Temporary reasons: fees fall again, and nodes return. */
const UNSENT = {
  unavailable: (detail: string) => retryLater('chain-unavailable', detail),
  gasTooDear: (detail: string) => retryLater('gas-too-dear', detail),
  insufficientFunds: (detail: string) => failure('insufficient-gas', detail),
  refused: (detail: string) => failure('transaction-reverted', detail),
}

/**
 * Recorded like every wallet transaction. Waits until a pending approval is mined, so that none can follow the revocation.
 */
export function revokeAllowance(
  context: SendingContext,
  wallet: WalletContext,
  { token, permit2 }: { readonly token: Address; readonly permit2: Address },
): Promise<TransactionOutcome> {
  return transactOnce(context, wallet, {
    id: undefined,
    purpose: 'approve',
    intentId: undefined,
    isRevoking: true,
    ...payloadOf({ type: 'approve', token, spender: permit2, amount: 0n }),
  })
}
