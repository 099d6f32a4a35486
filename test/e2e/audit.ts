import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { hasLiveAuthorization } from '../../src/domain/order/order.ts'
import type { PermitRecord } from '../../src/domain/order/permit.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import type { Fill, TransactionPurpose } from '../../src/journal/records.ts'
import type { OrderRecord } from '../../src/sandbox/gasless/order-store.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { eventsOf } from '../support/state/state-directory.ts'
import { balancesOf, nodeCall, nonceOf, ordersOf, type Rehearsal } from './rehearsal.ts'

type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>
type FillEvent = { readonly permit: PermitRecord; readonly fill: Fill }

/** Journal, service and chain of one rehearsal, compared with each other. */
export type Audit = {
  /** Mismatches between the three accounts, one text each. Empty when all agree. */
  readonly discrepancies: readonly string[]
  readonly fills: number
  /** Signatures that may still be executed. */
  readonly livePermits: number
  /** Orders that the service accepted, without those of earlier rehearsals. */
  readonly orders: readonly OrderRecord[]
  /** Own transactions that are in a block although the journal has not recorded their end. */
  readonly mined: Readonly<Record<TransactionPurpose, number>>
  /** Own transactions that are in a block without the journal having noticed. */
  readonly unfollowed: number
  readonly events: readonly JournalEvent[]
}

/** Compares three independent accounts of the run. The daemon must not be running. */
export async function audit(rehearsal: Rehearsal): Promise<Audit> {
  const view = await readJournal(rehearsal.stateDir)
  const events = await eventsOf(view)
  const orders = (await ordersOf(rehearsal.report)).filter(
    ({ orderId }) => !rehearsal.before.orderIds.has(orderId),
  )
  const permits = new Map(
    all(events, 'permit-recorded').map(({ permit }) => [permit.clientOrderId, permit]),
  )
  const fills = all(events, 'fill-proven').flatMap(({ intentId, attempt, fill }): FillEvent[] => {
    const permit = permits.get(`${intentId}:${attempt}`)
    return permit === undefined ? [] : [{ permit, fill }]
  })
  const transactions = await walletTransactions(rehearsal, events)
  const discrepancies = [
    ...orderMismatches(events, permits, orders),
    ...doubleFills(events, orders),
    ...unprovenFills(fills, orders),
    ...slotMismatches(events),
    ...(await balanceMismatches(rehearsal, transactions, fills)),
    ...leaks(rehearsal),
    ...exposedFiles(rehearsal.stateDir),
  ]
  return {
    discrepancies,
    fills: fills.length,
    livePermits: [...view.state.intents.values()].filter(({ state }) => hasLiveAuthorization(state))
      .length,
    orders,
    mined: minedByPurpose(transactions),
    unfollowed: transactions.filter(({ isEnded }) => !isEnded).length,
    events,
  }
}

/** The journal's events of one type, oldest first. */
export function all<Type extends JournalEvent['type']>(
  events: readonly JournalEvent[],
  type: Type,
): readonly EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

function orderMismatches(
  events: readonly JournalEvent[],
  permits: ReadonlyMap<string, PermitRecord>,
  orders: readonly OrderRecord[],
): readonly string[] {
  const found: string[] = []
  const byId = new Map(orders.map((order) => [order.orderId, order]))
  const seen = new Set<string>()
  for (const order of orders) {
    const permit = permits.get(order.clientOrderId ?? '')
    if (permit === undefined) found.push(`order ${order.clientOrderId} has no permit on record`)
    else if (permit.nonce.toString() !== order.nonce || permit.quoteId !== order.quoteId)
      found.push(`order ${order.clientOrderId} is not what its permit says`)
    if (seen.has(order.clientOrderId ?? '')) found.push(`${order.clientOrderId} was ordered twice`)
    seen.add(order.clientOrderId ?? '')
  }
  for (const { orderId, intentId, attempt } of all(events, 'order-accepted'))
    if (byId.get(orderId)?.clientOrderId !== `${intentId}:${attempt}`)
      found.push(`${intentId}:${attempt} was journaled as order ${orderId}, which is another`)
  return found
}

