import type { EventOf } from '../domain/book/journal.ts'
import { sightOf, type WalletPlace } from '../domain/book/sights.ts'
import type { DaemonState, OpenSwap, UnfinalFill, WalletSight } from '../domain/book/state.ts'
import { openSwaps } from '../domain/book/swaps.ts'
import type { VenueName } from '../domain/book/venues.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import type { PermitRecord } from '../domain/permit.ts'
import { staleHead } from '../domain/policy.ts'
import type { Token } from '../domain/token.ts'
import { type Address, formatAmount, type Hex, maxOf } from '../domain/units.ts'
import { askChain } from '../execute/ask.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import { evidenceHalt, type SeenNonces, strangeNonces } from '../execute/evidence.ts'
import { names } from '../execute/swap/prove.ts'
import type { ChainReply, Payment, TransactionTrace } from '../ports.ts'

/**
 * At each start, and every two minutes from then on, the chain is held against the journal (rule T4). What a wallet has done since
 * both were last compared, and no record explains, was done by somebody else with its key, or by this daemon in records that
 * are lost: everything halts.
 *
 * Most comparisons are brief: they search the blocks since the one before, and journal nothing unless there is evidence. The first
 * and every ninetieth are thorough: they search all blocks since the last that was journaled, and are journaled themselves, so
 * that a start never searches more than three hours of running.
 */

const COMPARE_EVERY_MS = 2 * 60_000
const BRIEF_MAX = 89
const RETRY_MS = 30_000
/** Logs come late: a comparison searches this many blocks that one before has searched already. On Base two and twenty minutes. */
const MARGIN_BLOCKS = { brief: 60n, thorough: 600n } as const
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

  async function keepOne(venue: VenueName, compare: Compare): Promise<void> {
    let last: Compared | undefined
    while (!isDry && !closing.aborted) {
      const next = await compareNext(ports.journal.state, last, compare)
      if (next !== undefined) {
        isDone[venue] = true
        gates[venue].open()
        last = next === 'open' ? last : next
      }
      await ports.clock.sleep(next === undefined ? RETRY_MS : COMPARE_EVERY_MS, closing)
    }
    gates[venue].open()
  }

  return {
    uncompared: (venue) => (isDone[venue] ? undefined : UNCOMPARED),
    keep: () =>
      Promise.all([
        keepOne('gasless', (since) => compareTrader(context, tokens, since)),
        aggregator && keepOne('aggregated', (since) => compareAccount(context, aggregator, since)),
      ]),
    traderCompared: gates.gasless.opened,
    accountCompared: gates.aggregated.opened,
  }
}

/**
 * Compares a wallet, briefly since a block or else thoroughly, up to the block that it gives. `open` where orders in flight explain
 * for now what no record does: the next comparison begins where this one did. Undefined where the chain does not say.
 */
type Compare = (since: bigint | undefined) => Promise<bigint | 'open' | undefined>

/** The comparison that was last: up to which block, and how many brief ones there were since the last thorough one. */
type Compared = { readonly blockNumber: bigint; readonly brief: number }

async function compareNext(
  { halted }: DaemonState,
  last: Compared | undefined,
  compare: Compare,
): Promise<Compared | 'open' | undefined> {
  const isThorough = last === undefined || last.brief >= BRIEF_MAX
  // Whoever uses the wallet may go on: one halt is enough, and what came after it is seen once that is lifted.
  if (!isThorough && halted?.cause === 'evidence') return { ...last, brief: last.brief + 1 }
  const blockNumber = await compare(isThorough ? undefined : last.blockNumber)
  if (blockNumber === undefined || blockNumber === 'open') return blockNumber
  return { blockNumber, brief: isThorough ? 0 : last.brief + 1 }
}

type Gate = { readonly opened: Promise<void>; readonly open: () => void }

