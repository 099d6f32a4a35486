import { decodeErrorResult, encodeFunctionData, type Hex, toHex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll } from 'vitest'
import {
  type AggregatorDeployment,
  deployAggregatorContracts,
} from '../../../src/sandbox/aggregator/chain/deploy.ts'
import { type Anvil, startAnvil } from '../../../src/sandbox/evm/anvil.ts'
import { createRpc, type Rpc } from '../../../src/sandbox/evm/rpc.ts'
import type { Receipt } from '../../../src/sandbox/evm/sender.ts'
import type { AllSettings } from '../../../src/sandbox/options.ts'
import { contractsOfReading, ETHER, SEPOLIA } from './aggregator.ts'
import { DEMO, GAS_TANK, GAS_TANK_BALANCES, MULTICALL, PROPOSER } from './aggregator-abi.ts'

/** A chain with the aggregation contracts but no service. */
export type AggregatorChain = {
  readonly rpc: Rpc
  readonly deployment: AggregatorDeployment
  /** A new account with coin, delegated to the given code. */
  delegated(to: Hex): Promise<PrivateKeyAccount>
  /** Sets or, with the zero address, clears an account's delegation in a transaction from another sender. */
  delegate(account: PrivateKeyAccount, to: Hex): Promise<void>
  /** A call of the account to itself, sent for real. */
  sendSelf(account: PrivateKeyAccount, data: Hex): Promise<Receipt>
  /** Name of the innermost error with which a call would revert; undefined if it passes. */
  revertOf(call: { from: Hex; to: Hex; data: Hex }): Promise<string | undefined>
  /** A number read from a contract. */
  read(to: Hex, data: Hex): Promise<bigint>
  /** How often the account called the demo target. */
  callsOf(account: PrivateKeyAccount): Promise<bigint>
  balance(account: Hex): Promise<bigint>
}

/** A chain for the whole suite, with the contracts of one reading, stopped after it. */
export function aggregatorChainForSuite(
  reading: AllSettings['reading'] = 'described',
): () => AggregatorChain {
  let anvil: Anvil | undefined
  let chain: AggregatorChain | undefined
  let rpc: Rpc | undefined
  beforeAll(async () => {
    anvil = await startAnvil({ chainId: SEPOLIA, log: () => undefined })
    rpc = createRpc(anvil.rpcUrl)
    chain = chainOf(rpc, await deployAggregatorContracts(rpc, contractsOfReading(reading)))
  })
  afterAll(async () => {
    await rpc?.close()
    await anvil?.stop()
  })
  return () => {
    if (chain === undefined) throw new Error('the chain runs only inside tests')
    return chain
  }
}

function chainOf(rpc: Rpc, deployment: AggregatorDeployment): AggregatorChain {
  const nonceOf = async ({ address }: PrivateKeyAccount): Promise<number> =>
    Number(await rpc.call<Hex>('eth_getTransactionCount', [address, 'latest']))
  const read = async (to: Hex, data: Hex): Promise<bigint> =>
    BigInt(await rpc.call<Hex>('eth_call', [{ to, data }, 'latest']))
  const delegate = async (account: PrivateKeyAccount, to: Hex): Promise<void> => {
    const nonce = await nonceOf(account)
    const terms = { chainId: SEPOLIA, contractAddress: to, nonce }
    const { r, s, yParity = 0 } = await account.signAuthorization(terms)
    await deployment.relayer.send({
      to: '0x0000000000000000000000000000000000000000',
      authorizations: [
        {
          chainId: toHex(SEPOLIA),
          address: to,
          nonce: toHex(nonce),
          yParity: toHex(yParity),
          r: toHex(BigInt(r)),
          s: toHex(BigInt(s)),
        },
      ],
    })
  }
  return {
    rpc,
    deployment,
    delegate,
    read,
    async delegated(to) {
      const account = privateKeyToAccount(generatePrivateKey())
      await rpc.call('anvil_setBalance', [account.address, toHex(ETHER)])
      await delegate(account, to)
      return account
    },
    async sendSelf(account, data) {
      const raw = await account.signTransaction({
        type: 'eip1559',
        chainId: SEPOLIA,
        to: account.address,
        data,
        nonce: await nonceOf(account),
        gas: 500_000n,
        maxFeePerGas: 10n ** 11n,
        maxPriorityFeePerGas: 10n ** 9n,
      })
      return rpc.call<Receipt>('eth_sendRawTransactionSync', [raw])
    },
    async revertOf(call) {
      const trace = await rpc.call<{ error?: string; output?: Hex }>('debug_traceCall', [
        { ...call, gas: toHex(5_000_000) },
        'latest',
        { tracer: 'callTracer' },
      ])
      if (trace.error === undefined) return undefined
      return trace.output === undefined ? 'empty' : errorName(trace.output)
    },
    callsOf: ({ address }) =>
      read(
        deployment.contracts.demoTarget,
        encodeFunctionData({ abi: DEMO, functionName: 'callsOf', args: [address] }),
      ),
    balance: async (account) => BigInt(await rpc.call<Hex>('eth_getBalance', [account, 'latest'])),
  }
}

const ERRORS = [...GAS_TANK, ...GAS_TANK_BALANCES, ...MULTICALL, ...PROPOSER, ...DEMO]

function errorName(data: Hex): string {
  if (data === '0x') return 'empty'
  const decoded = decodeErrorResult({ abi: ERRORS, data })
  if (decoded.errorName !== 'CallFailed') return decoded.errorName
  return `CallFailed:${errorName(decoded.args[2])}`
}
