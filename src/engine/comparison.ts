import type { EventOf } from '../domain/book/journal.ts'
import { sightOf, type WalletPlace } from '../domain/book/sights.ts'
import type { DaemonState, OpenSwap, UnfinalFill, WalletSight } from '../domain/book/state.ts'
import { openSwaps } from '../domain/book/swaps.ts'
import type { VenueName } from '../domain/book/venues.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import type { PermitRecord } from '../domain/permit.ts'
import { staleHead } from '../domain/policy.ts'
import type { Token } from '../domain/token.ts'
import { formatAmount, type Hex, maxOf } from '../domain/units.ts'
import { askChain } from '../execute/ask.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import { evidenceHalt, type SeenNonces, strangeNonces } from '../execute/evidence.ts'
import { names } from '../execute/swap/prove.ts'
import type { ChainReply, Payment, TransactionTrace } from '../ports.ts'

/**
 * At each start, and every three hours from then on, the chain is held against the journal (rule T4). What a wallet has done since
 * both were last compared, and no record explains, was done by somebody else with its key, or by this daemon in records that
 * are lost: everything halts.
 */

const COMPARE_EVERY_MS = 3 * 3_600_000
const RETRY_MS = 30_000
/** Logs come late; what was seen in the last twenty minutes before a comparison is looked at once more. */
const MARGIN_BLOCKS = 600n
/** Transactions that are named; what more there are is counted. */
const NAMED_MAX = 5
/** Transactions that are looked into for orders in flight: more than can be in flight at once are nobody's. */
const LOOKED_INTO_MAX = 200

const READING = { route: 'compare', doing: 'comparing a wallet with the journal' } as const
const UNCOMPARED = 'its wallet was not held against the chain yet'

export type Comparison = {
  /** Why nothing new may be decided or signed yet; undefined once this process has compared the wallet. */
  uncompared(venue: VenueName): string | undefined
  /** Compares until the daemon closes. */
  keep(): Promise<unknown>
  /** Resolves when the wallet that trades is compared, or the daemon closes. */
  readonly traderCompared: Promise<void>
  /** The same of the account behind calls. */
  readonly accountCompared: Promise<void>
}

/** A context before the comparison is part of it. */
type Comparing = Omit<OrderContext, 'uncompared'>

/** In dry-run nothing is compared: it signs nothing, and somebody else may well use the wallet. */
export function createComparison(context: Comparing, tokens: readonly Token[]): Comparison {
  const { aggregator, closing, mode, ports } = context
  const isDry = mode === 'dry-run'
  const isDone: Record<VenueName, boolean> = {
    gasless: isDry,
    aggregated: isDry || aggregator === undefined,
  }
  const gates: Record<VenueName, Gate> = { gasless: gate(), aggregated: gate() }

  async function keepOne(venue: VenueName, compare: () => Promise<boolean>): Promise<void> {
    while (!isDry && !closing.aborted) {
      const isAnswered = await compare()
      isDone[venue] ||= isAnswered
      if (isAnswered) gates[venue].open()
      await ports.clock.sleep(isAnswered ? COMPARE_EVERY_MS : RETRY_MS, closing)
    }
    gates[venue].open()
  }

  return {
    uncompared: (venue) => (isDone[venue] ? undefined : UNCOMPARED),
    keep: () =>
      Promise.all([
        keepOne('gasless', () => compareTrader(context, tokens)),
        aggregator && keepOne('aggregated', () => compareAccount(context, aggregator)),
      ]),
    traderCompared: gates.gasless.opened,
    accountCompared: gates.aggregated.opened,
  }
}

type Gate = { readonly opened: Promise<void>; readonly open: () => void }

function gate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** The wallet that trades: its transactions, and what was paid out of it. False where the chain does not say, or a node that is behind. */
async function compareTrader(context: Comparing, tokens: readonly Token[]): Promise<boolean> {
  const { ports, closing, chainId } = context
  const { journal, signer } = ports
  const place = { chainId, wallet: signer.address }
  const before = sightOf(journal.state, place)
  const reply = await askChain(context, READING, () => lookAtTrader(context, before, tokens))
  if (!reply.ok || closing.aborted) return false
  const { blockNumber, transactionCount, strange } = reply.value
  // What was proven meanwhile is claimed by now.
  const payments = unclaimed(
    journal.state,
    strange.flatMap((each) => each.payments),
  )
  const told = payments.slice(0, NAMED_MAX).map((each) => paymentText(each, tokens))
  const more = payments.length - told.length
  if (more > 0) told.push(`${more} more transactions paid out of it`)
  const nonces = { transactionCount, nestedNonce: undefined }
  const seen = { ...nonces, blockNumber, isAccepted: told.length > 0 }
  await conclude(context, place, {
    seen,
    evidence: [...strangeNonces(journal.state, place, nonces), ...told],
  })
  return true
}

