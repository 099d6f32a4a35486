import { openHaltFile } from '../../../control/halt-file.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Address } from '../../../domain/money/units.ts'
import { hasLiveAuthorization } from '../../../domain/order/order.ts'
import type { Settings } from '../../../domain/settings.ts'
import { type Foundations, requireSame } from '../../../engine/daemon.ts'
import type { Recorded } from '../../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { ChainReply } from '../../../ports.ts'
import { createScrubber } from '../../../system/scrubber.ts'
import type { SendingContext } from '../../../venues/context.ts'
import { revokeAllowance } from '../../../venues/swap/prepare.ts'
import { openSwaps } from '../../../venues/swap/swap-projection.ts'
import type { TransactionOutcome } from '../../../venues/wallet/transaction.ts'
import { reportEvent, reportStep, whileStopped } from '../../compose/aggregator.ts'
import { compose, NOTHING_DECIDED } from '../../compose/services.ts'
import { composeGuard, readState, whileOpen } from '../../compose/state.ts'
import { openAnchors, readKey, whileClaimed } from '../../compose/wallets.ts'
import type { ApprovalsRevokeData } from '../../json/account-outputs.ts'
import { type ConfigOptions, settingsForReading } from '../../load-files.ts'
import { requireSwaps, tradedTokens } from '../../market.ts'
import { type ExitCode, type Io, printOutcome } from '../../process/io.ts'
import { confirm, misused, orRefuse, Refusal } from '../../process/refusal.ts'
import { allowanceText } from './approvals.ts'

const COMMAND = 'approvals revoke'

export type RevokeOptions = ConfigOptions & { readonly all?: boolean; readonly yes?: boolean }

/**
 * `tranched approvals revoke [TOKEN...]`: revokes Permit2's allowance until an order needs it again. The signing policy and
 * the journal treat the transactions like a daemon's. Works under a halt.
 */
export async function approvalsRevoke(
  names: readonly string[],
  options: RevokeOptions,
  io: Io,
): Promise<ExitCode> {
  const { settings } = orRefuse(settingsForReading(options, io))
  requireSwaps(settings, COMMAND)
  const tokens = tokensOf(names, options, settings)
  requireNoneOpen((await readState(settings.stateDir))?.state)
  const list = tokens.map(({ symbol }) => symbol).join(', ')
  const question = `Revoke what Permit2 may spend of ${list}? Each token takes a transaction, which costs gas.`
  await confirm(question, { options, io })
  return withTrader(settings, io, (tools) => revoke(tokens, tools, { options, io }))
}

function tokensOf(
  names: readonly string[],
  { all }: RevokeOptions,
  settings: Settings,
): readonly Token[] {
  const tokens = tradedTokens(settings)
  const known = `one or more of: ${tokens.map(({ symbol }) => symbol).join(', ')}`
  if (names.length === 0 && all !== true) throw misused(`name ${known}; or give --all`, COMMAND)
  if (names.length > 0 && all === true) throw misused('name tokens, or give --all', COMMAND)
  const stranger = names.find((name) => !tokens.some(({ symbol }) => symbol === name))
  if (stranger !== undefined)
    throw misused(`${stranger} is not a token of the config: name ${known}`, COMMAND)
  return all === true ? tokens : tokens.filter(({ symbol }) => names.includes(symbol))
}

/** Refuses while signed orders are open: they would fail without the allowance. An unsigned order gets a new approval. */
export function requireNoneOpen(state: DaemonState | undefined): void {
  const swaps = state === undefined ? [] : openSwaps(state)
  const open = swaps.filter((swap) => hasLiveAuthorization(swap.state))
  if (open.length === 0) return
  const orders = open.length === 1 ? '1 order is' : `${open.length} orders are`
  throw new Refusal(
    `nothing was revoked: ${orders} open (${open.map(({ intent }) => intent.id).join(', ')}) and would fail. Run the daemon until they end; \`tranched settle\` ends one that is stuck`,
  )
}

type Revoking = {
  readonly context: Foundations & SendingContext
  readonly report: (line: string) => void
}

