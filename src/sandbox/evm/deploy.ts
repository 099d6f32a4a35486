import { encodeDeployData, encodeFunctionData, type Hex, maxUint128 } from 'viem'
import { WETH_BASE } from '../../wire/gasless.ts'
import faucetToken from '../artifacts/faucet-token.json' with { type: 'json' }
import feedBoard from '../artifacts/feed-board.json' with { type: 'json' }
import multicall3 from '../artifacts/multicall3.json' with { type: 'json' }
import priceFeed from '../artifacts/price-feed.json' with { type: 'json' }
import settlement from '../artifacts/settlement.json' with { type: 'json' }
import weth9 from '../artifacts/weth9.json' with { type: 'json' }
import { FEED_DECIMALS, FEED_PAIRS, type SandboxToken, TOKEN_SPECS } from '../tokens.ts'
import { faucetTokenAbi, feedBoardAbi, priceFeedAbi, settlementAbi, weth9Abi } from './abi.ts'
import { PERMIT2_ADDRESS, permit2Code } from './permit2-code.ts'
import type { Rpc } from './rpc.ts'
import { createSender, resumeSender, type Sender, sendOrThrow } from './sender.ts'

/** Multicall3's address on every chain. */
export const MULTICALL3_ADDRESS: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** One feed of the price of `base` in `quote`. */
export type FeedAddress = { readonly base: string; readonly quote: string; readonly address: Hex }

export type Deployment = {
  readonly permit2: Hex
  readonly multicall3: Hex
  readonly settlement: Hex
  readonly feedBoard: Hex
  readonly sequencerFeed: Hex
  readonly tokens: readonly SandboxToken[]
  readonly feeds: readonly FeedAddress[]
  /** Deploys, mints and moves feeds. */
  readonly deployer: Sender
  /** The only account that may settle. */
  readonly operator: Sender
}

/** Where everything is, for whoever goes on with the chain later. */
export type DeploymentRecord = Omit<Deployment, 'deployer' | 'operator'> & {
  readonly deployer: Hex
  readonly operator: Hex
}

export function recordDeployment(deployment: Deployment): DeploymentRecord {
  const { deployer, operator } = deployment
  return { ...deployment, deployer: deployer.address, operator: operator.address }
}

/** The deployment of before, on its own chain. */
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

/** Puts every contract of the gasless venue on a fresh chain and fills the settlement's inventory. */
export async function deployGaslessContracts(rpc: Rpc, chainId: number): Promise<Deployment> {
  const [deployerAddress, operatorAddress] = await rpc.call<Hex[]>('eth_accounts')
  if (deployerAddress === undefined || operatorAddress === undefined) {
    throw new Error('the EVM node has no unlocked accounts')
  }
  const deployer = createSender(rpc, deployerAddress)
  const operator = createSender(rpc, operatorAddress)
  await Promise.all([
    rpc.call('anvil_setBalance', [deployerAddress, `0x${PLENTY_OF_COIN.toString(16)}`]),
    rpc.call('anvil_setBalance', [operatorAddress, `0x${PLENTY_OF_COIN.toString(16)}`]),
    rpc.call('anvil_setCode', [PERMIT2_ADDRESS, permit2Code(chainId)]),
    rpc.call('anvil_setCode', [MULTICALL3_ADDRESS, multicall3.deployedBytecode]),
    rpc.call('anvil_setCode', [WETH_BASE, weth9.deployedBytecode]),
  ])
  const tokens = await deployTokens(deployer)
  const settlementAddress = await deploy(deployer, 'Settlement', settlementCode(operatorAddress))
  await stockInventory(deployer, tokens, settlementAddress)
  const feeds = await deployFeeds(deployer)
  return {
    permit2: PERMIT2_ADDRESS,
    multicall3: MULTICALL3_ADDRESS,
    settlement: settlementAddress,
    ...feeds,
    tokens,
    deployer,
    operator,
  }
}

/** Gives tokens to an account: WETH is wrapped coin of the deployer, everything else is minted. */
export async function fundToken(
  deployer: Sender,
  grant: { token: SandboxToken; to: Hex; amount: bigint },
): Promise<void> {
  const { token, to, amount } = grant
  const isWeth = token.address === WETH_BASE
  await sendOrThrow(deployer, `funding ${token.symbol}`, {
    to: token.address,
    value: isWeth ? amount : 0n,
    data: isWeth
      ? encodeFunctionData({ abi: weth9Abi, functionName: 'depositTo', args: [to] })
      : encodeFunctionData({ abi: faucetTokenAbi, functionName: 'mint', args: [to, amount] }),
  })
}

function settlementCode(operator: Hex): Hex {
  return encodeDeployData({
    abi: settlementAbi,
    bytecode: settlement.bytecode as Hex,
    args: [PERMIT2_ADDRESS, operator],
  })
}

async function deployTokens(deployer: Sender): Promise<SandboxToken[]> {
  const tokens: SandboxToken[] = []
  for (const spec of TOKEN_SPECS) {
    const address =
      spec.symbol === 'WETH'
        ? WETH_BASE
        : await deploy(
            deployer,
            spec.symbol,
            encodeDeployData({
              abi: faucetTokenAbi,
              bytecode: faucetToken.bytecode as Hex,
              args: [spec.name, spec.symbol, spec.decimals],
            }),
          )
    tokens.push({ ...spec, address })
  }
  return tokens
}

async function stockInventory(
  deployer: Sender,
  tokens: readonly SandboxToken[],
  to: Hex,
): Promise<void> {
  for (const token of tokens) {
    const amount = token.address === WETH_BASE ? WETH_INVENTORY : maxUint128
    await fundToken(deployer, { token, to, amount })
  }
}

async function deployFeeds(
  deployer: Sender,
): Promise<Pick<Deployment, 'feedBoard' | 'feeds' | 'sequencerFeed'>> {
  const board = await deploy(
    deployer,
    'FeedBoard',
    encodeDeployData({
      abi: feedBoardAbi,
      bytecode: feedBoard.bytecode as Hex,
      args: [deployer.address],
    }),
  )
  const deployFeed = (description: string, decimals: number, answersZeros: boolean): Promise<Hex> =>
    deploy(
      deployer,
      description,
      encodeDeployData({
        abi: priceFeedAbi,
        bytecode: priceFeed.bytecode as Hex,
        args: [board, description, decimals, answersZeros],
      }),
    )
  const feeds: FeedAddress[] = []
  for (const [index, [base, quote]] of FEED_PAIRS.entries()) {
    // Clients have to take both for a round that is not there, so that every other feed is of the other kind.
    const address = await deployFeed(`${base} / ${quote}`, FEED_DECIMALS, index % 2 === 1)
    feeds.push({ base, quote, address })
  }
  const sequencerFeed = await deployFeed('L2 Sequencer Uptime Status Feed', 0, false)
  // Readers distrust a sequencer that came up within the last hour: this one has been up for a day.
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

/** Sends creation code and returns the address of what it made. */
export async function deploy(deployer: Sender, what: string, data: Hex): Promise<Hex> {
  const { contractAddress } = await sendOrThrow(deployer, `deploying ${what}`, { data })
  if (contractAddress === null) throw new Error(`deploying ${what} made no contract`)
  return contractAddress
}