/** The account behind calls: its transactions and its `nestedNonce`. No call of it is recorded meanwhile. */
function compareAccount(context: Comparing, aggregator: AggregatorContext): Promise<boolean> {
  const { wallet, chain, settings, callTurn } = aggregator
  const { address: account } = wallet.signer
  const place = { chainId: wallet.chainId, wallet: account }
  const { gasTank } = settings.contracts
  return callTurn(async () => {
    const reply = await askChain(context, READING, () => chain.account({ account, gasTank }))
    if (!reply.ok || context.closing.aborted) return false
    const seen = { ...reply.value, isAccepted: false }
    const evidence = strangeNonces(context.ports.journal.state, place, seen)
    await conclude(context, place, { seen, evidence })
    return true
  })
}

/** The halt and the new beginning are one: evidence is told once, and holds until an operator resumes. */
async function conclude(
  { ports: { journal } }: Comparing,
  place: WalletPlace,
  {
    seen,
    evidence,
  }: {
    readonly seen: SeenNonces & {
      readonly blockNumber: bigint
      /** Payments up to here are told now, and not again. */
      readonly isAccepted: boolean
    }
    readonly evidence: readonly string[]
  },
): Promise<void> {
  const { blockNumber, transactionCount, nestedNonce, isAccepted } = seen
  const before = sightOf(journal.state, place)
  const sinceBlock = before === undefined || isAccepted ? blockNumber + 1n : before.sinceBlock
  const compared: EventOf<'wallet-compared'> = {
    ...{ type: 'wallet-compared', ...place, sinceBlock, blockNumber },
    ...{ transactionCount, nestedNonce },
  }
  if (evidence.length === 0) return journal.append(compared)
  await journal.append(evidenceHalt(journal.state, evidence), compared)
}

/** What one transaction paid out of the wallet, and no order claims. */
type Strange = { readonly txHash: Hex; readonly payments: readonly Payment[] }

type TraderSeen = {
  readonly blockNumber: bigint
  readonly transactionCount: number
  readonly strange: readonly Strange[]
}

async function lookAtTrader(
  context: Comparing,
  before: WalletSight | undefined,
  tokens: readonly Token[],
): Promise<ChainReply<TraderSeen>> {
  const { chain, signer, observe } = context.ports
  const { address: owner } = signer
  const view = await chain.view({ owner, tokens: [], feeds: [] })
  if (!view.ok) return view
  // What is compared is forgotten after some hours, so that the next comparison must not begin hours ago, where a node had been.
  const stale = staleHead(context.ports.clock.now(), view.value.blockTimeSeconds)
  if (stale !== undefined) return { ok: false, fault: { tag: 'unavailable', message: stale } }
  const own = await chain.transaction({ from: owner, hashes: [] })
  if (!own.ok) return own
  const { blockNumber } = view.value
  const seen = { blockNumber, transactionCount: own.value.latestNonce, strange: [] }
  if (before === undefined || tokens.length === 0) return { ok: true, value: seen }
  // A node that is behind by less shows less, and what it does not show is asked for the next time.
  const fromBlock = maxOf(before.sinceBlock, before.blockNumber - MARGIN_BLOCKS)
  const paid = await chain.payments({
    owner,
    tokens: tokens.map(({ address }) => address),
    fromBlock,
    toBlock: blockNumber,
  })
  if (!paid.ok) return paid
  if (paid.value.fromBlock > fromBlock) {
    const message = `payments in blocks ${fromBlock} to ${paid.value.fromBlock - 1n} were not searched: its node takes too many requests for that`
    observe({ type: 'chain-trouble', doing: READING.doing, message })
  }
  const strange = await unlessOfLiveOrders(context, paid.value.payments)
  return strange.ok ? { ok: true, value: { ...seen, strange: strange.value } } : strange
}

