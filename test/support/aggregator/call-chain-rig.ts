import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createCallChain } from '../../../src/chain/call-chain.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { demoTargetAbi, multicallAbi } from '../../../src/sandbox/aggregator/chain/abi.ts'
import {
  type AggregatorDeployment,
  type DeploymentTerms,
  deployAggregatorContracts,
  depositFor,
} from '../../../src/sandbox/aggregator/chain/deploy.ts'
import { startAnvil } from '../../../src/sandbox/evm/anvil.ts'
import { createRpc, type Rpc } from '../../../src/sandbox/evm/rpc.ts'
import { sendOrThrow } from '../../../src/sandbox/evm/sender.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import type { CallChainRig } from '../../contract/chain/call-chain.ts'
import { AT_ONCE } from '../finality.ts'

export type AnvilCallChainRig = CallChainRig & {
  readonly rpc: Rpc
  readonly rpcUrl: string
  readonly deployment: AggregatorDeployment
}

const CHAIN_ID = 11_155_111
const ETHER = 10n ** 18n

const lower = (address: string): Address => address.toLowerCase() as Address

/** The live adapter on a local EVM node with the sandbox's contracts. */
export async function makeCallChainRig(
  domain: DeploymentTerms['domain'] = 'proposer',
): Promise<AnvilCallChainRig> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, log: () => undefined })
  const rpc = createRpc(anvil.rpcUrl)
  const deployment = await deployAggregatorContracts(rpc, {
    ...{ domain, gasTank: 'balanceOf', gasLimit: 'target' },
  })
  const { contracts, relayer } = deployment
  const bytes = randomBytes(32)
  const owner = privateKeyToAccount(toHex(bytes))
  const key = createKey(bytes)
  await rpc.call('anvil_setBalance', [key.address, toHex(ETHER)])
  const callChain = createCallChain({
    chainId: CHAIN_ID,
    rpcUrls: [anvil.rpcUrl],
    rule: AT_ONCE,
    observe: () => undefined,
    clock: Date,
  })
  const target = lower(contracts.demoTarget)
  return {
    rpc,
    rpcUrl: anvil.rpcUrl,
    deployment,
    callChain,
    chainId: CHAIN_ID,
    key,
    balance: ETHER,
    gasTank: lower(contracts.gasTank),
    gasTankMethods: 'balanceOf',
    multicall: lower(contracts.multicall),
    proposer: lower(contracts.trustlessProposer),
    target,
    workingCall: {
      to: target,
      data: encodeFunctionData({
        abi: demoTargetAbi,
        functionName: 'record',
        args: [`0x${'07'.repeat(32)}`],
      }),
    },
    failingCall: {
      to: target,
      data: encodeFunctionData({ abi: demoTargetAbi, functionName: 'fail' }),
    },
    async delegate() {
      const nonce = Number(
        await rpc.call<Hex>('eth_getTransactionCount', [owner.address, 'latest']),
      )
      const address = contracts.trustlessProposer
      const terms = { chainId: CHAIN_ID, contractAddress: address, nonce }
      const { r, s, yParity = 0 } = await owner.signAuthorization(terms)
      const authorization = {
        chainId: toHex(CHAIN_ID),
        address,
        nonce: toHex(nonce),
        yParity: toHex(yParity),
        r: toHex(BigInt(r)),
        s: toHex(BigInt(s)),
      }
      await sendOrThrow(relayer, 'delegating', {
        to: `0x${'0'.repeat(40)}`,
        authorizations: [authorization],
      })
    },
    deposit: (wei) => depositFor(deployment, key.address, wei),
    async batch({ account, target: to, payload }) {
      const call = { account, target: to, data: payload, value: 0n, gasLimit: 400_000n }
      const data = encodeFunctionData({
        abi: multicallAbi,
        functionName: 'execute',
        args: [[call]],
      })
      const receipt = await sendOrThrow(relayer, 'the batch', { to: contracts.multicall, data })
      return receipt.transactionHash
    },
    mine: () => sleep(5),
    async close() {
      await callChain.close()
      await rpc.close()
      await anvil.stop()
    },
  }
}
