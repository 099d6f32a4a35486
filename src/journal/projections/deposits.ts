import { DAY_MS } from '../../domain/cap-windows.ts'
import { InvariantError } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import type { TransactionRecord } from '../records.ts'
import type { DaemonState, Deposit } from '../state/daemon-state.ts'
import { EXPOSURE_RETENTION_MS } from './order-reducer.ts'

/** Whose deposits: undefined stands for anybody's, as in older snapshots. */
export type Depositor = {
  readonly account: Address | undefined
  readonly chainId: number | undefined
}

/** A deposit that is on chain, with the id of its transaction. */
export type MinedDeposit = Deposit & { readonly id: string }

/** Books a deposit whose transaction, or a dearer version of it, is about to be recorded. */
export function recordDeposit(state: DaemonState, record: TransactionRecord, atMs: number): void {
  const { id, from: account, chainId, value: amount, availableBefore } = record
  const replaced = state.transactions.has(id) ? state.deposits.get(id) : undefined
  // Another wallet's deposit may have had the same nonce, and the order is that of the latest.
  if (replaced === undefined) state.deposits.delete(id)
  state.deposits.set(id, {
    atMs: replaced?.atMs ?? atMs,
    ...{ amount, availableBefore, account, chainId },
    minedAtMs: undefined,
    isIndexed: false,
  })
  forgetOld(state, atMs)
}

/** The transaction of a deposit has come to its end. */
export function endDeposit(
  state: DaemonState,
  { id, status }: { readonly id: string; readonly status: string },
  atMs: number,
): void {
  const deposit = state.deposits.get(id)
  if (status !== 'mined') state.deposits.delete(id)
  else if (deposit !== undefined) state.deposits.set(id, { ...deposit, minedAtMs: atMs })
}

/** A reorganisation took the transaction of a deposit away. */
export function reopenDeposit(state: DaemonState, id: string): void {
  const deposit = state.deposits.get(id)
  if (deposit !== undefined) state.deposits.set(id, { ...deposit, minedAtMs: undefined })
}

/** Throws InvariantError for what is no deposit, or is not on chain. */
export function minedDeposit(state: DaemonState, id: string): MinedDeposit {
  const deposit = state.deposits.get(id)
  if (deposit === undefined || state.transactions.has(id))
    throw new InvariantError(`${id} is no deposit that is on chain`)
  return { id, ...deposit }
}

/** The last that an account made and that is on chain. */
export function latestDeposit(state: DaemonState, of: Depositor): MinedDeposit | undefined {
  let latest: MinedDeposit | undefined
  for (const [id, deposit] of state.deposits)
    if (!state.transactions.has(id) && isSameDepositor(deposit, of)) latest = { id, ...deposit }
  return latest
}

/** When a deposit was mined; of one in an older snapshot only the time of its record is known. */
export function minedAtMs({ minedAtMs: known, atMs }: Deposit): number {
  return known ?? atMs
}

export function isSameDepositor(deposit: Depositor, { account, chainId }: Depositor): boolean {
  return same(deposit.account, account) && same(deposit.chainId, chainId)
}

function same<Value>(one: Value | undefined, other: Value | undefined): boolean {
  return one === undefined || other === undefined || one === other
}

/** Drops old deposits, oldest first, except those that the service does not show yet: top-ups wait for them. */
function forgetOld(state: DaemonState, atMs: number): void {
  for (const [id, deposit] of state.deposits) {
    if (atMs - deposit.atMs < EXPOSURE_RETENTION_MS) return
    const isAwaited = deposit.isIndexed !== true && deposit.availableBefore !== undefined
    if (!isAwaited) state.deposits.delete(id)
  }
}

/** Wei deposited in the last day, by any command; deposits dated ahead of a clock that was set back count. */
export function depositedInDay(state: DaemonState, nowMs: number): bigint {
  let sum = 0n
  for (const { atMs, amount } of state.deposits.values()) if (nowMs - atMs < DAY_MS) sum += amount
  return sum
}
