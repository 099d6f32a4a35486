import {
  encodeEventTopics,
  type Hex,
  numberToHex,
  type ParseEventLogsReturnType,
  parseEventLogs,
  type RpcLog,
} from 'viem'
import { blockAt, type Rpc } from '../../evm/rpc.ts'
import { gasTankBalanceOfAbi, gasTankBalancesAbi } from '../chain/abi.ts'

type DepositLog = ParseEventLogsReturnType<typeof EVENTS, undefined, true>[number]
type Charge = { readonly account: Hex; readonly amount: bigint }

/** A snapshot that another service can resume from. */
export type AccountsState = {
  readonly accounts: readonly (Account & { readonly address: Hex })[]
  /** Deposits still within the indexing delay. */
  readonly waiting: readonly Deposit[]
  /** First block whose deposits are unread. */
  readonly nextBlock: number
  /** Balances on chain by the latest read `AccountDeposited`. Earlier versions had no such event. */
  readonly totals?: readonly (readonly [Hex, bigint])[]
}

/** `Deposited` is the event of the generation `balanceOf`, and of `balances` in earlier versions of the sandbox. */
const EVENTS = [...gasTankBalancesAbi, ...gasTankBalanceOfAbi]
const TOPICS = [
  encodeEventTopics({ abi: gasTankBalancesAbi, eventName: 'AccountDeposited' }),
  encodeEventTopics({ abi: gasTankBalanceOfAbi, eventName: 'Deposited' }),
].flat()

type Account = { balance: bigint; outstanding: bigint; reserved: bigint }
type Deposit = { readonly account: Hex; readonly amount: bigint; readonly visibleAtMs: number }
export type Accounts = ReturnType<typeof createAccounts>

/**
 * Deposits and charges of the service's customers, by lower-case address. An accepted call reserves its maximum cost until
 * the cost is known, so no account owes more than it deposited.
 */
export function createAccounts(
  { rpc, gasTank }: { readonly rpc: Rpc; readonly gasTank: Hex },
  indexingDelayMs: number,
  former: AccountsState = { accounts: [], waiting: [], nextBlock: 0 },
) {
  const accounts = new Map<Hex, Account>(
    former.accounts.map(({ address, ...account }) => [address, { ...account }]),
  )
  let waiting: Deposit[] = [...former.waiting]
  let { nextBlock } = former
  const totals = new Map(former.totals)
  let indexing: Promise<void> | undefined

  const readDeposits = async (): Promise<void> => {
    const latest = Number(await rpc.call<Hex>('eth_blockNumber'))
    if (latest < nextBlock) return
    const logs = await rpc.call<RpcLog[]>('eth_getLogs', [
      {
        address: gasTank,
        topics: [TOPICS],
        fromBlock: numberToHex(nextBlock),
        toBlock: numberToHex(latest),
      },
    ])
    const found = []
    for (const log of parseEventLogs({ abi: EVENTS, logs })) {
      const { timestamp } = await blockAt(rpc, numberToHex(BigInt(log.blockNumber ?? 0n)))
      // Blocks mined faster than one a second have future timestamps.
      const visibleAtMs = Math.min(Number(timestamp) * 1000, Date.now()) + indexingDelayMs
      found.push({ log, visibleAtMs })
    }
    // All change without an `await` in between, so that a snapshot never misses a deposit.
    for (const { log, visibleAtMs } of found) waiting.push({ ...depositIn(log), visibleAtMs })
    nextBlock = latest + 1
  }
  const depositIn = (log: DepositLog): Charge => {
    if (log.eventName === 'Deposited')
      return { account: lower(log.args.account), amount: log.args.amount }
    const { newBalance } = log.args
    const account = lower(log.args.operator)
    const amount = newBalance - (totals.get(account) ?? 0n)
    totals.set(account, newBalance)
    return { account, amount }
  }
  const showDue = (nowMs: number): void => {
    for (const { account, amount, visibleAtMs } of waiting) {
      if (visibleAtMs > nowMs) continue
      const known = accounts.get(account) ?? { balance: 0n, outstanding: 0n, reserved: 0n }
      accounts.set(account, known)
      known.balance += amount
    }
    waiting = waiting.filter(({ visibleAtMs }) => visibleAtMs > nowMs)
  }
  const existing = (account: Hex): Account => {
    const known = accounts.get(account)
    if (known === undefined) throw new Error(`no account ${account}`)
    return known
  }
  return {
    /** Reads new deposits from the chain. Each counts after the indexing delay. */
    async index(): Promise<void> {
      // A read in progress may have started before the caller's deposit.
      await indexing
      indexing ??= readDeposits().finally(() => {
        indexing = undefined
      })
      await indexing
      showDue(Date.now())
    },
    /** Wei; undefined before the first indexed deposit. */
    info: (account: Hex): Pick<Account, 'balance' | 'outstanding'> | undefined =>
      accounts.get(account),
    /** False if less than `amount` is available. */
    reserve(account: Hex, amount: bigint): boolean {
      const known = existing(account)
      if (known.balance - known.outstanding - known.reserved < amount) return false
      known.reserved += amount
      return true
    },
    /** Releases a reservation and adds the charge, which may be 0. */
    resolve(account: Hex, { reserved, charged }: { reserved: bigint; charged: bigint }): void {
      const known = existing(account)
      known.reserved -= reserved
      known.outstanding += charged
    },
    outstanding: (): Charge[] =>
      Array.from(accounts, ([account, { outstanding: amount }]) => ({ account, amount })).filter(
        ({ amount }) => amount > 0n,
      ),
    settled(charges: readonly Charge[]): void {
      for (const { account, amount } of charges) {
        const known = existing(account)
        // Both change without an `await` in between: a settlement must not change the available amount.
        known.balance -= amount
        known.outstanding -= amount
      }
    },
    state: (): AccountsState => ({
      accounts: Array.from(accounts, ([address, account]) => ({ address, ...account })),
      waiting: [...waiting],
      nextBlock,
      totals: [...totals],
    }),
  }
}

export function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}
