import type { DaemonState } from '../../../domain/book/state.ts'
import { openSwaps } from '../../../domain/book/swaps.ts'
import { hasLiveAuthorization } from '../../../domain/order.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Token } from '../../../domain/token.ts'
import { requireSame } from '../../../engine/daemon.ts'
import { revokeAllowance } from '../../../execute/swap/revoke.ts'
import type { TransactionOutcome } from '../../../execute/transaction.ts'
import type { ChainReply } from '../../../ports.ts'
import { readState } from '../../compose/state.ts'
import { type TraderTools, withTrader } from '../../compose/trader.ts'
import {
  EXIT,
  type ExitCode,
  type Io,
  printFailure,
  printOutcome,
  printUnwanted,
} from '../../io.ts'
import type { ApprovalsRevokeData } from '../../json/account.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load.ts'
import { isWanted } from '../state/state-word.ts'
import { allowanceText, tradedTokens } from './approvals.ts'

export type RevokeOptions = ConfigOptions & { readonly all?: boolean; readonly yes?: boolean }

/**
 * `tranched approvals revoke [TOKEN...]`: Permit2 may spend nothing of these tokens any more, until an order has it approved again.
 * By transactions of the wallet that are judged and journaled as a daemon's are; works under a halt.
 */
export async function approvalsRevoke(
  names: readonly string[],
  options: RevokeOptions,
  io: Io,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const tokens = tokensOf(names, options, settings)
  if (typeof tokens === 'string') {
    const by = 'approvals revoke'
    return printFailure(io, options, { by, message: tokens, code: EXIT.usage })
  }
  const open = openOrders((await readState(settings.stateDir))?.state)
  if (open !== undefined) return printFailure(io, options, { message: open })
  const list = tokens.map(({ symbol }) => symbol).join(', ')
  const question = `Take from Permit2 all that it may spend of ${list}? Each takes a transaction, which costs gas.`
  if (!(await isWanted(question, { options, io }))) return printUnwanted(io, options)
  return withTrader({ settings, options, io, command: 'approvals revoke' }, (tools) =>
    revoke(tokens, tools, { settings, options, io }),
  )
}

function tokensOf(
  names: readonly string[],
  { all }: RevokeOptions,
  settings: Settings,
): readonly Token[] | string {
  const tokens = tradedTokens(settings)
  const known = `one or more of: ${tokens.map(({ symbol }) => symbol).join(', ')}`
  if (names.length === 0 && all !== true) return `name ${known}; or give --all`
  if (names.length > 0 && all === true) return 'name tokens, or give --all'
  const stranger = names.find((name) => !tokens.some(({ symbol }) => symbol === name))
  if (stranger !== undefined) return `${stranger} is no token of the config: name ${known}`
  return all === true ? tokens : tokens.filter(({ symbol }) => names.includes(symbol))
}

/** Whatever is signed would fail without its allowance. What is not signed yet has it approved again, or never comes to that. */
export function openOrders(state: DaemonState | undefined): string | undefined {
  const swaps = state === undefined ? [] : openSwaps(state)
  const open = swaps.filter((swap) => hasLiveAuthorization(swap.state))
  if (open.length === 0) return undefined
  const orders = open.length === 1 ? '1 order is' : `${open.length} orders are`
  return `nothing was revoked: ${orders} open (${open.map(({ intent }) => intent.id).join(', ')}), which would fail. Run the daemon until they are over; \`tranched settle\` ends one that nothing else ends`
}

type Asked = { readonly settings: Settings; readonly options: RevokeOptions; readonly io: Io }

