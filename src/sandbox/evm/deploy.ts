import {
  type Abi,
  domainSeparator,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  maxUint128,
  numberToHex,
} from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { WETH_BASE_ADDRESS } from '../../domain/money/token.ts'
import { PERMIT_DOMAIN_NAME } from '../../domain/order/permit.ts'
import faucetToken from '../artifacts/faucet-token.json' with { type: 'json' }
import feedBoard from '../artifacts/feed-board.json' with { type: 'json' }
import multicall3 from '../artifacts/multicall3.json' with { type: 'json' }
import permit2 from '../artifacts/permit2.json' with { type: 'json' }
import priceFeed from '../artifacts/price-feed.json' with { type: 'json' }
import settlement from '../artifacts/settlement.json' with { type: 'json' }
import weth9 from '../artifacts/weth9.json' with { type: 'json' }
import { FEED_DECIMALS, FEED_PAIRS, type SandboxToken, TOKEN_SPECS } from '../tokens.ts'
import { faucetTokenAbi, feedBoardAbi, weth9Abi } from './abi.ts'
import type { Rpc } from './rpc.ts'
import { createSender, resumeSender, type Sender, sendOrThrow } from './sender.ts'

/** Both have the same address on every chain. */
export const MULTICALL3_ADDRESS: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'
const PERMIT2_ADDRESS: Hex = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

export type Deployment = {
  readonly permit2: Hex
  readonly multicall3: Hex
  readonly settlement: Hex
  readonly feedBoard: Hex
  readonly sequencerFeed: Hex
  readonly tokens: readonly SandboxToken[]
  readonly feeds: readonly {
    readonly base: string
    readonly quote: string
    readonly address: Hex
  }[]
  /** Deploys contracts, mints tokens and updates feeds. */
  readonly deployer: Sender
  /** The only account that may settle. */
  readonly operator: Sender
}

/** A deployment as JSON. The sandbox resumes its chain from it. */
export type DeploymentRecord = ReturnType<typeof recordDeployment>

export function recordDeployment({ deployer, operator, ...rest }: Deployment) {
  return { ...rest, deployer: deployer.address, operator: operator.address }
}

export async function resumeDeployment(rpc: Rpc, record: DeploymentRecord): Promise<Deployment> {
  return {
    ...record,
    deployer: await resumeSender(rpc, record.deployer),
    operator: await resumeSender(rpc, record.operator),
  }
}

const PLENTY_OF_COIN = 10n ** 30n
const WETH_INVENTORY = 10n ** 24n
const DAY_SECONDS = 86_400

/** Deploys every contract of the gasless venue on a fresh chain and fills the settlement's inventory. */
export async function deployGaslessContracts(rpc: Rpc, chainId: number): Promise<Deployment> {
  const [deployer, operator] = await richSenders(rpc)
  await Promise.all([
    rpc.call('anvil_setCode', [PERMIT2_ADDRESS, permit2Code(chainId)]),
    rpc.call('anvil_setCode', [MULTICALL3_ADDRESS, multicall3.deployedBytecode]),
    rpc.call('anvil_setCode', [WETH_BASE_ADDRESS, weth9.deployedBytecode]),
  ])
  const tokens: SandboxToken[] = []
  for (const spec of TOKEN_SPECS) {
    const { name, symbol, decimals } = spec
    const isWeth = symbol === 'WETH'
    const address = isWeth
      ? WETH_BASE_ADDRESS
      : await deploy(deployer, faucetToken, [name, symbol, decimals])
    tokens.push({ ...spec, address })
  }
  const to = await deploy(deployer, settlement, [PERMIT2_ADDRESS, operator.address])
  for (const token of tokens) {
    const amount = token.address === WETH_BASE_ADDRESS ? WETH_INVENTORY : maxUint128
    await fundToken(deployer, { token, to, amount })
  }
  return {
    permit2: PERMIT2_ADDRESS,
    multicall3: MULTICALL3_ADDRESS,
    settlement: to,
    ...(await deployFeeds(deployer)),
    tokens,
    deployer,
    operator,
  }
}

/** Two unlocked accounts of a fresh node, with more coin than they can spend. */
export async function richSenders(rpc: Rpc): Promise<readonly [Sender, Sender]> {
  const [first, second] = await rpc.call<Hex[]>('eth_accounts')
  if (first === undefined || second === undefined)
    throw new Error('the EVM node has no unlocked accounts')
  await Promise.all([first, second].map((address) => setBalance(rpc, address, PLENTY_OF_COIN)))
  return [createSender(rpc, first), createSender(rpc, second)]
}

