import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { Intent } from '../domain/intent.ts'
import { dayAllowance, livePermits } from '../domain/limits.ts'
import type { FailureReason } from '../domain/reason.ts'
import type { OpenIntent } from '../domain/state.ts'
import { maxOf } from '../domain/units.ts'
import type { ChainView } from '../ports.ts'
import type { OrderContext } from './context.ts'
import { type CallOutcome, callOnce } from './transaction.ts'

const ABI = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function deposit()',
  'function withdraw(uint256 amount)',
])

/** `ready`: nothing was to do. `changed`: the chain moved, so what was read before is old. */
export type Prepared =
  | { readonly tag: 'ready' | 'changed' }
  | { readonly tag: 'stopped' }
  | { readonly tag: 'failed'; readonly reason: FailureReason; readonly detail: string }

/** A strategy that sells ETH gets the intent's whole amount wrapped, once per intent. */
export async function wrapIfNative(context: OrderContext, intent: Intent): Promise<Prepared> {
  if (!intent.sell.native) return { tag: 'ready' }
  const id = wrapId(intent)
  if (context.ports.journal.state.endedTransactions.get(id) === 'mined') return { tag: 'ready' }
  const outcome = await callOnce(context, {
    id,
    purpose: 'wrap',
    intentId: intent.id,
    strategy: intent.strategy,
    to: intent.sell.token.address,
    data: encodeFunctionData({ abi: ABI, functionName: 'deposit' }),
    value: intent.maxSell,
  })
  return prepared(outcome)
}

/**
 * Raises the Permit2 allowance of the sell token when it does not cover this intent beside the permits that are
 * live already, by the operator's approval policy.
 */
export async function ensureAllowance(
  context: OrderContext,
  intent: Intent,
  view: ChainView,
): Promise<Prepared> {
  const { token } = intent.sell
  const required = livePermits(context.ports.journal.state, token) + intent.maxSell
  const allowance = view.allowances.get(token.address) ?? 0n
  if (allowance >= required) return { tag: 'ready' }
  const outcome = await callOnce(context, {
    id: undefined,
    purpose: 'approve',
    intentId: intent.id,
    strategy: intent.strategy,
    to: token.address,
    data: encodeFunctionData({
      abi: ABI,
      functionName: 'approve',
      args: [context.gasless.permit2, approvalAmount(context, intent, required)],
    }),
    value: 0n,
  })
  return prepared(outcome)
}

function approvalAmount(context: OrderContext, intent: Intent, required: bigint): bigint {
  switch (context.gasless.approval) {
    case 'exact':
      return required
    case 'unlimited':
      return 2n ** 256n - 1n
    case 'budget':
      return maxOf(required, dayBudget(context, intent))
  }
}

/** What today's caps still allow of the token: the account's, or else the strategy's own. */
function dayBudget(context: OrderContext, intent: Intent): bigint {
  const { state } = context.ports.journal
  const { token } = intent.sell
  const nowMs = context.ports.clock.now()
  const account = dayAllowance(state, { token, nowMs, account: context.account })
  const own = context.strategies.get(intent.strategy)?.limits.perDay ?? 0n
  return livePermits(state, token) + (account ?? own)
}

/**
 * Turns WETH back into ETH where the strategy names ETH: what an order bought, or what was wrapped for an order and
 * not sold. True when nothing is left to do.
 */
export async function unwrapRest(context: OrderContext, open: OpenIntent): Promise<boolean> {
  const { intent } = open
  const amount = restToUnwrap(context, open)
  if (amount === 0n) return true
  const outcome = await callOnce(context, {
    id: `${intent.id}:unwrap`,
    purpose: 'unwrap',
    intentId: intent.id,
    strategy: intent.strategy,
    to: (intent.buy.native ? intent.buy : intent.sell).token.address,
    data: encodeFunctionData({ abi: ABI, functionName: 'withdraw', args: [amount] }),
    value: 0n,
  })
  return outcome.tag !== 'stopped' && outcome.tag !== 'unsent'
}

function restToUnwrap(context: OrderContext, open: OpenIntent): bigint {
  const { intent, fill } = open
  if (intent.buy.native) return fill?.received ?? 0n
  const wrapped = context.ports.journal.state.endedTransactions.get(wrapId(intent)) === 'mined'
  return wrapped ? intent.maxSell - (fill?.paid ?? 0n) : 0n
}

function wrapId(intent: Intent): string {
  return `${intent.id}:wrap`
}

function prepared(outcome: CallOutcome): Prepared {
  switch (outcome.tag) {
    case 'mined':
      return { tag: 'changed' }
    case 'stopped':
      return { tag: 'stopped' }
    case 'reverted':
      return { tag: 'failed', reason: 'transaction-reverted', detail: 'the transaction reverted' }
    case 'lost':
      return {
        tag: 'failed',
        reason: 'transaction-lost',
        detail: 'its nonce was used by a transaction that is not ours',
      }
    case 'unsent':
      return { tag: 'failed', reason: UNSENT[outcome.why], detail: outcome.detail }
  }
}

const UNSENT = {
  insufficientFunds: 'insufficient-gas',
  refused: 'transaction-reverted',
  unavailable: 'chain-unavailable',
} as const
