import { InvariantError } from '../../domain/errors.ts'
import { baseUnits, formatAmount } from '../../domain/money/units.ts'
import { GAS_TANK_METHODS, type GasTankMethods } from '../../domain/settings.ts'
import { depositIndexed } from '../../journal/events/state/transactions.ts'
import { latestDeposit, type MinedDeposit } from '../../journal/projections/deposits.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type {
  AccountView,
  AggregatorFault,
  AggregatorReply,
  Clock,
  GasTankAccount,
  Journal,
} from '../../ports.ts'
import { payloadOf } from '../../signing/wallet-transactions.ts'
import { trustedNow } from '../chain-requests.ts'
import { haltedNow } from '../close.ts'
import type { AggregatorContext, SendingContext } from '../context.ts'
import { awaitedDeposit, depositorOf, INDEXING_MS_MAX, isIndexed } from './indexing.ts'
import { followRecorded, type TransactionOutcome, transactOnce } from './transaction.ts'

/** Interval between reads of the service's figure; short at first. */
const POLL_MS = { min: 100, max: 1_000 } as const
const REPORT_EVERY_MS = 15_000

const HALTED =
  'everything is halted, and nothing is signed until that is lifted: `tranched resume` does'

type DepositResult = { readonly ok: true; readonly deposit: MinedDeposit } | Fault

/** The GasTank's interface generation, and the account's balance in wei. */
export type GasTank = { readonly methods: GasTankMethods; readonly balance: bigint }

/** Undefined unless the contract answers as a GasTank: an address without code would keep the ether. */
export function gasTankOf({ settings }: AggregatorContext, view: AccountView): GasTank | undefined {
  const { methods: given } = settings.gasTank
  for (const methods of given === 'auto' ? GAS_TANK_METHODS : [given]) {
    const balance = view.gasTank[methods]
    if (balance !== undefined) return { methods, balance }
  }
  return undefined
}

export function noGasTank({ settings }: AggregatorContext): string {
  return `no GasTank answers at ${settings.contracts.gasTank}; check aggregator.contracts.gasTank and aggregator.gasTank.methods`
}

export function availableOf({ balance, outstandingCharge }: GasTankAccount): bigint {
  return balance - outstandingCharge
}

export function isDepositing(state: DaemonState, { wallet }: AggregatorContext): boolean {
  return [...state.transactions.values()].some(
    ({ record }) =>
      record.purpose === 'deposit' &&
      record.from === wallet.signer.address &&
      record.chainId === wallet.chainId,
  )
}

/** Deposits for the wallet's own account, and follows the transaction to its end. */
export function depositOnce(
  context: SendingContext,
  { wallet, settings }: AggregatorContext,
  deposit: {
    readonly wei: bigint
    readonly methods: GasTankMethods
    readonly availableBefore: bigint
    /** Manual deposit, to which top-up limits do not apply. */
    readonly isAsked: boolean
  },
): Promise<TransactionOutcome> {
  const { wei, methods, availableBefore, isAsked } = deposit
  const { address: account } = wallet.signer
  const { gasTank } = settings.contracts
  const amount = baseUnits(wei)
  return transactOnce(context, wallet, {
    id: undefined,
    purpose: 'deposit',
    intentId: undefined,
    ...payloadOf({ type: 'deposit', gasTank, methods, account, amount }),
    availableBefore,
    isAsked,
  })
}

/** Deposits and waits until mined. One at a time: a repeated deposit would pay twice, and deposits cannot be withdrawn. */
export async function makeDeposit(
  context: SendingContext,
  aggregator: AggregatorContext,
  wei: bigint,
): Promise<DepositResult> {
  if (haltedNow(context) !== undefined) return refuse(HALTED)
  const earlier = await finishEarlier(context, aggregator)
  if (earlier !== undefined) return refuse(earlier)
  const ready = await readyFor(context, aggregator)
  if (!ready.ok) return refuse(`nothing was sent: ${ready.message}`)
  const { methods, availableBefore } = ready
  const request = { wei, methods, availableBefore, isAsked: true }
  const outcome = await depositOnce(context, aggregator, request)
  const { state } = context.ports.journal
  if (outcome.tag !== 'mined')
    return refuse(whyNot(outcome, { methods, isOpen: isDepositing(state, aggregator) }))
  const deposit = latestDeposit(state, depositorOf(aggregator))
  if (deposit === undefined) throw new InvariantError('a mined deposit is not in the books')
  return { ok: true, deposit }
}

/** Follows an earlier process's deposit and reports it; undefined if there was none. */
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

type Fault = { readonly ok: false; readonly message: string }

type Ready =
  | { readonly ok: true; readonly methods: GasTankMethods; readonly availableBefore: bigint }
  | Fault

