import { basename } from 'node:path'
import type { HeldLock } from '../../../adapters/state/state-lock.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { etherWords } from '../../../domain/book/costs.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import { ETHER } from '../../../domain/token.ts'
import { type Address, parseAmount } from '../../../domain/units.ts'
import { estimateCharges, type GasRunway, gasRunway } from '../../../engine/gas-runway.ts'
import {
  availableOf,
  type GasTank,
  gasTankOf,
  isDepositing,
  makeDeposit,
  shownBy,
  waitForIndexing,
} from '../../../execute/account/deposit.ts'
import { type Seen, unseenDeposit } from '../../../execute/account/indexing.ts'
import type { AggregatorContext } from '../../../execute/context.ts'
import type { AccountView, ChainReply, GasTankAccount } from '../../../ports.ts'
import { amountData } from '../../amount-data.ts'
import {
  type AggregatorTools,
  refuseDryRun,
  whileStopped,
  withAggregator,
} from '../../compose/aggregator.ts'
import { isAnchored, openAnchors } from '../../compose/anchors.ts'
import { composeGuard } from '../../compose/guard.ts'
import { openHalt, openState, readState, recordsAtHand } from '../../compose/state.ts'
import { readJournalKey } from '../../compose/wallets.ts'
import {
  EXIT,
  type ExitCode,
  type Io,
  printFailure,
  printOutcome,
  printReport,
  printUnwanted,
} from '../../io.ts'
import type { GastankDepositData, GastankStatusData } from '../../json/account.ts'
import type { AmountData } from '../../json/shapes.ts'
import { type ConfigOptions, loadForReading, reportProblems } from '../../load.ts'
import {
  type CallSavings,
  callSavings,
  checkText,
  savingsData,
  savingsText,
} from './call-savings.ts'
import { lastsText, runwayData } from './lasts-text.ts'

export type GastankDepositOptions = ConfigOptions & { readonly yes?: boolean }

/** `gastank status`: what the service and the chain hold for the account, and how long it lasts. */
export function gastankStatus(options: ConfigOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const sight = await look(tools, { options, io })
    printReport<GastankStatusData>(io, options, { data: dataOf(sight), lines: linesOf(sight) })
    return sight.faults.length === 0 ? EXIT.done : EXIT.failed
  })
}

type Sight = {
  readonly account: Address
  readonly gasTank: Address
  readonly chain: string
  /** Undefined where it did not say, or does not know the account. */
  readonly service: GasTankAccount | undefined
  readonly isKnown: boolean | undefined
  readonly onChain: GasTank | undefined
  /** Whether the last deposit is not in the service's figure yet. */
  readonly isIndexing: boolean
  /** Undefined where what is left, or what will be called, is not known. */
  readonly runway: GasRunway | undefined
  /** Why what will be called is not known. */
  readonly unread: string | undefined
  /** Undefined before there is a journal. */
  readonly savings: CallSavings | undefined
  /** Why the service says nothing, where that is as it has to be. */
  readonly note: string | undefined
  readonly faults: readonly string[]
}

async function look(
  tools: AggregatorTools,
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
): Promise<Sight> {
  const { aggregator, account } = tools
  const { gasTank } = aggregator.settings.contracts
  const books = await booksOf(tools)
  if (books.state !== undefined) tools.signBy({ state: books.state, isOnDisk: () => false })
  const [info, view] = await Promise.all([
    aggregator.service.accountInfo(),
    aggregator.chain.account({ account, gasTank }),
  ])
  const shown = shownBy(info)
  const isUnsigned = !info.ok && info.fault.tag === 'unsigned'
  const faults = shown.ok || isUnsigned ? [] : [shown.message]
  if (!view.ok) faults.push(view.fault.message)
  const available = info.ok ? availableOf(info.value) : undefined
  const nowMs = tools.clock.now()
  const seen = { available, nowMs }
  const isIndexing =
    shown.ok && books.state !== undefined && isAwaited(books.state, aggregator, seen)
  return {
    account,
    gasTank,
    chain: aggregator.settings.chain,
    service: info.ok ? info.value : undefined,
    isKnown: shown.ok ? info.ok : undefined,
    onChain: view.ok ? gasTankOf(aggregator, view.value) : undefined,
    isIndexing,
    ...(await lastsFor(tools, { options, io }, { available, view, nowMs, state: books.state })),
    savings: books.savings,
    note: isUnsigned && !shown.ok ? shown.message : undefined,
    faults,
  }
}

