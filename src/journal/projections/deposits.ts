import { DAY_MS } from '../../domain/cap-windows.ts'
import { InvariantError } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import type { TransactionRecord } from '../records.ts'
import type { DaemonState, Deposit } from '../state/daemon-state.ts'
import { EXPOSURE_RETENTION_MS } from './order-reducer.ts'

/** Owner of deposits. An undefined field matches any, as in older snapshots. */
export type Depositor = {
  readonly account: Address | undefined
  readonly chainId: number | undefined
}

/** A deposit on chain, with its transaction's id. */
export type MinedDeposit = Deposit & { readonly id: string }

/** Books a deposit before its transaction, or a replacement at a higher fee, is recorded. */
export function recordDeposit(state: DaemonState, record: TransactionRecord, atMs: number): void {
  const { id, from: account, chainId, value: amount, availableBefore } = record
  const replaced = state.transactions.has(id) ? state.deposits.get(id) : undefined
  // Another wallet's deposit may have used the same id. Deleting it first puts the new one last.
  if (replaced === undefined) state.deposits.delete(id)
  state.deposits.set(id, {
    atMs: replaced?.atMs ?? atMs,
    ...{ amount, availableBefore, account, chainId },
    minedAtMs: undefined,
    isIndexed: false,
  })
  forgetOld(state, atMs)
}

export function endDeposit(
  state: DaemonState,
  { id, status }: { readonly id: string; readonly status: string },
  atMs: number,
): void {
  const deposit = state.deposits.get(id)
  if (status !== 'mined') state.deposits.delete(id)
  else if (deposit !== undefined) state.deposits.set(id, { ...deposit, minedAtMs: atMs })
}

/** A reorganisation removed the deposit's transaction. */
export function reopenDeposit(state: DaemonState, id: string): void {
  const deposit = state.deposits.get(id)
  if (deposit !== undefined) state.deposits.set(id, { ...deposit, minedAtMs: undefined })
}

/** Throws InvariantError unless `id` is a deposit on chain. */
export function minedDeposit(state: DaemonState, id: string): MinedDeposit {
  const deposit = state.deposits.get(id)
  if (deposit === undefined || state.transactions.has(id))
    throw new InvariantError(`${id} is not a deposit on chain`)
  return { id, ...deposit }
}

export function latestDeposit(state: DaemonState, of: Depositor): MinedDeposit | undefined {
  let latest: MinedDeposit | undefined
  for (const [id, deposit] of state.deposits)
    if (!state.transactions.has(id) && isSameDepositor(deposit, of)) latest = { id, ...deposit }
  return latest
}

/** When a deposit was mined; for older snapshots, when it was recorded. */
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

/** Wei deposited in the last day by any command, including deposits dated in the future after the clock was set back. */
export function depositedInDay(state: DaemonState, nowMs: number): bigint {
  let sum = 0n
  for (const { atMs, amount } of state.deposits.values()) if (nowMs - atMs < DAY_MS) sum += amount
  return sum
}
