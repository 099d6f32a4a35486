import { amountText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import { maxOf } from '../../domain/money/units.ts'
import { backoffMs, staleHead } from '../../domain/policy.ts'
import { hasSwaps } from '../../domain/settings.ts'
import { walletCompared } from '../../journal/events/state/wallets.ts'
import { nextNonceAtLeast } from '../../journal/projections/transactions.ts'
import { snapshotOf, type WalletPlace } from '../../journal/projections/wallet-snapshots.ts'
import type { WalletSnapshot } from '../../journal/state/daemon-state.ts'
import type { Chain, ChainReply } from '../../ports.ts'
import { firstFreeNonce } from '../../venues/call/call-projection.ts'
import { askChain, unavailable } from '../../venues/chain-requests.ts'
import type { AggregatorContext, OrderContext, WalletComparison } from '../../venues/context.ts'
import {
  evidenceHalt,
  finalNonces,
  type NonceChain,
  type SeenNonces,
  strangeNonces,
} from '../../venues/evidence.ts'
import {
  NO_PAYMENTS,
  type Payments,
  type Strange,
  strangePayments,
  unclaimed,
} from './unexplained-payments.ts'

/**
 * Compares the chain with the journal at startup and every two minutes (rule T4). Wallet activity without a record comes
 * from another holder of the key, or from lost records: everything halts.
 *
 * Most comparisons are brief: they search blocks since the previous one, and are journaled only with evidence. The first and
 * every ninetieth are thorough: they search all blocks since the last journaled one, and are journaled. So a start searches
 * at most three hours of blocks, beyond the downtime.
 */

const COMPARE_EVERY_MS = 2 * 60_000
const BRIEF_MAX = 89
const RETRY_MS = 30_000
/** Logs arrive late, so each comparison searches this many blocks again: two and twenty minutes on Base. */
const MARGIN_BLOCKS = { brief: 60n, thorough: 600n } as const
/** Transactions listed in a message; further ones are only counted. */
const NAMED_MAX = 5

const READING = { route: 'compare', doing: 'comparing a wallet with the journal' } as const
const UNCOMPARED = 'its wallet was not held against the chain yet'
const NOT_FINAL = 'what its wallet did last is not final yet'

export type Comparison = { readonly trader: Kept; readonly account: Kept; keep(): Promise<unknown> }

/** `reached` resolves once the wallet is compared, or the daemon drains. */
type Kept = WalletComparison & { readonly reached: Promise<void> }

type Comparing = Omit<OrderContext, 'compared'>

/** A dry run compares nothing: it signs nothing, and other programs may use the wallet. */
export function createComparison(context: Comparing, tokens: readonly Token[]): Comparison {
  const { aggregator } = context
  const compareCaller: Compare | undefined =
    aggregator && ((since) => compareAccount(context, aggregator, since))
  const account = comparisonBy(context, compareCaller)
  // Without swaps, both are one wallet, compared once.
  if (!hasSwaps(context)) return { trader: account, account, keep: () => account.keep() }
  const trader = comparisonBy(context, (since) => compareTrader(context, tokens, since))
  return { trader, account, keep: () => Promise.all([trader.keep(), account.keep()]) }
}

function comparisonBy(
  { closing, mode, policy, ports: { clock, journal, random } }: Comparing,
  compare: Compare | undefined,
): Kept & { keep(): Promise<void> } {
  const isNeeded = mode !== 'dry-run' && compare !== undefined
  let upTo: bigint | undefined
  /** How often in a row the comparison came before everything was final. */
  let early = 0
  let reach = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })

  async function compareNext(last: Compared | undefined): Promise<Compared | undefined> {
    const isThorough = last === undefined || last.brief >= BRIEF_MAX
    // The wallet's other user may continue, but one halt is enough. Later activity is compared once the halt is lifted.
    const isPast = !isThorough && journal.state.halted?.cause === 'evidence'
    const found = isPast ? last : await compare?.(isThorough ? undefined : last.blockNumber)
    early = found === 'not final' ? early + 1 : 0
    const reached = found === 'not final' ? undefined : found
    return reached && { ...reached, brief: isThorough ? 0 : last.brief + 1 }
  }

  function untilNextMs(isReached: boolean): number {
    if (isReached) return COMPARE_EVERY_MS
    return early === 0 ? RETRY_MS : backoffMs(policy, early, random.jitter())
  }

  /** Returns the comparison from which the next one starts. */
  async function compareOnce(last: Compared | undefined): Promise<Compared | undefined> {
    const next = await compareNext(last)
    if (next !== undefined) {
      upTo = next.blockNumber
      reach()
    }
    await clock.sleep(untilNextMs(next !== undefined), closing)
    return next === undefined || next.isOpen ? last : next
  }

  return {
    missing() {
      if (!isNeeded || upTo !== undefined) return undefined
      return early === 0 ? UNCOMPARED : NOT_FINAL
    },
    upTo: () => upTo,
    reached,
    async keep() {
      let last: Compared | undefined
      while (isNeeded && !closing.aborted) last = await compareOnce(last)
      reach()
    },
  }
}

