import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeEventLog, encodeFunctionData, type Hex, type Log } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { readJournal } from '../../src/adapters/journal-file.ts'
import type { SlotHistory } from '../../src/cli/history.ts'
import { formatAmount } from '../../src/domain/units.ts'
import type { CallRecord } from '../../src/sandbox/aggregator/admin-routes.ts'
import { DEMO, GAS_TANK, MULTICALL } from '../support/aggregator-abi.ts'
import { type Running, run } from '../support/cli.ts'
import { startScriptedServer } from '../support/scripted-server.ts'
import { collect } from '../support/state-directory.ts'
import { all, mentionsKey } from './books.ts'
import {
  adminCall,
  everySecond,
  metricsOf,
  nodeCall,
  type Rehearsal,
  startRehearsal,
  writeStrategies,
} from './rehearsal.ts'

const MILLI_ETHER = 10n ** 15n
const DEPOSIT = 50n * MILLI_ETHER
const TOP_UP = 10n * MILLI_ETHER
const BENEFICIARY = '0x00000000000000000000000000000000000000c2'
const STRATEGY = 'claim-often'

/** The written config, as far as calls are concerned. */
type Config = {
  wallets: { operator: { privateKeyFile: string } }
  chains: { sepolia: { rpcUrls: [string] } }
  aggregator: {
    contracts: { gasTank: Hex; multicall: Hex }
    targets: [Hex]
    gasTank: { alertBelow: string; topUp: { below: string; amount: string; maxPerDay: string } }
  }
  notify?: object
}

/** What `gastank status --json` prints. Wei as text. */
type Funds = {
  readonly account: Hex
  readonly balance: string
  readonly outstandingCharge: string
  readonly available: string
  readonly onChain: string
}

/** A sandbox whose operator has a deposit and is delegated, all of it by command. */
async function startOperator() {
  const rehearsal = await startRehearsal(everySecond('buy-weth', { enabled: false }))
  const config = (): Config => parse(readFileSync(rehearsal.config, 'utf8'))
  const printed: string[] = []
  const command = async (line: string): Promise<string> => {
    const ended = await run([...line.split(' '), '--config', rehearsal.config])
    printed.push(ended.stdout, ended.stderr)
    if (ended.code !== 0) throw new Error(`${line} ended with ${ended.code}: ${ended.stderr}`)
    return ended.stdout
  }
  const [sepoliaUrl] = config().chains.sepolia.rpcUrls
  expect(await command('gastank deposit 0.05 --yes')).toMatch(/is indexed/)
  expect(await command('delegation set')).toMatch(/the chain shows it/)
  return {
    rehearsal,
    printed,
    command,
    config: config(),
    key: readFileSync(config().wallets.operator.privateKeyFile, 'utf8').trim(),
    data: async <Data>(line: string): Promise<Data> => JSON.parse(await command(`${line} --json`)),
    edit(change: (config: Config) => void): void {
      const changed = config()
      change(changed)
      writeFileSync(rehearsal.config, stringify(changed))
    },
    sepolia: <Result>(method: string, params: readonly unknown[]) =>
      nodeCall<Result>({ rpcUrl: sepoliaUrl }, method, params),
  }
}

type Operator = Awaited<ReturnType<typeof startOperator>>

/** A claim on every third second; the other strategies of the rehearsal stay disabled. */
function writeClaims({ rehearsal, config }: Operator, changes: object): void {
  writeStrategies(join(rehearsal.dir, 'strategies'), {
    [STRATEGY]: {
      name: STRATEGY,
      kind: 'call',
      schedule: { cron: '*/3 * * * * *', missed: 'all', maxLateness: '60s' },
      to: config.aggregator.targets[0],
      function: 'claim(address)',
      args: [BENEFICIARY],
      gasLimit: '150000',
      ...changes,
    },
  })
}

/** Events of our journal. No daemon may be running. */
async function journaled({ stateDir }: Rehearsal) {
  const view = await readJournal(stateDir)
  return (await collect(view.records())).map(({ event }) => event)
}

/** What the service knows it executed for an account, by the transaction it was in. */
async function landedCalls(operator: Operator, account: Hex): Promise<readonly CallRecord[]> {
  const { report } = operator.rehearsal
  const calls = await adminCall<readonly CallRecord[]>(report, 'GET', '/aggregator/calls')
  return calls.filter((call) => call.account === account && call.route === 'aggregated')
}

/** Logs of one transaction, each by the contract that wrote it. */
async function logsOf({ sepolia }: Operator, txHash: string, contract: Hex) {
  const { logs, status } = await sepolia<{ logs: readonly Log[]; status: Hex }>(
    'eth_getTransactionReceipt',
    [txHash],
  )
  expect(status).toBe('0x1')
  return logs.filter(({ address }) => address.toLowerCase() === contract.toLowerCase())
}

/** Accounts whose calls shared a transaction, as the service's contract says. */
async function accountsIn(operator: Operator, txHash: string): Promise<ReadonlySet<string>> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.contracts.multicall)
  const accounts = logs.map(
    (log) => decodeEventLog({ abi: MULTICALL, eventName: 'Executed', ...log }).args.account,
  )
  return new Set(accounts.map((account) => account.toLowerCase()))
}

/** Who claimed for our beneficiary in a transaction: the target's word on its caller. */
async function claimantsIn(operator: Operator, txHash: string): Promise<readonly string[]> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.targets[0])
  return logs.flatMap((log) => {
    const { eventName, args } = decodeEventLog({ abi: CLAIMS, ...log })
    if (eventName !== 'Claimed') return []
    expect(args.beneficiary.toLowerCase()).toBe(BENEFICIARY)
    return [args.caller.toLowerCase()]
  })
}

