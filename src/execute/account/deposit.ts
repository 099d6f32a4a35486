import type { DaemonState } from '../../domain/book/state.ts'
import type { AggregatorReply, Clock, GasTankAccount } from '../../ports.ts'
import { encodeDeposit } from '../call/data.ts'
import type { AggregatorContext, SendingContext } from '../context.ts'
import { followRecorded, type TransactionOutcome, transactOnce } from '../transaction.ts'

/** The interface speaks of a couple of minutes. */
const INDEXING_MS_MAX = 10 * 60_000
const POLL_MS = 1_000
const TELL_EVERY_MS = 15_000

export type DepositResult = { readonly ok: true } | { readonly ok: false; readonly message: string }

/**
 * Whether a deposit is on chain that the service does not show yet. Charges do not blur this: they leave the
 * contract and the account together.
 */
export function isBeingIndexed(onChain: bigint, service: GasTankAccount | undefined): boolean {
  return onChain > (service?.balance ?? 0n)
}

/** Whether a deposit of an account is signed whose fate is unknown. */
export function isDepositing(state: DaemonState, { wallet }: AggregatorContext): boolean {
  return [...state.transactions.values()].some(
    ({ record }) =>
      record.purpose === 'deposit' &&
      record.from === wallet.signer.address &&
      record.chainId === wallet.chainId,
  )
}

/** Sends a deposit of that many wei for the wallet's own account, and follows it to its end. */
export function depositOnce(
  context: SendingContext,
  { wallet, settings }: AggregatorContext,
  wei: bigint,
): Promise<TransactionOutcome> {
  return transactOnce(context, wallet, {
    id: undefined,
    purpose: 'deposit',
    intentId: undefined,
    to: settings.contracts.gasTank,
    data: encodeDeposit(),
    value: wei,
  })
}

/**
 * Deposits for the wallet's own account and waits until that is mined. One at a time: whoever repeats a deposit that
 * only seems to be missing would have paid twice, and cannot take it out again.
 */
export async function makeDeposit(
  context: SendingContext,
  aggregator: AggregatorContext,
  wei: bigint,
): Promise<DepositResult> {
  const earlier = await finishEarlier(context, aggregator)
  if (earlier !== undefined) return refuse(earlier)
  const barred = await inFlight(aggregator)
  if (barred !== undefined) return refuse(barred)
  const outcome = await depositOnce(context, aggregator, wei)
  return outcome.tag === 'mined' ? { ok: true } : refuse(whyNot(outcome))
}

/** Follows a deposit that an earlier process recorded, and says so; undefined when there was none. */
async function finishEarlier(
  context: SendingContext,
  aggregator: AggregatorContext,
): Promise<string | undefined> {
  const isOpen = (): boolean => isDepositing(context.ports.journal.state, aggregator)
  if (!isOpen()) return undefined
  await followRecorded(context, aggregator.wallet)
  return isOpen()
    ? 'an earlier deposit is still under way: nothing was added'
    : 'an earlier deposit was still under way and has come to its end now: nothing was added. See `tranched gastank status`, and repeat this if you want another'
}

/** Why no deposit may be made now, as far as chain and service tell. */
async function inFlight({
  chain,
  service,
  settings,
  wallet,
}: AggregatorContext): Promise<string | undefined> {
  const account = wallet.signer.address
  const { gasTank } = settings.contracts
  // The chain first: a deposit that is indexed in between must not look missing.
  const view = await chain.account({ account, gasTank })
  if (!view.ok) return `nothing was sent: ${view.fault.message}`
  const onChain = view.value.gasTankBalance
  // Whatever has no code takes ether and keeps it.
  if (onChain === undefined)
    return `nothing was sent: no GasTank answers at ${gasTank}; check aggregator.contracts.gasTank`
  const shown = shownBy(await service.accountInfo(account))
  if (!shown.ok) return `nothing was sent: ${shown.message}`
  return isBeingIndexed(onChain, shown.account)
    ? 'the chain holds more than the service shows: an earlier deposit is still being indexed. Nothing was sent'
    : undefined
}

/** What the service shows; an account that it does not know has nothing. */
export function shownBy(
  reply: AggregatorReply<GasTankAccount>,
):
  | { readonly ok: true; readonly account: GasTankAccount | undefined }
  | { readonly ok: false; readonly message: string } {
  if (reply.ok) return { ok: true, account: reply.value }
  if (reply.fault.tag === 'accountNotFound') return { ok: true, account: undefined }
  return { ok: false, message: reply.fault.message }
}

function whyNot(outcome: Exclude<TransactionOutcome, { tag: 'mined' }>): string {
  switch (outcome.tag) {
    case 'reverted':
      return 'the GasTank refused the deposit: the transaction was reverted, the ether is still in the wallet'
    case 'lost':
      return 'another transaction of this wallet took its nonce: nothing was deposited'
    case 'stopped':
      return 'stopped before the deposit was mined. It is in the journal: the next deposit or daemon follows it'
    case 'unsent':
      return `nothing was sent: ${outcome.detail}`
  }
}

/** Waits, ten minutes at most, until the service shows all that the chain holds. */
export async function waitForIndexing(
  aggregator: AggregatorContext,
  waiting: {
    readonly clock: Pick<Clock, 'now' | 'sleep'>
    readonly stop: AbortSignal
    readonly tell: (progress: string) => void
  },
): Promise<{ readonly ok: boolean; readonly message: string }> {
  const { clock, stop, tell } = waiting
  const { gasTank } = aggregator.settings.contracts
  const { address: account } = aggregator.wallet.signer
  const startedMs = clock.now()
  let toldMs = startedMs
  for (;;) {
    const view = await aggregator.chain.account({ account, gasTank })
    const shown = shownBy(await aggregator.service.accountInfo(account))
    const onChain = view.ok ? view.value.gasTankBalance : undefined
    if (onChain !== undefined && shown.ok && !isBeingIndexed(onChain, shown.account))
      return { ok: true, message: 'the deposit is indexed: the service can use it' }
    const waitedMs = clock.now() - startedMs
    if (waitedMs >= INDEXING_MS_MAX || stop.aborted) return notYet(waitedMs)
    if (clock.now() - toldMs >= TELL_EVERY_MS) {
      tell(`not indexed after ${seconds(waitedMs)}${shown.ok ? '' : ` (${shown.message})`}`)
      toldMs = clock.now()
    }
    await clock.sleep(POLL_MS, stop)
  }
}

function notYet(waitedMs: number): { ok: false; message: string } {
  return {
    ok: false,
    message: `the deposit is on chain, and after ${seconds(waitedMs)} the service does not show it yet. Nothing is lost: look again with \`tranched gastank status\`, and do not deposit again before it shows`,
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

function refuse(message: string): DepositResult {
  return { ok: false, message }
}
