import { proposerOf } from '../../domain/contract.ts'
import { changeDelegation } from '../../execute/account/delegate.ts'
import { makeDeposit, waitForIndexing } from '../../execute/account/deposit.ts'
import type { AggregatorContext, SendingContext } from '../../execute/context.ts'

/** Ether that the rehearsal puts into its GasTank: enough for a day of calls, and little enough to be topped up. */
const DEPOSIT_WEI = 5n * 10n ** 16n

/** A daemon's own parts, before it trades. */
export type Readying = {
  readonly context: SendingContext
  readonly aggregator: AggregatorContext | undefined
  /** One line for the log. */
  readonly tell: (line: string) => void
}

/**
 * Sets up the account that calls go through on a sandbox, by the very steps that an operator takes once: a deposit that
 * the service indexes, and the proposer's code. What does not work is told; calls are refused then, and swaps go on.
 */
export async function readySandboxAccount(readying: Readying): Promise<void> {
  const { context, aggregator, tell } = readying
  if (aggregator === undefined) return
  const { clock, journal } = context.ports
  const progress = { clock, journal, stop: context.stop, tell }
  const made = await makeDeposit(context, aggregator, DEPOSIT_WEI)
  const indexed = made.ok ? await waitForIndexing(aggregator, made.deposit, progress) : made
  tell(`the sandbox's call account: ${indexed.ok ? 'its deposit is indexed' : indexed.message}`)
  if (!indexed.ok) return
  const delegate = proposerOf(aggregator.settings)
  const { chainId, signer } = aggregator.wallet
  const { tag, message, charged } = await changeDelegation({
    ...progress,
    ...{ aggregator, delegate, route: 'service' },
    record: (event) => journal.append(event),
  })
  if (charged !== undefined)
    await journal.append({
      ...{ type: 'delegation-charged', chainId, account: signer.address },
      charged,
    })
  tell(`the sandbox's call account: ${tag === 'failed' ? message : `delegated to ${delegate}`}`)
}
