import type { Hex } from '../../domain/money/units.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { Aggregator } from '../../ports.ts'
import { reportUnknown } from '../authorization.ts'
import { soon } from '../chain-requests.ts'
import type { CallContext } from '../context.ts'

const EXPLAIN_EVERY_MS = 60_000
const FIELDS_MAX = 12
const TEXT_LENGTH_MAX = 240

/** Periodically logs why an accepted call is not proven yet, from the service's status. It changes no decision. */
export function createExplainer(
  context: CallContext,
  open: OpenCall,
): (named: { readonly orderId: Hex; readonly batch: Hex | undefined }) => Promise<void> {
  const { clock } = context.ports
  const { service } = context.aggregator
  let loggedAtMs = clock.now()
  return async ({ orderId, batch }) => {
    // Absolute distance: a clock that was set back must not suppress the report.
    if (Math.abs(clock.now() - loggedAtMs) < EXPLAIN_EVERY_MS) return
    loggedAtMs = clock.now()
    const answer = batch === undefined ? statusText(service, orderId) : batchText(service, batch)
    const message = await soon(context.ports, answer)
    if (message !== undefined) reportUnknown(context, open, message)
  }
}

async function statusText(service: Aggregator, orderId: Hex): Promise<string> {
  const reply = await service.transactionStatus(orderId)
  if (!reply.ok) return `not executed yet, and the service gives no status: ${reply.fault.message}`
  return `not executed yet; the service says ${summaryOf(reply.value)}`
}

/** The chain does not show the call in the service's batch: the batch may be pending or may not exist. */
async function batchText(service: Aggregator, batch: Hex): Promise<string> {
  const reply = await service.batchedReceipt(batch)
  if (!reply.ok) return `transaction ${batch} does not show the call: ${reply.fault.message}`
  const shown = reply.value === undefined ? 'no receipt' : 'a receipt'
  return `transaction ${batch} does not show the call, and the service has ${shown} of it`
}

/** Scalar fields of a status, under the service's names. */
function summaryOf(status: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(status)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, FIELDS_MAX)
    .map(([name, value]) => `${name} ${value}`)
  return fields.length === 0 ? 'nothing' : fields.join(', ').slice(0, TEXT_LENGTH_MAX)
}
