import type { Token } from '../../../domain/money/token.ts'
import type { Address } from '../../../domain/money/units.ts'
import type { Reply, ServiceFault, TokenInfo } from '../../../domain/order/quote.ts'
import { CLOCK_SKEW_MS_MAX } from '../../../domain/policy.ts'
import type { AggregatorSettings } from '../../../domain/settings.ts'
import { etherText } from '../../../journal/wording/costs.ts'
import type { AggregatorReply, GasTankAccount } from '../../../ports.ts'
import { makesCalls, pairsOf, readsMarket } from '../../../strategies/registry.ts'
import { availableOf, type GasTank } from '../../../venues/wallet/deposit.ts'
import type { Probes } from '../../compose/checkup.ts'
import { chainOf } from '../../compose/services.ts'
import { tradedTokens } from '../../market.ts'
import { shortText } from '../../text/amount-data.ts'
import { intentOf, type QuoteReport, reportOf, wantedOf } from '../inspect/quote.ts'
import {
  allFine,
  type Check,
  type Checks,
  fault,
  fine,
  inspect,
  isSilent,
  type Known,
  read,
  Unread,
  unknown,
  warning,
} from './check.ts'
import type { Market } from './check-market.ts'

/** The gasless service's answer to a token list request. */
export type GaslessInput = Omit<Awaited<ReturnType<Probes['service']>>, 'reply'> & {
  readonly tokens: Reply<readonly TokenInfo[]>
  /** Tokens of the config on the service's chain. */
  readonly named: readonly Token[]
  /** Symbols that an enabled strategy trades. */
  readonly traded: ReadonlySet<string>
}

export function checkGasless(input: GaslessInput): Checks {
  const { tokens, durationMs } = input
  if (!tokens.ok) return checkSilence(tokens.fault)
  return [
    fine('gasless', `the gasless service answers in ${durationMs} ms`),
    checkServiceClock(input.clockOffsetMs),
    checkLimits(input.remaining),
    checkListed(tokens.value, input),
  ].flat()
}

function checkSilence(failed: ServiceFault): Check {
  const says = `the gasless service did not return its token list: ${failed.message}`
  if (failed.tag === 'rateLimited')
    return warning('gasless', says, 'wait, or lower `gasless.requestsPerSecond`')
  return fault(
    'gasless',
    says,
    "check `gasless.baseUrl` and this machine's network; else ask its operator. Signed orders are followed on the chain until it answers",
  )
}

function checkServiceClock(offsetMs: number | undefined): Checks {
  if (offsetMs === undefined)
    return unknown('gasless-clock', 'the gasless service does not send its time')
  const seconds = Math.round(Math.abs(offsetMs) / 100) / 10
  if (Math.abs(offsetMs) > CLOCK_SKEW_MS_MAX)
    return fault(
      'gasless-clock',
      `the gasless service's clock is ${seconds} s ${offsetMs > 0 ? 'ahead' : 'behind'}`,
      "nothing is signed until the clocks agree: check this machine (`timedatectl`); if it is right, tell the service's operator",
    )
  return fine('gasless-clock', `its clock agrees with this machine's, within ${seconds} s`)
}

function checkLimits(remaining: number | undefined): Checks {
  if (remaining === undefined) return []
  if (remaining === 0)
    return warning(
      'gasless-limits',
      'its rate limit is exhausted for now',
      'lower `gasless.requestsPerSecond`, or find other clients that use it from this IP address',
    )
  return fine('gasless-limits', `${remaining} requests are left in its rate limit`)
}

/** Different decimals make every order misread the token. */
function checkListed(listed: readonly TokenInfo[], { named, traded }: GaslessInput): Checks {
  const checks: Check[] = []
  const agreeing: string[] = []
  for (const { symbol, address, decimals } of named) {
    const known = listed.filter((each) => each.address === address)
    const other = known.find((each) => each.decimals !== decimals)
    if (other !== undefined) {
      const says = `${symbol}: the config has ${decimals} decimals, the service says ${other.decimals}`
      const remedy = `correct \`tokens.${symbol}.decimals\`; if its contract agrees with the config, tell the service's operator`
      checks.push(fault('service-tokens', says, remedy))
    } else if (known.length > 0) agreeing.push(symbol)
    else if (traded.has(symbol)) {
      const says = `${symbol}: the service does not list it, so nothing that trades it is signed`
      checks.push(warning('service-tokens', says, `check \`tokens.${symbol}.address\``))
    }
  }
  const same = 'listed by the service with the same decimals'
  return [...checks, ...allFine('service-tokens', agreeing, same)]
}