/** Payments that are in the books of no order, by their transactions. */
function unclaimed(
  { claimedTransfers }: DaemonState,
  payments: readonly Payment[],
): readonly Strange[] {
  const byTransaction = new Map<Hex, Payment[]>()
  for (const payment of payments) {
    const { txHash, logIndex } = payment
    if (claimedTransfers.has(txHash) || claimedTransfers.has(`${txHash}:${logIndex}`)) continue
    byTransaction.set(txHash, [...(byTransaction.get(txHash) ?? []), payment])
  }
  return Array.from(byTransaction, ([txHash, each]) => ({ txHash, payments: each }))
}

/**
 * What no order claims, without what orders in flight have paid. A transaction that names a permit is its settlement; one that
 * names none may be that of a permit whose nonce is used, of each one.
 */
async function unlessOfLiveOrders(
  { ports }: Comparing,
  payments: readonly Payment[],
): Promise<ChainReply<readonly Strange[]>> {
  const strange = unclaimed(ports.journal.state, payments)
  if (strange.length === 0) return { ok: true, value: strange }
  const used: PermitRecord[] = []
  for (const permit of permitsInFlight(ports.journal.state, payments)) {
    const reply = await ports.chain.permit({ owner: permit.owner, nonce: permit.nonce })
    if (!reply.ok) return reply
    if (reply.value.nonceUsed) used.push(permit)
  }
  if (used.length === 0) return { ok: true, value: strange }
  const nameless: Strange[] = strange.slice(LOOKED_INTO_MAX)
  const named = new Set<PermitRecord>()
  for (const each of strange.slice(0, LOOKED_INTO_MAX)) {
    const trace = await traceOf(ports, used, each)
    if (!trace.ok) return trace
    const own = used.filter((permit) => trace.value !== undefined && names(trace.value, permit))
    for (const permit of own) named.add(permit)
    if (own.length === 0) nameless.push(each)
  }
  const spare = used.filter((permit) => !named.has(permit))
  return { ok: true, value: nameless.filter((each) => !takesOne(spare, each)) }
}

/** Of orders whose fate is unknown, or an operator's word, and of fills that a reorganisation has put elsewhere without that being seen yet. */
function permitsInFlight(
  state: DaemonState,
  payments: readonly Payment[],
): readonly PermitRecord[] {
  const isLive = (open: OpenSwap): boolean => hasLiveAuthorization(open.state)
  const live = openSwaps(state).filter(isLive)
  const seen = new Set(payments.map(({ txHash, logIndex }) => `${txHash}:${logIndex}`))
  const isGone = ({ claims }: UnfinalFill): boolean => !claims.some((claim) => seen.has(claim))
  const moved = [...state.unfinal.values()].filter(isGone).map(({ open }) => open)
  const permits = [...live, ...moved].flatMap((open) =>
    open.venue === 'gasless' && open.permit !== undefined ? [open.permit] : [],
  )
  return [...permits, ...state.spokenFor.values()]
}

async function traceOf(
  { chain }: Comparing['ports'],
  [permit]: readonly PermitRecord[],
  { txHash }: Strange,
): Promise<ChainReply<TransactionTrace | undefined>> {
  if (permit === undefined) return { ok: true, value: undefined }
  const { owner, nonce } = permit
  const reply = await chain.permit({ owner, nonce, txHash })
  return reply.ok ? { ok: true, value: reply.value.transaction } : reply
}

/** Takes a permit out of those that are left that allows all of a transaction's payments. */
function takesOne(spare: PermitRecord[], { payments }: Strange): boolean {
  const sum = payments.reduce((total, { amount }) => total + amount, 0n)
  const at = spare.findIndex(
    ({ token, amount }) => sum <= amount && payments.every((each) => each.token === token),
  )
  if (at >= 0) spare.splice(at, 1)
  return at >= 0
}

function paymentText({ txHash, payments }: Strange, tokens: readonly Token[]): string {
  const amounts = payments.map(({ token, amount }) => {
    const known = tokens.find(({ address }) => address === token)
    return known === undefined
      ? `${amount} of ${token}`
      : `${formatAmount(amount, known.decimals)} ${known.symbol}`
  })
  const block = payments[0]?.blockNumber
  return `transaction ${txHash} in block ${block} paid ${amounts.join(' and ')} out of the wallet for no order on record`
}