/** Compares a wallet: briefly since a block, or thoroughly if undefined. Returns undefined if the chain is unavailable. */
type Compare = (since: bigint | undefined) => Promise<Reached | 'not final' | undefined>

/** `isOpen`: only pending orders explain some payments, so the next comparison starts from the same block. */
type Reached = { readonly blockNumber: bigint; readonly isOpen: boolean }

/** The last comparison, and the number of brief ones since the last thorough one. */
type Compared = Reached & { readonly brief: number }

type TraderSeen = Payments & { readonly nonces: Nonces }

async function compareTrader(
  context: Comparing,
  tokens: readonly Token[],
  since: bigint | undefined,
): ReturnType<Compare> {
  const { ports, closing, chainId } = context
  const { journal, signer, chain } = ports
  const place = { chainId, wallet: signer.address }
  const before = snapshotOf(journal.state, place)
  const fromBlock = before && firstBlock(before, since)
  const read = async (): Promise<ChainReply<TraderSeen | 'not final'>> => {
    const nonces = await noncesNow(context, { finalCount: chain.finalCount }, { place, chain })
    if (!nonces.ok) return nonces
    if (nonces.value === 'not final') return { ok: true, value: nonces.value }
    const range = { fromBlock: fromBlock ?? 0n, toBlock: nonces.value.blockNumber }
    // The first comparison has no block to start from.
    const paid = fromBlock === undefined ? NO_PAYMENTS : await strangePayments(ports, tokens, range)
    return paid.ok ? { ok: true, value: { ...paid.value, nonces: nonces.value } } : paid
  }
  const reply = await askChain(context, READING, read)
  if (!reply.ok || closing.aborted) return undefined
  if (reply.value === 'not final') return reply.value
  const { nonces, strange, isOpen } = reply.value
  // Payments proven meanwhile are claimed now.
  const payments = unclaimed(
    journal.state,
    strange.flatMap((each) => each.payments),
  )
  const reported = payments.slice(0, NAMED_MAX).map((each) => paymentText(each, tokens))
  const more = payments.length - reported.length
  if (more > 0) reported.push(`${more} more transactions paid out of it`)
  const evidence = [...strangeNonces(journal.state, place, nonces), ...reported]
  const isAccepted = reported.length > 0
  const isKept = since === undefined && !isOpen
  await conclude(context, place, { seen: { ...nonces, isAccepted }, evidence, isKept })
  return { blockNumber: nonces.blockNumber, isOpen }
}

/** First block of the payment search. Payments that an operator accepted are not searched again. */
function firstBlock(before: WalletSnapshot, since: bigint | undefined): bigint {
  const { brief, thorough } = MARGIN_BLOCKS
  const from = since === undefined ? before.blockNumber - thorough : since - brief
  return maxOf(before.sinceBlock, from)
}

