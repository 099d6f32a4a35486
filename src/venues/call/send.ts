import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord } from '../../domain/call.ts'
import { InvariantError } from '../../domain/errors.ts'
import { backoffMs } from '../../domain/policy.ts'
import type { Hex } from '../../domain/units.ts'
import { LATE, within } from '../ask.ts'
import { recordReply, type SubmitReply, withdraw } from '../authorization.ts'
import { mayNotStart } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { type Step, unsigned } from '../patience.ts'
import { submitCall } from './submit.ts'

/** Has signed what is on record, when nothing has come to bar it meanwhile, and gives it to the service. */
export async function sendCall(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  call: CallRecord,
): Promise<Step> {
  const { attempt } = call
  const barredSince = mayNotStart(context, open)
  if (barredSince !== undefined) {
    await withdraw(context, open, { attempt, reason: barredSince.reason })
    return barredSince
  }
  const signed = aggregator.wallet.signer.onCall(open.intent.id, 'service')
  if (!signed.ok) {
    await withdraw(context, open, { attempt, reason: signed.reason })
    return unsigned(signed)
  }
  const reply =
    (await rehearse(context, aggregator, { call, data: signed.value })) ??
    (await submitFirst(context, open))
  await recordReply(context, open, { attempt, reply })
  return { tag: 'sent' }
}

/**
 * The account's own `onCall`, run as it was signed on a node of ours: what would revert is not given to the service, which
 * would hold others up with it. Its signature exists all the same, so that it ends with its deadline. A node that is a block
 * behind says no as well: it is asked again for some seconds.
 */
async function rehearse(
  context: OrderContext,
  aggregator: AggregatorContext,
  { call, data }: { readonly call: CallRecord; readonly data: Hex },
): Promise<SubmitReply | undefined> {
  if (call.trust === 'trusted') return undefined
  const { policy, ports, closing } = context
  const { account } = call
  for (let tries = 1; ; tries += 1) {
    const run = await aggregator.chain.simulate({ from: account, to: account, data, value: 0n })
    if (run.ok || run.fault.tag !== 'refused') return undefined
    const message = `not submitted: the account's own code says ${run.fault.message}`
    if (tries >= policy.requestTriesMax) return { tag: 'unfit', message }
    await ports.clock.sleep(backoffMs(policy, tries, ports.random.jitter()), closing)
    if (closing.aborted) return { tag: 'unknown', message }
    const cause = run.fault.tag
    ports.observe({ type: 'retry', service: 'rpc', route: 'simulate', cause })
  }
}

/**
 * The signer is asked at the submission too: what is signed and was sent to nobody ends with its deadline. A queue that is
 * held by a limit keeps it no longer than a moment: from then on the chain and the direct route are looked at between tries.
 */
async function submitFirst(context: OrderContext, open: OpenCall): Promise<SubmitReply> {
  const { ports, policy } = context
  const { call } = open
  if (call === undefined) throw new InvariantError('a call that was just recorded is not open')
  const leave = new AbortController()
  let why = "the service's limits hold it back"
  const sent = submitCall(context, open, {
    end: leave.signal,
    mayBegin: () => open.call === call,
    onBarred: ({ detail }) => {
      why = detail
    },
    isNew: true,
  })
  if ((await within(ports, policy.silenceMs, sent)) === LATE) leave.abort()
  return (await sent) ?? { tag: 'unknown', message: `not submitted: ${why}` }
}