export async function fundedAccount(rpc: Rpc, wei: bigint): Promise<Account> {
  const account = accountOf(generatePrivateKey())
  await setBalance(rpc, account.address, wei)
  return account
}

export type Account = { readonly address: Hex; readonly privateKey: Hex }

export function accountOf(privateKey: Hex): Account {
  return { address: privateKeyToAddress(privateKey), privateKey }
}

async function setBalance(rpc: Rpc, address: Hex, wei: bigint): Promise<void> {
  await rpc.call('anvil_setBalance', [address, numberToHex(wei)])
}

export async function addBalance(rpc: Rpc, address: Hex, wei: bigint): Promise<void> {
  const balance = BigInt(await rpc.call<Hex>('eth_getBalance', [address, 'latest']))
  await setBalance(rpc, address, balance + wei)
}

/** The deployer wraps coin for WETH, and mints every other token. */
export async function fundToken(
  deployer: Sender,
  { token, to, amount }: { token: SandboxToken; to: Hex; amount: bigint },
): Promise<void> {
  const isWeth = token.address === WETH_BASE_ADDRESS
  await sendOrThrow(deployer, `funding ${token.symbol}`, {
    to: token.address,
    value: isWeth ? amount : 0n,
    data: isWeth
      ? encodeFunctionData({ abi: weth9Abi, functionName: 'depositTo', args: [to] })
      : encodeFunctionData({ abi: faucetTokenAbi, functionName: 'mint', args: [to, amount] }),
  })
}

async function deployFeeds(
  deployer: Sender,
): Promise<Pick<Deployment, 'feedBoard' | 'feeds' | 'sequencerFeed'>> {
  const board = await deploy(deployer, feedBoard, [deployer.address])
  const deployFeed = (description: string, decimals: number, answersZeros: boolean) =>
    deploy(deployer, priceFeed, [board, description, decimals, answersZeros])
  const feeds: Deployment['feeds'][number][] = []
  for (const [index, [base, quote]] of FEED_PAIRS.entries()) {
    // For a missing round every other feed answers zeros and the rest revert, because clients must accept both.
    const address = await deployFeed(`${base} / ${quote}`, FEED_DECIMALS, index % 2 === 1)
    feeds.push({ base, quote, address })
  }
  const sequencerFeed = await deployFeed('L2 Sequencer Uptime Status Feed', 0, false)
  // Up for a day, because clients distrust a sequencer that came up within the last hour.
  const upSince = BigInt(Math.floor(Date.now() / 1000) - DAY_SECONDS)
  await sendOrThrow(deployer, 'starting the sequencer feed', {
    to: board,
    data: encodeFunctionData({
      abi: feedBoardAbi,
      functionName: 'set',
      args: [sequencerFeed, 0n, upSince, upSince],
    }),
  })
  return { feedBoard: board, feeds, sequencerFeed }
}

export async function deploy(
  deployer: Sender,
  {
    contract,
    abi,
    bytecode,
  }: { readonly contract: string; readonly abi: readonly unknown[]; readonly bytecode: string },
  args: readonly unknown[] = [],
): Promise<Hex> {
  const data = encodeDeployData({ abi: abi as Abi, bytecode: bytecode as Hex, args })
  const { contractAddress } = await sendOrThrow(deployer, `deploying ${contract}`, { data })
  if (contractAddress === null) throw new Error(`deploying ${contract} made no contract`)
  return contractAddress
}

export function permit2DomainSeparator(chainId: number): Hex {
  const verifyingContract = PERMIT2_ADDRESS
  return domainSeparator({ domain: { name: PERMIT_DOMAIN_NAME, chainId, verifyingContract } })
}

/**
 * Runtime code of the real Permit2 with its two immutables (chain id and domain separator) set for the chain. The published
 * code has the values of another chain.
 */
export function permit2Code(chainId: number): Hex {
  const code = Buffer.from(permit2.deployedBytecode.slice(2), 'hex')
  const { chainIdByte, domainSeparatorByte } = permit2.immutables
  code.write(chainId.toString(16).padStart(64, '0'), chainIdByte, 'hex')
  code.write(permit2DomainSeparator(chainId).slice(2), domainSeparatorByte, 'hex')
  return `0x${code.toString('hex')}`
}