async function readyFor(context: SendingContext, aggregator: AggregatorContext): Promise<Ready> {
  const { chain, service, settings, wallet } = aggregator
  const { address: account } = wallet.signer
  const { gasTank } = settings.contracts
  const view = await chain.account({ account, gasTank })
  if (!view.ok) return refuse(view.fault.message)
  const tank = gasTankOf(aggregator, view.value)
  if (tank === undefined) return refuse(noGasTank(aggregator))
  // The daily cap counts deposits by this machine's clock.
  const time = trustedNow(context, view.value)
  if (!time.ok) return refuse(time.detail)
  const shown = shownBy(await service.accountInfo())
  if (!shown.ok) return shown
  const available = shown.account && availableOf(shown.account)
  const { state } = context.ports.journal
  if (awaitedDeposit(state, aggregator, { available, nowMs: time.nowMs }) !== undefined)
    return refuse(`the service does not show an earlier deposit yet; ${LOOK}`)
  if (available === undefined && tank.balance > 0n) return refuse(`${heldUnknown(tank)}; ${LOOK}`)
  return { ok: true, methods: tank.methods, availableBefore: available ?? 0n }
}

const LOOK = 'check with `tranched gastank status`'

/** Message for an account that the service does not know although the contract holds ether for it. */
export function heldUnknown({ balance }: GasTank): string {
  return `the GasTank holds ${formatAmount(balance, 18)} ETH for the account already, and the service does not know the account yet`
}

/** The account as the service reports it; `account` is undefined if the service does not know it. */
export function shownBy(
  reply: AggregatorReply<GasTankAccount>,
): { readonly ok: true; readonly account: GasTankAccount | undefined } | Fault {
  if (reply.ok) return { ok: true, account: reply.value }
  if (reply.fault.tag === 'accountNotFound') return { ok: true, account: undefined }
  return refuse(remedyOf(reply.fault))
}

function remedyOf({ tag, message }: AggregatorFault): string {
  return tag === 'unauthenticated'
    ? `the service does not accept the wallet's login (${message}); check aggregator.wallet and aggregator.wire.signatureHeader`
    : message
}

function whyNot(
  outcome: Exclude<TransactionOutcome, { tag: 'mined' }>,
  { methods, isOpen }: { readonly methods: GasTankMethods; readonly isOpen: boolean },
): string {
  switch (outcome.tag) {
    case 'reverted':
      return 'the GasTank refused the deposit: the transaction was reverted, the ether is still in the wallet'
    case 'lost':
      return 'another transaction of this wallet took its nonce: nothing was deposited'
    case 'stopped':
      return isOpen
        ? 'stopped before the deposit was mined. It is in the journal: the next deposit or daemon follows it'
        : 'stopped before anything was signed: nothing was deposited'
    case 'blocked':
      return `nothing was signed: ${outcome.closing.detail}`
    case 'unsent':
      return outcome.why === 'refused'
        ? `nothing was sent: ${outcome.detail}. The GasTank was taken for one of \`methods: ${methods}\`; aggregator.gasTank.methods can say otherwise`
        : `nothing was sent: ${outcome.detail}`
  }
}

/** Waits at most ten minutes until the service shows a mined deposit, then journals it. */
export async function waitForIndexing(
  aggregator: AggregatorContext,
  deposit: Pick<MinedDeposit, 'id' | 'amount' | 'availableBefore'>,
  waiting: {
    readonly journal: Pick<Journal, 'append'>
    readonly clock: Pick<Clock, 'now' | 'sleep'>
    readonly stop: AbortSignal
    readonly report: (progress: string) => void
  },
): Promise<{ readonly ok: boolean; readonly message: string }> {
  const { journal, clock, stop, report } = waiting
  const startedMs = clock.now()
  let reportedMs = startedMs
  for (;;) {
    const shown = shownBy(await aggregator.service.accountInfo())
    if (shown.ok && shown.account !== undefined && isIndexed(deposit, availableOf(shown.account))) {
      await journal.append(depositIndexed({ id: deposit.id }))
      return { ok: true, message: 'the deposit is indexed: the service can use it' }
    }
    const waitedMs = clock.now() - startedMs
    if (waitedMs >= INDEXING_MS_MAX || stop.aborted)
      return refuse(
        `the deposit is on chain, and after ${seconds(waitedMs)} the service does not show it yet. Nothing is lost: look again with \`tranched gastank status\`, and do not deposit again before it shows`,
      )
    if (clock.now() - reportedMs >= REPORT_EVERY_MS) {
      report(`not indexed after ${seconds(waitedMs)}${shown.ok ? '' : ` (${shown.message})`}`)
      reportedMs = clock.now()
    }
    await clock.sleep(Math.min(POLL_MS.max, POLL_MS.min + waitedMs), stop)
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

function refuse(message: string): Fault {
  return { ok: false, message }
}
