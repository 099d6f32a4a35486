import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeEventLog, parseAbi } from 'viem'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { SlotHistory } from '../../src/cli/commands/history.ts'
import { formatAmount } from '../../src/domain/units.ts'
import type { CallRecord } from '../../src/sandbox/aggregator/rpc/admin-routes.ts'
import type { Running } from '../support/process/cli.ts'
import { startScriptedServer } from '../support/process/scripted-server.ts'
import { READINGS } from '../support/sandbox.ts'
import { all } from './books.ts'
import {
  callsCounted,
  DEPOSIT,
  type Funds,
  journaled,
  logsOf,
  type Operator,
  servedTo,
  setUpAccount,
  tankBalance,
} from './operator.ts'
import {
  adminCall,
  everySecond,
  metricsOf,
  startRehearsal,
  startRehearsalInside,
  writeStrategies,
} from './rehearsal.ts'

const TOP_UP = 10n ** 16n
const BENEFICIARY = '0x00000000000000000000000000000000000000c2'
const STRATEGY = 'claim-often'
const SLOT_MS = 3_000
const CLAIMED = parseAbi([
  'event Claimed(address indexed caller, address indexed beneficiary)',
  'event Called(address indexed caller, uint256 value, bytes32 memo)',
])

/** A claim on every third second; the other strategies of the rehearsal stay disabled. */
function writeClaims({ rehearsal }: Operator, changes: object = {}): void {
  writeStrategies(join(rehearsal.dir, 'strategies'), {
    [STRATEGY]: {
      name: STRATEGY,
      kind: 'call',
      schedule: { cron: '*/3 * * * * *', missed: 'all', maxLateness: '60s' },
      to: 'demo',
      function: 'claim(address)',
      args: [BENEFICIARY],
      gasLimit: '150000',
      ...changes,
    },
  })
}

/** Accounts whose calls shared a transaction: the target's word, for the service's contract names none. */
async function accountsIn(operator: Operator, txHash: string): Promise<ReadonlySet<string>> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.targets.demo)
  return new Set(
    logs.map((log) => decodeEventLog({ abi: CLAIMED, ...log }).args.caller.toLowerCase()),
  )
}

/** Who claimed for our beneficiary in a transaction: the target's word on its caller. */
async function claimantsIn(operator: Operator, txHash: string): Promise<readonly string[]> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.targets.demo)
  return logs.flatMap((log) => {
    const { eventName, args } = decodeEventLog({ abi: CLAIMED, ...log })
    if (eventName !== 'Claimed') return []
    expect(args.beneficiary.toLowerCase()).toBe(BENEFICIARY)
    return [args.caller.toLowerCase()]
  })
}

function chargesOf(served: readonly CallRecord[]): bigint {
  return served.reduce((total, { charged }) => total + BigInt(charged ?? 0), 0n)
}

/** Lines of a daemon's log with this event, in order. */
function logged(daemon: Running, event: string): readonly Record<string, unknown>[] {
  return daemon
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line['event'] === event)
}

/**
 * Runs the daemon for whole slots. It begins within one: a slot that opens as the daemon stops is left to the next
 * start, and would be open in the history.
 */
async function runFor({ rehearsal }: Operator, seconds: number): Promise<Running> {
  await sleep(SLOT_MS + SLOT_MS / 6 - (Date.now() % SLOT_MS))
  const daemon = rehearsal.daemon(['--for', `${seconds}s`])
  expect((await daemon.ended()).code).toBe(0)
  return daemon
}

/** The proven calls of the journal, each beside what the service took for the transaction it names. */
async function chargesSaid(operator: Operator) {
  const served = await servedTo(operator)
  const taken = new Map(served.map((call) => [call.batchedTransactionHash, call.charged]))
  return all(await journaled(operator), 'call-proven').map(({ execution }) => ({
    ...execution,
    said: execution.costs.charged?.toString(),
    taken: taken.get(execution.txHash),
  }))
}

/** What a rehearsal starts with; the calls need addresses that only its sandbox knows. */
const IDLE = everySecond('buy-weth', { enabled: false })

