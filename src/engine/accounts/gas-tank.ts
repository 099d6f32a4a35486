import { depositedInDay, minedAtMs } from '../domain/book/deposits.ts'
import { agoMs } from '../domain/policy.ts'
import type { TopUp } from '../domain/settings.ts'
import { ETHER } from '../domain/token.ts'
import { formatAmount } from '../domain/units.ts'
import {
  depositOnce,
  type GasTank,
  gasTankOf,
  heldUnknown,
  isDepositing,
  noGasTank,
} from '../execute/account/deposit.ts'
import { INDEXING_MS_MAX, noteIndexed, unseenDeposit } from '../execute/account/indexing.ts'
import { trustedNow } from '../execute/ask.ts'
import { codeBar } from '../execute/authority/code.ts'
import { haltedNow } from '../execute/close.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import type { AccountView, AggregatorFault } from '../ports.ts'
import { estimateCharges, gasRunway, type SimulatedGas } from './gas-runway.ts'
import { type ReadAhead, rememberingAhead } from './slots-ahead.ts'

const LOOK_EVERY_MS = 15_000
/** Looks in a row that the service did not answer before what it said last is no longer shown. */
const SILENT_LOOKS = 4

/** What the service says of the account's deposit, in wei, and what the chain shows; undefined while it is silent. */
type Funds = {
  readonly balance: bigint
  readonly outstanding: bigint
  /** Since when the service says that it does not know the account; undefined where it does. */
  readonly unknownSinceMs: number | undefined
  readonly view: AccountView | undefined
  /** How long it lasts by the schedules; undefined where nothing is due, or nobody can tell. */
  readonly runwaySeconds: number | undefined
}

/** What came of a top-up; `waiting` says that there is nothing to tell. */
type TopUpOutcome = 'not-due' | 'tried' | 'waiting' | 'capped' | { readonly barred: string }

/** What one look leaves to the next, so that neither the chain nor a calendar is asked the same again. */
type Memory = { readonly simulated: SimulatedGas; readonly readAhead: ReadAhead }

/** One look: the funds, or why the service tells none. */
type Look =
  | { readonly ok: true; readonly funds: Funds }
  | { readonly ok: false; readonly fault: AggregatorFault }

/**
 * Watches the account's deposit until the daemon closes: tells it, warns when it falls below the operator's threshold,
 * and tops it up within the daily cap, one deposit at a time.
 */
export async function keepGasTank(
  context: OrderContext,
  aggregator: AggregatorContext,
): Promise<void> {
  const { clock } = context.ports
  const teller = createFundsTeller(context, aggregator)
  const memory: Memory = { simulated: new Map(), readAhead: rememberingAhead() }
  let unknownSinceMs: number | undefined
  while (!context.closing.aborted) {
    const look = await lookAt(context, aggregator, { unknownBeforeMs: unknownSinceMs, memory })
    teller.tell(look)
    if (look.ok) {
      unknownSinceMs = look.funds.unknownSinceMs
      teller.toppedUp(await tend(context, aggregator, look.funds))
    }
    await clock.sleep(LOOK_EVERY_MS, context.closing)
  }
}

/** Notes that a deposit has arrived, and makes another where that is due. */
async function tend(
  context: OrderContext,
  aggregator: AggregatorContext,
  funds: Funds,
): Promise<TopUpOutcome> {
  if (funds.unknownSinceMs === undefined)
    await noteIndexed(context.ports.journal, aggregator, funds.balance - funds.outstanding)
  return topUpIfDue(context, aggregator, funds)
}

async function lookAt(
  context: OrderContext,
  aggregator: AggregatorContext,
  {
    unknownBeforeMs,
    memory,
  }: { readonly unknownBeforeMs: number | undefined; readonly memory: Memory },
): Promise<Look> {
  const { service, chain, settings, wallet } = aggregator
  const { address: account } = wallet.signer
  const { gasTank } = settings.contracts
  const [info, seen] = await Promise.all([
    service.accountInfo(),
    chain.account({ account, gasTank }),
  ])
  const view = seen.ok ? seen.value : undefined
  if (view !== undefined) reportAccount(context, aggregator, view)
  if (info.ok) {
    const { balance, outstandingCharge: outstanding } = info.value
    const available = balance - outstanding
    const runwaySeconds = await lastsFor(context, aggregator, { available, view, ...memory })
    const known = { balance, outstanding, runwaySeconds, view }
    return { ok: true, funds: { ...known, unknownSinceMs: undefined } }
  }
  const unknownSinceMs = unknownBeforeMs ?? context.ports.clock.now()
  if (info.fault.tag !== 'accountNotFound') return { ok: false, fault: info.fault }
  const nothing = { balance: 0n, outstanding: 0n, runwaySeconds: undefined }
  return { ok: true, funds: { ...nothing, unknownSinceMs, view } }
}

