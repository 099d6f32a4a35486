import { basename } from 'node:path'
import { ETHER } from '../../../domain/money/token.ts'
import { parseAmount } from '../../../domain/money/units.ts'
import { estimateCharges, type GasRunway, gasRunway } from '../../../engine/accounts/gas-runway.ts'
import type { Recorded } from '../../../journal/events/registry.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import { etherText } from '../../../journal/wording/costs.ts'
import type { AccountView, AggregatorReply, ChainReply, GasTankAccount } from '../../../ports.ts'
import type { AggregatorContext } from '../../../venues/context.ts'
import {
  availableOf,
  gasTankOf,
  isDepositing,
  makeDeposit,
  shownBy,
  waitForIndexing,
} from '../../../venues/wallet/deposit.ts'
import { unseenDeposit } from '../../../venues/wallet/indexing.ts'
import {
  type AggregatorTools,
  reportStep,
  requireSigning,
  sendingContext,
  whileStopped,
  withAggregator,
} from '../../compose/aggregator.ts'
import { readState, recordsAtHand, whileOpen } from '../../compose/state.ts'
import { openAnchors, readJournalKey } from '../../compose/wallets.ts'
import type { GastankDepositData, GastankStatusData } from '../../json/account-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import { type ConfigOptions, loadForReading } from '../../load-files.ts'
import { type ExitCode, type Given, type Io, print, printOutcome } from '../../process/io.ts'
import { misused, orRefuse, Refusal, unwanted } from '../../process/refusal.ts'
import { amountData, amountOrNull, shortText } from '../../text/amount-data.ts'
import { labelled } from '../../text/table.ts'
import {
  type CallSavings,
  callSavings,
  checkText,
  lastsText,
  runwayData,
  savingsData,
  savingsText,
} from './gastank-text.ts'

export function gastankStatus(options: ConfigOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const { aggregator, account } = tools
    const { gasTank } = aggregator.settings.contracts
    const { state, savings } = await journalOf(tools)
    if (state !== undefined) tools.signBy({ state, isOnDisk: () => false })
    const [info, view] = await Promise.all([
      aggregator.service.accountInfo(),
      aggregator.chain.account({ account, gasTank }),
    ])
    const available = info.ok ? availableOf(info.value) : undefined
    const nowMs = tools.clock.now()
    const seen = { available, view, nowMs, state }
    const { runway, unread } = await lastsFor(tools, { options, io }, seen)
    const faults = faultsIn(info, view)
    const data: Given<GastankStatusData> = {
      ok: faults.faults.length === 0,
      account,
      gasTank,
      chain: aggregator.settings.chain,
      ...figuresOf(info, view, aggregator),
      // A deposit is in progress, or on chain but not yet in the service's balance.
      indexing:
        shownBy(info).ok &&
        state !== undefined &&
        (isDepositing(state, aggregator) || unseenDeposit(state, aggregator, seen) !== undefined),
      savings: savings === undefined ? null : savingsData(savings),
      ...runwayData(runway, unread),
      ...faults,
    }
    const lasts = unread ?? lastsText(runway)
    return print<GastankStatusData>(io, options, data, () => linesOf(data, lasts, savings))
  })
}

type Info = AggregatorReply<GasTankAccount>

function figuresOf(info: Info, view: ChainReply<AccountView>, aggregator: AggregatorContext) {
  const service = info.ok ? info.value : undefined
  const onChain = view.ok ? gasTankOf(aggregator, view.value) : undefined
  return {
    known: shownBy(info).ok ? info.ok : null,
    balance: amountOrNull(service?.balance, ETHER),
    outstandingCharge: amountOrNull(service?.outstandingCharge, ETHER),
    available: amountOrNull(service && availableOf(service), ETHER),
    onChain: amountOrNull(onChain?.balance, ETHER),
    methods: onChain?.methods ?? null,
  }
}

/** A dry-run cannot sign the request for its account's info: a note, not a fault. */
function faultsIn(info: Info, view: ChainReply<AccountView>) {
  const shown = shownBy(info)
  const silent = shown.ok ? null : shown.message
  const isUnsigned = !info.ok && info.fault.tag === 'unsigned'
  const unread = view.ok ? [] : [view.fault.message]
  return {
    note: isUnsigned ? silent : null,
    faults: silent === null || isUnsigned ? unread : [silent, ...unread],
  }
}

