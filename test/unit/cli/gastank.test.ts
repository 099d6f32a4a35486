import { toFunctionSelector } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { makeDeposit, waitForIndexing } from '../../../src/venues/wallet/deposit.ts'
import { awaitedDeposit, isIndexed, unseenDeposit } from '../../../src/venues/wallet/indexing.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator, SEPOLIA } from '../venues/call/aggregator-fixture.ts'

const ETHER = 10n ** 18n
const DAY_MS = 86_400_000

const fund = (balance: bigint, outstandingCharge = 0n) =>
  ({ ok: true, value: { balance, outstandingCharge } }) as const

async function rig() {
  const fake = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const opened = await openJournal({
    dir: temporaryDirectory(),
    clock: fake.clock,
    onFatal: (error) => {
      throw error
    },
  })
  onTestFinished(() => opened.close())
  const { journal } = opened
  const { account, clock, tools } = fake
  tools.signBy(journal)
  const chainClock = { aheadMs: 0 }
  tools.aggregator.chain.account = async () => {
    const blockTimeSeconds = Math.floor((clock.now() + chainClock.aheadMs) / 1_000)
    return { ok: true, value: { ...account, blockTimeSeconds } }
  }
  const stop = fake.stopping.signal
  const context = {
    ports: {
      clock: fake.clock,
      random: { jitter: () => 0.5 },
      journal,
      guard: { blocked: () => undefined },
      observe: () => undefined,
    },
    policy: DEFAULT_POLICY,
    closing: stop,
    stop,
  }
  const deposit = (wei: bigint) => makeDeposit(context, fake.tools.aggregator, wei)
  const recorded = async () => {
    const found: TransactionRecord[] = []
    for await (const { event } of journal.records())
      if (event.type === 'transaction-recorded') found.push(event.transaction)
    return found
  }
  return { ...fake, journal, deposit, recorded, chainClock }
}

/** A deposit that an earlier process recorded and may have broadcast. */
function earlierDeposit(from: `0x${string}`): TransactionRecord {
  const to = `0x${'01'.repeat(20)}` as const
  return {
    id: `deposit:${to}:0`,
    purpose: 'deposit',
    intentId: undefined,
    chainId: SEPOLIA,
    from,
    nonce: 0,
    to,
    data: '0xd0e30db0',
    value: ETHER,
    gas: 50_000n,
    maxFeePerGas: 2n,
    maxPriorityFeePerGas: 1n,
    hash: `0x${'cd'.repeat(32)}`,
  }
}

