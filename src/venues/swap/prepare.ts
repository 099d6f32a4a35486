import { approvalOf } from '../../domain/book/approvals.ts'
import { livePermits } from '../../domain/book/limits.ts'
import type { OpenSwap } from '../../domain/book/state.ts'
import type { SwapIntent } from '../../domain/intent.ts'
import { backoffMs } from '../../domain/policy.ts'
import type { ChainView } from '../../ports.ts'
import { payloadOf } from '../authority/deeds.ts'
import { type Closing, failure, mayNotStart } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { type Trouble, trouble } from '../patience.ts'
import { type TransactionOutcome, transactOnce } from '../transaction.ts'

/** Answers against an unwrapping before the intent is closed without it. */
const UNWRAP_TRIES_MAX = 20

/** `ready`: nothing was to do. `changed`: the chain moved, so what was read before is old. */
type Done = { readonly tag: 'ready' | 'changed' }
export type Prepared = Done | { readonly tag: 'stopped' } | Closing | Trouble

export function isPrepared(prepared: Prepared): prepared is Done {
  return prepared.tag === 'ready' || prepared.tag === 'changed'
}

/** A strategy that sells ETH gets the intent's whole amount wrapped, once per intent. */
export async function wrapIfNative(context: OrderContext, intent: SwapIntent): Promise<Prepared> {
  if (!intent.sell.native || context.mode === 'dry-run') return { tag: 'ready' }
  const id = wrapId(intent)
  if (context.ports.journal.state.endedTransactions.get(id) === 'mined') return { tag: 'ready' }
  const outcome = await transactOnce(context, context.wallet, {
    id,
    purpose: 'wrap',
    intentId: intent.id,
    barred: () => barredNow(context, intent),
    ...payloadOf({ type: 'wrap', token: intent.sell.token.address, amount: intent.maxSell }),
  })
  return prepared(outcome)
}

/**
 * Raises the Permit2 allowance of the sell token when it does not cover this intent beside the permits that are
 * live already, by the operator's approval policy. Other intents that wait for their signature are covered at once:
 * an approval replaces the one before, so that several of one slot would take the allowance from each other.
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
    barred: () => barredNow(context, intent),
    ...payloadOf({ type: 'approve', token: token.address, spender: permit2, amount }),
  })
  // Less is asked for by now than was recorded, or its nonce was cleared: another approval is made.
  const isStale = outcome.tag === 'barred' && outcome.closing.reason === 'amount-above-limit'
  return isStale || outcome.tag === 'lost' ? { tag: 'changed' } : prepared(outcome)
}

function barredNow(context: OrderContext, { id }: SwapIntent): Closing | undefined {
  const open = context.ports.journal.state.intents.get(id)
  return open && mayNotStart(context, open)
}

/** An allowance that was not read is none to judge by: another approval would replace it. */
export function isAllowanceUnread(
  { mode }: Pick<OrderContext, 'mode'>,
  { sell }: SwapIntent,
  { allowances }: ChainView,
): boolean {
  return mode !== 'dry-run' && !allowances.has(sell.token.address)
}

/** Whether the allowance is enough for an intent beside the permits that are live already. */
export function isCovered(context: OrderContext, intent: SwapIntent, view: ChainView): boolean {
  if (context.mode === 'dry-run') return true
  const { token } = intent.sell
  const live = livePermits(context.ports.journal.state, token)
  const allowance = view.allowances.get(token.address)
  return allowance !== undefined && allowance >= live + intent.maxSell
}

/**
 * Turns WETH back into ETH where the strategy names ETH: what an order bought, or what was wrapped for an order and
 * not sold. A wrapping that is still under way is followed to its end first, for its nonce cannot be taken back. True
 * when the intent may be closed, which it is with the WETH left as it is after UNWRAP_TRIES_MAX answers that say no;
 * false when the daemon stops before.
 */
export async function leaveNoWeth(context: OrderContext, open: OpenSwap): Promise<boolean> {
  // What was bought before a reorganisation was unwrapped then: another time it would be other WETH.
  if (context.mode === 'dry-run' || open.reopened) return true
  const { clock, random } = context.ports
  for (let tries = 1; tries <= UNWRAP_TRIES_MAX; ) {
    const outcome = await unwrapRest(context, open)
    if (outcome === undefined || outcome.tag === 'stopped') return outcome === undefined
    if (outcome.tag !== 'unsent' && outcome.tag !== 'lost') return true
    await clock.sleep(backoffMs(context.policy, tries, random.jitter()), context.stop)
    // A silent node is no answer: nothing else can be traded meanwhile either.
    if (outcome.tag === 'lost' || outcome.why !== 'unavailable') tries += 1
  }
  return true
}

/** Undefined when nothing is left to unwrap. */
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
  // A permit that was used for something unknown may have taken what was wrapped; other WETH is not the intent's.
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

/** Whether what was wrapped for an intent is on its way back: it was given up, even if the process died over that. */
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
    case 'barred':
      return outcome.closing
    case 'unsent':
      return UNSENT[outcome.why](outcome.detail)
  }
}

/** Fees fall again, and nodes come back: these are waited for. */
const UNSENT = {
  unavailable: (detail: string) => trouble('chain-unavailable', detail),
  gasTooDear: (detail: string) => trouble('gas-too-dear', detail),
  insufficientFunds: (detail: string) => failure('insufficient-gas', detail),
  refused: (detail: string) => failure('transaction-reverted', detail),
}