function gate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** The wallet that trades: its transactions, and what was paid out of it. */
async function compareTrader(
  context: Comparing,
  tokens: readonly Token[],
  since: bigint | undefined,
): ReturnType<Compare> {
  const { ports, closing, chainId } = context
  const { journal, signer } = ports
  const place = { chainId, wallet: signer.address }
  const before = sightOf(journal.state, place)
  const fromBlock = before && firstBlock(before, since)
  const reply = await askChain(context, READING, () => lookAtTrader(context, tokens, fromBlock))
  if (!reply.ok || closing.aborted) return undefined
  const { blockNumber, transactionCount, strange, isOpen } = reply.value
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
    isKept: since === undefined && !isOpen,
  })
  return isOpen ? 'open' : blockNumber
}

/** Where the search for payments begins. What an operator has accepted is not searched again. */
function firstBlock(before: WalletSight, since: bigint | undefined): bigint {
  const { brief, thorough } = MARGIN_BLOCKS
  const from = since === undefined ? before.blockNumber - thorough : since - brief
  return maxOf(before.sinceBlock, from)
}

/** The account behind calls: its transactions and its `nestedNonce`. No call of it is recorded meanwhile. */
function compareAccount(
  context: Comparing,
  aggregator: AggregatorContext,
  since: bigint | undefined,
): ReturnType<Compare> {
  const { wallet, chain, settings, callTurn } = aggregator
  const { address: account } = wallet.signer
  const place = { chainId: wallet.chainId, wallet: account }
  const { gasTank } = settings.contracts
  return callTurn(async () => {
    const reply = await askChain(context, READING, () => chain.account({ account, gasTank }))
    if (!reply.ok || context.closing.aborted) return undefined
    const seen = { ...reply.value, isAccepted: false }
    const evidence = strangeNonces(context.ports.journal.state, place, seen)
    await conclude(context, place, { seen, evidence, isKept: since === undefined })
    return seen.blockNumber
  })
}

