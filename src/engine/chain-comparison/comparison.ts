import { firstFreeNonce } from '../domain/book/calls.ts'
import type { EventOf } from '../domain/book/journal.ts'
import { sightOf, type WalletPlace } from '../domain/book/sights.ts'
import type { DaemonState, WalletSight } from '../domain/book/state.ts'
import { nextNonceAtLeast } from '../domain/book/transactions.ts'
import type { VenueName } from '../domain/book/venues.ts'
import { staleHead } from '../domain/policy.ts'
import type { Token } from '../domain/token.ts'
import { formatAmount, maxOf } from '../domain/units.ts'
import { askChain, unavailable } from '../execute/ask.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import {
  evidenceHalt,
  finalNonces,
  type NonceChain,
  type SeenNonces,
  strangeNonces,
} from '../execute/evidence.ts'
import type { Chain, ChainReply } from '../ports.ts'
import { type Payments, type Strange, strangePayments, unclaimed } from './strange-payments.ts'

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

const READING = { route: 'compare', doing: 'comparing a wallet with the journal' } as const
const UNCOMPARED = 'its wallet was not held against the chain yet'

export type Comparison = {
  /** See `OrderContext`. */
  readonly uncompared: OrderContext['uncompared']
  readonly comparedTo: OrderContext['comparedTo']
  /** Compares until the daemon closes. */
  keep(): Promise<unknown>
  /** Resolves when the wallet that trades is compared, or the daemon closes. */
  readonly traderCompared: Promise<void>
  /** The same of the account behind calls. */
  readonly accountCompared: Promise<void>
}

/** A context before the comparison is part of it. */
type Comparing = Omit<OrderContext, 'uncompared' | 'comparedTo'>

/** In dry-run nothing is compared: it signs nothing, and somebody else may well use the wallet. */
export function createComparison(context: Comparing, tokens: readonly Token[]): Comparison {
  const { aggregator, closing, mode, ports } = context
  const isDry = mode === 'dry-run'
  const isNeeded = { gasless: !isDry, aggregated: !isDry && aggregator !== undefined }
  const reached = new Map<VenueName, bigint>()
  const gates: Record<VenueName, Gate> = { gasless: gate(), aggregated: gate() }

  async function keepOne(venue: VenueName, compare: Compare): Promise<void> {
    let last: Compared | undefined
    while (!isDry && !closing.aborted) {
      const next = await compareNext(ports.journal.state, last, compare)
      if (next !== undefined) {
        reached.set(venue, next.blockNumber)
        gates[venue].open()
        last = next.isOpen ? last : next
      }
      await ports.clock.sleep(next === undefined ? RETRY_MS : COMPARE_EVERY_MS, closing)
    }
    gates[venue].open()
  }

  return {
    uncompared: (venue) => (isNeeded[venue] && !reached.has(venue) ? UNCOMPARED : undefined),
    comparedTo: (venue) => reached.get(venue),
    keep: () =>
      Promise.all([
        keepOne('gasless', (since) => compareTrader(context, tokens, since)),
        aggregator && keepOne('aggregated', (since) => compareAccount(context, aggregator, since)),
      ]),
    traderCompared: gates.gasless.opened,
    accountCompared: gates.aggregated.opened,
  }
}

/** Compares a wallet, briefly since a block or else thoroughly. Undefined where the chain does not say. */
type Compare = (since: bigint | undefined) => Promise<Reached | undefined>

/**
 * The final block that a comparison came to. `isOpen` where orders in flight explain for now what no record does: the next one
 * begins where this one did.
 */
type Reached = { readonly blockNumber: bigint; readonly isOpen: boolean }

/** The comparison that was last, and how many brief ones there were since the last thorough one. */
type Compared = Reached & { readonly brief: number }

