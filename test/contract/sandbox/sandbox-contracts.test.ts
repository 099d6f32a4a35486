import {
  BaseError,
  ContractFunctionRevertedError,
  encodeFunctionData,
  type Hex,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { settlementAbi } from '../../../src/sandbox/evm/abi.ts'
import { permit2DomainSeparator } from '../../../src/sandbox/evm/deploy.ts'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { createSender } from '../../../src/sandbox/evm/sender.ts'
import { type OrderPermit, typedDataOf } from '../../../src/sandbox/gasless/permit.ts'
import {
  admin,
  balanceOf,
  newTrader,
  publicClientOf,
  sandboxForSuite,
  tokenOf,
} from '../../support/sandbox.ts'

const sandbox = sandboxForSuite()

const FEED = parseAbi([
  'function getRoundData(uint80 id) view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
  'function phaseId() view returns (uint16)',
  'function phaseAggregators(uint16 phase) view returns (address)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
  'function decimals() view returns (uint8)',
  'function description() view returns (string)',
  'function set(int256 answer, uint256 startedAt, uint256 updatedAt)',
])
const PERMIT2 = parseAbi(['function DOMAIN_SEPARATOR() view returns (bytes32)'])
const ERRORS = parseAbi([
  'error InvalidSigner()',
  'error InvalidNonce()',
  'error SignatureExpired(uint256 signatureDeadline)',
  'error OnlyOperator()',
  'error TooMuchSold(uint256 sellAmount, uint256 permitted)',
  'error TooLittleBought(uint256 buyAmount, uint256 minAmountOut)',
  'function operator() view returns (address)',
])
const ABI = [...settlementAbi, ...ERRORS]

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

type Terms = OrderPermit & { sellAmount: bigint; buyAmount: bigint }

let lastNonce = 0n
function termsOf(owner: Hex, changes: Partial<Terms> = {}): Terms {
  const { contracts } = sandbox()
  lastNonce += 1n
  return {
    chainId: 8453,
    permit2: contracts.permit2,
    token: tokenOf(sandbox(), 'USDC').address,
    amount: 1_000_000n,
    spender: contracts.settlement,
    nonce: lastNonce,
    deadline: nowSeconds() + 60,
    recipient: owner,
    tokenOut: tokenOf(sandbox(), 'DAI').address,
    minAmountOut: 10n ** 18n,
    sellAmount: 1_000_000n,
    buyAmount: 10n ** 18n,
    ...changes,
  }
}

async function fillOf(signer: PrivateKeyAccount, owner: Hex, signed: Terms, used: Terms = signed) {
  const data = typedDataOf(signed, { listDomainType: false })
  const signature = await signer.signTypedData(
    data as unknown as Parameters<typeof signer.signTypedData>[0],
  )
  return {
    owner,
    permit: {
      permitted: { token: used.token, amount: used.amount },
      nonce: used.nonce,
      deadline: BigInt(used.deadline),
    },
    witness: {
      recipient: used.recipient,
      tokenOut: used.tokenOut,
      minAmountOut: used.minAmountOut,
    },
    signature,
    sellAmount: used.sellAmount,
    buyAmount: used.buyAmount,
  }
}
type Fill = Awaited<ReturnType<typeof fillOf>>

function operator(): Promise<Hex> {
  const address = sandbox().contracts.settlement
  return publicClientOf(sandbox()).readContract({ address, abi: ABI, functionName: 'operator' })
}

/** Name of the error that the settlement reverts with, or undefined if it succeeds. */
async function revertOf(fill: Fill, from?: Hex): Promise<string | undefined> {
  try {
    await publicClientOf(sandbox()).simulateContract({
      account: from ?? (await operator()),
      address: sandbox().contracts.settlement,
      abi: ABI,
      functionName: 'settle',
      args: [fill],
    })
    return undefined
  } catch (error) {
    const reverted =
      error instanceof BaseError &&
      error.walk((cause) => cause instanceof ContractFunctionRevertedError)
    if (!(reverted instanceof ContractFunctionRevertedError)) throw error
    return reverted.data?.errorName ?? 'unnamed'
  }
}

async function settle(functionName: 'settle' | 'settleBatch', fills: readonly Fill[]) {
  const rpc = createRpc(sandbox().rpcUrl)
  const [first] = fills
  if (first === undefined) throw new Error('nothing to settle')
  const data =
    functionName === 'settle'
      ? encodeFunctionData({ abi: settlementAbi, functionName, args: [first] })
      : encodeFunctionData({ abi: settlementAbi, functionName, args: [fills] })
  const address = await operator()
  const nonce = Number(await rpc.call<Hex>('eth_getTransactionCount', [address, 'latest']))
  try {
    // Sent without the service's sender, since nothing else settles in this suite.
    return await createSender(rpc, address, nonce).send({
      to: sandbox().contracts.settlement,
      data,
    })
  } finally {
    await rpc.close()
  }
}

describe('the real Permit2 behind the settlement', () => {
  test('has the domain separator of chain 8453', async () => {
    const separator = await publicClientOf(sandbox()).readContract({
      address: sandbox().contracts.permit2,
      abi: PERMIT2,
      functionName: 'DOMAIN_SEPARATOR',
    })
    expect(separator).toBe(permit2DomainSeparator(8453))
  })

  test('accepts a signed permit once, which uses its nonce', async () => {
    const trader = await newTrader(sandbox(), { USDC: '5000000' })
    const fill = await fillOf(trader, trader.address, termsOf(trader.address))
    expect((await settle('settle', [fill])).status).toBe('0x1')
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(4_000_000n)
    expect(await balanceOf(sandbox(), 'DAI', trader.address)).toBe(10n ** 18n)
    expect(await revertOf(fill)).toBe('InvalidNonce')
  })

  test('refuses an expired permit', async () => {
    const trader = await newTrader(sandbox(), { USDC: '5000000' })
    const terms = termsOf(trader.address, { deadline: nowSeconds() - 2 })
    expect(await revertOf(await fillOf(trader, trader.address, terms))).toBe('SignatureExpired')
  })

  test('refuses the signature of another account', async () => {
    const owner = await newTrader(sandbox(), { USDC: '5000000' })
    const thief = await newTrader(sandbox(), {})
    const fill = await fillOf(thief, owner.address, termsOf(owner.address))
    expect(await revertOf(fill)).toBe('InvalidSigner')
  })

  test.each([
    ['recipient', { recipient: zeroAddress }],
    ['output token', { tokenOut: zeroAddress }],
    ['minimum', { minAmountOut: 1n, buyAmount: 1n }],
    ['amount', { amount: 2_000_000n, sellAmount: 2_000_000n }],
    ['deadline', { deadline: nowSeconds() + 999_999 }],
  ])('refuses a signature after a changed %s', async (_, change) => {
    const trader = await newTrader(sandbox(), { USDC: '5000000' })
    const signed = termsOf(trader.address)
    const fill = await fillOf(trader, trader.address, signed, { ...signed, ...change })
    expect(await revertOf(fill)).toBe('InvalidSigner')
  })
})

describe('the settlement', () => {
  test('takes at most the permitted amount and pays at least the minimum', async () => {
    const trader = await newTrader(sandbox(), { USDC: '5000000' })
    const more = termsOf(trader.address, { sellAmount: 1_000_001n })
    expect(await revertOf(await fillOf(trader, trader.address, more))).toBe('TooMuchSold')
    const less = termsOf(trader.address, { buyAmount: 10n ** 18n - 1n })
    expect(await revertOf(await fillOf(trader, trader.address, less))).toBe('TooLittleBought')
  })

  test('accepts calls only from the operator', async () => {
    const trader = await newTrader(sandbox(), { USDC: '5000000' })
    const fill = await fillOf(trader, trader.address, termsOf(trader.address))
    expect(await revertOf(fill, trader.address)).toBe('OnlyOperator')
    expect(await revertOf(fill)).toBeUndefined()
  })

  test('settles all orders of a batch or none', async () => {
    const good = await newTrader(sandbox(), { USDC: '5000000' })
    const poor = await newTrader(sandbox(), { USDC: '1' })
    const goodFill = await fillOf(good, good.address, termsOf(good.address))
    const poorFill = await fillOf(poor, poor.address, termsOf(poor.address))
    expect((await settle('settleBatch', [goodFill, poorFill])).status).toBe('0x0')
    expect(await balanceOf(sandbox(), 'DAI', good.address)).toBe(0n)
    const second = await fillOf(good, good.address, termsOf(good.address))
    expect((await settle('settleBatch', [goodFill, second])).status).toBe('0x1')
    expect(await balanceOf(sandbox(), 'DAI', good.address)).toBe(2n * 10n ** 18n)
  })
})

describe('the other contracts', () => {
  test('feeds return the market price, eight decimals and the block time', async () => {
    const feed = sandbox().feeds.find(({ base, quote }) => base === 'WETH' && quote === 'USDC')
    const address = feed?.address ?? zeroAddress
    const client = publicClientOf(sandbox())
    const read = { address, abi: FEED } as const
    const [, answer, , updatedAt] = await client.readContract({
      ...read,
      functionName: 'latestRoundData',
    })
    expect(answer).toBe(300_000_000_000n)
    expect(Math.abs(Number(updatedAt) - nowSeconds())).toBeLessThan(20)
    expect(await client.readContract({ ...read, functionName: 'decimals' })).toBe(8)
    expect(await client.readContract({ ...read, functionName: 'description' })).toBe('WETH / USDC')
    const { status } = await admin(sandbox(), 'PUT', '/feed', {
      feed: address,
      answer: '-5',
      startedAt: 7,
      updatedAt: 8,
    })
    expect(status).toBe(200)
    const round = await client.readContract({ ...read, functionName: 'latestRoundData' })
    expect(round.slice(1, 4)).toEqual([-5n, 7n, 8n])
    await admin(sandbox(), 'POST', '/market/step')
    const [, stepped] = await client.readContract({ ...read, functionName: 'latestRoundData' })
    expect(stepped).toBeGreaterThan(290_000_000_000n)
  })

  test('a feed returns every past round by phase and number, and no other', async () => {
    const feedOf = (base: string, quote: string) =>
      sandbox().feeds.find((feed) => feed.base === base && feed.quote === quote)?.address ??
      zeroAddress
    const client = publicClientOf(sandbox())
    const roundId = (phase: bigint, round: bigint) => (phase << 64n) | round
    const set = (feed: Hex, answer: string, at: number) =>
      admin(sandbox(), 'PUT', '/feed', { feed, answer, startedAt: at - 1, updatedAt: at })
    const read = (address: Hex, id: bigint) =>
      client.readContract({ address, abi: FEED, functionName: 'getRoundData', args: [id] })
    for (const [address, isSilent] of [
      [feedOf('AERO', 'WETH'), false],
      [feedOf('AERO', 'USDC'), true],
    ] as const) {
      const at = { address, abi: FEED } as const
      const [first] = await client.readContract({ ...at, functionName: 'latestRoundData' })
      expect(first >> 64n).toBe(1n)
      await set(address, '-7', 1_000)
      const { status } = await admin(sandbox(), 'POST', '/feed/phase', { feed: address })
      expect(status).toBe(200)
      await expect(client.readContract({ ...at, functionName: 'latestRoundData' })).rejects.toThrow(
        'No data present',
      )
      await set(address, '8', 999)
      const latest = await client.readContract({ ...at, functionName: 'latestRoundData' })
      const id = roundId(2n, 1n)
      expect(latest).toEqual([id, 8n, 998n, 999n, id])
      expect(await read(address, id)).toEqual(latest)
      const last = first + 1n
      expect(await read(address, last)).toEqual([last, -7n, 999n, 1_000n, last])
      expect((await read(address, first))[1]).toBeGreaterThan(0n)
      expect(await client.readContract({ ...at, functionName: 'phaseId' })).toBe(2)
      const aggregators = await Promise.all(
        [0, 1, 2, 3].map((phase) =>
          client.readContract({ ...at, functionName: 'phaseAggregators', args: [phase] }),
        ),
      )
      expect(aggregators.map((each) => each !== zeroAddress)).toEqual([false, true, true, false])
      for (const absent of [roundId(1n, 0n), last + 1n, roundId(2n, 2n), roundId(3n, 1n), 1n])
        if (isSilent) expect(await read(address, absent)).toEqual([absent, 0n, 0n, 0n, absent])
        else await expect(read(address, absent)).rejects.toThrow('No data present')
    }
  })

  test('a feed loses and invents no round when the contract archives rounds', async () => {
    const feed = sandbox().feeds.find(({ base, quote }) => base === 'WETH' && quote === 'DAI')
    const address = feed?.address ?? zeroAddress
    const client = publicClientOf(sandbox())
    await admin(sandbox(), 'POST', '/feed/phase', { feed: address })
    const PHASE = 2n << 64n
    const answers = async (): Promise<readonly number[]> => {
      const rounds = await Promise.all(
        Array.from({ length: 131 }, (_, index) =>
          client.readContract({
            ...{ address, abi: FEED, functionName: 'getRoundData' },
            args: [PHASE + BigInt(index)],
          }),
        ),
      )
      return rounds.map(([, answer]) => Number(answer))
    }
    const numbers = (from: number, to: number) =>
      Array.from({ length: 131 }, (_, number) => (number >= from && number <= to ? number : 0))
    for (let round = 1; round <= 129; round += 1) {
      const times = { startedAt: round, updatedAt: round }
      await admin(sandbox(), 'PUT', '/feed', { feed: address, answer: `${round}`, ...times })
      if ([64, 65, 128].includes(round)) expect(await answers()).toEqual(numbers(1, round))
    }
    expect(await answers()).toEqual(numbers(1, 129))
    await admin(sandbox(), 'POST', '/feed/phase', { feed: address })
    expect(await answers()).toEqual(numbers(1, 129))
    const round = { answer: '200', startedAt: 200, updatedAt: 200 }
    await admin(sandbox(), 'PUT', '/feed', { feed: address, ...round })
    expect(await answers()).toEqual(numbers(1, 129))
  })

  test('the sequencer feed reports up since a day ago', async () => {
    const round = await publicClientOf(sandbox()).readContract({
      address: sandbox().contracts.sequencerFeed,
      abi: FEED,
      functionName: 'latestRoundData',
    })
    expect(round[1]).toBe(0n)
    expect(nowSeconds() - Number(round[2])).toBeGreaterThan(80_000)
  })

  test('Multicall3 reads several values at one block and reports a failing call', async () => {
    const abi = parseAbi([
      'struct Call3 { address target; bool allowFailure; bytes callData; }',
      'struct Result { bool success; bytes returnData; }',
      'function aggregate3(Call3[] calls) payable returns (Result[] results)',
      'function getCurrentBlockTimestamp() view returns (uint256)',
      'function getEthBalance(address account) view returns (uint256)',
    ])
    const target = sandbox().contracts.multicall3
    const call = (callData: Hex, allowFailure: boolean) => ({ target, allowFailure, callData })
    const { trader } = sandbox()
    const timestamp = encodeFunctionData({ abi, functionName: 'getCurrentBlockTimestamp' })
    const args = [trader.address] as const
    const balance = encodeFunctionData({ abi, functionName: 'getEthBalance', args })
    const client = publicClientOf(sandbox())
    const read = (calls: ReturnType<typeof call>[]) =>
      client.simulateContract({
        address: target,
        abi,
        functionName: 'aggregate3',
        args: [calls],
      })
    const { result } = await read([
      call(timestamp, false),
      call(balance, false),
      call('0x12', true),
    ])
    expect(Math.abs(Number(result[0]?.returnData) - nowSeconds())).toBeLessThan(60)
    expect(BigInt(result[1]?.returnData ?? 0)).toBe(100n * 10n ** 18n)
    expect(result[2]?.success).toBe(false)
    await expect(read([call('0x12', false)])).rejects.toThrow()
  })

  test('WETH wraps and unwraps one to one', async () => {
    const trader = await newTrader(sandbox(), { WETH: '1000' })
    const rpc = createRpc(sandbox().rpcUrl)
    await rpc.call('anvil_impersonateAccount', [trader.address])
    const sender = createSender(rpc, trader.address, 1)
    const to = tokenOf(sandbox(), 'WETH').address
    const abi = parseAbi(['function deposit() payable', 'function withdraw(uint256 amount)'])
    await sender.send({
      to,
      value: 500n,
      data: encodeFunctionData({ abi, functionName: 'deposit' }),
    })
    expect(await balanceOf(sandbox(), 'WETH', trader.address)).toBe(1_500n)
    const withdraw = (amount: bigint) =>
      sender.send({
        to,
        data: encodeFunctionData({ abi, functionName: 'withdraw', args: [amount] }),
      })
    expect((await withdraw(1_500n)).status).toBe('0x1')
    expect(await balanceOf(sandbox(), 'WETH', trader.address)).toBe(0n)
    expect((await withdraw(1n)).status).toBe('0x0')
    await rpc.close()
  })
})
