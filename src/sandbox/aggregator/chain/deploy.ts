import { encodeDeployData, encodeFunctionData, type Hex } from 'viem'
import demoTarget from '../../artifacts/demo-target.json' with { type: 'json' }
import gasTank from '../../artifacts/gas-tank.json' with { type: 'json' }
import multicall3 from '../../artifacts/multicall3.json' with { type: 'json' }
import multicall from '../../artifacts/proposer-multicall.json' with { type: 'json' }
import trustedProposer from '../../artifacts/trusted-proposer.json' with { type: 'json' }
import trustlessProposer from '../../artifacts/trustless-proposer.json' with { type: 'json' }
import { deploy, MULTICALL3_ADDRESS } from '../../evm/deploy.ts'
import type { Rpc } from '../../evm/rpc.ts'
import { createSender, type Sender, sendOrThrow } from '../../evm/sender.ts'
import { gasTankAbi, multicallAbi, trustedProposerAbi, trustlessProposerAbi } from './abi.ts'

/** Addresses on the aggregator's chain. */
export type AggregatorContracts = {
  readonly gasTank: Hex
  readonly multicall: Hex
  readonly trustedProposer: Hex
  readonly trustlessProposer: Hex
  /** Something to call. */
  readonly demoTarget: Hex
}

export type AggregatorDeployment = {
  readonly contracts: AggregatorContracts
  /** Deploys, and pays for the other participants. */
  readonly deployer: Sender
  /** The service itself: the only account that may execute batches and take charges. */
  readonly relayer: Sender
}

/** Which address the EIP-712 domain of the TrustlessProposer names: its own, or that of the delegated account. */
export type ProposerDomain = 'proposer' | 'account'

const PLENTY_OF_COIN = 10n ** 30n

/** Puts every contract of the aggregation service on a fresh chain. */
export async function deployAggregatorContracts(
  rpc: Rpc,
  domain: ProposerDomain,
): Promise<AggregatorDeployment> {
  const [deployerAddress, relayerAddress] = await rpc.call<Hex[]>('eth_accounts')
  if (deployerAddress === undefined || relayerAddress === undefined) {
    throw new Error('the EVM node has no unlocked accounts')
  }
  const coin = `0x${PLENTY_OF_COIN.toString(16)}`
  await Promise.all([
    rpc.call('anvil_setBalance', [deployerAddress, coin]),
    rpc.call('anvil_setBalance', [relayerAddress, coin]),
    // Readers batch their reads on this chain too.
    rpc.call('anvil_setCode', [MULTICALL3_ADDRESS, multicall3.deployedBytecode]),
  ])
  const deployer = createSender(rpc, deployerAddress)
  const gasTankAddress = await deploy(
    deployer,
    'GasTank',
    creation(gasTankAbi, gasTank, [relayerAddress]),
  )
  const multicallAddress = await deploy(
    deployer,
    'ProposerMulticall',
    creation(multicallAbi, multicall, [relayerAddress]),
  )
  const contracts: AggregatorContracts = {
    gasTank: gasTankAddress,
    multicall: multicallAddress,
    trustedProposer: await deploy(
      deployer,
      'TrustedProposer',
      creation(trustedProposerAbi, trustedProposer, [multicallAddress]),
    ),
    trustlessProposer: await deploy(
      deployer,
      'TrustlessProposer',
      trustlessProposerCode(multicallAddress, domain),
    ),
    demoTarget: await deploy(deployer, 'DemoTarget', demoTarget.bytecode as Hex),
  }
  return { contracts, deployer, relayer: createSender(rpc, relayerAddress) }
}

/** Creation code of either variant of the TrustlessProposer. */
export function trustlessProposerCode(multicallAddress: Hex, domain: ProposerDomain): Hex {
  return creation(trustlessProposerAbi, trustlessProposer, [
    multicallAddress,
    domain === 'proposer',
  ])
}

/** Deposits wei of the deployer for an account. */
export async function depositFor(
  deployment: AggregatorDeployment,
  account: Hex,
  wei: bigint,
): Promise<void> {
  await sendOrThrow(deployment.deployer, 'depositing', {
    to: deployment.contracts.gasTank,
    value: wei,
    data: encodeFunctionData({ abi: gasTankAbi, functionName: 'depositFor', args: [account] }),
  })
}

function creation(
  abi: Parameters<typeof encodeDeployData>[0]['abi'],
  artifact: { readonly bytecode: string },
  args: readonly unknown[],
): Hex {
  return encodeDeployData({ abi, bytecode: artifact.bytecode as Hex, args })
}