async function withTrader(
  settings: Settings,
  io: Io,
  task: (revoking: Revoking) => Promise<ExitCode>,
): Promise<ExitCode> {
  const command = COMMAND
  const scrubber = createScrubber()
  const report = (line: string): void => void io.stderr.write(`${scrubber.text(line)}\n`)
  const observe = (event: RuntimeEvent): void => reportEvent(event, report)
  return whileStopped({ settings }, { io, command }, async (lock, clock) => {
    const read = await readKey(settings, settings.gasless.wallet, { scrubber, io })
    const { key: trader, journalKey: key } = orRefuse(read)
    const wallets = { trader: trader.address, operator: undefined }
    return whileClaimed(settings, wallets, { io, command, lock }, async () => {
      const stopping = new AbortController()
      const stop = (reason: unknown): void => stopping.abort(reason)
      const offSignal = io.onSignal(stop)
      const anchors = await openAnchors(settings, wallets, clock)
      const recorded = (entry: Recorded): void => reportStep(entry, report)
      const parts = { lock, anchors, clock, key, recorded, onFatal: stop, report }
      try {
        return await whileOpen(settings, parts, async ({ journal }) => {
          await anchors?.keep(journal)
          const haltFile = openHaltFile(settings.stateDir)
          const guard = composeGuard(
            haltFile.blocked,
            () => lock.lostLately(),
            () => anchors?.lost(),
          )
          const ports = { clock, journal, guard, haltFile, observe }
          const composed = await compose({ ...ports, ...NOTHING_DECIDED, settings, trader })
          const { signal } = stopping
          try {
            const context = { ...composed.context, closing: signal, stop: signal }
            return await task({ context, report })
          } finally {
            await composed.close()
          }
        })
      } finally {
        offSignal()
      }
    })
  })
}

async function revoke(
  tokens: readonly Token[],
  revoking: Revoking,
  { options, io }: { readonly options: RevokeOptions; readonly io: Io },
): Promise<ExitCode> {
  const { context, report } = revoking
  const { signer, journal } = context.ports
  requireNoneOpen(journal.state)
  await requireSameChain(context)
  for (const { record } of journal.state.transactions.values())
    if (record.from === signer.address) report(`${record.id}: in flight, followed first`)
  const before = await allowancesOf(tokens, context)
  if (!before.ok) throw new Refusal(`nothing was revoked: ${before.fault.message}`)
  const done: Revoked[] = []
  for (const token of tokens)
    done.push({ token, ...(await revokeOne(token, before.value.get(token.address), revoking)) })
  return printOutcome<ApprovalsRevokeData>(io, options, {
    ok: done.every(({ ok }) => ok),
    message: done.map(({ token, message }) => `${token.symbol}: ${message}`).join('\n'),
    owner: signer.address,
    tokens: done.map(({ token, ok, changed }) => ({ token: token.symbol, ok, changed })),
  })
}

type Revoked = {
  readonly token: Token
  readonly ok: boolean
  readonly changed: boolean
  readonly message: string
}

async function revokeOne(
  token: Token,
  allowance: bigint | undefined,
  { context, report }: Revoking,
): Promise<Omit<Revoked, 'token'>> {
  const failed = (message: string) => ({ ok: false, changed: false, message })
  if (allowance === undefined) return failed('its allowance cannot be read')
  if (allowance === 0n) return { ok: true, changed: false, message: 'nothing was approved' }
  report(`${token.symbol}: revoking ${allowanceText(allowance, token)}`)
  const { permit2 } = context.gasless
  const outcome = await revokeAllowance(context, context.wallet, { token: token.address, permit2 })
  if (outcome.tag !== 'mined') return failed(whyNot(outcome))
  const after = await allowancesOf([token], context)
  const left = after.ok ? after.value.get(token.address) : undefined
  if (left !== undefined && left > 0n)
    return failed(`Permit2 may still spend ${allowanceText(left, token)}`)
  return { ok: true, changed: true, message: 'revoked: Permit2 may spend nothing of it' }
}

/** Guards against a node of another chain, where every allowance reads as zero. */
async function requireSameChain({ ports, mode }: Foundations): Promise<void> {
  const { bound } = ports.journal.state
  const reply = await ports.chain.identity()
  if (!reply.ok) throw new Refusal(`nothing was revoked: ${reply.fault.message}`)
  const { chainId, genesisHash } = reply.value
  if (bound !== undefined)
    requireSame(bound, { mode, chainId, genesisHash, owner: ports.signer.address })
}

async function allowancesOf(
  tokens: readonly Token[],
  { ports: { chain, signer } }: Foundations,
): Promise<ChainReply<ReadonlyMap<Address, bigint>>> {
  const reply = await chain.view({ owner: signer.address, tokens, feeds: [] })
  return reply.ok ? { ok: true, value: reply.value.allowances } : reply
}

function whyNot(outcome: Exclude<TransactionOutcome, { tag: 'mined' }>): string {
  switch (outcome.tag) {
    case 'reverted':
      return "not revoked: the token's contract refused it"
    case 'lost':
      return 'not revoked: another transaction used its nonce; try again'
    case 'stopped':
      return 'it is unknown whether it was revoked: the signed transaction is recorded, and the next run follows it'
    case 'unsent':
      return outcome.why === 'insufficientFunds'
        ? 'not revoked: the wallet has too little ether for it'
        : `not revoked: ${outcome.detail}`
    case 'blocked':
      return `not revoked: ${outcome.closing.detail ?? outcome.closing.reason}`
  }
}