/** Requests one quote, for the first strategy whose request is known without balances. */
export async function inspectQuote(
  { settings, strategies }: Known,
  market: Market,
  probes: Probes,
): Promise<Checks> {
  const swaps = strategies.filter((each) => each.enabled).filter(readsMarket)
  if (swaps.length === 0) return []
  if (!market.ok) return unknown('quote', 'no quote was requested: feeds and balances are unknown')
  const { view, owner } = market.value
  for (const strategy of swaps) {
    const { name } = strategy
    const wanted = wantedOf(strategy, name)
    if (typeof wanted === 'string') continue
    const intent = intentOf(wanted, owner)
    return inspect(
      'quote',
      () => probes.quote(intent),
      async ({ reply, nowMs }) => {
        if (!reply.ok) return checkQuote(name, reply)
        const value = await reportOf({
          settings,
          market: { view },
          intent,
          quoted: reply.value,
          nowMs,
        })
        return checkQuote(name, { ok: true, value })
      },
    )
  }
  const says = 'no quote was requested: the amounts depend on the balances'
  return unknown('quote', says, '`tranched quote --sell TOKEN --buy TOKEN --amount N` requests one')
}

/** Checks one real quote with the firewall. Signs nothing. */
export function checkQuote(
  strategy: string,
  reply: Reply<Pick<QuoteReport, 'refusal' | 'sells' | 'buys'>>,
): Check {
  const again = `\`tranched quote ${strategy}\``
  if (!reply.ok) {
    const bad = reply.fault.tag === 'rateLimited' ? warning : fault
    const says = `${strategy}: the service returned no quote: ${reply.fault.message}`
    return bad('quote', says, `fix the cause named in the message, then retry: ${again}`)
  }
  const { refusal, sells, buys } = reply.value
  if (refusal === null) {
    const says = `${strategy}: ${shortText(sells)} for ${shortText(buys)}; it would be signed`
    return fine('quote', says)
  }
  const says = `${strategy}: its quote would not be signed: ${refusal}`
  // The strategy's own bounds are meant to prevent trades.
  if (refusal === 'price-outside-bounds')
    return warning('quote', says, `if the bounds are wrong, change them in its file: ${again}`)
  return fault('quote', says, `fix the named check; ${again} shows the whole quote`)
}

/** Checks the login to the aggregation service by a request that only the account's owner may make. */
export function checkAggregator(reply: AggregatorReply<GasTankAccount>, durationMs: number): Check {
  if (reply.ok || reply.fault.tag === 'accountNotFound')
    return fine('aggregator', `the aggregation service accepts the login in ${durationMs} ms`)
  const { tag, message } = reply.fault
  if (tag === 'unsigned') return unknown('aggregator', `the login was not tried: ${message}`)
  if (tag === 'unauthenticated')
    return fault(
      'aggregator',
      `the aggregation service rejects the login: ${message}`,
      'check `aggregator.wallet` and `aggregator.wire.signatureHeader`',
    )
  if (tag === 'rateLimited')
    return warning('aggregator', `the aggregation service limits our requests: ${message}`, 'wait')
  return fault(
    'aggregator',
    `the login got no usable answer: ${message}`,
    'check `aggregator.rpcUrl` and `aggregator.wire.methodPrefix`; else ask its operator',
  )
}

/** The calling account, as its chain and its service report it. */
export type OperatorInput = {
  readonly account: Address
  readonly settings: Pick<AggregatorSettings, 'proposer' | 'fallback' | 'gasTank' | 'contracts'>
  /** Enabled strategies that make calls. */
  readonly callers: readonly string[]
  /** Why the account's code is not the config's proposer (rule A4); undefined if it is. */
  readonly delegation: { readonly reason: string; readonly detail?: string | undefined } | undefined
  /** The account's own ether for direct transactions, wei. */
  readonly balance: bigint
  /** Undefined if no contract answers as a GasTank. */
  readonly tank: GasTank | undefined
  /** The service's account info; undefined if not requested. */
  readonly info: AggregatorReply<GasTankAccount> | undefined
}

/** Checks that calls can be made and paid for. A deficit that affects no strategy is a warning. */
export function checkOperator(input: OperatorInput): readonly Check[] {
  return [checkDelegation(input), checkOwnEther(input), checkTank(input)].flat()
}

function badFor({ callers }: OperatorInput): typeof fault {
  return callers.length > 0 ? fault : warning
}

function checkDelegation(input: OperatorInput): Check {
  const { delegation, account, settings } = input
  if (delegation === undefined)
    return fine(
      'operator-delegation',
      `the calling account is delegated to the ${settings.proposer} proposer`,
    )
  if (delegation.reason === 'not-delegated')
    return badFor(input)(
      'operator-delegation',
      `the calling account has no code (${account})`,
      'run `tranched delegation set` while no daemon runs',
    )
  return fault(
    'operator-delegation',
    `the calling account has code that the config does not name (${account})`,
    'inspect it with `tranched delegation status`, and find out who else has the key; then run `tranched delegation clear --direct`, or use a new wallet',
  )
}

