import { explainedNestedNonce, sightOf, type WalletPlace } from '../domain/book/sights.ts'
import type { WalletSight } from '../domain/book/state.ts'
import { openSwaps } from '../domain/book/swaps.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import type { PermitRecord } from '../domain/permit.ts'
import type { Token } from '../domain/token.ts'
import { formatAmount, type Hex } from '../domain/units.ts'
import { askUntilClosing } from '../execute/ask.ts'
import { evidenceHalt } from '../execute/authorization.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'
import { names } from '../execute/swap/prove.ts'
import type { ChainReply, Payment, TransactionTrace } from '../ports.ts'

/**
 * At each start the chain is held against the journal (rule T4). What a wallet has done since both were last compared, and no
 * record explains, was done by somebody else with its key, or by this daemon in records that are lost: everything halts.
 */

/** Logs come late, and a reorganisation may put a settlement below the block that its permit was recorded at. */
const MARGIN_BLOCKS = 64n
/** Payments are searched in so many of the newest blocks, six weeks of two seconds each; nonces are compared however long it was. */
const SEARCHED_BLOCKS_MAX = 2_000_000n
/** Transactions that are looked into and named; what more there are is counted. */
const NAMED_MAX = 5

const READING = { route: 'compare', doing: 'comparing the wallet with the journal' } as const

/**
 * The wallet that trades, before anything is decided or signed: its transactions, and what was paid out of it. Asks until the
 * chain answers; false when the daemon closes first. Dry-run compares nothing: somebody else may well use the wallet.
 */
export async function compareTrader(
  context: OrderContext,
  tokens: readonly Token[],
): Promise<boolean> {
  if (context.mode === 'dry-run') return true
  const { journal, signer } = context.ports
  const place = { chainId: context.chainId, wallet: signer.address }
  const before = sightOf(journal.state, place)
  const seen = await askUntilClosing(context, READING, () => lookAtTrader(context, before, tokens))
  if (seen === undefined) return false
  const { blockNumber, transactionCount, strange } = seen
  const evidence = strangeTransactions(place, before, transactionCount)
  const payments = strange.slice(0, NAMED_MAX).map((each) => paymentText(each, tokens))
  const more = strange.length - payments.length
  if (more > 0) payments.push(`${more} more transactions paid out of it`)
  const after = { ...place, blockNumber, transactionCount, nestedNonce: undefined }
  await conclude(context, { before, after, evidence: [...evidence, ...payments] })
  return true
}

/**
 * The account behind calls: its transactions and its `nestedNonce`. No call is recorded before that is done, however long its
 * chain is silent; the wallet that trades does not wait for it.
 */
export async function compareAccount(
  context: OrderContext,
  aggregator: AggregatorContext,
): Promise<void> {
  if (context.mode === 'dry-run') return
  const { state } = context.ports.journal
  const { wallet, chain, settings } = aggregator
  const { address: account } = wallet.signer
  const place = { chainId: wallet.chainId, wallet: account }
  const { gasTank } = settings.contracts
  await aggregator.callTurn(async () => {
    const seen = await askUntilClosing(context, READING, () => chain.account({ account, gasTank }))
    if (seen === undefined) return
    const { blockNumber, transactionCount, nestedNonce } = seen
    const before = sightOf(state, place)
    const evidence = strangeTransactions(place, before, transactionCount)
    const explained = explainedNestedNonce(state, place)
    if (explained !== undefined && nestedNonce !== undefined && nestedNonce > explained)
      evidence.push(
        `account ${account} has used its nestedNonce up to ${nestedNonce - 1n} on chain ${wallet.chainId}, and the journal's calls account for what is below ${explained}`,
      )
    const after = { ...place, blockNumber, transactionCount, nestedNonce }
    await conclude(context, { before, after, evidence })
  })
}

/** Transactions of the wallet's own that no record of ours was signed for. */
function strangeTransactions(
  { chainId, wallet }: WalletPlace,
  before: WalletSight | undefined,
  transactionCount: number,
): string[] {
  if (before === undefined || transactionCount <= before.transactionCount) return []
  return [
    `wallet ${wallet} has sent ${transactionCount} transactions on chain ${chainId}, and the journal accounts for ${before.transactionCount}`,
  ]
}