const CLAIMS = [
  ...DEMO,
  {
    type: 'event',
    name: 'Claimed',
    inputs: [
      { name: 'caller', type: 'address', indexed: true },
      { name: 'beneficiary', type: 'address', indexed: true },
    ],
  },
] as const

async function read({ sepolia }: Operator, to: Hex, data: Hex): Promise<bigint> {
  return BigInt(await sepolia<Hex>('eth_call', [{ to, data }, 'latest']))
}

function tankBalance(operator: Operator, account: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: GAS_TANK, functionName: 'balanceOf', args: [account] })
  return read(operator, operator.config.aggregator.contracts.gasTank, data)
}

/** How often the target counted one account as its caller. */
function callsCounted(operator: Operator, account: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: DEMO, functionName: 'callsOf', args: [account] })
  return read(operator, operator.config.aggregator.targets[0], data)
}

function sum(values: readonly (bigint | string | null)[]): bigint {
  return values.reduce<bigint>((total, value) => total + BigInt(value ?? 0), 0n)
}

/** Messages of a daemon's log with this event, in order. */
function logged(daemon: Running, event: string): readonly Record<string, unknown>[] {
  return daemon
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line['event'] === event)
}

test('calls share transactions with those of strangers, and deposit, charges and journal agree to the wei', async () => {
  const operator = await startOperator()
  const { rehearsal, command, data } = operator
  const { account } = await data<Funds>('gastank status')
  writeClaims(operator, {})
  const run12 = rehearsal.daemon(['--for', '12s'])
  expect((await run12.ended()).code).toBe(0)

  const slots = await data<SlotHistory[]>(`history --strategy ${STRATEGY}`)
  expect(slots.length).toBeGreaterThanOrEqual(3)
  expect(slots.map(({ outcome }) => outcome)).toEqual(slots.map(() => 'filled'))
  expect(slots.map(({ fills }) => fills.length)).toEqual(slots.map(() => 1))

  const events = await journaled(rehearsal)
  const proven = all(events, 'call-proven')
  const hashes = proven.map(({ execution }) => execution.txHash)
  expect(slots.flatMap(({ fills }) => fills.map(({ txHash }) => txHash))).toEqual(hashes)
  expect(new Set(hashes).size).toBe(slots.length)
  const companies = await Promise.all(hashes.map((hash) => accountsIn(operator, hash)))
  console.log('FIGURES', slots.length, companies.map((c) => c.size))
  for (const company of companies) expect(company).toContain(account)
  expect(companies.filter(({ size }) => size >= 2).length).toBeGreaterThanOrEqual(1)
  for (const hash of hashes) expect(await claimantsIn(operator, hash)).toEqual([account])
  expect(await callsCounted(operator, account)).toBe(BigInt(slots.length))

  const calls = await landedCalls(operator, account)
  const chargedIn = new Map(calls.map((call) => [call.batchedTransactionHash, call.charged]))
  expect(calls.map(({ state }) => state)).toEqual(slots.map(() => 'landed'))
  for (const { execution } of proven)
    expect(execution.costs.charged?.toString()).toBe(chargedIn.get(execution.txHash))
  await adminCall(rehearsal.report, 'POST', '/aggregator/settle', {})
  const charges = sum(calls.map(({ charged }) => charged))
  const funds = await data<Funds>('gastank status')
  expect(charges).toBeGreaterThan(0n)
  expect(funds).toMatchObject({
    outstandingCharge: '0',
    available: (DEPOSIT - charges).toString(),
    onChain: (DEPOSIT - charges).toString(),
  })
  expect(await tankBalance(operator, account)).toBe(DEPOSIT - charges)
  console.log('CHARGES', charges, proven.map((p) => p.execution.costs))

  const [slot] = slots
  const life = await command(`why ${STRATEGY}:${slot?.slotSeconds}`)
  const steps = [...life.matchAll(/^\S+ {2}([a-z-]+) /gm)].map(([, type]) => type)
  console.log(life)
  expect(steps).toEqual([
    'slot-opened',
    'call-recorded',
    'order-accepted',
    'call-proven',
    'intent-closed',
    'slot-closed',
  ])
}, 60_000)

test('a falling deposit raises the alarm and is topped up once, never past the cap of a day, and the gauges tell', async () => {
  const operator = await startOperator()
  const { rehearsal, data, edit } = operator
  const { account } = await data<Funds>('gastank status')
  const receiver = await startScriptedServer()
  onTestFinished(() => receiver.close())
  receiver.answerWith(() => ({ status: 200 }))
  // At the start the deposit is at both thresholds, and below neither: the first charge makes the difference.
  edit((config) => {
    config.aggregator.gasTank = {
      alertBelow: '0.05',
      topUp: { below: '0.05', amount: '0.01', maxPerDay: '0.065' },
    }
    config.notify = { webhooks: [{ url: receiver.url, on: ['low-funds'] }] }
  })
  writeClaims(operator, {})
  const daemon = rehearsal.daemon(['--for', '18s'])
  await daemon.sees(/metrics at/)
  expect((await daemon.ended()).code).toBe(0)
  console.log(daemon.output())
  const alerts = logged(daemon, 'gas-tank-low')
  expect(alerts).toHaveLength(1)
  expect(receiver.requests.map(({ body }) => JSON.parse(body).event)).toEqual(['low-funds'])
  const events = await journaled(rehearsal)
  const deposits = all(events, 'transaction-recorded').filter(
    ({ transaction }) => transaction.purpose === 'deposit',
  )
  expect(deposits.map(({ transaction }) => transaction.value)).toEqual([DEPOSIT, TOP_UP])
  console.log(JSON.stringify(await data('history')), await data('gastank status'))
}, 60_000)
