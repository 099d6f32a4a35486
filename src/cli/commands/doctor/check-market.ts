import type { Permit2Right } from '../../../chain/inspection.ts'
import { briefText } from '../../../domain/money/amount-text.ts'
import {
  acceptPrice,
  createPricePaths,
  type FeedReading,
  type PriceFeed,
  ROUND_AHEAD_MAX_SECONDS,
} from '../../../domain/money/price.ts'
import type { Token } from '../../../domain/money/token.ts'
import { type Address, formatBrief } from '../../../domain/money/units.ts'
import type { ApprovalPolicy, Settings } from '../../../domain/settings.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { GAS_RESERVE_WEI } from '../../../engine/market-snapshot.ts'
import { etherText } from '../../../journal/wording/costs.ts'
import type { ChainView } from '../../../ports.ts'
import { pairsOf, type Strategy } from '../../../strategies/registry.ts'
import { soldTokens } from '../../../strategies/spending/worst-case.ts'
import type { Probes } from '../../compose/checkup.ts'
import { chainOf } from '../../compose/services.ts'
import { tradedTokens } from '../../market.ts'
import {
  allowanceText,
  isUnlimited,
  type WantedApproval,
  wantedApproval,
  wantedText,
} from '../account/approvals.ts'
import {
  allFine,
  type Check,
  type Checks,
  fault,
  fine,
  inspectReply,
  isSilent,
  type Known,
  type Read,
  Unread,
  unknown,
  warning,
} from './check.ts'

/** Reads the wallet and all feeds at one block. */
export async function marketOf({ settings, owner }: Known, probes: Probes) {
  const unread = (why: string) => new Unread(unknown('wallet', `the trading wallet ${why}`))
  if (isSilent(chainOf(settings, settings.gasless.chain)))
    throw unread(`was not checked: no node of ${settings.gasless.chain} is usable`)
  if (owner === undefined) throw unread('was not checked: its address is unknown')
  const feeds = [...settings.prices.values()]
  const reply = await probes.view({ owner, tokens: tradedTokens(settings), feeds })
  if (!reply.ok) throw unread(`could not be read: ${reply.fault.message}`)
  return { view: reply.value, owner }
}

export type Market = Read<Awaited<ReturnType<typeof marketOf>>>

export function checkMarket(known: Known, market: Market): Checks {
  if (!market.ok) return market.checks
  const { view, owner } = market.value
  const { settings, state } = known
  const strategies = known.strategies.filter(({ enabled }) => enabled)
  const nowMs = view.blockTimeSeconds * 1_000
  const tokens = tradedTokens(settings).map((token) => ({
    token,
    sellers: strategies
      .filter((each) => soldTokens(each).some(({ address }) => address === token.address))
      .map(({ name }) => name),
    wanted: wantedApproval(token, { settings, strategies, state, nowMs }),
  }))
  const { approval } = settings.gasless
  const feeds = [...settings.prices.values()].map((feed) =>
    checkFeed({
      feed,
      reading: view.readings.get(feed.pair),
      nowSeconds: view.blockTimeSeconds,
      users: usersOf(feed.pair, settings, strategies),
    }),
  )
  return [
    ...checkTrader({ owner, approval, view, tokens, signs: settings.mode !== 'dry-run' }),
    ...feeds,
  ]
}

/** Strategies whose orders are checked against a feed, directly or crossed with others. */
function usersOf(
  pair: string,
  { prices }: Settings,
  strategies: readonly Strategy[],
): readonly string[] {
  const pathOf = createPricePaths(prices.values())
  return strategies
    .filter((strategy) => {
      const legs = pairsOf(strategy).flatMap(({ sell, buy }) => pathOf(sell, buy) ?? [])
      return legs.some(({ feed }) => feed.pair === pair)
    })
    .map(({ name }) => name)
}

export type TraderInput = {
  readonly owner: Address
  readonly approval: ApprovalPolicy
  readonly view: Pick<ChainView, 'nativeBalance' | 'ownerHasCode' | 'balances' | 'allowances'>
  /** Tokens of the wallet's chain. `sellers` are the enabled strategies that may sell one. */
  readonly tokens: readonly {
    readonly token: Token
    readonly sellers: readonly string[]
    readonly wanted: WantedApproval
  }[]
  /** False in a dry-run, which signs nothing and needs neither gas nor allowances. */
  readonly signs: boolean
}

type TokenInput = TraderInput['tokens'][number]

