import { depositedInDay, minedAtMs } from '../domain/book/deposits.ts'
import {
  type FundsSample,
  RUNWAY_WINDOW_MS,
  runwaySeconds,
  sampleAfter,
} from '../domain/book/runway.ts'
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
import { haltedNow } from '../execute/close.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import type { AccountView, AggregatorFault } from '../ports.ts'

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
}

/** What came of a top-up; `waiting` says that there is nothing to tell. */
type TopUpOutcome = 'not-due' | 'tried' | 'waiting' | 'capped' | { readonly barred: string }

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
  let unknownSinceMs: number | undefined
  while (!context.closing.aborted) {
    const look = await lookAt(context, aggregator, unknownSinceMs)
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
  unknownBeforeMs: number | undefined,
): Promise<Look> {
  const { service, chain, settings, wallet } = aggregator
  const { address: account } = wallet.signer
  const { gasTank } = settings.contracts
  const [info, seen] = await Promise.all([
    service.accountInfo(account),
    chain.account({ account, gasTank }),
  ])
  const view = seen.ok ? seen.value : undefined
  if (view !== undefined) reportAccount(context, aggregator, view)
  if (info.ok) {
    const { balance, outstandingCharge: outstanding } = info.value
    return { ok: true, funds: { balance, outstanding, unknownSinceMs: undefined, view } }
  }
  const unknownSinceMs = unknownBeforeMs ?? context.ports.clock.now()
  return info.fault.tag === 'accountNotFound'
    ? { ok: true, funds: { balance: 0n, outstanding: 0n, unknownSinceMs, view } }
    : { ok: false, fault: info.fault }
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
  const { clock, observe } = context.ports
  const { wallet: account, gasTank } = settings
  const samples: FundsSample[] = []
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

  function tellFunds({ balance, outstanding }: Funds): void {
    silent = 0
    const available = balance - outstanding
    const atMs = clock.now()
    // A clock that was set back leaves samples behind that lie ahead: no line goes through those.
    if ((samples.at(-1)?.atMs ?? atMs) > atMs) samples.length = 0
    samples.push(sampleAfter(samples.at(-1), { atMs, available }))
    while (atMs - (samples[0]?.atMs ?? atMs) > RUNWAY_WINDOW_MS) samples.shift()
    const wasLow = isLow
    const { alertBelowWei: alertBelow } = gasTank
    isLow = alertBelow !== undefined && available < alertBelow
    const funds = { balance, outstanding, runwaySeconds: runwaySeconds(samples), alertBelow, isLow }
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
