import { ETHER } from '../../domain/money/token.ts'
import { formatAmount } from '../../domain/money/units.ts'
import { agoMs } from '../../domain/policy.ts'
import { depositedInDay, minedAtMs } from '../../journal/projections/deposits.ts'
import type { AccountView, AggregatorFault } from '../../ports.ts'
import { codeBar } from '../../signing/contract-code-policy.ts'
import { makesCalls } from '../../strategies/registry.ts'
import { rememberingAhead } from '../../strategies/spending/slots-ahead.ts'
import { trustedNow } from '../../venues/chain-requests.ts'
import { delegationRefusal, haltedNow } from '../../venues/close.ts'
import type { AggregatorContext, OrderContext } from '../../venues/context.ts'
import {
  depositOnce,
  type GasTank,
  gasTankOf,
  heldUnknown,
  isDepositing,
  noGasTank,
} from '../../venues/wallet/deposit.ts'
import { INDEXING_MS_MAX, noteIndexed, unseenDeposit } from '../../venues/wallet/indexing.ts'
import { estimateCharges, gasRunway, type SimulatedGas } from './gas-runway.ts'

const READ_EVERY_MS = 15_000
/** Failed reads in a row before the last known deposit is no longer shown. */
const SILENT_READS = 4

/**
 * The deposit in wei as the service reports it, and the account on chain; `view` is undefined if the chain is unavailable.
 */
type Funds = {
  readonly balance: bigint
  readonly outstanding: bigint
  readonly unknownSinceMs: number | undefined
  readonly view: AccountView | undefined
  /** Undefined if no call is due, all calls are covered, or the cost is unknown. */
  readonly runwaySeconds: number | undefined
}

/** Outcome of a top-up; `waiting` is not reported. */
type TopUpOutcome = 'not-due' | 'tried' | 'waiting' | 'capped' | { readonly blocked: string }

type FundsReading =
  | { readonly ok: true; readonly funds: Funds }
  | { readonly ok: false; readonly fault: AggregatorFault }

/** Monitors the deposit: warns below the threshold, and tops it up within the daily cap, one deposit at a time. */
export async function keepGasTank(
  context: OrderContext,
  aggregator: AggregatorContext,
): Promise<void> {
  const { clock, journal, observe } = context.ports
  const { service, chain, settings, wallet } = aggregator
  const reporter = createFundsReporter(context, aggregator)
  const simulated: SimulatedGas = new Map()
  const readAhead = rememberingAhead()
  let unknownSinceMs: number | undefined

  async function inspect(): Promise<FundsReading> {
    const { address: account } = wallet.signer
    const { gasTank } = settings.contracts
    const [info, seen] = await Promise.all([
      service.accountInfo(),
      chain.account({ account, gasTank }),
    ])
    const view = seen.ok ? seen.value : undefined
    if (view !== undefined) reportAccount(view)
    reportDelegation(view)
    if (info.ok) {
      const { balance, outstandingCharge: outstanding } = info.value
      const runwaySeconds = await lastsFor(balance - outstanding, view)
      const known = { balance, outstanding, runwaySeconds, view }
      return { ok: true, funds: { ...known, unknownSinceMs: undefined } }
    }
    if (info.fault.tag !== 'accountNotFound') return { ok: false, fault: info.fault }
    const nothing = { balance: 0n, outstanding: 0n, runwaySeconds: undefined, view }
    return { ok: true, funds: { ...nothing, unknownSinceMs: unknownSinceMs ?? clock.now() } }
  }

  function reportAccount({ balance: amount, blockTimeSeconds }: AccountView): void {
    const { symbol: token, decimals } = ETHER
    observe({ type: 'wallet-balance', wallet: settings.wallet, token, amount, decimals })
    const offsetMs = blockTimeSeconds * 1_000 - clock.now()
    observe({ type: 'clock-offset', source: settings.chain, offsetMs })
  }

  function reportDelegation(view: AccountView | undefined): void {
    const refused = view && delegationRefusal(aggregator, view)
    const refusal = refused && `${refused.reason}: ${refused.detail}`
    const isNeeded = [...context.strategies.values()].some(makesCalls)
    const status = { refusal, isUnread: view === undefined, isNeeded }
    observe({ type: 'account-delegation', account: settings.wallet, ...status })
  }

  /** Runway in seconds; undefined if no call is due, all are covered, or the cost is unknown. */
  async function lastsFor(available: bigint, view: AccountView | undefined) {
    const callers = { state: journal.state, strategies: [...context.strategies.values()] }
    const estimates = await estimateCharges(aggregator, { ...callers, view, simulated })
    const nowSeconds = Math.floor(clock.now() / 1000)
    const runway = gasRunway(available, { ...callers, nowSeconds, estimates, readAhead })
    return runway.tag === 'known' ? runway.seconds : undefined
  }

  while (!context.closing.aborted) {
    const reading = await inspect()
    reporter.report(reading)
    if (reading.ok) {
      const { funds } = reading
      unknownSinceMs = funds.unknownSinceMs
      if (unknownSinceMs === undefined)
        await noteIndexed(journal, aggregator, funds.balance - funds.outstanding)
      reporter.toppedUp(await topUpIfDue(context, aggregator, funds))
    }
    await clock.sleep(READ_EVERY_MS, context.closing)
  }
}