/** Compares the call account's transactions and `nestedNonce`. Holds the call turn, so no call is recorded meanwhile. */
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
    const nested = async () => {
      const view = await chain.account({ account, gasTank })
      return view.ok ? ({ ok: true, value: view.value.nestedNonce } as const) : view
    }
    const reply = await askChain(context, READING, () =>
      noncesNow(context, chain, { place, chain, nested }),
    )
    if (!reply.ok || context.closing.aborted) return undefined
    if (reply.value === 'not final') return reply.value
    const seen = { ...reply.value, isAccepted: false }
    const evidence = strangeNonces(context.ports.journal.state, place, seen)
    await conclude(context, place, { seen, evidence, isKept: since === undefined })
    return { blockNumber: seen.blockNumber, isOpen: false }
  })
}

type Nonces = SeenNonces & { readonly blockNumber: bigint }

/**
 * A wallet's nonces at a final block, because evidence needs a quorum there (rule T6). `not final`: the first comparison waits
 * until transactions from before the start are final, unless they are our own.
 */
async function noncesNow(
  { ports }: Comparing,
  final: NonceChain,
  newest: {
    readonly place: WalletPlace
    readonly chain: Pick<Chain, 'transaction'>
    readonly nested?: () => Promise<ChainReply<bigint | undefined>>
  },
): Promise<ChainReply<Nonces | 'not final'>> {
  const { clock, journal } = ports
  const { place, chain, nested } = newest
  const { chainId, wallet } = place
  const reply = await finalNonces(ports, final, wallet)
  if (!reply.ok) return unavailable(reply.fault.message)
  // Compared blocks cover only a few hours, so a lagging node must not move the start back by hours.
  const stale = staleHead(clock.now(), reply.value.headSeconds)
  if (stale !== undefined) return unavailable(stale)
  if (snapshotOf(journal.state, place) !== undefined) return reply
  const own = await chain.transaction({ from: wallet, hashes: [] })
  if (!own.ok) return own
  const used = await nested?.()
  if (used?.ok === false) return used
  const { transactionCount, nestedNonce } = reply.value
  const explained = nextNonceAtLeast(journal.state, { chainId, from: wallet }, clock.now())
  const called = firstFreeNonce(journal.state, { chainId, account: wallet })
  const isSettled =
    own.value.latestNonce <= Math.max(transactionCount, explained) &&
    (used?.value ?? 0n) <= maxOf(nestedNonce ?? 0n, called)
  return isSettled ? reply : { ok: true, value: 'not final' }
}

/** Journals the halt together with the new start block: evidence is reported once, and the halt holds until resumed. */
async function conclude(
  { ports: { journal } }: Comparing,
  place: WalletPlace,
  compared: {
    /** `isAccepted`: payments up to this block are reported now, and not again. */
    readonly seen: Nonces & { readonly isAccepted: boolean }
    readonly evidence: readonly string[]
    /** Journal it even without evidence. */
    readonly isKept: boolean
  },
): Promise<void> {
  const { seen, evidence, isKept } = compared
  if (evidence.length === 0 && !isKept) return
  const { blockNumber, transactionCount, nestedNonce, isAccepted } = seen
  const before = snapshotOf(journal.state, place)
  const sinceBlock = before === undefined || isAccepted ? blockNumber + 1n : before.sinceBlock
  const nonces = { transactionCount, nestedNonce }
  const event = walletCompared({ ...place, sinceBlock, blockNumber, ...nonces })
  if (evidence.length === 0) return journal.append(event)
  await journal.append(evidenceHalt(journal.state, evidence), event)
}

function paymentText({ txHash, payments }: Strange, tokens: readonly Token[]): string {
  const amounts = payments.map(({ token, amount }) => {
    const known = tokens.find(({ address }) => address === token)
    return known === undefined ? `${amount} of ${token}` : amountText(amount, known)
  })
  const block = payments[0]?.blockNumber
  return `transaction ${txHash} in block ${block} paid ${amounts.join(' and ')} out of the wallet for no order on record`
}
