import { encodeFunctionData, type Hex, parseEventLogs } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  delegatedAccount,
  ETHER,
  funds,
  newAccount,
  QUIET,
  READINGS,
  rawTransaction,
  sepoliaClient,
  submitAndLand,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { GAS_TANK, GAS_TANK_BALANCES } from '../../support/aggregator/aggregator-abi.ts'
import { admin, sandboxForSuite } from '../../support/sandbox.ts'

describe.each(READINGS)('the GasTank as %s', (reading) => {
  const sandbox = sandboxForSuite({ reading, aggregator: QUIET })
  const tank = (): Hex => sandbox().sepolia.contracts.gasTank
  const settle = async () => (await admin(sandbox(), 'POST', '/aggregator/settle', {})).body

  const tankFigure = ({ address }: PrivateKeyAccount): Promise<bigint> => {
    const client = sepoliaClient(sandbox())
    const args = [address] as const
    return reading === 'deployed'
      ? client.readContract({
          ...{ address: tank(), abi: GAS_TANK_BALANCES, functionName: 'balances', args },
        })
      : client.readContract({
          ...{ address: tank(), abi: GAS_TANK, functionName: 'balanceOf', args },
        })
  }

  /** Sends wei and calldata to the GasTank without the service. */
  const send = async (account: PrivateKeyAccount, value: bigint, data?: Hex): Promise<void> => {
    const fields = { to: tank(), value, ...(data === undefined ? {} : { data }) }
    const client = sepoliaClient(sandbox())
    const hash = await client.sendRawTransaction({
      serializedTransaction: await rawTransaction(sandbox(), account, fields),
    })
    await client.waitForTransactionReceipt({ hash, pollingInterval: 10 })
  }

  /** An account with an outstanding charge. */
  const indebted = async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account))
    return { account, before: await funds(sandbox(), account) }
  }

  test('accrues charges before it settles them, without a change of the available amount', async () => {
    const { account, before } = await indebted()
    expect(before.balance).toBe(ETHER / 10n)
    expect(before.outstanding).toBeGreaterThan(0n)
    expect(await tankFigure(account)).toBe(before.balance)
    await settle()
    const after = await funds(sandbox(), account)
    expect(after).toEqual({ balance: before.balance - before.outstanding, outstanding: 0n })
    expect(await settle()).toEqual({ transactionHash: null })
  })

  if (reading === 'deployed') {
    test('keeps charges in the contract, so that only the service knows the available amount', async () => {
      const { account } = await indebted()
      const held = await sepoliaClient(sandbox()).getBalance({ address: tank() })
      expect(await settle()).toEqual({ transactionHash: null })
      expect(await tankFigure(account)).toBe(ETHER / 10n)
      expect(await sepoliaClient(sandbox()).getBalance({ address: tank() })).toBe(held)
      // A later deposit shows in both figures, which still differ.
      const { balance } = await funds(sandbox(), account)
      await admin(sandbox(), 'POST', '/aggregator/deposit', {
        ...{ address: account.address, amount: '1000' },
      })
      expect((await funds(sandbox(), account)).balance).toBe(balance + 1_000n)
      expect(await tankFigure(account)).toBe(ETHER / 10n + 1_000n)
    })

    test('credits a deposit to the account that it names', async () => {
      const [account, other] = [
        await newAccount(sandbox(), { deposit: 100n }),
        await newAccount(sandbox(), { deposit: 0n }),
      ]
      const depositFor = ({ address }: PrivateKeyAccount): Hex =>
        encodeFunctionData({
          ...{ abi: GAS_TANK_BALANCES, functionName: 'deposit', args: [address] },
        })
      await send(account, 11n, depositFor(account))
      await send(account, 7n, depositFor(other))
      expect((await funds(sandbox(), account)).balance).toBe(111n)
      expect((await funds(sandbox(), other)).balance).toBe(7n)
    })
  } else {
    test('takes charges out of the contract, account by account', async () => {
      const { account, before } = await indebted()
      const { transactionHash } = await settle()
      expect(await tankFigure(account)).toBe(before.balance - before.outstanding)
      const { logs } = await sepoliaClient(sandbox()).getTransactionReceipt({
        hash: transactionHash,
      })
      const charged = parseEventLogs({ abi: GAS_TANK, eventName: 'Charged', logs })
      const own = charged.find(({ args }) => args.account === account.address)
      expect(own?.args.amount).toBe(before.outstanding)
    })

    test('credits a deposit to its sender or to the named account', async () => {
      const account = await newAccount(sandbox(), { deposit: 100n })
      await send(account, 11n)
      await send(account, 5n, encodeFunctionData({ abi: GAS_TANK, functionName: 'deposit' }))
      expect((await funds(sandbox(), account)).balance).toBe(116n)
    })
  }
})