/** How long what is left lasts by the strategy files, which may be broken: everything else is told all the same. */
async function lastsFor(
  { aggregator }: AggregatorTools,
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
  seen: {
    readonly available: bigint | undefined
    readonly view: ChainReply<AccountView>
    readonly nowMs: number
    readonly state: DaemonState | undefined
  },
): Promise<Pick<Sight, 'runway' | 'unread'>> {
  const loaded = loadForReading(options, io)
  if (!loaded.ok) return { runway: undefined, unread: unreadText(loaded.problems) }
  const { available, nowMs, state = emptyState() } = seen
  if (available === undefined) return { runway: undefined, unread: undefined }
  const asking = { state, strategies: loaded.strategies }
  const view = seen.view.ok ? seen.view.value : undefined
  const estimates = await estimateCharges(aggregator, { ...asking, view, simulated: new Map() })
  const nowSeconds = Math.floor(nowMs / 1000)
  return { runway: gasRunway(available, { ...asking, nowSeconds, estimates }), unread: undefined }
}

function unreadText(problems: readonly Problem[]): string {
  const files = [...new Set(problems.map(({ file }) => basename(file)))]
  return `not known: ${files.join(', ')} cannot be read; \`tranched validate\` says why`
}

/** A deposit that is on its way, or on chain without ever having been seen in the service's figure. */
function isAwaited(state: DaemonState, aggregator: AggregatorContext, seen: Seen): boolean {
  return isDepositing(state, aggregator) || unseenDeposit(state, aggregator, seen) !== undefined
}

function leftOf({ service }: Sight): bigint | undefined {
  return service && availableOf(service)
}

function dataOf(sight: Sight): GastankStatusData {
  const { service, onChain, isKnown, savings, faults } = sight
  return {
    ok: faults.length === 0,
    account: sight.account,
    gasTank: sight.gasTank,
    chain: sight.chain,
    known: isKnown ?? null,
    balance: etherData(service?.balance),
    outstandingCharge: etherData(service?.outstandingCharge),
    available: etherData(leftOf(sight)),
    onChain: etherData(onChain?.balance),
    methods: onChain?.methods ?? null,
    indexing: sight.isIndexing,
    savings: savings === undefined ? null : savingsData(savings),
    ...runwayData(sight),
    note: sight.note ?? null,
    faults,
    problems: [],
  }
}

function etherData(wei: bigint | undefined): AmountData | null {
  return wei === undefined ? null : amountData(wei, ETHER)
}

function linesOf(sight: Sight): readonly (readonly [string, string])[] {
  const { service, onChain, isKnown, savings } = sight
  const stranger =
    isKnown === false ? ` (the service does not know it: ${whyStrange(onChain?.balance)})` : ''
  return [
    ['account', `${sight.account}${stranger}`],
    ['GasTank', `${sight.gasTank} on ${sight.chain}`],
    ['balance', etherText(service?.balance)],
    ['outstanding', etherText(service?.outstandingCharge)],
    [
      'available',
      `${etherText(leftOf(sight))}${sight.isIndexing ? ', the last deposit is not in it yet' : ''}`,
    ],
    [
      'on chain',
      onChain === undefined
        ? 'unknown'
        : `${etherText(onChain.balance)} (${MEANINGS[onChain.methods]})`,
    ],
    ['lasts', sight.unread ?? lastsText(sight.runway)],
    ['so far', savings === undefined ? 'nothing yet' : savingsText(savings)],
    ...(savings === undefined || savings.calls === 0
      ? []
      : [['check', checkText(savings)] as const]),
    ...(savings === undefined || savings.delegation === 0n
      ? []
      : [
          [
            'delegation',
            `${etherWords(savings.delegation)} so far, in none of these sums`,
          ] as const,
        ]),
    ...(sight.note === undefined ? [] : [['note', sight.note] as const]),
    ...sight.faults.map((fault) => ['trouble', fault] as const),
  ]
}