describe('a deposit', () => {
  test('is recorded, sent to the GasTank once and followed until it is mined', async () => {
    const { deposit, broadcast, recorded, journal, account, answers } = await rig()
    answers.accountInfo = () => fund(2n * ETHER, ETHER / 2n)
    account.gasTank = { balances: undefined, balanceOf: 7n }
    const availableBefore = (3n * ETHER) / 2n
    expect(await deposit(ETHER)).toMatchObject({
      ok: true,
      deposit: { amount: ETHER, availableBefore },
    })
    expect(broadcast).toHaveLength(1)
    const to = `0x${'01'.repeat(20)}`
    expect(await recorded()).toMatchObject([
      { purpose: 'deposit', to, value: ETHER, data: '0xd0e30db0', availableBefore },
    ])
    expect(journal.state.transactions.size).toBe(0)
  })

  test("names the account if the GasTank's deposit function takes one", async () => {
    const { deposit, recorded, tools } = await rig()
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
    const [made] = await recorded()
    const account = tools.account.slice(2).padStart(64, '0')
    expect(made?.data).toBe(`${toFunctionSelector('function deposit(address)')}${account}`)
  })

  test('uses the methods that the config names, whatever the contract answers', async () => {
    const { deposit, recorded, account, answers, tools } = await rig()
    account.gasTank = { balances: 1n, balanceOf: 1n }
    answers.accountInfo = () => fund(1n)
    const { settings } = tools.aggregator
    Object.assign(settings, { gasTank: { ...settings.gasTank, methods: 'balanceOf' } })
    onTestFinished(
      () => void Object.assign(settings, { gasTank: { ...settings.gasTank, methods: 'auto' } }),
    )
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
    expect((await recorded())[0]?.data).toBe('0xd0e30db0')
  })

  test('waits at most ten minutes for an earlier deposit that the service does not show yet', async () => {
    const { deposit, broadcast, clock } = await rig()
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
    const again = await deposit(ETHER)
    expect(again).toMatchObject({ ok: false, message: expect.stringMatching(/does not show/) })
    expect(broadcast).toHaveLength(1)
    await clock.sleep(10 * 60_000)
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
  })

  test.each([
    ['ahead of', -30 * DAY_MS],
    ['behind', DAY_MS],
  ])(
    "is refused if the machine's clock is far %s the chain, which counts the day",
    async (_, ms) => {
      const { deposit, broadcast, chainClock } = await rig()
      chainClock.aheadMs = ms
      const refused = {
        ok: false,
        message: expect.stringMatching(/^nothing was sent: the .*(old|clock)/),
      }
      expect(await deposit(ETHER)).toMatchObject(refused)
      expect(broadcast).toEqual([])
    },
  )

  test('does not wait for a deposit that the service shows, whatever the contract holds', async () => {
    const { deposit, account, answers } = await rig()
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
    answers.accountInfo = () => fund(ETHER, ETHER / 10n)
    account.gasTank = { balances: 50n * ETHER, balanceOf: undefined }
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
  })

  test('counts the ten minutes from when the earlier deposit was mined', async () => {
    const { deposit, journal, tools, clock, account } = await rig()
    account.transactionCount = 1
    const transaction = { ...earlierDeposit(tools.account), availableBefore: 0n }
    const { id, hash } = transaction
    await journal.append({ type: 'transaction-recorded', transaction })
    await clock.sleep(15 * 60_000)
    await journal.append({ type: 'transaction-ended', id, status: 'mined', hash, blockNumber: 2n })
    const early = await deposit(ETHER)
    expect(early).toMatchObject({ ok: false, message: expect.stringMatching(/does not show/) })
    await clock.sleep(10 * 60_000)
    expect(await deposit(ETHER)).toMatchObject({ ok: true })
  })

  test('is refused if the service does not know the account while the GasTank holds ether for it', async () => {
    const { deposit, broadcast, account } = await rig()
    account.gasTank = { balances: ETHER / 4n, balanceOf: undefined }
    expect(await deposit(ETHER)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/holds 0\.25 ETH .* does not know the account yet/),
    })
    expect(broadcast).toEqual([])
  })

  test('finishes a deposit left open by an earlier process instead of making another', async () => {
    const { deposit, broadcast, journal, tools, account, recorded } = await rig()
    const transaction = earlierDeposit(tools.account)
    await journal.append({ type: 'transaction-recorded', transaction })
    tools.aggregator.chain.transaction = async () => ({
      ok: true,
      value: {
        receipt: {
          hash: transaction.hash ?? '0x',
          success: true,
          blockNumber: 2n,
          blockHash: '0x02',
        },
        latestNonce: 1,
      },
    })
    const made = await deposit(ETHER)
    expect(made).toMatchObject({ ok: false, message: expect.stringMatching(/come to its end now/) })
    expect([broadcast, (await recorded()).length]).toEqual([[], 1])
    expect(journal.state.transactions.size).toBe(0)
    expect(account.transactionCount).toBe(0)
  })

  test('is not sent to an address without a GasTank', async () => {
    const { deposit, broadcast, account } = await rig()
    account.gasTank = { balances: undefined, balanceOf: undefined }
    const made = await deposit(ETHER)
    expect(made).toMatchObject({ ok: false, message: expect.stringMatching(/contracts\.gasTank/) })
    expect(broadcast).toEqual([])
  })

  test('is refused while the service cannot report the balance', async () => {
    const { deposit, broadcast, answers } = await rig()
    answers.accountInfo = () => ({ ok: false, fault: { tag: 'unavailable', message: 'is silent' } })
    expect(await deposit(ETHER)).toEqual({ ok: false, message: 'nothing was sent: is silent' })
    expect(broadcast).toEqual([])
  })

  test('is refused during a halt, and an open deposit is not followed either', async () => {
    const { deposit, broadcast, journal, tools } = await rig()
    await journal.append({ type: 'halted', cause: 'operator', detail: 'on request' })
    const halted = { ok: false, message: expect.stringMatching(/halted.*`tranched resume`/) }
    expect(await deposit(ETHER)).toEqual(halted)
    const transaction = earlierDeposit(tools.account)
    await journal.append({ type: 'transaction-recorded', transaction })
    expect(await deposit(ETHER)).toEqual(halted)
    expect(broadcast).toEqual([])
  })

  test('interrupted before signing leaves no journal record and reports that', async () => {
    const { deposit, journal, tools, stopping } = await rig()
    const { chain } = tools.aggregator.wallet
    const { draft } = chain
    Object.assign(chain, {
      draft: (wanted: Parameters<typeof draft>[0]) => {
        stopping.abort()
        return draft(wanted)
      },
    })
    const made = await deposit(ETHER)
    expect(made).toEqual({
      ok: false,
      message: expect.stringMatching(/before anything was signed/),
    })
    expect(journal.state.transactions.size).toBe(0)
  })

  test('interrupted after signing stays in the journal for the next process', async () => {
    const { deposit, journal, answers, stopping } = await rig()
    answers.mines = () => {
      stopping.abort()
      return false
    }
    const made = await deposit(ETHER)
    expect(made).toMatchObject({ ok: false, message: expect.stringMatching(/in the journal/) })
    expect(journal.state.transactions.size).toBe(1)
  })
})

