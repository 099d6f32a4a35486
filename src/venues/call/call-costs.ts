import type { CallCosts } from '../../domain/book/journal.ts'
import type { CallRecord } from '../../domain/call.ts'
import { credibleFee } from '../../domain/gas.ts'
import type { StatusFields } from '../../domain/settings.ts'
import type { Hex } from '../../domain/units.ts'
import type { CallTrace } from '../../ports.ts'
import { availableOf } from '../account/deposit.ts'
import { soon } from '../ask.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'

/** A call that the chain shows, and the name that the service has for it. */
type Executed = {
  readonly call: CallRecord
  readonly trace: CallTrace
  readonly via: 'aggregated' | 'direct'
  readonly orderId: Hex | undefined
}

/**
 * What the call cost, and what it would have cost sent directly in the same block. Sent directly, the receipt says it. Of a
 * batch the service says it, in the status of the call; the fall of the available funds is the check, because only one
 * call of the account is under way at a time. A deposit in between leaves the fall undefined, and so does a service that
 * takes long: a proof does not wait for a figure.
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
  const told = (field: string): bigint | undefined =>
    status?.ok === true ? weiAt(status.value, field) : undefined
  const cost = (field: string): bigint | undefined => {
    const wei = told(field)
    return wei === undefined || wei < 0n ? undefined : wei
  }
  const fields = settings.wire.status
  return {
    charged: (status?.ok === true ? chargeTold(status.value, fields) : undefined) ?? fall,
    direct,
    saved: told(fields.saved),
    blob: cost(fields.blob),
    fall,
  }
}

function fallOf({ availableWei }: CallRecord, available: bigint): bigint | undefined {
  const fall = availableWei === undefined ? 0n : availableWei - available
  return fall > 0n ? fall : undefined
}

/** Wei that the status of a transaction says it was charged; undefined where it does not, or not yet. */
export function chargeTold(
  status: Readonly<Record<string, unknown>>,
  { charged }: StatusFields,
): bigint | undefined {
  const wei = weiAt(status, charged)
  return wei === undefined || wei < 0n ? undefined : wei
}

const WEI = /^-?(?:0|[1-9]\d{0,77})$/

/** The wei that stands at a path of field names; undefined for anything that is no exact integer. */
function weiAt(status: Readonly<Record<string, unknown>>, path: string): bigint | undefined {
  let found: unknown = status
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = Reflect.get(found, name)
  }
  const text = Number.isSafeInteger(found) ? `${found}` : found
  return typeof text === 'string' && WEI.test(text) ? BigInt(text) : undefined
}