/** The halt and the new beginning are one: evidence is told once, and holds until an operator resumes. */
async function conclude(
  { ports: { journal } }: OrderContext,
  found: {
    readonly before: WalletSight | undefined
    readonly after: WalletPlace & Omit<WalletSight, 'sinceBlock'>
    readonly evidence: readonly string[]
  },
): Promise<void> {
  const { before, after, evidence } = found
  const isNew = before === undefined || evidence.length > 0
  const sinceBlock = isNew ? after.blockNumber + 1n : before.sinceBlock
  const compared = { type: 'wallet-compared', ...after, sinceBlock } as const
  if (evidence.length === 0) return journal.append(compared)
  await journal.append(evidenceHalt(journal.state, evidence.join('; ')), compared)
}

/** What one transaction paid out of the wallet, and no order claims. */
type Strange = { readonly txHash: Hex; readonly payments: readonly Payment[] }

type TraderSeen = {
  readonly blockNumber: bigint
  readonly transactionCount: number
  readonly strange: readonly Strange[]
}

async function lookAtTrader(
  context: OrderContext,
  before: WalletSight | undefined,
  tokens: readonly Token[],
): Promise<ChainReply<TraderSeen>> {
  const { chain, signer } = context.ports
  const { address: owner } = signer
  const view = await chain.view({ owner, tokens: [], feeds: [] })
  if (!view.ok) return view
  const own = await chain.transaction({ from: owner, hashes: [] })
  if (!own.ok) return own
  const { blockNumber } = view.value
  const seen = { blockNumber, transactionCount: own.value.latestNonce }
  if (before === undefined) return { ok: true, value: { ...seen, strange: [] } }
  if (blockNumber < before.blockNumber)
    return unavailable(`the node is at block ${blockNumber}, the journal at ${before.blockNumber}`)
  const paid = await chain.payments({
    owner,
    tokens: tokens.map(({ address }) => address),
    fromBlock: searchedFrom(before, blockNumber),
    toBlock: blockNumber,
  })
  if (!paid.ok) return paid
  const strange = await unlessOfLiveOrders(context, unclaimed(context, paid.value))
  return strange.ok ? { ok: true, value: { ...seen, strange: strange.value } } : strange
}

function searchedFrom({ blockNumber, sinceBlock }: WalletSight, head: bigint): bigint {
  const nearest = [blockNumber - MARGIN_BLOCKS, head - SEARCHED_BLOCKS_MAX]
  return nearest.reduce((from, each) => (each > from ? each : from), sinceBlock)
}

/** Payments that are in the books of no order, by their transactions. */
function unclaimed({ ports }: OrderContext, payments: readonly Payment[]): readonly Strange[] {
  const { claimedTransfers } = ports.journal.state
  const byTransaction = new Map<Hex, Payment[]>()
  for (const payment of payments) {
    const { txHash, logIndex } = payment
    if (claimedTransfers.has(`${txHash}:${logIndex}`)) continue
    byTransaction.set(txHash, [...(byTransaction.get(txHash) ?? []), payment])
  }
  return Array.from(byTransaction, ([txHash, each]) => ({ txHash, payments: each }))
}

/**
 * Leaves out what orders in flight have paid. A transaction that names a live permit is its settlement; one that names none
 * may be that of a live permit whose nonce is used, of each one.
 */
async function unlessOfLiveOrders(
  { ports }: OrderContext,
  strange: readonly Strange[],
): Promise<ChainReply<readonly Strange[]>> {
  const live = openSwaps(ports.journal.state).flatMap(({ permit, state }) =>
    permit !== undefined && hasLiveAuthorization(state) ? [permit] : [],
  )
  const used: PermitRecord[] = []
  for (const permit of strange.length === 0 ? [] : live) {
    const reply = await ports.chain.permit(permit)
    if (!reply.ok) return reply
    if (reply.value.nonceUsed) used.push(permit)
  }
  if (used.length === 0) return { ok: true, value: strange }
  const nameless: Strange[] = []
  const named = new Set<PermitRecord>()
  for (const each of strange) {
    const trace = await traceOf(ports, used, each)
    if (!trace.ok) return trace
    const own = used.filter((permit) => trace.value !== undefined && names(trace.value, permit))
    for (const permit of own) named.add(permit)
    if (own.length === 0) nameless.push(each)
  }
  const spare = used.filter((permit) => !named.has(permit))
  return { ok: true, value: nameless.filter((each) => !takesOne(spare, each)) }
}

async function traceOf(
  { chain }: OrderContext['ports'],
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

function unavailable(message: string): Extract<ChainReply<never>, { ok: false }> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