/** Seconds; undefined where no call is due, all are covered for good, or nobody can tell what one costs. */
async function lastsFor(
  { strategies, ports: { clock, journal } }: OrderContext,
  aggregator: AggregatorContext,
  seen: Memory & { readonly available: bigint; readonly view: AccountView | undefined },
): Promise<number | undefined> {
  const asking = { state: journal.state, strategies: [...strategies.values()] }
  const estimates = await estimateCharges(aggregator, { ...asking, ...seen })
  const nowSeconds = Math.floor(clock.now() / 1000)
  const runway = gasRunway(seen.available, {
    ...{ ...asking, nowSeconds, estimates },
    readAhead: seen.readAhead,
  })
  return runway.tag === 'known' ? runway.seconds : undefined
}

function reportAccount(
  { ports: { clock, observe } }: OrderContext,
  { settings: { wallet, chain: source } }: AggregatorContext,
  { balance: amount, blockTimeSeconds }: AccountView,
): void {
  const { symbol: token, decimals } = ETHER
  observe({ type: 'wallet-balance', wallet, token, amount, decimals })
  observe({ type: 'clock-offset', source, offsetMs: blockTimeSeconds * 1_000 - clock.now() })
}

/** Tells each look, and what is news of it. */
function createFundsTeller(context: OrderContext, { settings }: AggregatorContext) {
  const { observe } = context.ports
  const { wallet: account, gasTank } = settings
  let silent = 0
  let isLow = false
  let isCapped = false
  let barredBy: string | undefined

  function tellFault({ tag, message }: AggregatorFault): void {
    silent += 1
    const isLogin = tag === 'unauthenticated'
    if (isLogin || silent >= SILENT_LOOKS)
      observe({ type: 'gas-tank-unknown', account, isLogin, message })
  }

  function tellFunds({ balance, outstanding, runwaySeconds }: Funds): void {
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
    tell(look: Look): void {
      if (look.ok) tellFunds(look.funds)
      else tellFault(look.fault)
    },
    toppedUp(outcome: TopUpOutcome): void {
      if (outcome === 'waiting') return
      const message = typeof outcome === 'object' ? outcome.barred : undefined
      const wasCapped = isCapped
      isCapped = outcome === 'capped'
      if (isCapped && !wasCapped) observe({ type: 'top-up-capped', account })
      if (message !== undefined && message !== barredBy)
        observe({ type: 'top-up-barred', account, message })
      barredBy = message
    },
  }
}

/** Deposits once where that is due, unless a deposit is under way, was never seen indexed, or would pass the daily cap. */
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
  if (tank === undefined) return { barred: noGasTank(aggregator) }
  // A clock set a day ahead must not make room for another day's deposits.
  const time = trustedNow(context, view)
  if (!time.ok) return 'waiting'
  const { nowMs } = time
  const { settings, wallet } = aggregator
  const addresses = [settings.contracts.gasTank]
  const bar = codeBar(context.ports.journal.state, context.trusted, {
    ...{ chainId: wallet.chainId, addresses },
  })
  if (bar !== undefined) return bar.reason === 'code-changed' ? { barred: bar.detail } : 'waiting'
  const seen = { tank, available, unknownSinceMs, nowMs }
  if (isDepositing(context.ports.journal.state, aggregator)) return 'waiting'
  return (
    whyUnseen(context, aggregator, seen) ??
    topUpOnce(context, aggregator, { topUp, tank, available, nowMs })
  )
}

/**
 * What bars a top-up because the service does not show what is on chain: without an end, for the next deposit would wait
 * for the same index. Told when it has had the ten minutes that indexing may take.
 */
function whyUnseen(
  context: OrderContext,
  aggregator: AggregatorContext,
  seen: {
    readonly tank: GasTank
    readonly available: bigint
    readonly unknownSinceMs: number | undefined
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
    return { barred: `${heldUnknown(tank)}. Nothing is added until it does` }
  const amount = formatAmount(unseen.amount, ETHER.decimals)
  return {
    barred: `its last deposit, of ${amount} ETH, is on chain, and the service does not show it. Nothing is added until it does; \`tranched gastank deposit\` still adds one`,
  }
}

async function topUpOnce(
  context: OrderContext,
  aggregator: AggregatorContext,
  due: {
    readonly topUp: TopUp
    readonly tank: GasTank
    readonly available: bigint
    readonly nowMs: number
  },
): Promise<TopUpOutcome> {
  const { journal, observe } = context.ports
  const { topUp, tank, available, nowMs } = due
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