function createFundsReporter(context: OrderContext, { settings }: AggregatorContext) {
  const { observe } = context.ports
  const { wallet: account, gasTank } = settings
  let silent = 0
  let isLow = false
  let isCapped = false
  let blockedBy: string | undefined

  function reportFault({ tag, message }: AggregatorFault): void {
    silent += 1
    const isLogin = tag === 'unauthenticated'
    if (isLogin || silent >= SILENT_READS)
      observe({ type: 'gas-tank-unknown', account, isLogin, message })
  }

  function reportFunds({ balance, outstanding, runwaySeconds }: Funds): void {
    silent = 0
    const available = balance - outstanding
    const wasLow = isLow
    const { alertBelowWei: alertBelow } = gasTank
    isLow = alertBelow !== undefined && available < alertBelow
    const funds = { balance, outstanding, runwaySeconds, alertBelow, isLow }
    observe({ type: 'gas-tank', account, ...funds })
    if (isLow && !wasLow) observe({ type: 'gas-tank-low', account, available })
  }

  return {
    report: (reading: FundsReading) =>
      reading.ok ? reportFunds(reading.funds) : reportFault(reading.fault),
    toppedUp(outcome: TopUpOutcome): void {
      if (outcome === 'waiting') return
      const message = typeof outcome === 'object' ? outcome.blocked : undefined
      const wasCapped = isCapped
      isCapped = outcome === 'capped'
      if (isCapped && !wasCapped) observe({ type: 'top-up-capped', account })
      if (message !== undefined && message !== blockedBy)
        observe({ type: 'top-up-barred', account, message })
      blockedBy = message
    },
  }
}

/** Deposits once if due, unless a deposit is pending, was never indexed, or would exceed the daily cap. */
async function topUpIfDue(
  context: OrderContext,
  aggregator: AggregatorContext,
  { balance, outstanding, unknownSinceMs, view }: Funds,
): Promise<TopUpOutcome> {
  const { topUp } = aggregator.settings.gasTank
  const available = balance - outstanding
  const maySend = context.mode !== 'dry-run' && haltedNow(context) === undefined
  if (!maySend || topUp === undefined || available >= topUp.belowWei) return 'not-due'
  if (view === undefined) return 'waiting'
  const tank = gasTankOf(aggregator, view)
  if (tank === undefined) return { blocked: noGasTank(aggregator) }
  // A clock that was set a day ahead must not release another day's cap.
  const time = trustedNow(context, view)
  if (!time.ok) return 'waiting'
  const { nowMs } = time
  const { settings, wallet } = aggregator
  const { journal, observe } = context.ports
  const contracts = { chainId: wallet.chainId, addresses: [settings.contracts.gasTank] }
  const bar = codeBar(journal.state, context.trusted, contracts)
  if (bar !== undefined) return bar.reason === 'code-changed' ? { blocked: bar.detail } : 'waiting'
  if (isDepositing(journal.state, aggregator)) return 'waiting'
  const unseen = whyUnseen(context, aggregator, { tank, available, unknownSinceMs, nowMs })
  if (unseen !== undefined) return unseen
  if (depositedInDay(journal.state, nowMs) + topUp.amountWei > topUp.maxPerDayWei) return 'capped'
  const outcome = await depositOnce(context, aggregator, {
    wei: topUp.amountWei,
    methods: tank.methods,
    availableBefore: available,
    isAsked: false,
  })
  if (outcome.tag === 'unsent')
    observe({ type: 'chain-trouble', doing: 'topping up the GasTank', message: outcome.detail })
  return 'tried'
}

/** Blocks top-ups until the service shows the last deposit. Reported after ten minutes, the usual maximum. */
function whyUnseen(
  context: OrderContext,
  aggregator: AggregatorContext,
  seen: Pick<Funds, 'unknownSinceMs'> & {
    readonly tank: GasTank
    readonly available: bigint
    readonly nowMs: number
  },
): TopUpOutcome | undefined {
  const { tank, unknownSinceMs, nowMs } = seen
  const isUnknown = unknownSinceMs !== undefined
  const available = isUnknown ? undefined : seen.available
  const unseen = unseenDeposit(context.ports.journal.state, aggregator, { available, nowMs })
  const isHeld = isUnknown && tank.balance > 0n
  if (unseen === undefined && !isHeld) return undefined
  const sinceMs = unseen === undefined ? (unknownSinceMs ?? nowMs) : minedAtMs(unseen)
  if (agoMs(nowMs, sinceMs) < INDEXING_MS_MAX) return 'waiting'
  if (isHeld || unseen === undefined)
    return { blocked: `${heldUnknown(tank)}. Nothing is added until it does` }
  const amount = formatAmount(unseen.amount, ETHER.decimals)
  return {
    blocked: `its last deposit, of ${amount} ETH, is on chain, and the service does not show it. Nothing is added until it does; \`tranched gastank deposit\` still adds one`,
  }
}
