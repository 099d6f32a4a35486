import { DAY_MS } from '../domain/book/limits.ts'
import { type FundsSample, RUNWAY_WINDOW_MS, runwaySeconds } from '../domain/book/runway.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { TopUp } from '../domain/settings.ts'
import { ETHER } from '../domain/token.ts'
import {
  awaitedDeposit,
  depositOnce,
  type GasTank,
  gasTankOf,
  isDepositing,
} from '../execute/account/deposit.ts'
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
  readonly view: AccountView | undefined
}

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
  while (!context.closing.aborted) {
    const look = await lookAt(context, aggregator)
    teller.tell(look)
    if (look.ok) teller.capped((await topUpIfDue(context, aggregator, look.funds)) === 'capped')
    await clock.sleep(LOOK_EVERY_MS, context.closing)
  }
}

async function lookAt(context: OrderContext, aggregator: AggregatorContext): Promise<Look> {
  const { service, chain, settings, wallet } = aggregator
  const { address: account } = wallet.signer
  const { gasTank } = settings.contracts
  const [info, seen] = await Promise.all([
    service.accountInfo(account),
    chain.account({ account, gasTank }),
  ])
  const view = seen.ok ? seen.value : undefined
  if (view !== undefined)
    context.ports.observe({
      type: 'wallet-balance',
      ...{ wallet: settings.wallet, token: ETHER.symbol, amount: view.balance },
      decimals: ETHER.decimals,
    })
  if (info.ok) {
    const { balance, outstandingCharge: outstanding } = info.value
    return { ok: true, funds: { balance, outstanding, view } }
  }
  return info.fault.tag === 'accountNotFound'
    ? { ok: true, funds: { balance: 0n, outstanding: 0n, view } }
    : { ok: false, fault: info.fault }
}

/** Tells each look, and what is news of it. */
function createFundsTeller(context: OrderContext, { settings }: AggregatorContext) {
  const { clock, observe } = context.ports
  const { wallet: account, gasTank } = settings
  let samples: readonly FundsSample[] = []
  let silent = 0
  let isLow = false
  let isCapped = false

  function tellFault({ tag, message }: AggregatorFault): void {
    silent += 1
    const isLogin = tag === 'unauthenticated'
    if (isLogin || silent >= SILENT_LOOKS)
      observe({ type: 'gas-tank-unknown', account, isLogin, message })
  }

  function tellFunds({ balance, outstanding }: Funds): void {
    silent = 0
    const available = balance - outstanding
    samples = [...samples, { atMs: clock.now(), available }].filter(
      ({ atMs }) => clock.now() - atMs <= RUNWAY_WINDOW_MS,
    )
    const wasLow = isLow
    isLow = gasTank.alertBelowWei !== undefined && available < gasTank.alertBelowWei
    const runway = runwaySeconds(samples)
    observe({ type: 'gas-tank', account, balance, outstanding, runwaySeconds: runway, isLow })
    if (isLow && !wasLow) observe({ type: 'gas-tank-low', account, available })
  }

  return {
    tell(look: Look): void {
      if (look.ok) tellFunds(look.funds)
      else tellFault(look.fault)
    },
    capped(now: boolean): void {
      if (now && !isCapped) observe({ type: 'top-up-capped', account })
      isCapped = now
    },
  }
}

/** Deposits once where that is due, unless a deposit is under way, not indexed yet, or would pass the daily cap. */
async function topUpIfDue(
  context: OrderContext,
  aggregator: AggregatorContext,
  { balance, outstanding, view }: Funds,
): Promise<'not-due' | 'tried' | 'waiting' | 'capped'> {
  const { topUp } = aggregator.settings.gasTank
  const available = balance - outstanding
  const maySend = context.mode !== 'dry-run' && haltedNow(context) === undefined
  if (!maySend || topUp === undefined || available >= topUp.belowWei) return 'not-due'
  const tank = view && gasTankOf(aggregator, view)
  if (view === undefined || tank === undefined) return 'waiting'
  // A clock set a day ahead must not make room for another day's deposits.
  const time = trustedNow(context, view)
  if (!time.ok) return 'waiting'
  return topUpOnce(context, aggregator, { topUp, tank, available, nowMs: time.nowMs })
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
): Promise<'tried' | 'waiting' | 'capped'> {
  const { journal, observe } = context.ports
  const { topUp, tank, available, nowMs } = due
  if (isDepositing(journal.state, aggregator)) return 'waiting'
  if (awaitedDeposit(journal.state, { available, nowMs }) !== undefined) return 'waiting'
  if (depositedInDay(journal.state, nowMs) + topUp.amountWei > topUp.maxPerDayWei) return 'capped'
  const outcome = await depositOnce(context, aggregator, {
    wei: topUp.amountWei,
    methods: tank.methods,
    availableBefore: available,
  })
  if (outcome.tag === 'unsent')
    observe({ type: 'chain-trouble', doing: 'topping up the GasTank', message: outcome.detail })
  return 'tried'
}

/** Wei deposited in the last day, by any command; deposits dated ahead of a clock that was set back count. */
export function depositedInDay(state: DaemonState, nowMs: number): bigint {
  let sum = 0n
  for (const { atMs, amount } of state.deposits.values()) if (nowMs - atMs < DAY_MS) sum += amount
  return sum
}
