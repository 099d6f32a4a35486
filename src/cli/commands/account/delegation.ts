import { ETHER } from '../../../domain/money/token.ts'
import type { Address } from '../../../domain/money/units.ts'
import { delegateOf, resolveVerifyingContract } from '../../../domain/order/call.ts'
import { proposerOf } from '../../../domain/order/contract.ts'
import { hasLiveAuthorization } from '../../../domain/order/order.ts'
import { hasSwaps } from '../../../domain/settings.ts'
import { reduce } from '../../../journal/events/registry.ts'
import { delegationCharged } from '../../../journal/events/state/wallets.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import type { AccountView, Clock, Guard, Journal } from '../../../ports.ts'
import { NO_DELEGATE, nameOfDelegate } from '../../../signing/delegation-policy.ts'
import type { HeldLock } from '../../../store/lock/state-lock.ts'
import { openCalls } from '../../../venues/call/call-projection.ts'
import { changeDelegation, type DelegationChange } from '../../../venues/wallet/delegate.ts'
import { type AggregatorTools, whileStopped, withAggregator } from '../../compose/aggregator.ts'
import { haltOf } from '../../compose/daemons.ts'
import { readState, whileOpen } from '../../compose/state.ts'
import { openAnchors, readJournalKey, readKey } from '../../compose/wallets.ts'
import type { DelegationChangeData, DelegationStatusData } from '../../json/account-outputs.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { type ExitCode, type Given, type Io, print, printOutcome } from '../../process/io.ts'
import { misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { amountOrNull } from '../../text/amount-data.ts'
import { labelled } from '../../text/table.ts'

export type DelegationChangeOptions = ConfigOptions & { readonly direct?: boolean }

/** `delegation status`: the account's code, its proposer and its answers. */
export function delegationStatus(options: ConfigOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const { aggregator, account } = tools
    const { gasTank } = aggregator.settings.contracts
    const view = await aggregator.chain.account({ account, gasTank })
    if (!view.ok) throw new Refusal(view.fault.message)
    return print<DelegationStatusData>(io, options, reportOf(tools, view.value), linesOf)
  })
}

function reportOf(
  { aggregator, account }: AggregatorTools,
  view: AccountView,
): Given<DelegationStatusData> {
  const { settings, wallet } = aggregator
  const delegate = delegateOf(view.code)
  const { trustlessProposer } = settings.contracts
  const named = { answered: view.domain, chainId: wallet.chainId, proposer: trustlessProposer }
  const isTrustless = delegate === trustlessProposer
  const { domain } = view
  return {
    account,
    chainId: wallet.chainId,
    code: view.code,
    delegate: delegate ?? null,
    proposer: (delegate && nameOfDelegate(delegate, settings)) ?? null,
    isAsConfigured: delegate === proposerOf(aggregator.settings),
    configured: settings.proposer,
    nestedNonce: view.nestedNonce?.toString() ?? null,
    domain: domain === undefined ? null : { ...domain, chainId: `${domain.chainId}` },
    verifyingContract: (isTrustless && resolveVerifyingContract({ ...named, account })) || null,
  }
}

function linesOf(report: Given<DelegationStatusData>): readonly string[] {
  const { code, delegate, proposer, domain, verifyingContract } = report
  const owner = proposer ?? (code === '0x' ? 'none' : 'not in this config')
  const asConfigured = report.isAsConfigured ? '' : `; the config says ${report.configured}`
  const answered =
    domain === null
      ? 'not answered'
      : `${domain.name} ${domain.version}, chain ${domain.chainId}, ${domain.verifyingContract}`
  return labelled([
    ['account', `${report.account} on chain ${report.chainId}`],
    ['code', code === '0x' ? 'none' : code],
    ['delegate', delegate ?? 'none'],
    ['proposer', `${owner}${asConfigured}`],
    ['nestedNonce', report.nestedNonce ?? 'not answered'],
    ['domain', answered],
    ['signatures', verifyingContract === null ? 'none' : `name ${verifyingContract}`],
  ])
}

/** `delegation set`: makes the config's proposer the code of the aggregator's account. */
export function delegationSet(
  options: DelegationChangeOptions & { readonly trusted?: boolean },
  io: Io,
): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const { proposer } = tools.aggregator.settings
    const wanted = options.trusted === true ? 'trusted' : 'trustless'
    const remedy = wanted === 'trusted' ? 'drop --trusted' : 'add --trusted to confirm it'
    if (wanted !== proposer)
      throw misused(`the config says \`proposer: ${proposer}\`: ${remedy}, or change the config`)
    const { settings, scrubber } = tools
    if (hasSwaps(settings)) {
      // Another name in the config may stand for the same key (rule A5).
      const trading = await readKey(settings, settings.gasless.wallet, { scrubber, io })
      if (orRefuse(trading).key.address === tools.account)
        throw new Refusal(
          `${tools.account} is also the trading wallet of the gasless service: code delegated to it could empty it. Use a separate wallet`,
        )
    }
    const command = 'delegation set'
    return change(proposerOf(tools.aggregator.settings), tools, { options, io, command })
  })
}

