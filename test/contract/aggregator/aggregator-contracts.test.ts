import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseEventLogs,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { recordData } from '../../support/aggregator/aggregator.ts'
import {
  DEMO,
  GAS_TANK,
  GAS_TANK_BALANCES,
  MULTICALL,
  PROPOSER,
} from '../../support/aggregator/aggregator-abi.ts'
import { aggregatorChainForSuite } from '../../support/aggregator/aggregator-chain.ts'

const chain = aggregatorChainForSuite()
const contracts = () => chain().deployment.contracts
const deployer = () => chain().deployment.deployer
const relayer = () => chain().deployment.relayer
const freshAddress = (): Hex => privateKeyToAccount(generatePrivateKey()).address

type BatchItem = { account: Hex; target: Hex; data: Hex; value: bigint; gasLimit: bigint }
const execute = (calls: readonly BatchItem[]): Hex =>
  encodeFunctionData({ abi: MULTICALL, functionName: 'execute', args: [calls] })
const item = (account: Hex, data: Hex, gasLimit = 200_000n): BatchItem => ({
  ...{ account, target: contracts().demoTarget, data, value: 0n, gasLimit },
})

const fromMulticall = (account: PrivateKeyAccount, data: Hex) => ({
  ...{ from: contracts().multicall, to: account.address, data },
})

describe('EIP-7702 delegation', () => {
  const codeOf = ({ address }: PrivateKeyAccount): Promise<Hex> =>
    chain().rpc.call<Hex>('eth_getCode', [address, 'latest'])

  test('an authorization sets the code, and an authorization for the zero address clears it', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    expect(await codeOf(account)).toBe(`0xef0100${contracts().trustedProposer.slice(2)}`)
    await chain().delegate(account, zeroAddress)
    expect(await codeOf(account)).toBe('0x')
  })

  test('a delegated account still takes plain transfers', async () => {
    for (const proposer of [contracts().trustedProposer, contracts().trustlessProposer]) {
      const account = await chain().delegated(proposer)
      const { status } = await deployer().send({ to: account.address, value: 5n })
      expect(status).toBe('0x1')
    }
  })
})

describe('TrustedProposer', () => {
  const forward = (data: Hex): Hex =>
    encodeFunctionData({
      abi: PROPOSER,
      functionName: 'onCall',
      args: [contracts().demoTarget, data, 7n],
    })

  test('forwards call and value from the multicall and from the account itself', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    expect(
      await chain().revertOf(fromMulticall(account, forward(recordData('01')))),
    ).toBeUndefined()
    const receipt = await chain().sendSelf(account, forward(recordData('01')))
    expect(receipt.status).toBe('0x1')
    expect(await chain().callsOf(account)).toBe(1n)
  })

  test('rejects every other caller', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    const stranger = deployer().address
    const data = forward(recordData('01'))
    expect(await chain().revertOf({ from: stranger, to: account.address, data })).toBe(
      'OnlyMulticallOrSelf',
    )
  })

  test('forwards the revert reason of a call', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    const failing = encodeFunctionData({ abi: DEMO, functionName: 'fail' })
    const data = encodeFunctionData({
      abi: PROPOSER,
      functionName: 'onCall',
      args: [contracts().demoTarget, failing, 0n],
    })
    expect(await chain().revertOf(fromMulticall(account, data))).toBe('Refused')
  })

  test('has no replay guard: the same call executes every time', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    await chain().sendSelf(account, forward(recordData('01')))
    await chain().sendSelf(account, forward(recordData('01')))
    expect(await chain().callsOf(account)).toBe(2n)
  })
})

