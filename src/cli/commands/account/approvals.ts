import type { Permit2Right } from '../../../adapters/chain/inspection.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import { dayBudget } from '../../../domain/book/limits.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Token } from '../../../domain/token.ts'
import { type Address, formatAmount, formatBrief, maxOf } from '../../../domain/units.ts'
import { soldTokens } from '../../../engine/spend.ts'
import type { ChainReply, ChainView } from '../../../ports.ts'
import { withClock } from '../../compose/clock.ts'
import { chainOf, composeInspection } from '../../compose/services.ts'
import { readState } from '../../compose/state.ts'
import { instantText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import {
  type ConfigOptions,
  loadForReading,
  renderAll,
  reportProblems,
  settingsForReading,
} from '../../load.ts'
import { readMarketNow } from '../../market.ts'

/** From this on an allowance is no sum that anybody reckons with. */
const UNLIMITED_FROM = 2n ** 255n
const ANSWER_MS_MAX = 5_000

/** What Permit2 is to be let spend of a token, by `gasless.approval` and the strategies. */
export type WantedApproval =
  /** No enabled strategy sells it. */
  | { readonly type: 'nothing' }
  /** As much as each order takes, before it. */
  | { readonly type: 'exact' }
  | { readonly type: 'budget'; readonly amount: bigint }
  | { readonly type: 'unlimited' }

type Wanting = {
  readonly settings: Pick<Settings, 'gasless' | 'limits'>
  readonly strategies: readonly Strategy[]
  readonly state: DaemonState
  readonly nowMs: number
}

/** What the daemon would ask for where an order of the token came up now. */
export function wantedApproval(token: Token, wanting: Wanting): WantedApproval {
  const { settings, state, nowMs } = wanting
  const sellers = wanting.strategies.filter(
    (strategy) =>
      strategy.enabled && soldTokens(strategy).some(({ address }) => address === token.address),
  )
  if (sellers.length === 0) return { type: 'nothing' }
  const { approval } = settings.gasless
  if (approval !== 'budget') return { type: approval }
  const account = settings.limits
  const budgets = sellers.map(({ limits: own }) => dayBudget(state, { token, nowMs, account, own }))
  return { type: 'budget', amount: budgets.reduce(maxOf) }
}

export function isUnlimited(allowance: bigint): boolean {
  return allowance >= UNLIMITED_FROM
}

/** Tokens that the trading wallet can have approved: those on the chain of the gasless service. */
export function tradedTokens({ tokens, gasless }: Settings): readonly Token[] {
  return [...tokens.values()].filter(({ chain }) => chain === gasless.chain)
}

/** `tranched approvals list`: what Permit2 may spend of each token of the config, and what the config wants. Sends nothing. */
export async function approvalsList(
  options: ConfigOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  const found = loaded.ok ? loaded : settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const state = (await readState(settings.stateDir))?.state ?? emptyState()
  const tokens = tradedTokens(settings)
  const market = await readMarketNow(settings, { tokens, pairs: [] }, { state, io })
  if (!market.ok) {
    io.stderr.write(`approvals: the chain cannot be read: ${market.why}\n`)
    return EXIT.failed
  }
  const { owner, view } = market
  const strategies = loaded.ok ? loaded.strategies : undefined
  const report = {
    owner,
    permit2: settings.gasless.permit2,
    approval: settings.gasless.approval,
    tokens: tokens.map((token) => rowOf(token, view, { settings, strategies, state, nowMs })),
    permit2Rights: await rightsOf(settings, owner),
  }
  if (options.json) printJson(io, { ...dataOf(report), problems: loaded.ok ? [] : loaded.problems })
  else io.stdout.write(`${textOf(report, { settings, nowMs })}\n`)
  if (!loaded.ok && !options.json) io.stderr.write(`${renderAll(loaded.problems, io)}\n`)
  return EXIT.done
}

type Row = {
  readonly token: Token
  /** Undefined where it was not read. */
  readonly allowance: bigint | undefined
  readonly balance: bigint | undefined
  /** Undefined where the strategies cannot be read. */
  readonly wanted: WantedApproval | undefined
}

type Report = {
  readonly owner: Address
  readonly permit2: Address
  readonly approval: Settings['gasless']['approval']
  readonly tokens: readonly Row[]
  readonly permit2Rights: ChainReply<readonly Permit2Right[]>
}

function rowOf(
  token: Token,
  { allowances, balances }: ChainView,
  known: Omit<Wanting, 'settings' | 'strategies'> & {
    readonly settings: Settings
    readonly strategies: readonly Strategy[] | undefined
  },
): Row {
  const { strategies } = known
  return {
    token,
    allowance: allowances.get(token.address),
    balance: balances.get(token.address),
    wanted: strategies && wantedApproval(token, { ...known, strategies }),
  }
}

function rightsOf(settings: Settings, owner: Address): Promise<Report['permit2Rights']> {
  const { permit2, spenders, chain } = settings.gasless
  return withClock(async (clock) => {
    const inspection = composeInspection(chainOf(settings, chain), {
      clock,
      timeoutMs: ANSWER_MS_MAX,
    })
    const tokens = tradedTokens(settings).map(({ address }) => address)
    try {
      return await inspection.permit2Rights({ owner, permit2, tokens, spenders })
    } finally {
      await inspection.close()
    }
  })
}

function dataOf({ tokens, permit2Rights, ...report }: Report) {
  return {
    ...report,
    tokens: tokens.map(({ token, allowance, balance, wanted }) => ({
      token: token.symbol,
      address: token.address,
      allowance: allowance === undefined ? null : exactText(allowance, token),
      balance: balance === undefined ? null : exactText(balance, token),
      wants: wanted === undefined ? null : wantsData(wanted, token),
    })),
    permit2Rights: permit2Rights.ok
      ? permit2Rights.value.map(({ token: address, spender, amount, expiresAtSeconds }) => ({
          ...rightData(address, amount, tokens),
          spender,
          expiresAt: timeText(expiresAtSeconds),
        }))
      : null,
  }
}

function rightData(address: Address, amount: bigint, rows: readonly Row[]) {
  const known = rows.find(({ token }) => token.address === address)?.token
  return known === undefined
    ? { token: address, amount: amount.toString() }
    : { token: known.symbol, amount: exactText(amount, known) }
}

function wantsData(wanted: WantedApproval, token: Token): string {
  return wanted.type === 'budget' ? exactText(wanted.amount, token) : wanted.type
}

function textOf(
  report: Report,
  { settings, nowMs }: { settings: Settings; nowMs: number },
): string {
  const rows = report.tokens.map((row) => [
    row.token.symbol,
    row.allowance === undefined ? 'not read' : allowanceText(row.allowance, row.token),
    row.wanted === undefined ? 'not known' : wantedText(row.wanted, row.token),
  ])
  return [
    `wallet   ${report.owner}`,
    `Permit2  ${report.permit2}, approval: ${report.approval}`,
    '',
    ...aligned([['token', 'Permit2 may spend', 'the config wants'], ...rows]),
    ...rightLines(report.permit2Rights, { settings, nowMs }),
  ].join('\n')
}

/** Orders carry a signature each: what stands in Permit2's own table was put there by something else. */
function rightLines(
  rights: Report['permit2Rights'],
  { settings, nowMs }: { settings: Settings; nowMs: number },
): readonly string[] {
  if (!rights.ok) return ['', `Permit2's own table of rights was not read: ${rights.fault.message}`]
  const live = rights.value.filter((right) => right.expiresAtSeconds * 1000 > nowMs)
  if (live.length === 0) return []
  const tokens = tradedTokens(settings)
  return [
    '',
    'Permit2 itself has rights on record that this daemon never uses:',
    ...live.map((right) => {
      const token = tokens.find(({ address }) => address === right.token)
      const amount = token === undefined ? right.token : allowanceText(right.amount, token)
      return `  ${right.spender} may take ${amount} until ${timeText(right.expiresAtSeconds)}`
    }),
  ]
}

/** Times without an end do not fit a date. */
function timeText(seconds: number): string {
  return seconds > 253_402_300_799 ? 'for ever' : instantText(seconds)
}

export function allowanceText(amount: bigint, { decimals, symbol }: Token): string {
  return isUnlimited(amount) ? 'unlimited' : `${formatBrief(amount, decimals)} ${symbol}`
}

function exactText(amount: bigint, { decimals, symbol }: Token): string {
  return isUnlimited(amount) ? 'unlimited' : `${formatAmount(amount, decimals)} ${symbol}`
}

export function wantedText(wanted: WantedApproval, token: Token): string {
  switch (wanted.type) {
    case 'nothing':
      return 'nothing: no strategy sells it'
    case 'exact':
      return 'what each order takes'
    case 'budget':
      return `${allowanceText(wanted.amount, token)} today`
    case 'unlimited':
      return 'unlimited'
  }
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