/** Why the service may not know an account, by the wei that the contract has for it; undefined where that was not read. */
function whyStrange(onChain: bigint | undefined): string {
  if (onChain === undefined) return 'what is on chain could not be read'
  return onChain > 0n ? 'what is on chain is not indexed' : 'nothing is deposited'
}

/** What the contract's own figure stands for, by its generation. */
const MEANINGS = {
  balances: 'all that was ever deposited, where charges stay in the contract',
  balanceOf: 'what the contract holds for the account',
} as const

/** `gastank deposit AMOUNT`: ether of the wallet into the GasTank, once, and then its indexing. */
export async function gastankDeposit(
  amount: string,
  options: GastankDepositOptions,
  io: Io,
): Promise<ExitCode> {
  const wei = amount.length <= 80 ? parseAmount(amount, 18) : undefined
  if (wei === undefined || wei === 0n) {
    const message = 'expected an amount of ether such as 0.05'
    return printFailure(io, options, { by: 'gastank deposit', message, code: EXIT.usage })
  }
  return withAggregator(options, io, async (tools) => {
    if (tools.settings.mode === 'dry-run') return refuseDryRun(options, io)
    if (options.yes !== true) {
      tools.tell(
        `this would send ${etherText(wei)} from ${tools.account} to the GasTank, and a deposit cannot be taken out again: repeat it with --yes`,
      )
      return printUnwanted(io, options)
    }
    return whileStopped({ tools, options, io, command: 'gastank deposit' }, (lock) =>
      deposit(wei, { ...tools, lock }, { options, io }),
    )
  })
}

async function deposit(
  wei: bigint,
  tools: AggregatorTools & { readonly lock: HeldLock },
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
): Promise<ExitCode> {
  const { settings, aggregator, lock, clock, observe, tell } = tools
  const failing = new AbortController()
  const read = await readJournalKey(settings, io)
  if (!read.ok) return reportProblems([read.problem], io, options)
  const signing = { trader: undefined, operator: tools.account }
  const anchors = await openAnchors(settings, signing, clock)
  const opened = await openState(settings.mode, {
    dir: settings.stateDir,
    lock,
    anchors,
    clock,
    key: read.key,
    mayUpgrade: !isAnchored(settings),
    observe,
    onFatal: (error) => failing.abort(error),
  })
  try {
    for (const warning of opened.warnings) tell(warning)
    await anchors?.keep(opened.journal)
    const lost = [() => lock.lostLately(), () => anchors?.lost()]
    tools.signBy(opened.journal, ...lost)
    const stop = AbortSignal.any([tools.stop, failing.signal])
    const context = {
      ports: {
        clock,
        random: { jitter: Math.random },
        journal: opened.journal,
        guard: composeGuard(openHalt(settings.stateDir).barred, ...lost),
        observe,
      },
      policy: DEFAULT_POLICY,
      closing: stop,
      stop,
    }
    const made = await makeDeposit(context, aggregator, wei)
    if (!made.ok) return printFailure(io, options, { message: made.message })
    tell(`${etherText(wei)} are in the GasTank; waiting until the service has indexed them`)
    const indexed = await waitForIndexing(aggregator, made.deposit, {
      ...tools,
      journal: opened.journal,
    })
    const { ok, message } = indexed
    const deposited = amountData(wei, ETHER)
    return printOutcome<GastankDepositData>(io, options, { ok, message, deposited, problems: [] })
  } finally {
    await opened.close()
  }
}

/** What the journal knows of deposits and charges; nothing before there is one. */
async function booksOf(
  tools: AggregatorTools,
): Promise<Partial<Pick<Sight, 'savings'> & { readonly state: DaemonState }>> {
  const view = await readState(tools.settings.stateDir)
  if (view === undefined) return {}
  const { stateDir, journal } = tools.settings
  const { archive } = journal
  const records = recordsAtHand(view, { stateDir, archive, tell: tools.tell })
  return { state: view.state, savings: await callSavings(records) }
}

function etherText(wei: bigint | undefined): string {
  return wei === undefined ? 'unknown' : etherWords(wei)
}