test.each(READINGS)(
  'calls share transactions with strangers, and deposit, charges and journal agree to the wei, on contracts as %s',
  async (reading) => {
    const operator = await setUpAccount(await startRehearsal(IDLE, ['--reading', reading]))
    const { rehearsal, account, command, data } = operator
    writeClaims(operator)
    await runFor(operator, 12)

    const slots = await data<SlotHistory[]>(`history --strategy ${STRATEGY}`)
    expect(slots.length).toBeGreaterThanOrEqual(3)
    for (const slot of slots) expect(slot).toMatchObject({ outcome: 'filled', attempts: 1 })
    const proven = await chargesSaid(operator)
    const hashes = proven.map(({ txHash }) => txHash)
    expect(slots.flatMap(({ fills }) => fills.map(({ txHash }) => txHash))).toEqual(hashes)
    expect(new Set(hashes).size).toBe(slots.length)
    const companies = await Promise.all(hashes.map((hash) => accountsIn(operator, hash)))
    for (const company of companies) expect(company).toContain(account)
    expect(companies.filter(({ size }) => size >= 2).length).toBeGreaterThanOrEqual(1)
    for (const hash of hashes) expect(await claimantsIn(operator, hash)).toEqual([account])
    expect(await callsCounted(operator)).toBe(BigInt(slots.length))

    const served = await servedTo(operator)
    const routes = served.map(({ route, state }) => `${route} ${state}`)
    expect(routes).toEqual(['delegation landed', ...slots.map(() => 'aggregated landed')])
    expect(proven.map(({ said }) => said)).toEqual(proven.map(({ taken }) => taken))
    const left = DEPOSIT - chargesOf(served)
    expect(left).toBeLessThan(DEPOSIT)
    expect((await data<Funds>('gastank status')).available).toBe(left.toString())
    await adminCall(rehearsal.report, 'POST', '/aggregator/settle')
    // In one generation charges never leave the contract.
    const onChain = { deployed: DEPOSIT, described: left }[reading]
    expect(await tankBalance(operator, reading)).toBe(onChain)
    expect(await data('gastank status')).toMatchObject({
      balance: left.toString(),
      outstandingCharge: '0',
      onChain: onChain.toString(),
      methods: { deployed: 'balances', described: 'balanceOf' }[reading],
      savings: { calls: slots.length, disputed: 0 },
    })

    const life = await command(`why ${STRATEGY}:${slots[0]?.slotSeconds}`)
    expect(life.split('\n').map((line) => line.split('  ')[1])).toEqual([
      'slot-opened',
      'call-recorded',
      'order-accepted',
      'call-proven',
      'intent-closed',
      'slot-closed',
      undefined,
    ])
    expect(life).toMatch(
      new RegExp(
        `call-proven .*txHash=${hashes[0]} .*via=aggregated.*\\(charged 0\\.0\\d+ ETH, saved`,
      ),
    )
  },
  60_000,
)

test('a falling deposit raises the alarm and is topped up once, never above the cap of a day, as the gauges show', async () => {
  // Charges stay outstanding, so that every gauge has something to show.
  const operator = await setUpAccount(
    await startRehearsalInside(IDLE, { aggregator: { settleEveryMs: 0 } }),
  )
  const { rehearsal, account, data, edit } = operator
  const receiver = await startScriptedServer()
  onTestFinished(() => receiver.close())
  receiver.answerWith(() => ({ status: 200 }))
  const { available } = await data<Funds>('gastank status')
  const threshold = formatAmount(BigInt(available), 18)
  const topUp = { below: threshold, amount: '0.01', maxPerDay: '0.065' }
  edit((config) => {
    config.aggregator.gasTank = { alertBelow: threshold, topUp }
    config.notify = { webhooks: [{ url: receiver.url, on: ['low-funds'] }] }
  })
  writeClaims(operator)
  const falling = await runFor(operator, 18)

  const [alert, ...more] = logged(falling, 'gas-tank-low')
  expect(alert).toMatchObject({ level: 'warn', account: 'operator' })
  expect(more).toEqual([])
  expect(Number(alert?.['available'])).toBeLessThan(Number(threshold))
  expect(receiver.requests.map(({ body }) => JSON.parse(body).details)).toEqual([
    { account: 'operator', available: alert?.['available'] },
  ])
  expect(await depositsOf(operator)).toEqual([DEPOSIT, TOP_UP])
  const slots = await data<SlotHistory[]>(`history --strategy ${STRATEGY}`)
  for (const slot of slots) expect(slot).toMatchObject({ outcome: 'filled', attempts: 1 })
  // What a deposit in between hides stays unsaid; nothing that is said is wrong.
  const said = (await chargesSaid(operator)).filter((each) => each.said !== undefined)
  expect(said.length).toBeGreaterThanOrEqual(slots.length - 2)
  expect(said.map((each) => each.said)).toEqual(said.map(({ taken }) => taken))

  const owed = chargesOf(await servedTo(operator))
  await waitForIndexing(operator)
  // The tank is tended for a daemon that makes calls, and nothing moves while none is due.
  writeClaims(operator, { schedule: { cron: '0 0 1 1 *' } })
  edit((config) => {
    config.aggregator.gasTank.topUp = { ...topUp, below: '0.06' }
  })
  const capped = rehearsal.daemon()
  await capped.sees(/top-up-capped/)
  const gauges = await metricsOf(capped)
  expect((await capped.stop()).code).toBe(0)
  const gauge = (name: string) => gauges.get(`tranched_gastank_${name}_ether{account="operator"}`)
  const funded = DEPOSIT + TOP_UP
  expect(await tankBalance(operator, 'deployed')).toBe(funded)
  expect(await data('gastank status')).toMatchObject({
    account,
    balance: funded.toString(),
    outstandingCharge: owed.toString(),
  })
  expect(gauge('balance')).toBe(ether(funded))
  expect(gauge('outstanding')).toBe(ether(owed))
  expect(gauge('available')).toBe(ether(funded - owed))
  expect(await depositsOf(operator)).toEqual([DEPOSIT, TOP_UP])
}, 60_000)

/** Wei of every deposit that the account's wallet signed, by the journal. */
async function depositsOf(operator: Operator): Promise<readonly bigint[]> {
  return all(await journaled(operator), 'transaction-recorded')
    .filter(({ transaction }) => transaction.purpose === 'deposit')
    .map(({ transaction }) => transaction.value)
}

async function waitForIndexing({ data }: Operator): Promise<void> {
  await vi.waitFor(
    async () => expect(await data('gastank status')).toMatchObject({ indexing: false }),
    { timeout: 10_000, interval: 200 },
  )
}

function ether(wei: bigint): number {
  return Number(formatAmount(wei, 18))
}
