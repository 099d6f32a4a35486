import { decodeEventLog, type Hex, toEventSelector } from 'viem'
import type { Rpc } from '../../evm/rpc.ts'
import { gasTankBalancesAbi } from '../chain/abi.ts'

/** An account as the service sees it, in wei. */
export type AccountInfo = { readonly balance: bigint; readonly outstanding: bigint }

export type Charge = { readonly account: Hex; readonly amount: bigint }

/** All that the service knows, so that another one can go on from there. */
export type AccountsState = {
  readonly accounts: readonly (Account & { readonly address: Hex })[]
  /** Deposits that do not show yet. */
  readonly waiting: readonly Deposit[]
  /** The first block whose deposits were not read. */
  readonly nextBlock: number
}

/**
 * What the service knows of its customers: indexed deposits, charges accrued and charges settled. Addresses are
 * lower case. Funds of accepted calls are reserved until their costs are known, so that nobody owes more than
 * was deposited.
 */
export type Accounts = {
  /** Reads new deposits from the chain; each shows once its delay is over. */
  index(): Promise<void>
  /** Undefined until a first deposit shows. */
  info(account: Hex): AccountInfo | undefined
  /** Takes `amount` out of what is available; false if there is less than that. */
  reserve(account: Hex, amount: bigint): boolean
  /** Gives a reservation back and accrues what is owed instead, which may be nothing. */
  resolve(account: Hex, amounts: { reserved: bigint; charged: bigint }): void
  /** What is owed by whom. */
  outstanding(): Charge[]
  /** Notes that charges were settled: balances fall by what is no longer outstanding. */
  settled(charges: readonly Charge[]): void
  state(): AccountsState
}

type Account = { balance: bigint; outstanding: bigint; reserved: bigint }
type Deposit = { readonly account: Hex; readonly amount: bigint; readonly visibleAtMs: number }
type Log = {
  readonly blockNumber: Hex
  readonly blockTimestamp?: Hex
  readonly topics: [Hex, ...Hex[]]
  readonly data: Hex
}

const DEPOSITED = toEventSelector(
  'event Deposited(address indexed account, address indexed from, uint256 amount)',
)

export function createAccounts(
  deps: { readonly rpc: Rpc; readonly gasTank: Hex },
  indexingDelayMs: number,
  former: AccountsState = { accounts: [], waiting: [], nextBlock: 0 },
): Accounts {
  const { rpc } = deps
  const accounts = new Map<Hex, Account>(
    former.accounts.map(({ address, ...account }) => [address, { ...account }]),
  )
  let waiting: Deposit[] = [...former.waiting]
  let { nextBlock } = former
  let indexing: Promise<void> | undefined

  const readDeposits = async (): Promise<void> => {
    const latest = Number(await rpc.call<Hex>('eth_blockNumber'))
    if (latest < nextBlock) return
    const range = { fromBlock: quantity(nextBlock), toBlock: quantity(latest) }
    const filter = { address: deps.gasTank, topics: [DEPOSITED], ...range }
    const found: Deposit[] = []
    for (const log of await rpc.call<Log[]>('eth_getLogs', [filter])) {
      found.push(await depositOf(log))
    }
    // At once, so that whoever looks in between never sees a deposit whose block is still to be read.
    waiting.push(...found)
    nextBlock = latest + 1
  }
  const depositOf = async (log: Log): Promise<Deposit> => {
    // Both generations of the GasTank tell a deposit in the same words.
    const { args } = decodeEventLog({ abi: gasTankBalancesAbi, eventName: 'Deposited', ...log })
    const { timestamp } = await rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', [
      log.blockNumber,
      false,
    ])
    return {
      account: lower(args.account),
      amount: args.amount,
      // Blocks that are mined faster than one a second carry times that are yet to come.
      visibleAtMs: Math.min(Number(timestamp) * 1000, Date.now()) + indexingDelayMs,
    }
  }
  const showDue = (nowMs: number): void => {
    for (const { account, amount, visibleAtMs } of waiting) {
      if (visibleAtMs > nowMs) continue
      const known = accounts.get(account)
      if (known === undefined)
        accounts.set(account, { balance: amount, outstanding: 0n, reserved: 0n })
      else known.balance += amount
    }
    waiting = waiting.filter(({ visibleAtMs }) => visibleAtMs > nowMs)
  }
  const existing = (account: Hex): Account => {
    const known = accounts.get(account)
    if (known === undefined) throw new Error(`no account ${account}`)
    return known
  }
  return {
    async index() {
      // A read that is under way may have begun before the deposit that the caller has made.
      await indexing
      indexing ??= readDeposits().finally(() => {
        indexing = undefined
      })
      await indexing
      showDue(Date.now())
    },
    info: (account) => accounts.get(account),
    reserve(account, amount) {
      const known = existing(account)
      if (known.balance - known.outstanding - known.reserved < amount) return false
      known.reserved += amount
      return true
    },
    resolve(account, { reserved, charged }) {
      const known = existing(account)
      known.reserved -= reserved
      known.outstanding += charged
    },
    outstanding: () =>
      Array.from(accounts, ([account, { outstanding }]) => ({
        account,
        amount: outstanding,
      })).filter(({ amount }) => amount > 0n),
    settled(charges) {
      for (const { account, amount } of charges) {
        const known = existing(account)
        // Both at once: what is available must not move because a charge was settled.
        known.balance -= amount
        known.outstanding -= amount
      }
    },
    state: () => ({
      accounts: Array.from(accounts, ([address, account]) => ({ address, ...account })),
      waiting: [...waiting],
      nextBlock,
    }),
  }
}

/** Addresses are compared as lower-case text. */
export function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}

function quantity(value: number): Hex {
  return `0x${value.toString(16)}`
}
