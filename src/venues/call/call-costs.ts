import { credibleFee } from '../../domain/money/gas.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import type { StatusFields } from '../../domain/settings.ts'
import type { CallCosts } from '../../journal/records.ts'
import type { CallTrace } from '../../ports.ts'
import { soon } from '../chain-requests.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { availableOf } from '../wallet/deposit.ts'

type Executed = {
  readonly call: CallRecord
  readonly trace: CallTrace
  readonly via: 'aggregated' | 'direct'
  readonly orderId: Hex | undefined
}

/**
 * The call's cost, and what a direct call would have cost in the same block. For a direct call the receipt has it. For a
 * batched call the service's status has it, checked against the fall of the available funds, as only one call per account
 * is in flight. The fall is undefined after a deposit or if the service is slow, because a proof does not wait for it.
 */
export async function costsOf(
  { ports }: Pick<OrderContext, 'ports'>,
  { service, settings, wallet }: AggregatorContext,
  { call, trace, via, orderId }: Executed,
): Promise<CallCosts> {
  const { effectiveGasPrice, blobCost } = trace
  const direct = call.directGas * effectiveGasPrice
  if (via === 'direct') {
    const paid = trace.gasUsed * effectiveGasPrice + blobCost
    const charged = credibleFee(paid, call.envelope, wallet.gas)
    return { charged, direct, blob: blobCost }
  }
  const [after, status] = await Promise.all([
    soon(ports, service.accountInfo()),
    orderId === undefined ? undefined : soon(ports, service.transactionStatus(orderId)),
  ])
  const fall = after?.ok === true ? fallOf(call, availableOf(after.value)) : undefined
  const reported = (field: string): bigint | undefined =>
    status?.ok === true ? weiAt(status.value, field) : undefined
  const cost = (field: string): bigint | undefined => {
    const wei = reported(field)
    return wei === undefined || wei < 0n ? undefined : wei
  }
  const fields = settings.wire.status
  return {
    charged: (status?.ok === true ? reportedCharge(status.value, fields) : undefined) ?? fall,
    direct,
    saved: reported(fields.saved),
    blob: cost(fields.blob),
    fall,
  }
}

function fallOf({ availableWei }: CallRecord, available: bigint): bigint | undefined {
  const fall = availableWei === undefined ? 0n : availableWei - available
  return fall > 0n ? fall : undefined
}

/** Charge in wei by the transaction's status; undefined if not (yet) reported. */
export function reportedCharge(
  status: Readonly<Record<string, unknown>>,
  { charged }: StatusFields,
): bigint | undefined {
  const wei = weiAt(status, charged)
  return wei === undefined || wei < 0n ? undefined : wei
}

const WEI = /^-?(?:0|[1-9]\d{0,77})$/

/** Wei at a path of field names; undefined unless an exact integer. */
function weiAt(status: Readonly<Record<string, unknown>>, path: string): bigint | undefined {
  let found: unknown = status
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = Reflect.get(found, name)
  }
  const text = Number.isSafeInteger(found) ? `${found}` : found
  return typeof text === 'string' && WEI.test(text) ? BigInt(text) : undefined
}
