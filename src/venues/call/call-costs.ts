import { credibleFee } from '../../domain/money/gas.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import type { CallCosts } from '../../journal/records.ts'
import type { CallTrace } from '../../ports.ts'
import { soon } from '../chain-requests.ts'
import type { CallContext } from '../context.ts'
import { availableOf } from '../wallet/deposit.ts'

type Executed = {
  readonly call: CallRecord
  readonly trace: CallTrace
  readonly via: 'aggregated' | 'direct'
  readonly orderId: Hex | undefined
}

/**
 * The call's cost, and the cost of a direct call in the same block. A direct call's cost is in its receipt. A batched call's
 * cost is in the service's status, or else the fall of the available funds, because only one call per account is in flight.
 * The fall is undefined after a deposit, or if the service is slow: a proof does not wait for it.
 */
export async function costsOf(
  { ports, aggregator }: CallContext,
  { call, trace, via, orderId }: Executed,
): Promise<CallCosts> {
  const { service, settings, wallet } = aggregator
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
  const said = status?.ok === true ? status.value : {}
  const fields = settings.wire.status
  return {
    charged: costAt(said, fields.charged) ?? fall,
    direct,
    saved: weiAt(said, fields.saved),
    blob: costAt(said, fields.blob),
    fall,
  }
}

function fallOf({ availableWei }: CallRecord, available: bigint): bigint | undefined {
  const fall = availableWei === undefined ? 0n : availableWei - available
  return fall > 0n ? fall : undefined
}

/** A cost in wei at a field of the transaction's status; undefined until reported. */
export function costAt(status: Readonly<Record<string, unknown>>, path: string) {
  const wei = weiAt(status, path)
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
