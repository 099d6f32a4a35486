import type { OpenCall } from '../../domain/book/state.ts'
import type { Hex } from '../../domain/units.ts'
import { soon } from '../ask.ts'
import { tellUnknown } from '../authorization.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'

/** An order that is on its way has no need of words; one that takes long gets some each minute. */
const EXPLAIN_EVERY_MS = 60_000
const FIELDS_MAX = 12
const TEXT_LENGTH_MAX = 240

/**
 * Tells, now and then, why a call that the service took has not been proven: by what the service says of its status, or of
 * the batch that it names. These are words for the operator; nothing is decided by them.
 */
export function createExplainer(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
): (named: { readonly orderId: Hex; readonly batch: Hex | undefined }) => Promise<void> {
  const { clock } = context.ports
  let toldAtMs = clock.now()
  return async ({ orderId, batch }) => {
    // The distance: a clock that was set back must not silence it.
    if (Math.abs(clock.now() - toldAtMs) < EXPLAIN_EVERY_MS) return
    toldAtMs = clock.now()
    const asked =
      batch === undefined ? statusWords(aggregator, orderId) : batchWords(aggregator, batch)
    const words = await soon(context.ports, asked)
    if (words !== undefined) tellUnknown(context, open, words)
  }
}

async function statusWords({ service }: AggregatorContext, orderId: Hex): Promise<string> {
  const reply = await service.transactionStatus(orderId)
  if (!reply.ok) return `not executed yet, and the service gives no status: ${reply.fault.message}`
  return `not executed yet; the service says ${summaryOf(reply.value)}`
}

/** The chain shows nothing of the batch that the service named: it may be on its way, or not exist. */
async function batchWords({ service }: AggregatorContext, batch: Hex): Promise<string> {
  const reply = await service.batchedReceipt(batch)
  if (!reply.ok) return `transaction ${batch} does not show the call: ${reply.fault.message}`
  const shown = reply.value === undefined ? 'no receipt' : 'a receipt'
  return `transaction ${batch} does not show the call, and the service has ${shown} of it`
}

/** The single values of a status, in the service's own names: the interface gives none. */
function summaryOf(status: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(status)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, FIELDS_MAX)
    .map(([name, value]) => `${name} ${value}`)
  return fields.length === 0 ? 'nothing' : fields.join(', ').slice(0, TEXT_LENGTH_MAX)
}
