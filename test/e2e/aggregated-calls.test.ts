import { decodeEventLog, parseAbi } from 'viem'
import { expect, test } from 'vitest'
import type { SlotData } from '../../src/cli/json/inspect-outputs.ts'
import { READINGS } from '../support/sandbox.ts'
import { all } from './audit.ts'
import {
  BENEFICIARY,
  chargesOf,
  chargesRecorded,
  IDLE,
  runUntil,
  STRATEGY,
  writeClaims,
} from './claims.ts'
import {
  callsCounted,
  DEPOSIT,
  ether,
  type Funds,
  logsOf,
  type Operator,
  servedTo,
  setUpAccount,
  tankBalance,
} from './operator.ts'
import { adminCall, startRehearsal } from './rehearsal.ts'

const CLAIMED = parseAbi([
  'event Claimed(address indexed caller, address indexed beneficiary)',
  'event Called(address indexed caller, uint256 value, bytes32 memo)',
])

/** Accounts whose calls shared a transaction, as the target logged them: the service's contract names none. */
async function accountsIn(operator: Operator, txHash: string): Promise<ReadonlySet<string>> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.targets.demo)
  return new Set(
    logs.map((log) => decodeEventLog({ abi: CLAIMED, ...log }).args.caller.toLowerCase()),
  )
}

/** Callers that claimed for our beneficiary in a transaction, as the target logged them. */
async function claimantsIn(operator: Operator, txHash: string): Promise<readonly string[]> {
  const logs = await logsOf(operator, txHash, operator.config.aggregator.targets.demo)
  return logs.flatMap((log) => {
    const { eventName, args } = decodeEventLog({ abi: CLAIMED, ...log })
    if (eventName !== 'Claimed') return []
    expect(args.beneficiary.toLowerCase()).toBe(BENEFICIARY)
    return [args.caller.toLowerCase()]
  })
}

/** Others' calls come more often than the service waits, so that every call of ours finds one to share with. */
const SHARED = ['--aggregator-window', '1s', '--aggregator-traffic-every', '300ms'] as const

const SUBMISSIONS = { deployed: 'transaction', described: 'bundle' } as const

test.each(READINGS.map((reading) => [reading, SUBMISSIONS[reading]] as const))(
  'calls share transactions with strangers, and deposit, charges and journal agree to the wei, on contracts as %s and sent as a %s',
  async (reading, submit) => {
    const operator = await setUpAccount(
      await startRehearsal(IDLE, ['--reading', reading, ...SHARED]),
    )
    const { rehearsal, account, command, data } = operator
    operator.edit((config) => {
      config.aggregator.submit = submit
    })
    writeClaims(operator)
    await runUntil(
      operator,
      (events) => all(events, 'call-proven').length >= 4 && all(events, 'fills-final').length > 0,
    )

    const { slots } = await data<{ slots: SlotData[] }>(`history --strategy ${STRATEGY}`)
    expect(slots.length).toBeGreaterThanOrEqual(3)
    for (const slot of slots) expect(slot).toMatchObject({ outcome: 'filled', attempts: 1 })
    const proven = await chargesRecorded(operator)
    const hashes = proven.map(({ txHash }) => txHash)
    expect(slots.flatMap(({ fills }) => fills.map(({ txHash }) => txHash))).toEqual(hashes)
    expect(new Set(hashes).size).toBe(slots.length)
    const companies = await Promise.all(hashes.map((hash) => accountsIn(operator, hash)))
    for (const company of companies) {
      expect(company).toContain(account)
      expect(company.size).toBeGreaterThanOrEqual(2)
    }
    for (const hash of hashes) expect(await claimantsIn(operator, hash)).toEqual([account])
    expect(await callsCounted(operator)).toBe(BigInt(slots.length))

    const served = await servedTo(operator)
    const routes = served.map(({ route, state }) => `${route} ${state}`)
    expect(routes).toEqual(['delegation landed', ...slots.map(() => 'aggregated landed')])
    expect(proven.map(({ recorded }) => recorded)).toEqual(proven.map(({ taken }) => taken))
    const left = DEPOSIT - chargesOf(served)
    expect(left).toBeLessThan(DEPOSIT)
    expect((await data<Funds>('gastank status')).available).toEqual(ether(left))
    await adminCall(rehearsal.report, 'POST', '/aggregator/settle')
    // In one generation of contracts, charges never leave the contract.
    const onChain = { deployed: DEPOSIT, described: left }[reading]
    expect(await tankBalance(operator, reading)).toBe(onChain)
    expect(await data('gastank status')).toMatchObject({
      balance: ether(left),
      outstandingCharge: ether(0n),
      onChain: ether(onChain),
      methods: { deployed: 'balances', described: 'balanceOf' }[reading],
      savings: { calls: slots.length, disputed: 0 },
    })

    expect(await command('status')).toMatch(
      new RegExp(`^${STRATEGY} +${slots.length} .* filled .* ago$`, 'm'),
    )
    const raw = await command(`why ${slots[0]?.slot} --raw`)
    expect(raw.split('\n').map((line) => line.split('  ')[1])).toEqual([
      'slot-opened',
      'call-recorded',
      'call-signed',
      'order-accepted',
      'call-proven',
      'intent-closed',
      'slot-closed',
      'fills-final',
      undefined,
    ])
    expect(raw).toMatch(new RegExp(`call-proven .*txHash=${hashes[0]} .*via=aggregated`))
    const life = await command(`why ${slots[0]?.slot}`)
    expect(life).toMatch(/executed: .* \(aggregated\), charged 0\.0\d+ ETH, saved/)
    expect(life).toContain(`transaction ${hashes[0]}.`)
  },
)
