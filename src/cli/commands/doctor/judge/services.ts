import { CLOCK_SKEW_MS_MAX } from '../../../../domain/policy.ts'
import type { Reply, ServiceFault, TokenInfo } from '../../../../domain/quote.ts'
import type { RefusalReason } from '../../../../domain/reason.ts'
import type { Token } from '../../../../domain/token.ts'
import type { AggregatorReply, GasTankAccount } from '../../../../ports.ts'
import { allFine, type Check, fault, fine, unknown, warning } from '../check.ts'

/** What the gasless service answered when it was asked for its tokens. */
export type GaslessFacts = {
  readonly tokens: Reply<readonly TokenInfo[]>
  readonly durationMs: number
  /** Its clock less this machine's; undefined where it told none. */
  readonly clockOffsetMs: number | undefined
  /** Requests left in its window; undefined where it does not say. */
  readonly remaining: number | undefined
  /** The config's tokens of its chain. */
  readonly named: readonly Token[]
  /** Symbols that an enabled strategy trades. */
  readonly traded: ReadonlySet<string>
}

export function judgeGasless(facts: GaslessFacts): readonly Check[] {
  const { tokens, durationMs } = facts
  if (!tokens.ok) return [judgeSilence(tokens.fault)]
  return [
    fine('gasless', `the gasless service answers, in ${durationMs} ms`),
    ...judgeServiceClock(facts.clockOffsetMs),
    ...judgeLimits(facts.remaining),
    ...judgeListed(tokens.value, facts),
  ]
}

function judgeSilence(failed: ServiceFault): Check {
  const says = `the gasless service gives no list of tokens: ${failed.message}`
  if (failed.tag === 'rateLimited')
    return warning('gasless', says, 'wait; or a lower `gasless.requestsPerSecond`')
  return fault(
    'gasless',
    says,
    "check `gasless.baseUrl` and this machine's network; else ask its operator. What is signed is followed by the chain meanwhile",
  )
}

function judgeServiceClock(offsetMs: number | undefined): readonly Check[] {
  if (offsetMs === undefined)
    return [unknown('gasless-clock', 'the gasless service does not tell its time')]
  const seconds = Math.round(Math.abs(offsetMs) / 100) / 10
  if (Math.abs(offsetMs) > CLOCK_SKEW_MS_MAX)
    return [
      fault(
        'gasless-clock',
        `the clock of the gasless service is ${seconds} s ${offsetMs > 0 ? 'ahead' : 'behind'}`,
        "nothing is signed meanwhile: compare this machine with another clock (`timedatectl`); where it is right, tell the service's operator",
      ),
    ]
  return [fine('gasless-clock', `its clock agrees with this machine's, within ${seconds} s`)]
}

function judgeLimits(remaining: number | undefined): readonly Check[] {
  if (remaining === undefined) return []
  if (remaining === 0)
    return [
      warning(
        'gasless-limits',
        'its rate limit is used up for now',
        'a lower `gasless.requestsPerSecond`, or find out what else asks it from this address',
      ),
    ]
  return [fine('gasless-limits', `${remaining} requests are left in its rate limit`)]
}

/** A token that both count differently is misread in every order. */
function judgeListed(
  listed: readonly TokenInfo[],
  { named, traded }: GaslessFacts,
): readonly Check[] {
  const checks: Check[] = []
  const agreeing: string[] = []
  for (const { symbol, address, decimals } of named) {
    const known = listed.filter((each) => each.address === address)
    const other = known.find((each) => each.decimals !== decimals)
    if (other !== undefined)
      checks.push(
        fault(
          'service-tokens',
          `${symbol}: the config has ${decimals} decimals, the service says ${other.decimals}`,
          `correct \`tokens.${symbol}.decimals\`; where its contract says the same as the config, tell the service's operator`,
        ),
      )
    else if (known.length > 0) agreeing.push(symbol)
    else if (traded.has(symbol))
      checks.push(
        warning(
          'service-tokens',
          `${symbol}: the service does not list it, so it may give no quotes`,
          `check \`tokens.${symbol}.address\``,
        ),
      )
  }
  return [
    ...checks,
    ...allFine('service-tokens', agreeing, 'listed by the service with the same decimals'),
  ]
}

/** One real quote, put through the firewall and not signed. */
export type QuoteFacts = {
  readonly strategy: string
  readonly reply:
    | {
        readonly ok: true
        /** The firewall's reason not to sign it; null where it would. */
        readonly refusal: RefusalReason | null
        readonly sells: string
        readonly buys: string
      }
    | { readonly ok: false; readonly fault: ServiceFault }
}

export function judgeQuote({ strategy, reply }: QuoteFacts): Check {
  const again = `\`tranched quote ${strategy}\``
  if (!reply.ok) {
    const bad = reply.fault.tag === 'rateLimited' ? warning : fault
    const says = `${strategy}: the service gave no quote: ${reply.fault.message}`
    return bad('quote', says, `see what it says, and ask again: ${again}`)
  }
  const { refusal } = reply
  if (refusal === null)
    return fine('quote', `${strategy}: ${reply.sells} for ${reply.buys}, and it would be signed`)
  const says = `${strategy}: its quote would not be signed: ${refusal}`
  // The strategy's own bounds are there to keep it from trading.
  if (refusal === 'price-outside-bounds')
    return warning('quote', says, `nothing, or other bounds in its file: ${again}`)
  return fault('quote', says, `mend what it names: ${again} shows all of it`)
}

/** The login to the aggregation service, by its answer to what only the account's owner may ask. */
export function judgeAggregator(reply: AggregatorReply<GasTankAccount>, durationMs: number): Check {
  if (reply.ok || reply.fault.tag === 'accountNotFound')
    return fine('aggregator', `the aggregation service takes the login, in ${durationMs} ms`)
  const { tag, message } = reply.fault
  if (tag === 'unsigned') return unknown('aggregator', `the login was not tried: ${message}`)
  if (tag === 'unauthenticated')
    return fault(
      'aggregator',
      `the aggregation service does not take the login: ${message}`,
      'check `aggregator.wallet` and `aggregator.wire.signatureHeader`',
    )
  if (tag === 'rateLimited')
    return warning('aggregator', `the aggregation service limits us: ${message}`, 'wait')
  return fault(
    'aggregator',
    `the login gets no answer to use: ${message}`,
    'check `aggregator.rpcUrl` and `aggregator.wire.methodPrefix`; else ask its operator',
  )
}