/** Checks that the trading wallet can trade what the strategies want, and that it has no code (rule A5). */
export function checkTrader(input: TraderInput): readonly Check[] {
  const { owner, view, signs } = input
  const code = view.ownerHasCode
    ? fault(
        'trader-code',
        `the trading wallet has code on its chain (${owner})`,
        'nothing is signed for it: remove the delegation with the wallet software that set it, or move its funds to a new wallet (`tranched wallet new --out FILE`)',
      )
    : fine('trader-code', 'the trading wallet has no code')
  return [
    code,
    signs ? checkGas(input) : [],
    checkFunds(input),
    signs ? checkAllowances(input) : [],
  ].flat()
}

function checkGas({ view, owner, tokens }: TraderInput): Check {
  const text = etherText(view.nativeBalance)
  const trades = tokens.some(({ sellers }) => sellers.length > 0)
  if (view.nativeBalance >= GAS_RESERVE_WEI)
    return fine('trader-gas', `the trading wallet has ${text} for gas`)
  const bad = view.nativeBalance === 0n && trades ? fault : warning
  const says = `the trading wallet has ${text} for gas, less than ${etherText(GAS_RESERVE_WEI)}`
  return bad('trader-gas', says, `send some ether to ${owner}: approvals cost a little gas`)
}

function checkFunds({ tokens, view, owner }: TraderInput): Checks {
  const checks: Check[] = []
  const held: string[] = []
  for (const { token, sellers } of tokens) {
    if (sellers.length === 0) continue
    const balance = view.balances.get(token.address)
    if (balance === undefined) {
      const says = `${token.symbol}: its balance cannot be read`
      const remedy = `check \`tokens.${token.symbol}.address\`, or use another node`
      checks.push(fault('trader-funds', says, remedy))
    } else if (balance === 0n) {
      const says = `the wallet holds no ${token.symbol}, which ${sellers.join(', ')} may sell`
      const remedy = `send some to ${owner}, or wait until it buys some`
      checks.push(warning('trader-funds', says, remedy))
    } else held.push(briefText(balance, token))
  }
  return held.length === 0
    ? checks
    : [...checks, fine('trader-funds', `the trading wallet holds ${held.join(', ')}`)]
}

function checkAllowances(input: TraderInput): Checks {
  const allowanceOf = ({ token }: TokenInput) => input.view.allowances.get(token.address)
  const none = input.tokens
    .filter((each) => allowanceOf(each) === 0n && each.sellers.length > 0)
    .map(({ token }) => token.symbol)
  return [
    ...input.tokens.flatMap((each) => checkAllowance(each, allowanceOf(each), input.approval)),
    ...allFine('allowance', none, 'approved when the first order needs it'),
  ]
}

function checkAllowance(
  { token, sellers, wanted }: TokenInput,
  allowance: bigint | undefined,
  approval: ApprovalPolicy,
): Checks {
  const { symbol } = token
  const revoke = `\`tranched approvals revoke ${symbol}\``
  if (allowance === undefined)
    return unknown('allowance', `${symbol}: its allowance cannot be read`)
  if (allowance === 0n) return []
  const may = `${symbol}: Permit2 may spend ${allowanceText(allowance, token)}`
  if (sellers.length === 0) return warning('allowance', `${may}, but no strategy sells it`, revoke)
  if (isUnlimited(allowance) && approval !== 'unlimited') {
    const says = `${symbol}: Permit2 may spend all of it, but \`gasless.approval\` is ${approval}`
    return warning('allowance', says, `${revoke}; the next order approves the configured amount`)
  }
  return fine('allowance', `${may}; wanted: ${wantedText(wanted, token)}`)
}

export async function inspectRights({ settings, owner }: Known, probes: Probes): Promise<Checks> {
  // Other checks already report why these are unknown.
  if (isSilent(chainOf(settings, settings.gasless.chain)) || owner === undefined) return []
  const tokens = tradedTokens(settings)
  return inspectReply(
    'permit2-rights',
    () => probes.rights(owner, tokens),
    (rights) => checkRights(rights, { tokens, nowMs: probes.now() }),
  )
}

/** This daemon never grants allowances in Permit2's own table: each order carries a signature. */
export function checkRights(
  rights: readonly Permit2Right[],
  { tokens, nowMs }: { readonly tokens: readonly Token[]; readonly nowMs: number },
): Checks {
  const live = rights.filter(({ expiresAtSeconds }) => expiresAtSeconds * 1_000 > nowMs)
  if (live.length === 0)
    return fine('permit2-rights', "no spender has an allowance in Permit2's own table")
  return live.map(({ token: address, spender, amount }) => {
    const token = tokens.find((each) => each.address === address)
    const what = token === undefined ? address : allowanceText(amount, token)
    return warning(
      'permit2-rights',
      `${spender} has an allowance in Permit2's own table: ${what}`,
      'this daemon never grants one: revoke it with the wallet software that granted it, and find out who has the key',
    )
  })
}