describe('waiting for the index', () => {
  const made = { id: 'deposit', amount: ETHER, availableBefore: 3n * ETHER }

  async function waiting() {
    const { journal: original, ...fake } = await rig()
    const noted: JournalEvent[] = []
    const journal = { ...original, append: async (event: JournalEvent) => void noted.push(event) }
    const wait = () => waitForIndexing(fake.tools.aggregator, made, { ...fake.tools, journal })
    return { ...fake, noted, wait }
  }

  test("ends once the service's balance has grown by the deposit less charges", async () => {
    const { wait, noted, answers, clock } = await waiting()
    answers.accountInfo = () => fund(4n * ETHER, ETHER)
    clock.at(100_000, () => {
      answers.accountInfo = () => fund(5n * ETHER, ETHER + 1_000n)
    })
    expect(await wait()).toMatchObject({ ok: true })
    expect(Math.floor(clock.now() / 1_000)).toBe(100)
    expect(noted).toEqual([{ type: 'deposit-indexed', id: 'deposit' }])
  })

  test('ignores the balance held by the contract', async () => {
    const { wait, noted, account, answers } = await waiting()
    answers.accountInfo = () => fund(3n * ETHER)
    account.gasTank = { balances: 9n * ETHER, balanceOf: undefined }
    expect(await wait()).toMatchObject({ ok: false })
    expect(noted).toEqual([])
  })

  test('logs progress, and after ten minutes that nothing is lost', async () => {
    const { wait, clock, reports } = await waiting()
    const end = await wait()
    expect(end).toMatchObject({ ok: false, message: expect.stringMatching(/Nothing is lost/) })
    expect(Math.floor(clock.now() / 1_000)).toBe(600)
    expect(reports[0]).toMatch(/^not indexed after 1[56] s$/)
    expect(reports.length).toBeLessThan(50)
  })

  test('a rejected login is reported as such', async () => {
    const { wait, answers, reports } = await waiting()
    const fault = { tag: 'unauthenticated', message: 'bad signature' } as const
    answers.accountInfo = () => ({ ok: false, fault })
    await wait()
    expect(reports[0]).toMatch(/does not accept the wallet's login \(bad signature\)/)
  })
})

describe('whether a deposit is indexed', () => {
  test('is decided at half its amount, so that charges cannot hide it', () => {
    const deposit = { amount: 100n, availableBefore: 10n }
    expect(isIndexed(deposit, 59n)).toBe(false)
    expect(isIndexed(deposit, 60n)).toBe(true)
    expect(isIndexed({ amount: 1n, availableBefore: 10n }, 10n)).toBe(false)
  })

  test('is unknown if the record has no earlier balance, so the deposit is awaited', async () => {
    const { journal, tools } = await rig()
    const transaction = earlierDeposit(tools.account)
    const { id, hash } = transaction
    const end = { type: 'transaction-ended', id, status: 'mined', hash, blockNumber: 2n } as const
    await journal.append({ type: 'transaction-recorded', transaction }, end)
    const { aggregator } = tools
    for (const of of [unseenDeposit, awaitedDeposit]) {
      const seen = { available: 100n * ETHER, nowMs: tools.clock.now() }
      expect(of(journal.state, aggregator, seen)).toMatchObject({ amount: ETHER })
      expect(of(journal.state, aggregator, { ...seen, nowMs: 600_000 })).toBeUndefined()
    }
  })
})