describe('ProposerMulticall', () => {
  const batchRevert = (calls: readonly BatchItem[], from: Hex = relayer().address) =>
    chain().revertOf({ from, to: contracts().multicall, data: execute(calls) })

  test('executes calls of several accounts, each as itself, and reports the gas of each in one event', async () => {
    const [first, second] = await Promise.all([
      chain().delegated(contracts().trustedProposer),
      chain().delegated(contracts().trustedProposer),
    ])
    const items = [first, second].map((account) => item(account.address, recordData('05')))
    const data = execute(items)
    const { status, logs } = await relayer().send({ to: contracts().multicall, data })
    expect(status).toBe('0x1')
    expect([await chain().callsOf(first), await chain().callsOf(second)]).toEqual([1n, 1n])
    const reported = parseEventLogs({ abi: MULTICALL, logs: logs as never })
    expect(reported.map(({ eventName }) => eventName)).toEqual(['InternalGasUsed'])
    const gasUsed = reported.flatMap(({ args }) => args.gasUsed)
    expect(gasUsed).toHaveLength(2)
    for (const gas of gasUsed) expect(gas).toBeGreaterThan(20_000n)
    const own = logs.filter(({ address }) => address === contracts().multicall.toLowerCase())
    // The event does not identify the account.
    for (const { address } of [first, second])
      expect(JSON.stringify(own)).not.toContain(address.slice(2).toLowerCase())
  })

  test('accepts calls only from its operator', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    const calls = [item(account.address, recordData('05'))]
    expect(await batchRevert(calls, deployer().address)).toBe('OnlyOperator')
    expect(await batchRevert(calls, account.address)).toBe('OnlyOperator')
    expect(await batchRevert(calls)).toBeUndefined()
  })

  test('reverts the whole batch when one call fails', async () => {
    const [good, bad] = await Promise.all([
      chain().delegated(contracts().trustedProposer),
      chain().delegated(contracts().trustedProposer),
    ])
    const failing = encodeFunctionData({ abi: DEMO, functionName: 'fail' })
    const calls = [item(good.address, recordData('05')), item(bad.address, failing)]
    expect(await batchRevert(calls)).toBe('CallFailed:Refused')
    const data = execute(calls)
    const { status } = await relayer().send({ to: contracts().multicall, data })
    expect(status).toBe('0x0')
    expect(await chain().callsOf(good)).toBe(0n)
  })

  test('reverts the batch when a call exceeds its gas limit', async () => {
    const account = await chain().delegated(contracts().trustedProposer)
    const burn = encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [100_000n] })
    expect(await batchRevert([item(account.address, burn, 120_000n)])).toBe('GasLimitExceeded')
    expect(await batchRevert([item(account.address, burn, 250_000n)])).toBeUndefined()
  })

  test('reverts for an account without code instead of executing an empty call', async () => {
    const plain = privateKeyToAccount(generatePrivateKey())
    expect(await batchRevert([item(plain.address, recordData('05'))])).toBe('NotDelegated')
  })

  test('reverts when code does not return true', async () => {
    const account = await chain().delegated(contracts().multicall)
    expect(await batchRevert([item(account.address, recordData('05'))])).toMatch(/^CallFailed/)
  })
})

describe('GasTank with charges', () => {
  const balanceOf = (account: Hex): Promise<bigint> =>
    chain().read(
      contracts().gasTank,
      encodeFunctionData({ abi: GAS_TANK, functionName: 'balanceOf', args: [account] }),
    )
  const send = (data: Hex | undefined, value: bigint) =>
    deployer().send({
      to: contracts().gasTank,
      value,
      ...(data === undefined ? {} : { data }),
    })
  const chargeData = (account: Hex, amount: bigint): Hex =>
    encodeFunctionData({ abi: GAS_TANK, functionName: 'charge', args: [[{ account, amount }]] })

  test('accepts deposits by deposit(), depositFor() and a plain transfer', async () => {
    const depositor = deployer().address
    const before = await balanceOf(depositor)
    const deposit = encodeFunctionData({ abi: GAS_TANK, functionName: 'deposit' })
    expect((await send(deposit, 10n)).logs).toHaveLength(1)
    await send(undefined, 5n)
    expect((await balanceOf(depositor)) - before).toBe(15n)
    const other = freshAddress()
    const depositFor = encodeFunctionData({
      abi: GAS_TANK,
      functionName: 'depositFor',
      args: [other],
    })
    const { logs } = await send(depositFor, 7n)
    expect(await balanceOf(other)).toBe(7n)
    const [log] = logs
    expect(log?.topics[1]?.slice(26)).toBe(other.slice(2).toLowerCase())
    expect(log?.topics[2]?.slice(26)).toBe(depositor.slice(2).toLowerCase())
    expect(BigInt(log?.data ?? '0x0')).toBe(7n)
  })

  test('pays charges to the operator', async () => {
    const account = freshAddress()
    await send(
      encodeFunctionData({ abi: GAS_TANK, functionName: 'depositFor', args: [account] }),
      1_000n,
    )
    const tankBefore = await chain().balance(contracts().gasTank)
    const data = chargeData(account, 400n)
    const { status, logs } = await relayer().send({ to: contracts().gasTank, data })
    expect(status).toBe('0x1')
    expect(await balanceOf(account)).toBe(600n)
    expect(BigInt(logs[0]?.data ?? '0x0')).toBe(400n)
    const tankAfter = await chain().balance(contracts().gasTank)
    expect(tankBefore - tankAfter).toBe(400n)
  })

  test('rejects charges by other callers and charges above the balance', async () => {
    const account = freshAddress()
    const data = chargeData(account, 1n)
    const to = contracts().gasTank
    expect(await chain().revertOf({ from: account, to, data })).toBe('OnlyOperator')
    expect(await chain().revertOf({ from: relayer().address, to, data })).toBe('ChargeAboveBalance')
  })
})

