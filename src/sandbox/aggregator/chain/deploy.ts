import { encodeFunctionData, type Hex } from 'viem'
import demoTarget from '../../artifacts/demo-target.json' with { type: 'json' }
import gasTankBalanceOf from '../../artifacts/gas-tank-balance-of.json' with { type: 'json' }
import gasTankBalances from '../../artifacts/gas-tank-balances.json' with { type: 'json' }
import multicall3 from '../../artifacts/multicall3.json' with { type: 'json' }
import multicall from '../../artifacts/proposer-multicall.json' with { type: 'json' }
import trustedProposer from '../../artifacts/trusted-proposer.json' with { type: 'json' }
import trustlessProposer from '../../artifacts/trustless-proposer.json' with { type: 'json' }
import { deploy, MULTICALL3_ADDRESS, richSenders } from '../../evm/deploy.ts'
import type { Rpc } from '../../evm/rpc.ts'
import { resumeSender, sendOrThrow } from '../../evm/sender.ts'
import type { AggregatorSettings } from '../../options.ts'
import { gasTankBalanceOfAbi, gasTankBalancesAbi } from './abi.ts'

export type AggregatorDeployment = Awaited<ReturnType<typeof deployAggregatorContracts>>
export type AggregatorContracts = AggregatorDeployment['contracts']

/** A deployment as JSON. The service resumes its chain from it. */
export type AggregatorDeploymentRecord = ReturnType<typeof recordAggregatorDeployment>

export function recordAggregatorDeployment({ deployer, relayer, ...rest }: AggregatorDeployment) {
  return { ...rest, deployer: deployer.address, relayer: relayer.address }
}

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

/** Settings that choose the variants of the contracts. */
export type DeploymentTerms = Pick<AggregatorSettings, 'domain' | 'gasTank' | 'gasLimit'>

/** Deploys every contract of the aggregation service on a fresh chain. */
export async function deployAggregatorContracts(
  rpc: Rpc,
  { gasTank, domain, gasLimit }: DeploymentTerms,
) {
  /** The deployer also deposits for participants. Only the relayer may execute batches and take charges. */
  const [deployer, relayer] = await richSenders(rpc)
  // Clients batch their reads on this chain too.
  await rpc.call('anvil_setCode', [MULTICALL3_ADDRESS, multicall3.deployedBytecode])
  const tank = gasTank === 'balances' ? gasTankBalances : gasTankBalanceOf
  const gasTankAddress = await deploy(deployer, tank, [relayer.address])
  const multicallAddress = await deploy(deployer, multicall, [relayer.address])
  const contracts = {
    gasTank: gasTankAddress,
    multicall: multicallAddress,
    trustedProposer: await deploy(deployer, trustedProposer, [multicallAddress]),
    trustlessProposer: await deploy(deployer, trustlessProposer, [
      multicallAddress,
      domain === 'proposer',
      gasLimit === 'whole',
    ]),
    demoTarget: await deploy(deployer, demoTarget),
  }
  return { contracts, gasTank, deployer, relayer }
}

/** Deposits the deployer's wei for an account. */
export async function depositFor(
  { contracts, deployer, gasTank }: AggregatorDeployment,
  account: Hex,
  wei: bigint,
): Promise<void> {
  const args = [account] as const
  const data =
    gasTank === 'balances'
      ? encodeFunctionData({ abi: gasTankBalancesAbi, functionName: 'deposit', args })
      : encodeFunctionData({ abi: gasTankBalanceOfAbi, functionName: 'depositFor', args })
  await sendOrThrow(deployer, 'depositing', { to: contracts.gasTank, value: wei, data })
}
