import type { Permit2Right } from '../../../chain/inspection.ts'
import { briefText } from '../../../domain/money/amount-text.ts'
import type { Token } from '../../../domain/money/token.ts'
import { maxOf } from '../../../domain/money/units.ts'
import type { Settings } from '../../../domain/settings.ts'
import { dayBudget } from '../../../journal/projections/limits.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import { instantText } from '../../../observe/wording.ts'
import type { ChainReply } from '../../../ports.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { soldTokens } from '../../../strategies/spending/worst-case.ts'
import { openProbes } from '../../compose/checkup.ts'
import { stateAtHand } from '../../compose/state.ts'
import type { ApprovalsListData } from '../../json/account-outputs.ts'
import { type ConfigOptions, loadForReading } from '../../load-files.ts'
import { readMarketNow, requireSwaps, tradedTokens } from '../../market.ts'
import { type ExitCode, type Given, type Io, print, renderAll } from '../../process/io.ts'
import { orRefuse, Refusal } from '../../process/refusal.ts'
import { amountData, amountOrNull } from '../../text/amount-data.ts'
import { tableLines } from '../../text/table.ts'

/** An allowance of at least this much counts as unlimited. */
const UNLIMITED_FROM = 2n ** 255n
/** Permit2's value for an unlimited allowance, which it never reduces. */
const UNLIMITED_RIGHT = 2n ** 160n - 1n
const ANSWER_MS_MAX = 5_000

export type WantedApproval =
  /** No enabled strategy sells it. */
  | { readonly type: 'nothing' }
  /** The amount of each order, before the order. */
  | { readonly type: 'exact' }
  | { readonly type: 'budget'; readonly amount: bigint }
  | { readonly type: 'unlimited' }

/** The approval that the daemon would request for an order of the token now. */
export function wantedApproval(
  token: Token,
  wanting: {
    readonly settings: Pick<Settings, 'gasless' | 'limits'>
    readonly strategies: readonly Strategy[]
    readonly state: DaemonState
    readonly nowMs: number
  },
): WantedApproval {
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

/** `tranched approvals list`: Permit2's actual and wanted allowance of each token. Sends nothing. */
export async function approvalsList(
  options: ConfigOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  const { settings = orRefuse(loaded).settings } = loaded
  requireSwaps(settings, 'approvals')
  const { permit2, approval } = settings.gasless
  const state = await stateAtHand(settings.stateDir)
  const tokens = tradedTokens(settings)
  const market = await readMarketNow(settings, { tokens, pairs: [] }, { state, io })
  if (!market.ok) throw new Refusal(`the chain cannot be read: ${market.why}`, { by: 'approvals' })
  const { owner, view } = market
  const rows = tokens.map((token) => ({
    token,
    allowance: view.allowances.get(token.address),
    balance: view.balances.get(token.address),
    wanted: loaded.ok
      ? wantedApproval(token, { settings, strategies: loaded.strategies, state, nowMs })
      : undefined,
  }))
  const probes = openProbes({ settings, state, timeoutMs: ANSWER_MS_MAX, env: io.env })
  const rights = await probes.rights(owner, tokens).finally(() => probes.close())
  const problems = loaded.ok ? [] : loaded.problems
  const data: Given<ApprovalsListData> = {
    owner,
    permit2,
    approval,
    tokens: rows.map(rowData),
    permit2Rights: rights.ok ? rights.value.flatMap((right) => rightData(right, tokens)) : null,
    problems,
  }
  const code = print<ApprovalsListData>(io, options, data, () => [
    `wallet   ${owner}`,
    `Permit2  ${permit2}, approval: ${approval}`,
    '',
    ...tableLines(COLUMNS, rows, Number.POSITIVE_INFINITY),
    ...rightLines(rights, tokens, nowMs),
  ])
  if (!options.json && problems.length > 0) io.stderr.write(`${renderAll(problems, io)}\n`)
  return code
}

type Row = {
  readonly token: Token
  /** Undefined if not read. */
  readonly allowance: bigint | undefined
  readonly balance: bigint | undefined
  /** Undefined if the strategies cannot be read. */
  readonly wanted: WantedApproval | undefined
}

const COLUMNS = [
  { title: 'token', cell: ({ token }: Row) => token.symbol },
  {
    title: 'Permit2 may spend',
    cell: ({ token, allowance }: Row) =>
      allowance === undefined ? 'not read' : allowanceText(allowance, token),
  },
  {
    title: 'the config wants',
    cell: ({ token, wanted }: Row) =>
      wanted === undefined ? 'not known' : wantedText(wanted, token),
  },
]

type Rights = ChainReply<readonly Permit2Right[]>

function rowData({ token, allowance, balance, wanted }: Row): ApprovalsListData['tokens'][number] {
  const budget = wanted?.type === 'budget' ? wanted.amount : undefined
  return {
    token: token.symbol,
    address: token.address,
    allowance: amountOrNull(allowance, token),
    isUnlimited: allowance === undefined ? null : isUnlimited(allowance),
    balance: amountOrNull(balance, token),
    wants: wanted === undefined ? null : { type: wanted.type, amount: amountOrNull(budget, token) },
  }
}

function rightData(
  { token: address, spender, amount, expiresAtSeconds }: Permit2Right,
  tokens: readonly Token[],
): NonNullable<ApprovalsListData['permit2Rights']> {
  const token = tokens.find((each) => each.address === address)
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

/** This daemon never grants allowances in Permit2's own table: each order carries a signature. */
function rightLines(rights: Rights, tokens: readonly Token[], nowMs: number): readonly string[] {
  if (!rights.ok) return ['', `Permit2's own allowance table was not read: ${rights.fault.message}`]
  const live = rights.value.filter((right) => right.expiresAtSeconds * 1000 > nowMs)
  if (live.length === 0) return []
  return [
    '',
    "Permit2's own table has allowances that this daemon never uses:",
    ...live.map(({ token: address, spender, amount, expiresAtSeconds: until }) => {
      const token = tokens.find((each) => each.address === address)
      const what = token === undefined ? address : allowanceText(amount, token)
      return `  ${spender} may take ${what} ${isForEver(until) ? 'forever' : `until ${instantText(until)}`}`
    }),
  ]
}

/** True for a time beyond the year 9999, which a date cannot show. */
function isForEver(seconds: number): boolean {
  return seconds > 253_402_300_799
}

export function allowanceText(amount: bigint, token: Token): string {
  return isUnlimited(amount) ? 'unlimited' : briefText(amount, token)
}

export function wantedText(wanted: WantedApproval, token: Token): string {
  switch (wanted.type) {
    case 'nothing':
      return 'nothing: no strategy sells it'
    case 'exact':
      return 'the amount of each order'
    case 'budget':
      return `${allowanceText(wanted.amount, token)} today`
    case 'unlimited':
      return 'unlimited'
  }
}
