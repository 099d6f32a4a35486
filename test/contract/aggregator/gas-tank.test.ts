import { parseEventLogs } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { AggregatorSettings } from '../../../src/domain/settings.ts'
import { keepGasTank } from '../../../src/engine/accounts/gas-tank.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Clock, Key } from '../../../src/ports.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { AggregatorContext } from '../../../src/venues/context.ts'
import { followRecorded } from '../../../src/venues/wallet/transaction.ts'
import { accountInfo, ETHER, QUIET, sepoliaClient } from '../../support/aggregator/aggregator.ts'
import { GAS_TANK, GAS_TANK_BALANCES } from '../../support/aggregator/aggregator-abi.ts'
import {
  aggregatorSettingsOf,
  callContext,
  fundedKey,
  keyOf,
  openLines,
  WALL_CLOCK,
} from '../../support/aggregator/call-venue.ts'
import { inheritJournal, Mortal } from '../../support/process/mortal.ts'
import { admin, READINGS, sandboxForSuite } from '../../support/sandbox.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'
import { waitFor } from '../../support/wait-for.ts'

/** The sandbox with the contracts under test. */
let sandbox: () => Sandbox = () => {
  throw new Error('no test runs')
}

/** Shortens the fifteen seconds between two checks to a tenth of a second. */
const HURRY = 150
const HASTY_CLOCK: Clock = {
  ...WALL_CLOCK,
  sleep: (ms, signal) => WALL_CLOCK.sleep(ms / HURRY, signal),
}
const MILLI_ETHER = ETHER / 1_000n
const TOP_UP = {
  belowWei: 20n * MILLI_ETHER,
  amountWei: 50n * MILLI_ETHER,
  maxPerDayWei: 100n * MILLI_ETHER,
}

type GasTankSettings = AggregatorSettings['gasTank']

type Watched = {
  readonly signer: Key
  readonly gasTank: GasTankSettings
  readonly dir: string
  readonly mortal?: Mortal
  /** Offset of this machine's clock from the true time, ms. */
  readonly offsetMs?: number
}

/** Maintains the tank until `isEnough` accepts the events so far, or until the process dies. */
async function keep(
  { signer, gasTank, dir, mortal = new Mortal(undefined), offsetMs = 0 }: Watched,
  isEnough: (observed: readonly RuntimeEvent[]) => boolean,
): Promise<readonly RuntimeEvent[]> {
  const lines = openLines(sandbox(), signer)
  onTestFinished(async () => {
    await Promise.all([lines.service.close(), lines.chain.close()])
  })
  const opened = await openForTest(dir, { clock: WALL_CLOCK })
  const closing = new AbortController()
  const observed: RuntimeEvent[] = []
  const context = callContext({
    key: signer,
    lines: { service: mortal.service(lines.service), chain: mortal.chain(lines.chain) },
    journal: mortal.journal(opened.journal),
    settings: aggregatorSettingsOf(sandbox(), { gasTank }),
    strategies: [],
    closing: closing.signal,
    observe: (event) => {
      observed.push(event)
      if (isEnough(observed)) closing.abort()
    },
  })
  const clock = { ...HASTY_CLOCK, now: () => HASTY_CLOCK.now() + offsetMs }
  const hasty = { ...context, ports: { ...context.ports, clock } }
  const work = Promise.all([
    followRecorded(hasty, hasty.wallet),
    keepGasTank(hasty, aggregatorOf(context)),
  ])
  await Promise.race([work, mortal.died])
  closing.abort()
  return observed
}

function aggregatorOf({ aggregator }: { aggregator: AggregatorContext | undefined }) {
  if (aggregator === undefined) throw new Error('a call context has an aggregator')
  return aggregator
}

type Reading = Extract<RuntimeEvent, { type: 'gas-tank' }>

function readingsOf(observed: readonly RuntimeEvent[]): readonly Reading[] {
  return observed.filter((event) => event.type === 'gas-tank')
}

/** Accepts when the last `times` readings all show at least `wei`, so that no further change is pending. */
function staysAbove(wei: bigint, times: number): (observed: readonly RuntimeEvent[]) => boolean {
  return (observed) => {
    const last = readingsOf(observed).slice(-times)
    return last.length === times && last.every(({ balance }) => balance >= wei)
  }
}

const depositsBy = async (signer: Key) => {
  const found = await deposits(signer)
  return found.filter(({ from }) => from === signer.address).map(({ amount }) => amount)
}

/** Deposits for an account, with their payers, from the contract's events. */
async function deposits({ address: account }: Key) {
  const client = sepoliaClient(sandbox())
  const logs = await client.getLogs({
    address: sandbox().sepolia.contracts.gasTank,
    fromBlock: 0n,
  })
  let total = 0n
  const found: { readonly from: Address; readonly amount: bigint }[] = []
  for (const log of parseEventLogs({ abi: [...GAS_TANK, ...GAS_TANK_BALANCES], logs })) {
    if (log.eventName !== 'Deposited' && log.eventName !== 'AccountDeposited') continue
    const isNamed = log.eventName === 'Deposited'
    const owner = isNamed ? log.args.account : log.args.operator
    if (owner.toLowerCase() !== account) continue
    // The published generation names the new balance.
    const amount = isNamed ? log.args.amount : log.args.newBalance - total
    total += amount
    const { from } = await client.getTransaction({ hash: log.transactionHash })
    found.push({ from, amount })
  }
  return found
}

/** Total deposits in either generation, which equal the balance before the first charge. */
async function tankOf(signer: Key): Promise<bigint> {
  return (await deposits(signer)).reduce((sum, { amount }) => sum + amount, 0n)
}