describe('GasTank without charges', () => {
  const deployed = aggregatorChainForSuite('deployed')
  const to = (): Hex => deployed().deployment.contracts.gasTank
  const balances = (account: Hex): Promise<bigint> =>
    deployed().read(
      to(),
      encodeFunctionData({ abi: GAS_TANK_BALANCES, functionName: 'balances', args: [account] }),
    )

  const encode = (functionName: 'deposit' | 'withdraw', args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: GAS_TANK_BALANCES, functionName, args } as never)
  const read = (functionName: 'builder' | 'owner' | 'version') =>
    deployed().rpc.call<Hex>('eth_call', [
      { to: to(), data: encodeFunctionData({ abi: GAS_TANK_BALANCES, functionName }) },
      'latest',
    ])

  test('adds up deposits by beneficiary, and its event names the new balance', async () => {
    const account = freshAddress()
    const { deployer: payer } = deployed().deployment
    await payer.send({ to: to(), value: 10n, data: encode('deposit', [account]) })
    const { logs } = await payer.send({ to: to(), value: 7n, data: encode('deposit', [account]) })
    expect(await balances(account)).toBe(17n)
    const [log] = parseEventLogs({ abi: GAS_TANK_BALANCES, logs: logs as never })
    expect(log).toMatchObject({
      eventName: 'AccountDeposited',
      args: { operator: account, newBalance: 17n },
    })
    expect(logs[0]?.topics).toHaveLength(1)
    expect(await balances(payer.address)).toBe(0n)
  })

  test('credits deposit() and a plain transfer to their sender', async () => {
    const { relayer: payer } = deployed().deployment
    await payer.send({ to: to(), value: 3n, data: encode('deposit', []) })
    await payer.send({ to: to(), value: 4n })
    expect(await balances(payer.address)).toBe(7n)
  })

  test('names its builder and version, and pays out to its owner for the builder alone', async () => {
    const { deployer: owner, relayer: builder } = deployed().deployment
    const account = freshAddress()
    await owner.send({ to: to(), value: 9n, data: encode('deposit', [account]) })
    expect((await read('builder')).slice(26)).toBe(builder.address.slice(2).toLowerCase())
    expect((await read('owner')).slice(26)).toBe(owner.address.slice(2).toLowerCase())
    const version = { abi: GAS_TANK_BALANCES, functionName: 'version' } as const
    expect(decodeFunctionResult({ ...version, data: await read('version') })).toBe('1.1.1')
    const data = encode('withdraw', [2n])
    expect(await deployed().revertOf({ from: owner.address, to: to(), data })).toBe('NotBuilder')
    const from = builder.address
    const tooMuch = encode('withdraw', [10n ** 30n])
    expect(await deployed().revertOf({ from, to: to(), data: tooMuch })).toBe('FailedLowLevelCall')
    const before = await deployed().balance(to())
    const { logs } = await builder.send({ to: to(), data })
    expect(await deployed().balance(to())).toBe(before - 2n)
    const [log] = parseEventLogs({ abi: GAS_TANK_BALANCES, logs: logs as never })
    expect(log).toMatchObject({ eventName: 'Withdrawn', args: { amount: 2n } })
    // Its figures only grow.
    expect(await balances(account)).toBe(9n)
  })

  test('rejects the calls of the other generation', async () => {
    const from = deployed().deployment.deployer.address
    const calls = [
      encodeFunctionData({ abi: GAS_TANK, functionName: 'balanceOf', args: [from] }),
      encodeFunctionData({ abi: GAS_TANK, functionName: 'depositFor', args: [from] }),
    ]
    for (const data of calls)
      expect(await deployed().revertOf({ from, to: to(), data })).toBe('empty')
  })
})

test('the demo target counts claims by beneficiary', async () => {
  const to = contracts().demoTarget
  const args = [freshAddress()] as const
  await deployer().send({
    to,
    data: encodeFunctionData({ abi: DEMO, functionName: 'claim', args }),
  })
  const read = encodeFunctionData({ abi: DEMO, functionName: 'claimsOf', args })
  expect(await chain().read(to, read)).toBe(1n)
})
