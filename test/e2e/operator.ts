import { readFileSync, writeFileSync } from 'node:fs'
import { encodeFunctionData, type Hex, type Log } from 'viem'
import { parse, stringify } from 'yaml'
import type { AmountData } from '../../src/cli/json/shapes.ts'
import { formatAmount } from '../../src/domain/money/units.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import type { CallRecord } from '../../src/sandbox/aggregator/rpc/admin-routes.ts'
import type { AllSettings } from '../../src/sandbox/options.ts'
import { DEMO, GAS_TANK, GAS_TANK_BALANCES } from '../support/aggregator/aggregator-abi.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { adminCall, nodeCall, type Rehearsal } from './rehearsal.ts'

/** The parts of the written config that calls need. */
type Config = {
  chains: { sepolia: { rpcUrls: [string] } }
  aggregator: {
    submit?: 'transaction' | 'bundle'
    contracts: { gasTank: Hex; multicall: Hex }
    targets: { demo: Hex }
    gasTank: { alertBelow: string; topUp: { below: string; amount: string; maxPerDay: string } }
  }
  notify?: object
}

export const DEPOSIT = 5n * 10n ** 16n

/** Output of `gastank status --json` when service and chain answer. */
export type Funds = {
  readonly account: Hex
  readonly balance: AmountData
  readonly outstandingCharge: AmountData
  readonly available: AmountData
  readonly onChain: AmountData
}

/** Ether in the form of every command's data. */
export function ether(wei: bigint): AmountData {
  return { amount: formatAmount(wei, 18), token: 'ETH' }
}

/** Makes the account of a fresh sandbox deposit and delegate, by commands alone. */
export async function setUpAccount(rehearsal: Rehearsal) {
  const config = (): Config => parse(readFileSync(rehearsal.config, 'utf8'))
  const command = async (line: string): Promise<string> => {
    const ended = await run([...line.split(' '), '--config', rehearsal.config])
    if (ended.code !== 0) throw new Error(`${line} ended with ${ended.code}: ${ended.stderr}`)
    return ended.stdout
  }
  const data = async <Data>(line: string): Promise<Data> =>
    outputOf<Data>(line, await command(`${line} --json`))
  const [sepoliaUrl] = config().chains.sepolia.rpcUrls
  // Each ends with 0 only after the service has indexed it, or the chain shows it.
  await command(`gastank deposit ${formatAmount(DEPOSIT, 18)} --yes`)
  await command('delegation set')
  return {
    rehearsal,
    command,
    data,
    config: config(),
    account: (await data<Funds>('gastank status')).account,
    edit(change: (config: Config) => void): void {
      const changed = config()
      change(changed)
      writeFileSync(rehearsal.config, stringify(changed))
    },
    sepolia: <Result>(method: string, params: readonly unknown[]) =>
      nodeCall<Result>({ rpcUrl: sepoliaUrl }, method, params),
  }
}

/** A set-up account, and the means to inspect it from outside. */
export type Operator = Awaited<ReturnType<typeof setUpAccount>>

/** Calls that the service made for an account, including the sponsored delegation. */
export async function servedTo({ rehearsal, account }: Operator): Promise<readonly CallRecord[]> {
  const { report } = rehearsal
  const calls = await adminCall<readonly CallRecord[]>(report, 'GET', '/aggregator/calls')
  return calls.filter((call) => call.account === account)
}

/** The journal's events, oldest first. No daemon may be running. */
export async function journaled({ rehearsal }: Operator): Promise<readonly JournalEvent[]> {
  return eventsIn(rehearsal.stateDir)
}

/** Logs of a contract in one transaction, which must not have reverted. */
export async function logsOf(
  { sepolia }: Operator,
  txHash: string,
  contract: Hex,
): Promise<readonly Log[]> {
  const { logs, status } = await sepolia<{ logs: readonly Log[]; status: Hex }>(
    'eth_getTransactionReceipt',
    [txHash],
  )
  if (status !== '0x1') throw new Error(`${txHash} was reverted`)
  return logs.filter(({ address }) => address.toLowerCase() === contract.toLowerCase())
}

/** The GasTank's record of the account, in the form of its generation. */
export function tankBalance(operator: Operator, reading: AllSettings['reading']): Promise<bigint> {
  const args = [operator.account] as const
  const data = {
    deployed: () => encodeFunctionData({ abi: GAS_TANK_BALANCES, functionName: 'balances', args }),
    described: () => encodeFunctionData({ abi: GAS_TANK, functionName: 'balanceOf', args }),
  }[reading]()
  return read(operator, operator.config.aggregator.contracts.gasTank, data)
}

/** How often the target counted the account as its caller. */
export function callsCounted(operator: Operator): Promise<bigint> {
  const args = [operator.account] as const
  const data = encodeFunctionData({ abi: DEMO, functionName: 'callsOf', args })
  return read(operator, operator.config.aggregator.targets.demo, data)
}

async function read({ sepolia }: Operator, to: Hex, data: Hex): Promise<bigint> {
  return BigInt(await sepolia<Hex>('eth_call', [{ to, data }, 'latest']))
}