/** An account whose deposit the service has indexed. */
async function depositor(wei: bigint): Promise<Key> {
  const key = await fundedKey(sandbox(), wei)
  const account = privateKeyToAccount(key)
  const info = () => accountInfo(sandbox(), account)
  await waitFor('the deposit', info, ({ body }) => body.error === undefined)
  return keyOf(key)
}

describe.each(READINGS)('a GasTank as %s', (reading) => {
  // The service indexes a deposit some checks after the chain shows it.
  const aggregator = { ...QUIET, indexingDelay: 1_500 }
  const started = sandboxForSuite({ reading, aggregator })
  beforeEach(() => {
    sandbox = started
  })

  test('tops up a low deposit once while the service indexes it late', async () => {
    const signer = await depositor(10n * MILLI_ETHER)
    const gasTank = { methods: 'auto' as const, alertBelowWei: 20n * MILLI_ETHER, topUp: TOP_UP }
    const observed = await keep(
      { signer, gasTank, dir: temporaryDirectory() },
      staysAbove(60n * MILLI_ETHER, 5),
    )
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
    const readings = readingsOf(observed)
    const last = readings.at(-1)
    expect(last).toMatchObject({ balance: await tankOf(signer), outstanding: 0n, isLow: false })
    expect(readings.some(({ isLow }) => isLow)).toBe(true)
    // The deposit must not count as missing before it is indexed.
    const waiting = readings.filter(({ balance }) => balance === 10n * MILLI_ETHER)
    expect(waiting.length).toBeGreaterThan(1)
    expect(observed.filter(({ type }) => type === 'gas-tank-low')).toHaveLength(1)
  })

  test('tops up an account that the service does not know yet like an empty account', async () => {
    const signer = keyOf(await fundedKey(sandbox()))
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    await keep({ signer, gasTank, dir: temporaryDirectory() }, staysAbove(TOP_UP.amountWei, 3))
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
  })

  test('ends top-ups at the daily cap, across a restart, and notifies the operator once', async () => {
    const signer = await depositor(MILLI_ETHER)
    const topUp = { ...TOP_UP, amountWei: 5n * MILLI_ETHER, maxPerDayWei: 12n * MILLI_ETHER }
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp }
    const capped = ({ type }: RuntimeEvent): boolean => type === 'top-up-capped'
    const isOver = (observed: readonly RuntimeEvent[]): boolean =>
      readingsOf(observed.slice(observed.findIndex(capped) + 1)).length >= 3 &&
      observed.some(capped)
    const dir = temporaryDirectory()
    const first = await keep({ signer, gasTank, dir }, isOver)
    expect(first.filter(capped)).toEqual([{ type: 'top-up-capped', account: 'operator' }])
    expect(await depositsBy(signer)).toEqual([topUp.amountWei, topUp.amountWei])
    expect(await tankOf(signer)).toBe(11n * MILLI_ETHER)
    await keep({ signer, gasTank, dir: inheritJournal(dir) }, isOver)
    expect(await depositsBy(signer)).toHaveLength(2)
    // A clock set a day ahead must not free the cap of another day.
    const ahead = { signer, gasTank, dir: inheritJournal(dir), offsetMs: 90_000_000 }
    await keep(ahead, (observed) => readingsOf(observed).length >= 5)
    expect(await depositsBy(signer)).toHaveLength(2)
  })

  test('reports a top-up that the wallet cannot pay for, and makes it once the wallet can', async () => {
    const key = await fundedKey(sandbox(), 0n, 10n * MILLI_ETHER)
    const signer = keyOf(key)
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    const isFailure = ({ type }: RuntimeEvent): boolean => type === 'chain-trouble'
    const dir = temporaryDirectory()
    const observed = await keep({ signer, gasTank, dir }, (events) => events.some(isFailure))
    expect(observed.find(isFailure)).toMatchObject({ doing: 'topping up the GasTank' })
    expect(await depositsBy(signer)).toEqual([])
    const grant = { address: signer.address, amount: ETHER.toString() }
    await admin(sandbox(), 'POST', '/aggregator/fund', grant)
    await keep({ signer, gasTank, dir: inheritJournal(dir) }, staysAbove(TOP_UP.amountWei, 3))
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
  })

  test('deposits nothing without a configured top-up, and warns the operator once', async () => {
    const signer = await depositor(10n * MILLI_ETHER)
    const gasTank = { methods: 'auto' as const, alertBelowWei: 20n * MILLI_ETHER, topUp: undefined }
    const observed = await keep(
      { signer, gasTank, dir: temporaryDirectory() },
      (events) => readingsOf(events).length >= 5,
    )
    expect(await depositsBy(signer)).toEqual([])
    expect(observed.filter(({ type }) => type === 'gas-tank-low')).toEqual([
      { type: 'gas-tank-low', account: 'operator', available: 10n * MILLI_ETHER },
    ])
  })

  test('makes one deposit when the process dies at any step of a top-up', async () => {
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    // Steps: before and after its record, after the broadcast, before and after the record of its end.
    for (let step = 1; step <= 5; step += 1) {
      const signer = keyOf(await fundedKey(sandbox()))
      const dir = temporaryDirectory()
      const mortal = new Mortal(step)
      await keep({ signer, gasTank, dir, mortal }, () => false)
      await keep({ signer, gasTank, dir: inheritJournal(dir) }, staysAbove(TOP_UP.amountWei, 3))
      expect([step, await depositsBy(signer)]).toEqual([step, [TOP_UP.amountWei]])
    }
  })
})
