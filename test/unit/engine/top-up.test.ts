import { describe, expect, onTestFinished, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { keepGasTank } from '../../../src/engine/accounts/gas-tank.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { followRecorded } from '../../../src/venues/wallet/transaction.ts'
import { callContext } from '../../support/aggregator/call-venue.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator, SEPOLIA } from '../venues/call/aggregator-fixture.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const TOP_UP = { belowWei: 20n, amountWei: 50n, maxPerDayWei: 200n }
const HASH = `0x${'cd'.repeat(32)}` as const

/** An account below its threshold, whose service returns `shows` as its balance; undefined for an unknown account. */
async function rig(known: 'known' | 'unknown' = 'known') {
  const before = known === 'known' ? 10n : undefined
  const key = createKey(new Uint8Array(32).fill(7))
  const fake = fakeAggregator({ key })
  const { tools, answers, account, clock } = fake
  const service: { shows: bigint | undefined } = { shows: before }
  account.gasTank = { balances: before ?? 0n, balanceOf: undefined }
  answers.accountInfo = () =>
    service.shows === undefined
      ? { ok: false, fault: { tag: 'accountNotFound', message: 'Account not found' } }
      : { ok: true, value: { balance: service.shows, outstandingCharge: 0n } }
  answers.mines = ({ value }) => {
    account.gasTank = { ...account.gasTank, balances: (account.gasTank.balances ?? 0n) + value }
    return true
  }
  const { chain } = tools.aggregator
  chain.account = async () => ({
    ok: true,
    value: { ...account, blockTimeSeconds: Math.floor(clock.now() / 1_000) },
  })
  const { gasTank, ...settings } = tools.aggregator.settings
  const aggregator = {
    ...tools.aggregator,
    settings: { ...settings, gasTank: { ...gasTank, topUp: TOP_UP } },
  }
  Object.assign(fake.files.aggregator, { settings: aggregator.settings })
  const dir = temporaryDirectory()
  /** Runs the daemon's GasTank keeper for `ms`, on the journal of the previous run. */
  async function keep(ms: number): Promise<readonly RuntimeEvent[]> {
    const opened = await openJournal({
      ...{ dir, clock },
      onFatal: (error) => {
        throw error
      },
    })
    onTestFinished(() => opened.close())
    tools.signBy(opened.journal)
    const closing = new AbortController()
    clock.at(clock.now() + ms, () => closing.abort())
    const observed: RuntimeEvent[] = []
    const context = callContext({
      ...{ key, lines: aggregator, journal: opened.journal, settings: aggregator.settings },
      strategies: [],
      ...{ closing: closing.signal, stop: closing.signal },
      observe: (event) => void observed.push(event),
    })
    const fast = { ...context, ports: { ...context.ports, clock } }
    await followRecorded(fast, aggregator.wallet)
    await keepGasTank(fast, aggregator)
    await opened.close()
    return observed
  }
  async function events(): Promise<readonly JournalEvent[]> {
    const opened = await openJournal({ dir, clock, onFatal: (error) => void error })
    const found: JournalEvent[] = []
    for await (const { event } of opened.journal.records()) found.push(event)
    await opened.close()
    return found
  }
  async function append(...before: readonly JournalEvent[]): Promise<void> {
    const opened = await openJournal({ dir, clock, onFatal: (error) => void error })
    await opened.journal.append(...before)
    await opened.close()
  }
  const count = async (type: JournalEvent['type']) =>
    (await events()).filter((event) => event.type === type).length
  const deposits = () => count('transaction-recorded')
  return { ...fake, service, keep, append, deposits, count, key }
}

const blocked = (observed: readonly RuntimeEvent[]) =>
  observed.flatMap((event) => (event.type === 'top-up-barred' ? [event.message] : []))

/** A deposit recorded by an earlier process. */
function earlier(from: `0x${string}`, availableBefore: bigint | undefined): TransactionRecord {
  const to = `0x${'01'.repeat(20)}` as const
  const fees = { gas: 50_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  return {
    ...{ id: `deposit:${to}:0`, purpose: 'deposit', intentId: undefined, chainId: SEPOLIA },
    ...{ from, nonce: 0, to, data: '0xd0e30db0', value: 50n, ...fees, hash: HASH },
    availableBefore,
  }
}

test('a GasTank whose code has changed gets no top-up, which is reported once', async () => {
  const { keep, deposits, count, append, tools } = await rig()
  const { gasTank: address } = tools.aggregator.settings.contracts
  const contract = { chainId: SEPOLIA, address, name: 'aggregator.contracts.gasTank' }
  const code = (status: 'seen' | 'changed', hash: Hex): JournalEvent => ({
    ...{ type: 'contract-code', ...contract },
    ...{ code: { hash }, status },
  })
  await append(code('seen', `0x${'01'.repeat(32)}`), code('changed', `0x${'02'.repeat(32)}`))
  expect(blocked(await keep(9 * MINUTE_MS))).toEqual([
    expect.stringContaining('`tranched approve aggregator.contracts.gasTank`'),
  ])
  expect([await deposits(), await count('transaction-ended')]).toEqual([0, 0])
})

describe('a deposit that the service does not show', () => {
  test('blocks the next top-up across restarts, and is reported once', async () => {
    const { keep, deposits } = await rig()
    expect(blocked(await keep(9 * MINUTE_MS))).toEqual([])
    expect(blocked(await keep(2 * DAY_MS))).toEqual([
      expect.stringMatching(/last deposit, of 0\.0+50? ETH.*does not show it.*gastank deposit/),
    ])
    expect(blocked(await keep(DAY_MS))).toHaveLength(1)
    expect(await deposits()).toBe(1)
  })

  test('is journaled once it shows, and the next top-up is made once it is spent', async () => {
    const { keep, deposits, count, service } = await rig()
    await keep(60 * MINUTE_MS)
    service.shows = 60n
    await keep(MINUTE_MS)
    expect([await deposits(), await count('deposit-indexed')]).toEqual([1, 1])
    service.shows = 12n
    expect(blocked(await keep(5 * MINUTE_MS))).toEqual([])
    expect([await deposits(), await count('deposit-indexed')]).toEqual([2, 1])
  })

  test('counts its ten minutes from the mined block, not from its record', async () => {
    const { keep, append, deposits, key, tools, account, clock } = await rig()
    await append({ type: 'transaction-recorded', transaction: earlier(key.address, 10n) })
    await clock.sleep(15 * MINUTE_MS)
    account.transactionCount = 1
    const receipt = { hash: HASH, success: true, blockNumber: 2n }
    const value = { receipt, latestNonce: 1 }
    Object.assign(tools.aggregator.chain, { transaction: async () => ({ ok: true, value }) })
    expect(blocked(await keep(9 * MINUTE_MS))).toEqual([])
    expect(await deposits()).toBe(1)
    expect(blocked(await keep(2 * MINUTE_MS))).toHaveLength(1)
  })

  test('counts as shown after ten minutes if it was recorded without a balance', async () => {
    const { keep, append, deposits, key, account } = await rig()
    account.transactionCount = 1
    const transaction = earlier(key.address, undefined)
    const { id } = transaction
    await append(
      { type: 'transaction-recorded', transaction },
      { type: 'transaction-ended', id, status: 'mined', hash: HASH, blockNumber: 2n },
    )
    await keep(9 * MINUTE_MS)
    expect(await deposits()).toBe(1)
    await keep(2 * MINUTE_MS)
    expect(await deposits()).toBe(2)
  })

  test('blocks nothing for another account', async () => {
    const { keep, append, deposits } = await rig()
    const transaction = earlier(`0x${'77'.repeat(20)}`, 10n)
    const { id } = transaction
    await append(
      { type: 'transaction-recorded', transaction },
      { type: 'transaction-ended', id, status: 'mined', hash: HASH, blockNumber: 2n },
    )
    await keep(MINUTE_MS)
    expect(await deposits()).toBe(2)
  })
})

describe('an account that the service does not know', () => {
  test('is topped up once if the contract holds nothing for it, and not again while it stays unknown', async () => {
    const { keep, deposits } = await rig('unknown')
    const messages = blocked(await keep(DAY_MS))
    expect(messages).toEqual([expect.stringMatching(/holds .* ETH for the account.*does not know/)])
    expect(await deposits()).toBe(1)
  })

  test('is not topped up if the contract holds ether for it, whatever its source', async () => {
    const { keep, deposits, account, service } = await rig('unknown')
    account.gasTank = { balances: 10n ** 16n, balanceOf: undefined }
    expect(blocked(await keep(9 * MINUTE_MS))).toEqual([])
    expect(blocked(await keep(DAY_MS))).toEqual([
      expect.stringMatching(/holds 0\.01 ETH for the account already/),
    ])
    expect(await deposits()).toBe(0)
    service.shows = 10n
    await keep(MINUTE_MS)
    expect(await deposits()).toBe(1)
  })
})

test('an address without a GasTank is reported once, and again after a GasTank has answered', async () => {
  const { keep, deposits, account, clock } = await rig()
  const none = { balances: undefined, balanceOf: undefined }
  account.gasTank = none
  const silent = await keep(10 * MINUTE_MS)
  expect(blocked(silent)).toEqual([
    expect.stringMatching(/no GasTank answers at 0x01.*check aggregator\.contracts\.gasTank/),
  ])
  clock.at(clock.now() + MINUTE_MS, () => {
    account.gasTank = { balances: 10n, balanceOf: undefined }
  })
  clock.at(clock.now() + 2 * MINUTE_MS, () => {
    account.gasTank = none
  })
  expect(blocked(await keep(10 * MINUTE_MS))).toHaveLength(2)
  expect(await deposits()).toBe(1)
})