type FeedInput = {
  readonly feed: PriceFeed
  /** Undefined if the feed's contract gives no usable answer. */
  readonly reading: FeedReading | undefined
  /** Time of the block, Unix seconds. */
  readonly nowSeconds: number
  /** Enabled strategies whose orders are checked against the feed. */
  readonly users: readonly string[]
}

/** Percent of `maxAge`: an older feed may become too old before its next round. */
const NEARLY_PERCENT = 90

/** Checks a feed by the rules for orders. A bad feed that no strategy uses is only a warning. */
export function checkFeed(input: FeedInput): Check {
  const { feed, reading, nowSeconds, users } = input
  const accepted = acceptPrice(feed, reading, nowSeconds)
  const bad = users.length === 0 ? warning : fault
  if (!accepted.ok) {
    const [says, remedy] = messagesOf(accepted.reason, input)
    const waits = users.length === 0 ? '' : `; ${users.join(', ')} cannot trade`
    return bad('feed', `${feed.pair}: ${says}${waits}`, remedy)
  }
  const { answer, decimals, updatedAtSeconds } = reading ?? NOTHING
  const ageSeconds = Math.max(0, nowSeconds - updatedAtSeconds)
  if (ageSeconds * 100 > feed.maxAgeSeconds * NEARLY_PERCENT)
    return warning('feed', `${feed.pair}: ${ageText(ageSeconds, feed)}`, longerText(feed))
  const age = durationText(ageSeconds * 1_000)
  return fine('feed', `${feed.pair}: ${formatBrief(answer, decimals)}, ${age} old`)
}

const NOTHING = { answer: 0n, decimals: 0, updatedAtSeconds: 0 }

function ageText(ageSeconds: number, { maxAgeSeconds }: PriceFeed): string {
  return `${durationText(ageSeconds * 1_000)} old, the limit is ${durationText(maxAgeSeconds * 1_000)}`
}

function longerText({ pair }: PriceFeed): string {
  return `if its heartbeat is longer, raise \`prices.${pair}.maxAge\``
}

function messagesOf(
  reason: Extract<ReturnType<typeof acceptPrice>, { ok: false }>['reason'],
  { feed, reading, nowSeconds }: FeedInput,
): readonly [says: string, remedy: string] {
  const key = `\`prices.${feed.pair}.feed\``
  switch (reason) {
    case 'price-missing': {
      const or = feed.sequencerFeed === undefined ? '' : ', or from its sequencer feed'
      return [`no usable answer from ${feed.feed}${or}`, `correct ${key} from its issuer's list`]
    }
    case 'price-invalid': {
      const says = invalidText(reading ?? NOTHING, nowSeconds)
      return [says, `check the feed's status with its issuer, or correct ${key}`]
    }
    case 'sequencer-down': {
      const { answer: up, startedAtSeconds } = reading?.sequencer ?? {}
      const says =
        up === 0n && startedAtSeconds === 0
          ? 'the round of its sequencer feed is invalid: it has no start time'
          : 'its sequencer feed reports the sequencer down, or up for less than an hour'
      return [says, 'wait: orders resume an hour after it is up']
    }
    case 'price-stale': {
      const ageSeconds = nowSeconds - (reading ?? NOTHING).updatedAtSeconds
      const says =
        ageSeconds > feed.maxAgeSeconds
          ? ageText(ageSeconds, feed)
          : 'its newest round carries over the answer of an earlier one'
      return [says, `wait for its next round; ${longerText(feed)}`]
    }
  }
}

function invalidText(
  { answer, decimals, updatedAtSeconds }: typeof NOTHING,
  nowSeconds: number,
): string {
  if (answer > 0n && updatedAtSeconds <= 0)
    return 'its newest round is incomplete: it has no timestamp'
  if (answer > 0n && updatedAtSeconds > nowSeconds + ROUND_AHEAD_MAX_SECONDS) {
    const ahead = durationText((updatedAtSeconds - nowSeconds) * 1_000)
    return `its newest round is dated ${ahead} after the newest block`
  }
  return `it answers ${answer} with ${decimals} decimals, which is not a price`
}