async function compareNext(
  { halted }: DaemonState,
  last: Compared | undefined,
  compare: Compare,
): Promise<Compared | undefined> {
  const isThorough = last === undefined || last.brief >= BRIEF_MAX
  // Whoever uses the wallet may go on: one halt is enough, and what came after it is seen once that is lifted.
  if (!isThorough && halted?.cause === 'evidence') return { ...last, brief: last.brief + 1 }
  const reached = await compare(isThorough ? undefined : last.blockNumber)
  return reached && { ...reached, brief: isThorough ? 0 : last.brief + 1 }
}

/** The first comparison searches no payments: there is no block to begin with. */
const NO_PAYMENTS: ChainReply<Payments> = { ok: true, value: { strange: [], isOpen: false } }

type TraderSeen = Payments & { readonly nonces: Nonces }

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
  const { journal, signer, chain } = ports
  const place = { chainId, wallet: signer.address }
  const before = sightOf(journal.state, place)
  const fromBlock = before && firstBlock(before, since)
  const reply = await askChain(context, READING, async (): Promise<ChainReply<TraderSeen>> => {
    const nonces = await noncesNow(context, { finalCount: chain.finalCount }, { place, chain })
    if (!nonces.ok) return nonces
    const range = { fromBlock: fromBlock ?? 0n, toBlock: nonces.value.blockNumber }
    const paid = fromBlock === undefined ? NO_PAYMENTS : await strangePayments(ports, tokens, range)
    return paid.ok ? { ok: true, value: { ...paid.value, nonces: nonces.value } } : paid
  })
  if (!reply.ok || closing.aborted) return undefined
  const { nonces, strange, isOpen } = reply.value
  // What was proven meanwhile is claimed by now.
  const payments = unclaimed(
    journal.state,
    strange.flatMap((each) => each.payments),
  )
  const told = payments.slice(0, NAMED_MAX).map((each) => paymentText(each, tokens))
  const more = payments.length - told.length
  if (more > 0) told.push(`${more} more transactions paid out of it`)
  const evidence = [...strangeNonces(journal.state, place, nonces), ...told]
  const isAccepted = told.length > 0
  const isKept = since === undefined && !isOpen
  await conclude(context, place, { seen: { ...nonces, isAccepted }, evidence, isKept })
  return { blockNumber: nonces.blockNumber, isOpen }
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
    const nested = async () => {
      const view = await chain.account({ account, gasTank })
      return view.ok ? ({ ok: true, value: view.value.nestedNonce } as const) : view
    }
    const reply = await askChain(context, READING, () =>
      noncesNow(context, chain, { place, chain, nested }),
    )
    if (!reply.ok || context.closing.aborted) return undefined
    const seen = { ...reply.value, isAccepted: false }
    const evidence = strangeNonces(context.ports.journal.state, place, seen)
    await conclude(context, place, { seen, evidence, isKept: since === undefined })
    return { blockNumber: seen.blockNumber, isOpen: false }
  })
}

/** Nonces of a wallet, and the final block that they were read at. */
type Nonces = SeenNonces & { readonly blockNumber: bigint }

/**
 * A wallet's nonces at a final block: evidence has to be final, by as many nodes as have to agree (rule T6). At the first comparison
 * what is in a block and not final yet was done before us, and is waited for, unless it is our own.
 */
async function noncesNow(
  { ports }: Comparing,
  final: NonceChain,
  newest: {
    readonly place: WalletPlace
    readonly chain: Pick<Chain, 'transaction'>
    readonly nested?: () => Promise<ChainReply<bigint | undefined>>
  },
): Promise<ChainReply<Nonces>> {
  const { clock, journal } = ports
  const { place, chain, nested } = newest
  const { chainId, wallet } = place
  const reply = await finalNonces(ports, final, wallet)
  if (!reply.ok) return unavailable(reply.fault.message)
  // What is compared is forgotten after some hours, so that the next comparison must not begin hours ago, where a node had been.
  const stale = staleHead(clock.now(), reply.value.headSeconds)
  if (stale !== undefined) return unavailable(stale)
  if (sightOf(journal.state, place) !== undefined) return reply
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
  return isSettled ? reply : unavailable('what the wallet did last is not final yet')
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
