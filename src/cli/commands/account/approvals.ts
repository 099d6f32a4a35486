import type { Permit2Right } from '../../../adapters/chain/inspection.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import { dayBudget } from '../../../domain/book/limits.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Token } from '../../../domain/token.ts'
import { type Address, formatBrief, maxOf } from '../../../domain/units.ts'
import { soldTokens } from '../../../engine/spend.ts'
import type { ChainReply, ChainView } from '../../../ports.ts'
import { amountData } from '../../amount-data.ts'
import { withClock } from '../../compose/clock.ts'
import { chainOf, composeInspection } from '../../compose/services.ts'
import { readState } from '../../compose/state.ts'
import { instantText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { ApprovalsListData } from '../../json/account.ts'
import {
  type ConfigOptions,
  loadForReading,
  problemsData,
  renderAll,
  reportProblems,
  settingsForReading,
} from '../../load.ts'
import { readMarketNow } from '../../market.ts'

/** From this on an allowance is no sum that anybody reckons with. */
const UNLIMITED_FROM = 2n ** 255n
/** What Permit2 itself takes for a right without a bound, and never counts down. */
const UNLIMITED_RIGHT = 2n ** 160n - 1n
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
    const message = `the chain cannot be read: ${market.why}`
    return printFailure(io, options, { by: 'approvals', message })
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
  if (options.json) {
    const problems = problemsData(loaded.ok ? [] : loaded.problems)
    printJson<ApprovalsListData>(io, { ok: true, ...dataOf(report), problems })
  } else io.stdout.write(`${textOf(report, { settings, nowMs })}\n`)
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

type ReportData = Omit<ApprovalsListData, 'ok' | 'problems'>

function dataOf({ tokens, permit2Rights, ...report }: Report): ReportData {
  return {
    ...report,
    tokens: tokens.map(({ token, allowance, balance, wanted }) => ({
      token: token.symbol,
      address: token.address,
      allowance: allowance === undefined ? null : amountData(allowance, token),
      isUnlimited: allowance === undefined ? null : isUnlimited(allowance),
      balance: balance === undefined ? null : amountData(balance, token),
      wants: wanted === undefined ? null : wantsData(wanted, token),
    })),
    permit2Rights: permit2Rights.ok
      ? permit2Rights.value.flatMap((right) => rightData(right, tokens))
      : null,
  }
}

/** Rights were asked for by token, so that each is of one of them. */
function rightData(
  { token: address, spender, amount, expiresAtSeconds }: Permit2Right,
  rows: readonly Row[],
): NonNullable<ReportData['permit2Rights']> {
  const token = rows.find((row) => row.token.address === address)?.token
  if (token === undefined) return []
  return [
    {
      token: token.symbol,
      amount: amountData(amount, token),
      isUnlimited: amount === UNLIMITED_RIGHT,
      spender,
      expiresAt: isForEver(expiresAtSeconds) ? null : instantText(expiresAtSeconds),
    },
  ]
}

function wantsData(
  wanted: WantedApproval,
  token: Token,
): NonNullable<ReportData['tokens'][number]['wants']> {
  const amount = wanted.type === 'budget' ? amountData(wanted.amount, token) : null
  return { type: wanted.type, amount }
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
function isForEver(seconds: number): boolean {
  return seconds > 253_402_300_799
}

function timeText(seconds: number): string {
  return isForEver(seconds) ? 'for ever' : instantText(seconds)
}

export function allowanceText(amount: bigint, { decimals, symbol }: Token): string {
  return isUnlimited(amount) ? 'unlimited' : `${formatBrief(amount, decimals)} ${symbol}`
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
