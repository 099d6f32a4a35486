import { ZERO_ADDRESS } from '../domain/money/units.ts'
import type { TrustedCall } from '../domain/order/call.ts'
import { clientOrderId } from '../domain/order/intent.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import type { OpenCall, OpenSwap } from '../journal/state/daemon-state.ts'
import type { ModelQuote } from './model.ts'

/** Records that a daemon would have signed. Nothing is signed: digests and nonces are empty. */

export function permitOf(
  { intent, attempt }: OpenSwap,
  quote: ModelQuote,
  { deadlineSeconds, feed }: Pick<PermitRecord, 'deadlineSeconds' | 'feed'>,
): PermitRecord {
  return {
    chainId: 0,
    permit2: ZERO_ADDRESS,
    owner: intent.owner,
    token: intent.sell.token.address,
    amount: quote.sellAmount,
    spender: ZERO_ADDRESS,
    nonce: 0n,
    deadlineSeconds,
    recipient: intent.recipient,
    tokenOut: intent.buy.token.address,
    minAmountOut: quote.minBuyAmount,
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    quoteId: '',
    digest: '0x',
    fromBlock: 0n,
    feed,
    fee: undefined,
  }
}

export function callRecordOf({ intent, attempt }: OpenCall): TrustedCall {
  return {
    trust: 'trusted',
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    chainId: 0,
    account: intent.owner,
    target: intent.target,
    value: intent.value,
    calldata: intent.calldata,
    gasLimit: intent.gasLimit,
    fromBlock: 0n,
    directGas: 0n,
    availableWei: undefined,
    envelope: {
      to: intent.target,
      nonce: 0,
      gas: intent.gasLimit,
      value: intent.value,
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: 0n,
    },
  }
}