function doubleFills(
  events: readonly JournalEvent[],
  orders: readonly OrderRecord[],
): readonly string[] {
  const proven = all(events, 'fill-proven').map(({ intentId }): string => intentId)
  const filled = orders.filter(({ status }) => status === 'filled').map(intentOf)
  return [
    ...repeated(proven).map((id) => `the journal has two fills of ${id}`),
    ...repeated(filled).map((id) => `the service filled ${id} twice`),
  ]
}

function unprovenFills(
  fills: readonly FillEvent[],
  orders: readonly OrderRecord[],
): readonly string[] {
  const proven = new Map(fills.map((each) => [each.permit.clientOrderId, each.fill]))
  const filled = orders.filter(({ status }) => status === 'filled')
  const found = filled.flatMap((order): string[] => {
    const fill = proven.get(order.clientOrderId ?? '')
    if (fill === undefined) return [`the filled order ${order.clientOrderId} is not proven`]
    const isSame =
      fill.txHash === order.txHash &&
      fill.paid.toString() === order.executedSellAmount &&
      fill.received.toString() === order.executedBuyAmount
    return isSame ? [] : [`the fill of ${order.clientOrderId} is not what the service executed`]
  })
  const executed = new Set(filled.map(({ clientOrderId }) => clientOrderId))
  for (const id of proven.keys())
    if (!executed.has(id)) found.push(`the service knows nothing of the proven fill of ${id}`)
  return found
}

function slotMismatches(events: readonly JournalEvent[]): readonly string[] {
  const closed = all(events, 'slot-closed').map((slot) => `${slot.strategy}:${slot.slotSeconds}`)
  const opened = all(events, 'slot-opened').map((slot) => `${slot.strategy}:${slot.slotSeconds}`)
  return [
    ...repeated(closed).map((slot) => `slot ${slot} has two outcomes`),
    ...repeated(opened).map((slot) => `slot ${slot} was opened twice`),
  ]
}

/** Compares balances with the journal: fills, wraps and unwraps, gas of mined transactions. */
async function balanceMismatches(
  rehearsal: Rehearsal,
  transactions: readonly WalletTransaction[],
  fills: readonly FillEvent[],
): Promise<readonly string[]> {
  const { report, config, before } = rehearsal
  const { tokens } = parse(readFileSync(config, 'utf8')) as {
    tokens: Record<string, { address: string }>
  }
  const symbols = new Map(
    Object.entries(tokens).map(([symbol, { address }]) => [address.toLowerCase(), symbol]),
  )
  const moved = new Map<string, bigint>()
  const move = (symbol: string, amount: bigint): void => {
    moved.set(symbol, (moved.get(symbol) ?? 0n) + amount)
  }
  for (const { permit, fill } of fills) {
    move(symbols.get(permit.token.toLowerCase()) ?? permit.token, -fill.paid)
    move(symbols.get(permit.tokenOut.toLowerCase()) ?? permit.tokenOut, fill.received)
  }
  for (const { record, receipt } of transactions) {
    const wrapped = isSuccess(receipt) ? wrappedBy(record) : 0n
    move('WETH', wrapped)
    move('ETH', -wrapped)
    move('ETH', -BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice))
  }
  const after = await balancesOf(report, config)
  const found = [...after].flatMap(([symbol, balance]): string[] => {
    const delta = balance - (before.balances.get(symbol) ?? 0n)
    const recorded = moved.get(symbol) ?? 0n
    return delta === recorded
      ? []
      : [`${symbol} moved by ${delta} on chain, by ${recorded} in the journal`]
  })
  const sent = (await nonceOf(report)) - before.nonce
  if (sent !== BigInt(transactions.length))
    found.push(`the wallet sent ${sent} transactions, ${transactions.length} are journaled`)
  return found
}

type WalletTransaction = {
  readonly record: EventOf<'transaction-recorded'>['transaction']
  readonly receipt: Receipt
  readonly isEnded: boolean
}

