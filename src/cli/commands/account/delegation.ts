import type { HeldLock } from '../../../adapters/state/state-lock.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { openCalls } from '../../../domain/book/calls.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import { applyEvent } from '../../../domain/book/fold.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { delegateOf, resolveVerifyingContract } from '../../../domain/call.ts'
import { proposerOf } from '../../../domain/contract.ts'
import { hasLiveAuthorization } from '../../../domain/order.ts'
import { ETHER } from '../../../domain/token.ts'
import type { Address } from '../../../domain/units.ts'
import {
  changeDelegation,
  type DelegationChange,
  type DelegationOutcome,
} from '../../../execute/account/delegate.ts'
import { NO_DELEGATE, nameOfDelegate } from '../../../execute/authority/delegation.ts'
import type { AccountView, Clock, Guard, Journal } from '../../../ports.ts'
import { amountData } from '../../amount-data.ts'
import { type AggregatorTools, whileStopped, withAggregator } from '../../compose/aggregator.ts'
import { isAnchored, openAnchors } from '../../compose/anchors.ts'
import { haltOf, openState, readState } from '../../compose/state.ts'
import { readJournalKey, readKey } from '../../compose/wallets.ts'
import { EXIT, type ExitCode, type Io, printFailure, printOutcome, printReport } from '../../io.ts'
import type { DelegationChangeData, DelegationStatusData } from '../../json/account.ts'
import { type ConfigOptions, reportProblems } from '../../load.ts'

export type DelegationChangeOptions = ConfigOptions & {
  /** By an ordinary transaction of the account itself, instead of through the service. */
  readonly direct?: boolean
}

export type DelegationSetOptions = DelegationChangeOptions & {
  /** Says a second time what `proposer: trusted` in the config says. */
  readonly trusted?: boolean
}

/** `delegation status`: the code behind the account, whose it is, and what it answers. */
export function delegationStatus(options: ConfigOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const { aggregator, account } = tools
    const { gasTank } = aggregator.settings.contracts
    const view = await aggregator.chain.account({ account, gasTank })
    if (!view.ok) return printFailure(io, options, { message: view.fault.message })
    const data = reportOf(tools, view.value)
    printReport<DelegationStatusData>(io, options, { data, lines: linesOf(data) })
    return EXIT.done
  })
}

function reportOf(
  { aggregator, account }: AggregatorTools,
  view: AccountView,
): DelegationStatusData {
  const { settings, wallet } = aggregator
  const delegate = delegateOf(view.code)
  const { trustlessProposer } = settings.contracts
  const named = { answered: view.domain, chainId: wallet.chainId, proposer: trustlessProposer }
  const isTrustless = delegate === trustlessProposer
  const { domain } = view
  return {
    ok: true,
    account,
    chainId: wallet.chainId,
    code: view.code,
    delegate: delegate ?? null,
    proposer: (delegate && nameOfDelegate(delegate, settings)) ?? null,
    isAsConfigured: delegate === proposerOf(aggregator.settings),
    configured: settings.proposer,
    nestedNonce: view.nestedNonce?.toString() ?? null,
    domain: domain === undefined ? null : { ...domain, chainId: `${domain.chainId}` },
    verifyingContract: isTrustless
      ? (resolveVerifyingContract({ ...named, account }) ?? null)
      : null,
    problems: [],
  }
}

function linesOf(report: DelegationStatusData): readonly (readonly [string, string])[] {
  const { code, delegate, proposer, domain, verifyingContract } = report
  const owner = proposer ?? (code === '0x' ? 'none' : 'not one of this config')
  const asConfigured = report.isAsConfigured ? '' : `; the config says ${report.configured}`
  const answered =
    domain === null
      ? 'not answered'
      : `${domain.name} ${domain.version}, chain ${domain.chainId}, ${domain.verifyingContract}`
  return [
    ['account', `${report.account} on chain ${report.chainId}`],
    ['code', code === '0x' ? 'none' : code],
    ['delegate', delegate ?? 'none'],
    ['proposer', `${owner}${asConfigured}`],
    ['nestedNonce', report.nestedNonce ?? 'not answered'],
    ['domain', answered],
    ['signatures', verifyingContract === null ? 'none' : `name ${verifyingContract}`],
  ]
}

/** `delegation set`: the config's proposer becomes the code of the aggregator's account. */
export function delegationSet(options: DelegationSetOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const { proposer } = tools.aggregator.settings
    const asked = options.trusted === true ? 'trusted' : 'trustless'
    if (asked !== proposer) {
      const message = `the config says \`proposer: ${proposer}\`: ${asked === 'trusted' ? 'leave out --trusted, or change it there' : 'say --trusted to mean it, or change it there'}`
      return printFailure(io, options, { message, code: EXIT.usage })
    }
    const trading = await tradingWallet(tools, io)
    if (!trading.ok) return reportProblems([trading.problem], io, options)
    if (trading.address === tools.account)
      return printFailure(io, options, {
        message: `${tools.account} is also the wallet that trades through the gasless service: code delegated to it could empty it. Use a wallet of its own`,
      })
    return change(proposerOf(tools.aggregator.settings), tools, {
      options,
      io,
      command: 'delegation set',
    })
  })
}

/** `delegation clear`: the account is an ordinary one again. */
export function delegationClear(options: DelegationChangeOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, (tools) =>
    change(NO_DELEGATE, tools, { options, io, command: 'delegation clear' }),
  )
}

/** The kill switch lets nothing be signed but what takes the code, and with it what others could do, away. */
const HALTED = 'everything is halted: no code is set until `tranched resume` lifts that'