/** Broken strategy files hide only the runway. */
async function lastsFor(
  { aggregator }: AggregatorTools,
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
  seen: {
    readonly available: bigint | undefined
    readonly view: ChainReply<AccountView>
    readonly nowMs: number
    readonly state: DaemonState | undefined
  },
): Promise<{ readonly runway?: GasRunway; readonly unread?: string }> {
  const loaded = loadForReading(options, io)
  if (!loaded.ok) {
    const files = [...new Set(loaded.problems.map(({ file }) => basename(file)))].join(', ')
    return { unread: `not known: ${files} cannot be read; \`tranched validate\` says why` }
  }
  const { available, nowMs, state = emptyState() } = seen
  if (available === undefined) return {}
  const input = { state, strategies: loaded.strategies }
  const view = seen.view.ok ? seen.view.value : undefined
  const estimates = await estimateCharges(aggregator, { ...input, view, simulated: new Map() })
  const nowSeconds = Math.floor(nowMs / 1000)
  return { runway: gasRunway(available, { ...input, nowSeconds, estimates }) }
}

function linesOf(
  data: Given<GastankStatusData>,
  lasts: string,
  savings: CallSavings | undefined,
): readonly string[] {
  const { onChain, methods } = data
  const text = (amount: AmountData | null) => (amount === null ? 'unknown' : shortText(amount))
  const stranger =
    data.known === false ? ` (the service does not know it: ${whyStrange(onChain)})` : ''
  const awaited = data.indexing ? ', the last deposit is not indexed yet' : ''
  const lines: [string, string][] = [
    ['account', `${data.account}${stranger}`],
    ['GasTank', `${data.gasTank} on ${data.chain}`],
    ['balance', text(data.balance)],
    ['outstanding', text(data.outstandingCharge)],
    ['available', `${text(data.available)}${awaited}`],
    ['on chain', methods === null ? 'unknown' : `${text(onChain)} (${MEANINGS[methods]})`],
    ['lasts', lasts],
    ['so far', savings === undefined ? 'nothing yet' : savingsText(savings)],
  ]
  if (savings !== undefined && savings.calls > 0) lines.push(['check', checkText(savings)])
  if (savings !== undefined && savings.delegation !== 0n)
    lines.push(['delegation', `${etherText(savings.delegation)} so far, not included above`])
  if (data.note !== null) lines.push(['note', data.note])
  for (const fault of data.faults) lines.push(['failure', fault])
  return labelled(lines)
}

function whyStrange(onChain: AmountData | null): string {
  if (onChain === null) return 'its deposit on chain could not be read'
  return onChain.amount === '0' ? 'it has no deposit' : 'its deposit is not indexed yet'
}

const MEANINGS = {
  balances: 'all deposits ever made; charges stay in the contract',
  balanceOf: 'held by the contract for the account',
} as const

/** `gastank deposit AMOUNT`: sends ether into the GasTank once, and waits until the service indexes it. */
export async function gastankDeposit(
  amount: string,
  options: ConfigOptions & { readonly yes?: boolean },
  io: Io,
): Promise<ExitCode> {
  const command = 'gastank deposit'
  const wei = amount.length <= 80 ? parseAmount(amount, 18) : undefined
  if (wei === undefined || wei === 0n)
    throw misused('expected an amount of ether such as 0.05', command)
  return withAggregator(options, io, async (tools) => {
    requireSigning(tools.settings)
    if (options.yes !== true) {
      tools.report(
        `this would send ${etherText(wei)} from ${tools.account} to the GasTank, and deposits cannot be withdrawn: repeat it with --yes`,
      )
      throw unwanted()
    }
    return whileStopped(tools, { io, command }, async (lock) => {
      const { settings, aggregator, account, clock, observe, report } = tools
      const failing = new AbortController()
      const { key } = orRefuse(await readJournalKey(settings, io))
      const signing = { trader: undefined, operator: account }
      const anchors = await openAnchors(settings, signing, clock)
      const onFatal = (error: Error): void => failing.abort(error)
      const recorded = (entry: Recorded): void => reportStep(entry, report)
      const parts = { lock, anchors, clock, key, recorded, onFatal, report }
      return whileOpen(settings, parts, async ({ journal }) => {
        await anchors?.keep(journal)
        const lost = [() => lock.lostLately(), () => anchors?.lost()]
        const guard = tools.signBy(journal, ...lost)
        const stop = AbortSignal.any([tools.stop, failing.signal])
        const context = sendingContext({ clock, journal, guard, observe }, stop)
        const made = await makeDeposit(context, aggregator, wei)
        if (!made.ok) throw new Refusal(made.message)
        report(`${etherText(wei)} are in the GasTank; waiting for the service to index them`)
        const indexed = await waitForIndexing(aggregator, made.deposit, { ...tools, journal })
        const { ok, message } = indexed
        const deposited = amountData(wei, ETHER)
        return printOutcome<GastankDepositData>(io, options, { ok, message, deposited })
      })
    })
  })
}

async function journalOf(
  tools: AggregatorTools,
): Promise<{ readonly state?: DaemonState; readonly savings?: CallSavings }> {
  const view = await readState(tools.settings.stateDir)
  if (view === undefined) return {}
  const { stateDir, journal } = tools.settings
  const { archive } = journal
  const records = recordsAtHand(view, { stateDir, archive, report: tools.report })
  return { state: view.state, savings: await callSavings(records) }
}