function checkOwnEther({ balance, settings, account, callers }: OperatorInput): Checks {
  if (balance > 0n)
    return fine('operator-gas', `the calling account has ${etherText(balance)} of its own`)
  if (callers.length === 0 || settings.fallback.mode === 'off') return []
  const says =
    'the calling account has no ether of its own: it cannot send calls directly or deposit'
  const remedy = `send some to ${account}, or set \`fallback: { mode: off }\``
  return warning('operator-gas', says, remedy)
}

function checkTank(input: OperatorInput): Checks {
  const { tank, info, settings } = input
  if (tank === undefined)
    return fault(
      'gastank-contract',
      `no GasTank answers at ${settings.contracts.gasTank}`,
      'correct `aggregator.contracts.gasTank`, or `aggregator.gasTank.methods`: ether sent to a wrong address is lost',
    )
  const contract = fine('gastank-contract', `the GasTank supports \`${tank.methods}\``)
  if (info === undefined) return [contract]
  if (!info.ok)
    return [contract, ...(info.fault.tag === 'accountNotFound' ? [checkStranger(input, tank)] : [])]
  const known = fine('gastank-account', 'the service knows the account')
  return [contract, known, checkAvailable(input, availableOf(info.value))]
}

function checkStranger(input: OperatorInput, { balance }: GasTank): Check {
  if (balance > 0n)
    return warning(
      'gastank-account',
      `the GasTank holds ${etherText(balance)} for the account, but the service does not know it yet`,
      'wait a few minutes until it is indexed: `tranched gastank status`',
    )
  const says = 'the service does not know the account: it has no deposit'
  const remedy = 'run `tranched gastank deposit 0.05 --yes` while no daemon runs'
  return badFor(input)('gastank-account', says, remedy)
}

function checkAvailable(input: OperatorInput, available: bigint): Check {
  const { alertBelowWei, topUp } = input.settings.gasTank
  const text = `the GasTank has ${etherText(available)} available`
  const isLow = available <= 0n || (alertBelowWei !== undefined && available < alertBelowWei)
  if (!isLow) return fine('gastank-funds', text)
  const least =
    alertBelowWei === undefined ? '' : `, less than \`alertBelow\` ${etherText(alertBelowWei)}`
  const remedy =
    topUp === undefined
      ? 'run `tranched gastank deposit 0.05 --yes` while no daemon runs, or set `aggregator.gasTank.topUp`'
      : 'a running daemon tops it up within `aggregator.gasTank.topUp` if its wallet has the ether; else run `tranched gastank deposit 0.05 --yes`'
  return badFor(input)('gastank-funds', `${text}${least}`, remedy)
}

export async function inspectOperator(
  { settings, strategies, operator: account }: Known,
  probes: Probes,
): Promise<Checks> {
  const { aggregator } = settings
  if (aggregator === undefined) return []
  const { operator } = probes
  if (operator === undefined || account === undefined)
    return unknown('aggregator', 'the calling account was not checked: its key is not available')
  const unread = (why: string) =>
    new Unread(unknown('operator-delegation', `the calling account ${why}`))
  const [login, snapshot] = await Promise.all([
    read('aggregator', operator.login),
    read('operator-delegation', async () => {
      if (isSilent(chainOf(settings, aggregator.chain)))
        throw unread(`was not checked: no node of ${aggregator.chain} is usable`)
      const reply = await operator.snapshot()
      if (!reply.ok) throw unread(`could not be read: ${reply.fault.message}`)
      return reply.value
    }),
  ])
  const info = login.ok ? login.value.reply : undefined
  const checks = login.ok
    ? [checkAggregator(login.value.reply, login.value.durationMs)]
    : login.checks
  if (!snapshot.ok) return [...checks, ...snapshot.checks]
  const callers = strategies
    .filter((each) => each.enabled && makesCalls(each))
    .map(({ name }) => name)
  return [
    ...checks,
    ...checkOperator({ account, settings: aggregator, callers, info, ...snapshot.value }),
  ]
}

export function inspectGasless({ settings, strategies }: Known, probes: Probes): Promise<Checks> {
  const traded = strategies
    .filter(({ enabled }) => enabled)
    .flatMap(pairsOf)
    .flatMap(({ sell, buy }) => [sell.symbol, buy.symbol])
  return inspect(
    'gasless',
    () => probes.service(),
    ({ reply: tokens, ...snapshot }) =>
      checkGasless({ tokens, ...snapshot, named: tradedTokens(settings), traded: new Set(traded) }),
  )
}