async function revoke(
  tokens: readonly Token[],
  tools: TraderTools,
  { settings, options, io }: Asked,
): Promise<ExitCode> {
  const refuse = (message: string): ExitCode => printFailure(io, options, { message })
  const { state } = tools.context.ports.journal
  const open = openOrders(state)
  if (open !== undefined) return refuse(open)
  const stranger = await otherChain(state, tools, settings)
  if (stranger !== undefined) return refuse(stranger)
  for (const { record } of state.transactions.values())
    if (record.from === tools.owner) tools.tell(`${record.id}: under way, and followed first`)
  const before = await allowancesOf(tokens, tools)
  if (!before.ok) return refuse(`nothing was revoked: ${before.fault.message}`)
  const done: Revoked[] = []
  for (const token of tokens) {
    const allowance = before.value.get(token)
    done.push({ token, ...(await revokeOne(token, allowance, { tools, settings })) })
  }
  return printOutcome<ApprovalsRevokeData>(io, options, {
    ok: done.every(({ ok }) => ok),
    message: done.map(({ token, message }) => `${token.symbol}: ${message}`).join('\n'),
    owner: tools.owner,
    tokens: done.map(({ token, ok, changed }) => ({ token: token.symbol, ok, changed })),
    problems: [],
  })
}

type Revoked = {
  readonly token: Token
  readonly ok: boolean
  /** Whether a transaction was mined for it. */
  readonly changed: boolean
  readonly message: string
}

async function revokeOne(
  token: Token,
  allowance: bigint | undefined,
  { tools, settings }: { readonly tools: TraderTools; readonly settings: Settings },
): Promise<Omit<Revoked, 'token'>> {
  const failed = (message: string) => ({ ok: false, changed: false, message })
  if (allowance === undefined) return failed('its allowance cannot be read')
  if (allowance === 0n) return { ok: true, changed: false, message: 'nothing was approved' }
  const { context, wallet, tell } = tools
  tell(`${token.symbol}: revoking ${allowanceText(allowance, token)}`)
  const { permit2 } = settings.gasless
  const outcome = await revokeAllowance(context, wallet, { token: token.address, permit2 })
  if (outcome.tag !== 'mined') return failed(whyNot(outcome))
  const after = await allowancesOf([token], tools)
  const left = after.ok ? after.value.get(token) : undefined
  if (left !== undefined && left > 0n)
    return failed(`Permit2 may still spend ${allowanceText(left, token)}`)
  return { ok: true, changed: true, message: 'revoked: Permit2 may spend nothing of it' }
}

/** A key that is right and a node that is not: of another chain every allowance would read as nothing. */
async function otherChain(
  { bound }: DaemonState,
  { chain, owner }: TraderTools,
  { mode }: Settings,
): Promise<string | undefined> {
  const reply = await chain.identity()
  if (!reply.ok) return `nothing was revoked: ${reply.fault.message}`
  const { chainId, genesisHash } = reply.value
  if (bound !== undefined) requireSame(bound, { mode, chainId, genesisHash, owner })
  return undefined
}

async function allowancesOf(
  tokens: readonly Token[],
  { chain, owner }: TraderTools,
): Promise<ChainReply<ReadonlyMap<Token, bigint>>> {
  const reply = await chain.view({ owner, tokens, feeds: [] })
  if (!reply.ok) return reply
  const { allowances } = reply.value
  return {
    ok: true,
    value: new Map(
      tokens.flatMap((token) => {
        const allowance = allowances.get(token.address)
        return allowance === undefined ? [] : [[token, allowance] as const]
      }),
    ),
  }
}

function whyNot(outcome: Exclude<TransactionOutcome, { tag: 'mined' }>): string {
  switch (outcome.tag) {
    case 'reverted':
      return "not revoked: the token's contract refused it"
    case 'lost':
      return 'not revoked: its nonce was used by something else; try again'
    case 'stopped':
      return 'it is not known whether it was revoked: what was signed is on record, and the next run follows it'
    case 'unsent':
      return outcome.why === 'insufficientFunds'
        ? 'not revoked: the wallet has too little ether for it'
        : `not revoked: ${outcome.detail}`
    case 'barred':
      return `not revoked: ${outcome.closing.detail ?? outcome.closing.reason}`
  }
}
