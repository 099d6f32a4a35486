import { encodeDeployData, encodeFunctionData, type Hex } from 'viem'
import demoTarget from '../../artifacts/demo-target.json' with { type: 'json' }
import gasTankBalanceOf from '../../artifacts/gas-tank-balance-of.json' with { type: 'json' }
import gasTankBalances from '../../artifacts/gas-tank-balances.json' with { type: 'json' }
import multicall3 from '../../artifacts/multicall3.json' with { type: 'json' }
import multicall from '../../artifacts/proposer-multicall.json' with { type: 'json' }
import trustedProposer from '../../artifacts/trusted-proposer.json' with { type: 'json' }
import trustlessProposer from '../../artifacts/trustless-proposer.json' with { type: 'json' }
import { deploy, MULTICALL3_ADDRESS } from '../../evm/deploy.ts'
import type { Rpc } from '../../evm/rpc.ts'
import { createSender, resumeSender, type Sender, sendOrThrow } from '../../evm/sender.ts'
import {
  gasTankBalanceOfAbi,
  gasTankBalancesAbi,
  multicallAbi,
  trustedProposerAbi,
  trustlessProposerAbi,
} from './abi.ts'

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
  readonly gasTank: GasTankGeneration
  /** Deploys, and pays for the other participants. */
  readonly deployer: Sender
  /** The service itself: the only account that may execute batches and take charges. */
  readonly relayer: Sender
}

/** Where everything is, for whoever goes on with the chain later. */
export type AggregatorDeploymentRecord = Omit<AggregatorDeployment, 'deployer' | 'relayer'> & {
  readonly deployer: Hex
  readonly relayer: Hex
}

export function recordAggregatorDeployment(
  deployment: AggregatorDeployment,
): AggregatorDeploymentRecord {
  const { deployer, relayer } = deployment
  return { ...deployment, deployer: deployer.address, relayer: relayer.address }
}

/** The deployment of before, on its own chain. */
export async function resumeAggregatorDeployment(
  rpc: Rpc,
  record: AggregatorDeploymentRecord,
): Promise<AggregatorDeployment> {
  return {
    ...record,
    deployer: await resumeSender(rpc, record.deployer),
    relayer: await resumeSender(rpc, record.relayer),
  }
}

/** Which address the EIP-712 domain of the TrustlessProposer names: its own, or that of the delegated account. */
export type ProposerDomain = 'proposer' | 'account'

/**
 * How a GasTank is deposited into and read: by `deposit(address)` and `balances(address)`, with charges that never leave
 * it; or by `deposit()` and `balanceOf(address)`, with charges taken out.
 */
export type GasTankGeneration = 'balances' | 'balanceOf'

/** What a signed gasLimit bounds: all of `onCall`, or the call to the target alone. */
export type GasLimitScope = 'whole' | 'target'

/** Which of the contracts that are in use get deployed. */
export type DeploymentTerms = {
  readonly domain: ProposerDomain
  readonly gasTank: GasTankGeneration
  readonly gasLimit: GasLimitScope
}

const PLENTY_OF_COIN = 10n ** 30n

/** Puts every contract of the aggregation service on a fresh chain. */
export async function deployAggregatorContracts(
  rpc: Rpc,
  terms: DeploymentTerms,
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
    gasTankCode(terms.gasTank, relayerAddress),
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
      trustlessProposerCode(multicallAddress, terms),
    ),
    demoTarget: await deploy(deployer, 'DemoTarget', demoTarget.bytecode as Hex),
  }
  return { contracts, gasTank: terms.gasTank, deployer, relayer: createSender(rpc, relayerAddress) }
}

/** Creation code of any variant of the TrustlessProposer. */
export function trustlessProposerCode(
  multicallAddress: Hex,
  { domain, gasLimit }: Pick<DeploymentTerms, 'domain' | 'gasLimit'>,
): Hex {
  return creation(trustlessProposerAbi, trustlessProposer, [
    multicallAddress,
    domain === 'proposer',
    gasLimit === 'whole',
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
    data: depositData(deployment.gasTank, account),
  })
}

function depositData(generation: GasTankGeneration, account: Hex): Hex {
  return generation === 'balances'
    ? encodeFunctionData({ abi: gasTankBalancesAbi, functionName: 'deposit', args: [account] })
    : encodeFunctionData({ abi: gasTankBalanceOfAbi, functionName: 'depositFor', args: [account] })
}

function gasTankCode(generation: GasTankGeneration, operator: Hex): Hex {
  return generation === 'balances'
    ? (gasTankBalances.bytecode as Hex)
    : creation(gasTankBalanceOfAbi, gasTankBalanceOf, [operator])
}

function creation(
  abi: Parameters<typeof encodeDeployData>[0]['abi'],
  artifact: { readonly bytecode: string },
  args: readonly unknown[],
): Hex {
  return encodeDeployData({ abi, bytecode: artifact.bytecode as Hex, args })
}