type Receipt = {
  readonly status: string
  readonly gasUsed: string
  readonly effectiveGasPrice: string
}

/**
 * Journaled transactions that are in a block. One that a crash left open counts too: the journal has its hash, and a
 * later start may not have needed to query it yet.
 */
async function walletTransactions(
  { report }: Rehearsal,
  events: readonly JournalEvent[],
): Promise<readonly WalletTransaction[]> {
  const ended = new Set(all(events, 'transaction-ended').map(({ hash }) => hash))
  const found: WalletTransaction[] = []
  const latest = new Map<string, WalletTransaction['record']>()
  for (const event of events) {
    if (event.type === 'transaction-recorded') latest.set(event.transaction.id, event.transaction)
    const transaction = event.type === 'transaction-signed' ? latest.get(event.id) : undefined
    if (event.type !== 'transaction-signed' || transaction === undefined) continue
    const { hash } = event
    const receipt = await nodeCall<Receipt | null>(report, 'eth_getTransactionReceipt', [hash])
    if (receipt !== null) found.push({ record: transaction, receipt, isEnded: ended.has(hash) })
  }
  return found
}

/** WETH that a wallet transaction made from ETH; negative for an unwrap. */
function wrappedBy({ purpose, value, data }: WalletTransaction['record']): bigint {
  if (purpose === 'wrap') return value
  return purpose === 'unwrap' ? -BigInt(`0x${data.slice(10)}`) : 0n
}

function minedByPurpose(transactions: readonly WalletTransaction[]): Audit['mined'] {
  const mined = { approve: 0, wrap: 0, unwrap: 0, call: 0, deposit: 0 }
  for (const { record, receipt } of transactions) if (isSuccess(receipt)) mined[record.purpose] += 1
  return mined
}

function isSuccess({ status }: Receipt): boolean {
  return BigInt(status) === 1n
}

/** At least as long as a signature, so signed transactions match too. Hashes, nonces and addresses are shorter. */
const SIGNATURE = /[0-9a-fA-F]{128}/

/** Files and outputs that contain the wallet's key in any usual notation, and logs that show a signature. */
function leaks({ key, stateDir, daemons, sandboxOutput }: Rehearsal): readonly string[] {
  const files = filesUnder(stateDir).map((file) => [file, readFileSync(file, 'utf8')] as const)
  const outputs = daemons.map((each, index) => [`daemon ${index + 1}`, each.output()] as const)
  const logs = [...outputs, ['the sandbox', sandboxOutput()] as const]
  return [
    ...[...files, ...logs]
      .filter(([, text]) => mentionsKey(text, key))
      .map(([source]) => `${source} holds the wallet's key`),
    ...logs
      .filter(([, text]) => SIGNATURE.test(text))
      .map(([source]) => `${source} shows a signature`),
  ]
}

/** Whether a text contains a private key as hex of any case, as a decimal number, or in base 64. */
export function mentionsKey(text: string, key: string): boolean {
  const hex = key.replace(/^0x/, '').toLowerCase()
  const base64 = Buffer.from(hex, 'hex').toString('base64').replace(/=+$/, '')
  const base64Url = Buffer.from(hex, 'hex').toString('base64url')
  if (text.toLowerCase().includes(hex)) return true
  return [BigInt(`0x${hex}`).toString(), base64, base64Url].some((form) => text.includes(form))
}

/** Files that other users of the machine may read. */
export function exposedFiles(dir: string): readonly string[] {
  return filesUnder(dir)
    .filter((file) => (statSync(file).mode & 0o777) !== 0o600)
    .map((file) => `${file} has mode ${(statSync(file).mode & 0o777).toString(8)}`)
}

function filesUnder(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function intentOf({ clientOrderId }: OrderRecord): string {
  return (clientOrderId ?? '').replace(/:\d+$/, '')
}

function repeated(values: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const value of values) (seen.has(value) ? twice : seen).add(value)
  return [...twice]
}