/** `delegation clear`: removes the account's code. */
export function delegationClear(options: DelegationChangeOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, (tools) =>
    change(NO_DELEGATE, tools, { options, io, command: 'delegation clear' }),
  )
}

const HALTED = 'everything is halted: no code is set until `tranched resume`'

function change(
  delegate: Address,
  tools: AggregatorTools,
  { options, io, command }: { options: DelegationChangeOptions; io: Io; command: string },
): Promise<ExitCode> {
  return whileStopped(tools, { io, command }, async (lock) => {
    const { account, settings } = tools
    const state = (await readState(settings.stateDir))?.state
    const isHalted = (state?.halted ?? haltOf(settings.stateDir)) !== undefined
    // A halt allows only the removal of code, which takes rights away.
    const halted = isHalted && delegate !== NO_DELEGATE ? HALTED : undefined
    const blocked = halted ?? (state && unfinished(state, { account, delegate }))
    if (blocked !== undefined) throw new Refusal(blocked)
    const changing = { lock, io, delegate, state }
    const made = await whileRecording(tools, changing, async (journal, lost) => {
      tools.signBy(journal, () => lock.lost(), lost)
      const route = options.direct === true ? 'direct' : 'service'
      const record: DelegationChange['record'] = (event) => journal.append(event)
      const outcome = await changeDelegation({ ...tools, delegate, route, record })
      const { charged } = outcome
      const { chainId } = tools.aggregator.wallet
      if (charged !== undefined)
        await journal.append(delegationCharged({ chainId, account, charged }))
      return outcome
    })
    const { tag, message, charged } = made
    const what = delegate === NO_DELEGATE ? 'not delegated' : `delegated to ${delegate}`
    const isDone = tag !== 'failed'
    return printOutcome<DelegationChangeData>(io, options, {
      ok: isDone,
      message: isDone ? `${account} is ${what}: ${message}` : message,
      account,
      changed: tag === 'changed',
      charged: amountOrNull(charged, ETHER),
    })
  })
}

/** Removing code must not depend on the journal. */
const UNRECORDED =
  "the journal's key cannot be read, so this is not recorded: the next start will find unknown nonces and halt"

/** Records a change before it is signed. */
type Recording = Pick<Journal, 'state' | 'isOnDisk' | 'append'>

/**
 * Opens the journal for a change, and creates it if missing: code is set only with a record on disk. Removing code works
 * without a journal or its key; its record is then in memory. `lost` says why the anchor blocks signatures.
 */
async function whileRecording<Result>(
  { settings, clock, report, account }: AggregatorTools,
  change: {
    readonly lock: HeldLock
    readonly io: Io
    readonly delegate: Address
    readonly state: DaemonState | undefined
  },
  task: (journal: Recording, lost: Guard['blocked']) => Promise<Result>,
): Promise<Result> {
  const { lock, io, delegate, state } = change
  const isSet = delegate !== NO_DELEGATE
  const inMemory = () => task(recordInMemory(state ?? emptyState(), clock), () => undefined)
  if (!isSet && state === undefined) return inMemory()
  const read = await readJournalKey(settings, io)
  if (!read.ok && !isSet) {
    report(UNRECORDED)
    return inMemory()
  }
  const { key } = orRefuse(read)
  const signing = { trader: undefined, operator: account }
  const anchors = isSet ? await openAnchors(settings, signing, clock) : undefined
  const parts = { lock, anchors, clock, key, recorded: undefined, report }
  return whileOpen(settings, parts, async ({ journal }) => {
    await anchors?.keep(journal)
    return task(journal, () => anchors?.lost())
  })
}

function recordInMemory(state: DaemonState, clock: Pick<Clock, 'now'>): Recording {
  return {
    state,
    isOnDisk: () => true,
    async append(...events) {
      for (const event of events) reduce(state, event, clock.now())
    },
  }
}

/**
 * Orders and transactions that would lose their nonce or meaning if the code changed. A trusted call may never end. Removing
 * the code ends it, and harms it no more than it risked anyway.
 */
function unfinished(
  state: DaemonState,
  { account, delegate }: { readonly account: Address; readonly delegate: Address },
): string | undefined {
  const names: string[] = []
  for (const { record } of state.transactions.values())
    if (record.from === account) names.push(record.id)
  for (const { intent, call, state: step } of openCalls(state)) {
    const isEnded = delegate === NO_DELEGATE && call?.trust === 'trusted'
    if (intent.owner === account && hasLiveAuthorization(step) && !isEnded) names.push(intent.id)
  }
  if (names.length === 0) return undefined
  return `the account has calls or transactions in flight (${names.join(', ')}): run the daemon until they end; \`tranched settle\` shows what is known of a call, and can end it`
}