/** The halt and the new beginning are one: evidence is told once, and holds until an operator resumes. */
async function conclude(
  { ports: { journal } }: Comparing,
  place: WalletPlace,
  {
    seen,
    evidence,
    isKept,
  }: {
    readonly seen: SeenNonces & {
      readonly blockNumber: bigint
      /** Payments up to here are told now, and not again. */
      readonly isAccepted: boolean
    }
    readonly evidence: readonly string[]
    /** Journaled also where there is no evidence. */
    readonly isKept: boolean
  },
): Promise<void> {
  if (evidence.length === 0 && !isKept) return
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

type Payments = {
  readonly strange: readonly Strange[]
  /** Whether any was taken for that of an order in flight without naming it. */
  readonly isOpen: boolean
}

type TraderSeen = Payments & { readonly blockNumber: bigint; readonly transactionCount: number }

/** Without a block to begin with no payments are searched: it is the wallet's first comparison. */
async function lookAtTrader(
  context: Comparing,
  tokens: readonly Token[],
  fromBlock: bigint | undefined,
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
  const nonces = { blockNumber, transactionCount: own.value.latestNonce }
  const seen = { ...nonces, strange: [], isOpen: false }
  if (fromBlock === undefined || tokens.length === 0) return { ok: true, value: seen }
  // A node that is behind by less shows less, and what it does not show is asked for the next time.
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
  const left = await unlessOfLiveOrders(context, paid.value.payments)
  return left.ok ? { ok: true, value: { ...nonces, ...left.value } } : left
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
 * What no order claims, without what orders in flight have paid. A transaction that names permits is their settlement; those that
 * name none, or of which nobody has a receipt yet, may together be those of all permits whose nonces are used.
 */
async function unlessOfLiveOrders(
  { ports }: Comparing,
  payments: readonly Payment[],
): Promise<ChainReply<Payments>> {
  const { state } = ports.journal
  const strange = unclaimed(state, payments)
  if (strange.length === 0) return { ok: true, value: { strange, isOpen: false } }
  const inFlight = permitsInFlight(state, payments)
  const used = await usedOf(ports, [...inFlight, ...state.spokenFor.values()], strange)
  if (!used.ok) return used
  if (used.value.length === 0) return { ok: true, value: { strange, isOpen: false } }
  const nameless: Strange[] = strange.slice(LOOKED_INTO_MAX)
  const named = new Set<PermitRecord>()
  for (const each of strange.slice(0, LOOKED_INTO_MAX)) {
    const trace = await traceOf(ports, used.value, each)
    if (!trace.ok) return trace
    const { value } = trace
    const own = used.value.filter((permit) => value !== undefined && names(value, permit))
    for (const permit of own) named.add(permit)
    if (own.length === 0) nameless.push(each)
  }
  const spare = used.value.filter((permit) => !named.has(permit))
  const left = unpermitted(nameless, spare)
  const isOpen = left.length < nameless.length && spare.some((permit) => inFlight.includes(permit))
  return { ok: true, value: { strange: left, isOpen } }
}

/** Those whose nonces are used, by nodes that have come as far as the payments. */
async function usedOf(
  { chain }: Comparing['ports'],
  permits: readonly PermitRecord[],
  strange: readonly Strange[],
): Promise<ChainReply<readonly PermitRecord[]>> {
  const paidUpTo = strange
    .flatMap((each) => each.payments.map(({ blockNumber }) => blockNumber))
    .reduce(maxOf)
  const used: PermitRecord[] = []
  for (const permit of permits) {
    const reply = await chain.permit({ owner: permit.owner, nonce: permit.nonce })
    if (!reply.ok) return reply
    const { nonceUsed, blockNumber } = reply.value
    if (nonceUsed) used.push(permit)
    else if (blockNumber < paidUpTo) {
      const message = `the node is at block ${blockNumber}, behind a payment in block ${paidUpTo}`
      return { ok: false, fault: { tag: 'unavailable', message } }
    }
  }
  return { ok: true, value: used }
}

/** Of orders whose fate is unknown, and of fills that a reorganisation may have put elsewhere without that being seen yet. */
function permitsInFlight(
  state: DaemonState,
  payments: readonly Payment[],
): readonly PermitRecord[] {
  const isLive = (open: OpenSwap): boolean => hasLiveAuthorization(open.state)
  const live = openSwaps(state).filter(isLive)
  const seen = new Set(payments.map(({ txHash, logIndex }) => `${txHash}:${logIndex}`))
  const isGone = ({ claims }: UnfinalFill): boolean => !claims.some((claim) => seen.has(claim))
  const moved = [...state.unfinal.values()].filter(isGone).map(({ open }) => open)
  return [...live, ...moved].flatMap((open) =>
    open.venue === 'gasless' && open.permit !== undefined ? [open.permit] : [],
  )
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

/** Transactions that paid more than permits allow. The largest count first: a theft is not to be taken for the order beside it. */
function unpermitted(
  transactions: readonly Strange[],
  permits: readonly PermitRecord[],
): readonly Strange[] {
  const allowed = sumsOf(permits)
  const bySize = transactions
    .map((each) => ({ each, paid: sumsOf(each.payments) }))
    .toSorted((a, b) => (largestOf(a.paid) < largestOf(b.paid) ? 1 : -1))
  const left = bySize.filter(({ paid }) => {
    const isAllowed = [...paid].every(([token, sum]) => sum <= (allowed.get(token) ?? 0n))
    if (isAllowed)
      for (const [token, sum] of paid) allowed.set(token, (allowed.get(token) ?? 0n) - sum)
    return !isAllowed
  })
  return left.map(({ each }) => each)
}

type Sums = Map<Address, bigint>

function sumsOf(amounts: readonly { readonly token: Address; readonly amount: bigint }[]): Sums {
  const sums: Sums = new Map()
  for (const { token, amount } of amounts) sums.set(token, (sums.get(token) ?? 0n) + amount)
  return sums
}

function largestOf(sums: Sums): bigint {
  return [...sums.values()].reduce(maxOf, 0n)
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
