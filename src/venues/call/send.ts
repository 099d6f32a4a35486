import { InvariantError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import { backoffMs } from '../../domain/policy.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import { recordReply, type SubmitReply, withdraw } from '../authorization.ts'
import { LATE, within } from '../chain-requests.ts'
import { mayNotStart } from '../close.ts'
import type { CallContext } from '../context.ts'
import { type Step, unsigned } from '../retry.ts'
import { withLimitAdvice } from './call-gas.ts'
import { submitCall } from './submit.ts'

/** Signs the recorded call, unless it is blocked by now, and submits it. */
export async function sendCall(
  context: CallContext,
  open: OpenCall,
  call: CallRecord,
): Promise<Step> {
  const { attempt } = call
  const blockedSince = mayNotStart(context, open)
  if (blockedSince !== undefined) {
    await withdraw(context, open, { attempt, reason: blockedSince.reason })
    return blockedSince
  }
  const signed = context.aggregator.wallet.signer.onCall(open.intent.id, 'service')
  if (!signed.ok) {
    await withdraw(context, open, { attempt, reason: signed.reason })
    return unsigned(signed)
  }
  const reply = (await rehearse(context, call, signed.value)) ?? (await submitFirst(context, open))
  await recordReply(context, open, { attempt, reply })
  return { tag: 'sent' }
}

/**
 * Simulates the account's own signed `onCall` on our node. A call that would revert is not submitted, because it would delay
 * others at the service; its signature ends with its deadline. A node one block behind also fails, so this is retried for
 * some seconds.
 */
async function rehearse(
  context: CallContext,
  call: CallRecord,
  data: Hex,
): Promise<SubmitReply | undefined> {
  if (call.trust === 'trusted') return undefined
  const { aggregator, policy, ports, closing } = context
  const { account } = call
  for (let tries = 1; ; tries += 1) {
    const run = await aggregator.chain.simulate({ from: account, to: account, data, value: 0n })
    if (run.ok || run.fault.tag !== 'refused') return undefined
    const says = withLimitAdvice(run.fault.message, call)
    const message = `not submitted: the account's own code says ${says}`
    if (tries >= policy.requestTriesMax) return { tag: 'unfit', message }
    await ports.clock.sleep(backoffMs(policy, tries, ports.random.jitter()), closing)
    if (closing.aborted) return { tag: 'unknown', message }
    const cause = run.fault.tag
    ports.observe({ type: 'retry', service: 'rpc', route: 'simulate', cause })
  }
}

/**
 * Signs at submission time, because a signed but unsent call ends only with its deadline. A rate-limited queue delays it
 * briefly; after that, the follower checks the chain and the direct route between tries.
 */
async function submitFirst(context: CallContext, open: OpenCall): Promise<SubmitReply> {
  const { ports, policy } = context
  const { call } = open
  if (call === undefined) throw new InvariantError('a call that was just recorded is not open')
  const leave = new AbortController()
  let why = "the service's limits hold it back"
  const sent = submitCall(context, open, {
    end: leave.signal,
    mayBegin: () => open.call === call,
    onRefused: ({ detail }) => {
      why = detail
    },
    isNew: true,
  })
  if ((await within(ports, policy.silenceMs, sent)) === LATE) leave.abort()
  return (await sent) ?? { tag: 'unknown', message: `not submitted: ${why}` }
}
