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
import { GAS_TANK } from '../../support/aggregator/aggregator-abi.ts'
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

/** That of the contracts which the running test is about. */
let sandbox: () => Sandbox = () => {
  throw new Error('no test runs')
}

/** Makes the fifteen seconds between two looks a tenth of one. */
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
  /** This machine's clock less the true time. */
  readonly offsetMs?: number
}

/** Keeps the tank until `isEnough`, told of every observation so far, or until the process dies. */
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

type Look = Extract<RuntimeEvent, { type: 'gas-tank' }>

function looksOf(observed: readonly RuntimeEvent[]): readonly Look[] {
  return observed.filter((event) => event.type === 'gas-tank')
}

/** Looks on end that all show at least so much, so that nothing more is to come. */
function staysAbove(wei: bigint, times: number): (observed: readonly RuntimeEvent[]) => boolean {
  return (observed) => {
    const last = looksOf(observed).slice(-times)
    return last.length === times && last.every(({ balance }) => balance >= wei)
  }
}

const depositsBy = (signer: Key) => deposits({ from: signer.address })
const depositsTo = (signer: Key) => deposits({ account: signer.address })

/** Both generations tell of a deposit in the same words. */
async function deposits(args: { account?: Address; from?: Address }): Promise<readonly bigint[]> {
  const logs = await sepoliaClient(sandbox()).getContractEvents({
    address: sandbox().sepolia.contracts.gasTank,
    abi: GAS_TANK,
    eventName: 'Deposited',
    args,
    fromBlock: 0n,
  })
  return logs.map((log) => log.args.amount ?? 0n)
}

/** All that was deposited, in either generation, as long as nothing was charged. */
async function tankOf(signer: Key): Promise<bigint> {
  return (await depositsTo(signer)).reduce((sum, wei) => sum + wei, 0n)
}

/** An account whose deposit the service has seen. */
async function depositor(wei: bigint): Promise<Key> {
  const key = await fundedKey(sandbox(), wei)
  const account = privateKeyToAccount(key)
  const info = () => accountInfo(sandbox(), account)
  await waitFor('the deposit', info, ({ body }) => body.error === undefined)
  return keyOf(key)
}

describe.each(READINGS)('a GasTank as %s', (reading) => {
  // The service sees a deposit some looks after the chain does.
  const aggregator = { ...QUIET, indexingDelayMs: 1_500 }
  const started = sandboxForSuite({ reading, aggregator })
  beforeEach(() => {
    sandbox = started
  })

  test('a low deposit is topped up once, however long the service takes to see it', async () => {
    const signer = await depositor(10n * MILLI_ETHER)
    const gasTank = { methods: 'auto' as const, alertBelowWei: 20n * MILLI_ETHER, topUp: TOP_UP }
    const observed = await keep(
      { signer, gasTank, dir: temporaryDirectory() },
      staysAbove(60n * MILLI_ETHER, 5),
    )
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
    const looks = looksOf(observed)
    const last = looks.at(-1)
    expect(last).toMatchObject({ balance: await tankOf(signer), outstanding: 0n, isLow: false })
    expect(looks.some(({ isLow }) => isLow)).toBe(true)
    // Before it was seen, the deposit must not have been taken for missing.
    const waiting = looks.filter(({ balance }) => balance === 10n * MILLI_ETHER)
    expect(waiting.length).toBeGreaterThan(1)
    expect(observed.filter(({ type }) => type === 'gas-tank-low')).toHaveLength(1)
  })

  test('an account that the service does not know yet is topped up like an empty one', async () => {
    const signer = keyOf(await fundedKey(sandbox()))
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    await keep({ signer, gasTank, dir: temporaryDirectory() }, staysAbove(TOP_UP.amountWei, 3))
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
  })

  test('top-ups end at the daily cap, after a restart too, and the operator is told once', async () => {
    const signer = await depositor(MILLI_ETHER)
    const topUp = { ...TOP_UP, amountWei: 5n * MILLI_ETHER, maxPerDayWei: 12n * MILLI_ETHER }
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp }
    const capped = ({ type }: RuntimeEvent): boolean => type === 'top-up-capped'
    const isOver = (observed: readonly RuntimeEvent[]): boolean =>
      looksOf(observed.slice(observed.findIndex(capped) + 1)).length >= 3 && observed.some(capped)
    const dir = temporaryDirectory()
    const first = await keep({ signer, gasTank, dir }, isOver)
    expect(first.filter(capped)).toEqual([{ type: 'top-up-capped', account: 'operator' }])
    expect(await depositsBy(signer)).toEqual([topUp.amountWei, topUp.amountWei])
    expect(await tankOf(signer)).toBe(11n * MILLI_ETHER)
    await keep({ signer, gasTank, dir: inheritJournal(dir) }, isOver)
    expect(await depositsBy(signer)).toHaveLength(2)
    // A clock set a day ahead makes no room for another day's deposits.
    const ahead = { signer, gasTank, dir: inheritJournal(dir), offsetMs: 90_000_000 }
    await keep(ahead, (observed) => looksOf(observed).length >= 5)
    expect(await depositsBy(signer)).toHaveLength(2)
  })

  test('a top-up that the wallet cannot pay for is told, and is made once it can', async () => {
    const key = await fundedKey(sandbox(), 0n, 10n * MILLI_ETHER)
    const signer = keyOf(key)
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    const told = ({ type }: RuntimeEvent): boolean => type === 'chain-trouble'
    const dir = temporaryDirectory()
    const observed = await keep({ signer, gasTank, dir }, (events) => events.some(told))
    expect(observed.find(told)).toMatchObject({ doing: 'topping up the GasTank' })
    expect(await depositsBy(signer)).toEqual([])
    const grant = { address: signer.address, amount: ETHER.toString() }
    await admin(sandbox(), 'POST', '/aggregator/fund', grant)
    await keep({ signer, gasTank, dir: inheritJournal(dir) }, staysAbove(TOP_UP.amountWei, 3))
    expect(await depositsBy(signer)).toEqual([TOP_UP.amountWei])
  })

  test('without a top-up in the settings nothing is deposited, and the operator is warned once', async () => {
    const signer = await depositor(10n * MILLI_ETHER)
    const gasTank = { methods: 'auto' as const, alertBelowWei: 20n * MILLI_ETHER, topUp: undefined }
    const observed = await keep(
      { signer, gasTank, dir: temporaryDirectory() },
      (events) => looksOf(events).length >= 5,
    )
    expect(await depositsBy(signer)).toEqual([])
    expect(observed.filter(({ type }) => type === 'gas-tank-low')).toEqual([
      { type: 'gas-tank-low', account: 'operator', available: 10n * MILLI_ETHER },
    ])
  })

  test('a process that dies anywhere in a top-up leaves one deposit, made once', async () => {
    const gasTank = { methods: 'auto' as const, alertBelowWei: undefined, topUp: TOP_UP }
    // Before and after its record, after the broadcast, before and after the record of its end.
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