/** Under another name in the config it could still be the same key (rule A5). */
async function tradingWallet({ settings, scrubber }: AggregatorTools, io: Io) {
  const read = await readKey(settings, settings.gasless.wallet, { scrubber, io })
  return read.ok ? ({ ok: true, address: read.key.address } as const) : read
}

function barredBy(
  state: DaemonState | undefined,
  of: { readonly stateDir: string; readonly account: Address; readonly delegate: Address },
): string | undefined {
  const isHalted = (state?.halted ?? haltOf(of.stateDir)) !== undefined
  if (isHalted && of.delegate !== NO_DELEGATE) return HALTED
  return state && unfinished(state, of)
}

function change(
  delegate: Address,
  tools: AggregatorTools,
  { options, io, command }: { options: DelegationChangeOptions; io: Io; command: string },
): Promise<ExitCode> {
  return whileStopped({ tools, options, io, command }, async (lock) => {
    const { stateDir } = tools.settings
    const view = await readState(stateDir)
    const barred = barredBy(view?.state, { stateDir, account: tools.account, delegate })
    if (barred !== undefined) return printFailure(io, options, { message: barred })
    const record = await openRecord(tools, { lock, io, delegate, state: view?.state })
    if (!record.ok) return reportProblems([record.problem], io, options)
    tools.signBy(record.journal, () => lock.lost(), record.lost)
    const route = options.direct === true ? 'direct' : 'service'
    const outcome = await changed(tools, { ...record, delegate, route })
    const what = delegate === NO_DELEGATE ? 'not delegated' : `delegated to ${delegate}`
    const isDone = outcome.tag !== 'failed'
    const { charged } = outcome
    return printOutcome<DelegationChangeData>(io, options, {
      ok: isDone,
      message: isDone ? `${tools.account} is ${what}: ${outcome.message}` : outcome.message,
      account: tools.account,
      changed: outcome.tag === 'changed',
      charged: charged === undefined ? null : amountData(charged, ETHER),
      problems: [],
    })
  })
}

/** Makes the change, and puts what the service charged for it on record. */
async function changed(
  tools: AggregatorTools,
  { journal, close, delegate, route }: Recording & Pick<DelegationChange, 'delegate' | 'route'>,
): Promise<DelegationOutcome> {
  const { account, aggregator } = tools
  const { chainId } = aggregator.wallet
  try {
    const record: DelegationChange['record'] = (event) => journal.append(event)
    const outcome = await changeDelegation({ ...tools, delegate, route, record })
    const { charged } = outcome
    if (charged !== undefined)
      await journal.append({ type: 'delegation-charged', chainId, account, charged })
    return outcome
  } finally {
    await close()
  }
}

/** Taking code away does not depend on anything else. */
const UNRECORDED =
  "the journal's key cannot be read, so this is not recorded: the next start will see nonces that it does not know, and halt"

/** Where a change is recorded, and signed from. */
type Recording = {
  readonly journal: Pick<Journal, 'state' | 'isOnDisk' | 'append'>
  /** Why its anchor bars signatures; undefined while it does not. */
  readonly lost: Guard['barred']
  readonly close: () => Promise<void>
}

/**
 * Opens the journal for a change, and creates it where there is none: code is set by a record on disk alone. Taking code away
 * must not fail for a journal that is missing or whose key cannot be read: then its record is in memory.
 */
async function openRecord(
  { settings, clock, tell, account }: AggregatorTools,
  change: {
    readonly lock: HeldLock
    readonly io: Io
    readonly delegate: Address
    /** Undefined where there is no journal yet. */
    readonly state: DaemonState | undefined
  },
): Promise<
  ({ readonly ok: true } & Recording) | { readonly ok: false; readonly problem: Problem }
> {
  const { lock, io, delegate, state } = change
  const isSet = delegate !== NO_DELEGATE
  const inMemory = () => ({ ok: true, ...recordInMemory(state ?? emptyState(), clock) }) as const
  if (!isSet && state === undefined) return inMemory()
  const read = await readJournalKey(settings, io)
  if (!read.ok && isSet) return read
  if (!read.ok) {
    tell(UNRECORDED)
    return inMemory()
  }
  const signing = { trader: undefined, operator: account }
  const anchors = isSet ? await openAnchors(settings, signing, clock) : undefined
  const { journal, close, warnings } = await openState(settings.mode, {
    ...{ dir: settings.stateDir, lock, anchors, clock, key: read.key },
    mayUpgrade: !isAnchored(settings),
    // Appending rejects as well.
    onFatal: () => undefined,
  })
  for (const warning of warnings) tell(warning)
  try {
    await anchors?.keep(journal)
  } catch (error) {
    await close()
    throw error
  }
  return { ok: true, journal, lost: () => anchors?.lost(), close }
}

function recordInMemory(state: DaemonState, clock: Pick<Clock, 'now'>): Recording {
  return {
    journal: {
      state,
      isOnDisk: () => true,
      async append(...events) {
        for (const event of events) applyEvent(state, event, clock.now())
      },
    },
    lost: () => undefined,
    close: () => Promise.resolve(),
  }
}

/**
 * What would lose its nonce or its meaning if the account's code changed under it. A trusted call that never comes would never
 * be over: taking the code away is what ends it, and takes nothing from it that it could not lose anyway.
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
  return `the account has unfinished business (${names.join(', ')}): run the daemon until that is over; \`tranched settle\` shows what is known of a call, and ends it`
}
