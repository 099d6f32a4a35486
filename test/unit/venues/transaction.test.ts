import { describe, expect, onTestFinished, test } from 'vitest'
import type { GasLimits } from '../../../src/domain/money/gas.ts'
import type { Hex } from '../../../src/domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import type { EventOf } from '../../../src/journal/events/registry.ts'
import { gasInDay } from '../../../src/journal/projections/transactions.ts'
import type { TransactionPurpose, TransactionRecord } from '../../../src/journal/records.ts'
import type { ChainFault, Signer, TransactionDraft } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { transactOnce } from '../../../src/venues/wallet/transaction.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator, SEPOLIA } from './call/aggregator-fixture.ts'

const TO = `0x${'05'.repeat(20)}` as const
const HALTED = { type: 'halted', cause: 'operator', detail: 'asked to' } as const
const SENT: Hex = `0x${'ab'.repeat(32)}`
const PATIENCE_MS = DEFAULT_POLICY.transactionRetryMs

const feesOf = ({ maxFeePerGas: fee, maxPriorityFeePerGas: tip, gas }: TransactionRecord) => ({
  ...{ fee, tip, gas },
})

/** A wallet whose node answers broadcasts as the test says; nothing is mined unless it says so. */
async function rig(answer: (count: number) => ChainFault['tag'] | undefined) {
  const key = createKey(new Uint8Array(32).fill(7))
  const fake = fakeAggregator({ key })
  const { clock, stopping, tools } = fake
  const { wallet } = tools.aggregator
  const opened = await openJournal({
    dir: temporaryDirectory(),
    clock,
    onFatal: (error) => {
      throw error
    },
  })
  onTestFinished(() => opened.close())
  const { journal } = opened
  fake.answers.mines = () => false
  // Signs whatever is on record, but for what a halt bars: what a transaction does is judged elsewhere.
  const transaction: Signer['transaction'] = (id) => {
    const record = journal.state.transactions.get(id)?.record
    if (record === undefined) throw new Error(`${id} is not on record`)
    const isBlocked = journal.state.halted !== undefined && record.purpose !== 'unwrap'
    if (isBlocked) return { ok: false, reason: 'halted', detail: 'asked to' }
    return { ok: true, value: key.signTransaction(record) }
  }
  Object.assign(wallet, { signer: { ...wallet.signer, transaction } })
  const tried: { atMs: number; raw: string }[] = []
  const { broadcast } = wallet.chain
  Object.assign(wallet.chain, {
    broadcast: async (raw: `0x${string}`) => {
      tried.push({ atMs: clock.now(), raw })
      const tag = answer(tried.length)
      return tag === undefined ? broadcast(raw) : { ok: false, fault: { tag, message: 'no' } }
    },
  })
  const context = {
    ports: {
      clock,
      random: { jitter: () => 0.5 },
      journal,
      guard: { blocked: () => undefined },
      observe: () => undefined,
    },
    policy: DEFAULT_POLICY,
    closing: stopping.signal,
    stop: stopping.signal,
  }
  const transact = (purpose: TransactionPurpose, id?: string) =>
    transactOnce(context, wallet, {
      ...{ id, purpose, intentId: undefined, to: TO, data: '0x', value: 1n },
    })
  /** A wrapping that a process before recorded, and may have sent. */
  const recordedBefore = async (
    id: string,
    { isSigned = true, ...said }: { isSigned?: boolean; gas?: bigint; nonce?: number } = {},
  ) => {
    const draft = await wallet.chain.draft({
      ...{ from: wallet.signer.address, to: TO, data: '0x', value: 1n },
    })
    if (!draft.ok) throw new Error('the draft was refused')
    const own = { id, purpose: 'wrap', intentId: undefined } as const
    const hash = isSigned ? SENT : undefined
    const transaction = { ...draft.value, ...own, hash, ...said }
    await journal.append({ type: 'transaction-recorded', transaction })
    return { ...transaction, hash: SENT }
  }
  /** The fee of each version on record, with when it was made. */
  const versions = async () => {
    const found: ({ atMs: number } & ReturnType<typeof feesOf>)[] = []
    for await (const { event, atMs } of journal.records())
      if (event.type === 'transaction-recorded') found.push({ atMs, ...feesOf(event.transaction) })
    return found
  }
  const haltAt = (ms: number): void => clock.at(ms, () => void journal.append(HALTED))
  const resumeAt = (ms: number): void =>
    clock.at(ms, () => void journal.append({ type: 'halt-lifted' }))
  const stopAt = (ms: number): void => clock.at(ms, () => stopping.abort())
  return { ...fake, journal, transact, recordedBefore, tried, versions, haltAt, resumeAt, stopAt }
}

describe('a transaction that stays unmined', () => {
  test('is repeated as it is while nodes do not take it, and made dearer only after patience', async () => {
    const { transact, tried, versions, stopAt } = await rig((count) =>
      count === 1 ? undefined : 'refused',
    )
    stopAt(3 * PATIENCE_MS)
    expect(await transact('approve')).toEqual({ tag: 'stopped' })
    const made = await versions()
    expect(made.map(({ atMs }) => Math.round(atMs / PATIENCE_MS))).toEqual([0, 1, 2])
    for (const [index, { atMs }] of made.slice(1).entries())
      expect(atMs - (made[index]?.atMs ?? 0)).toBeGreaterThan(PATIENCE_MS)
    expect(new Set(tried.map(({ raw }) => raw)).size).toBe(3)
    // The first was taken, and the others repeated at every look.
    expect(tried.length).toBeGreaterThan(50)
  })

  test('is priced up also when no node ever took it', async () => {
    const { transact, versions, stopAt } = await rig(() => 'refused')
    stopAt(2 * PATIENCE_MS)
    await transact('approve')
    expect(await versions()).toHaveLength(2)
  })

  test('is not made dearer still where the wallet cannot pay for it', async () => {
    const { transact, tried, versions, stopAt } = await rig((count) =>
      count === 1 ? undefined : 'insufficientFunds',
    )
    stopAt(6 * PATIENCE_MS)
    await transact('approve')
    expect(await versions()).toHaveLength(2)
    expect(tried.length).toBeGreaterThan(100)
  })

  test('is not made dearer while no node answers at all', async () => {
    let isGone = true
    const answer = (): ChainFault['tag'] => (isGone ? 'unavailable' : 'refused')
    const { transact, tools, versions, clock, stopAt } = await rig(answer)
    const { chain } = tools.aggregator.wallet
    const { transaction } = chain
    const silent = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const
    clock.at(1, () => void Object.assign(chain, { transaction: async () => silent }))
    clock.at(5 * PATIENCE_MS, () => {
      isGone = false
      Object.assign(chain, { transaction })
    })
    stopAt(7 * PATIENCE_MS)
    await transact('approve')
    const made = await versions()
    expect(made.length).toBeGreaterThan(1)
    expect(made[1]?.atMs).toBeGreaterThan(5 * PATIENCE_MS)
  })
})

test('a transaction is not made dearer while nobody says whether it was taken', async () => {
  const { transact, tried, versions, stopAt } = await rig(() => 'unavailable')
  stopAt(4 * PATIENCE_MS)
  await transact('approve')
  expect(await versions()).toHaveLength(1)
  expect(tried.length).toBeGreaterThan(50)
})

describe('a halt', () => {
  test.each([
    ['wrap', { tag: 'stopped' }],
    ['approve', { tag: 'stopped' }],
    ['deposit', { tag: 'stopped' }],
    ['call', { tag: 'unsent', why: 'unavailable' }],
  ] as const)(
    'bars a transaction (%s) that was waiting for the turn of its wallet',
    async (purpose, outcome) => {
      const { transact, versions, haltAt, tools, clock } = await rig(() => undefined)
      const { chain } = tools.aggregator.wallet
      haltAt(5_000)
      clock.at(10_000, () => {
        const receipt = { hash: SENT, success: true, blockNumber: 2n }
        const value = { receipt, latestNonce: 1 }
        Object.assign(chain, { transaction: async () => ({ ok: true, value }) })
      })
      const [first, second] = await Promise.all([transact('approve', 'a'), transact(purpose, 'b')])
      expect(first).toEqual({ tag: 'mined' })
      expect(second).toMatchObject(outcome)
      expect(await versions()).toHaveLength(1)
    },
  )

  test('lets an unwrapping finish its order, dearer where it must be', async () => {
    const { transact, versions, journal, answers, clock } = await rig(() => undefined)
    await journal.append(HALTED)
    answers.mines = () => clock.now() > 2 * PATIENCE_MS
    expect(await transact('unwrap')).toEqual({ tag: 'mined' })
    expect((await versions()).length).toBeGreaterThan(1)
  })

  test('lets what is out already be sent again as it is, and bars a dearer version until it is lifted', async () => {
    const { transact, tried, versions, haltAt, resumeAt, stopAt } = await rig(() => undefined)
    haltAt(5_000)
    resumeAt(4 * PATIENCE_MS)
    stopAt(6 * PATIENCE_MS)
    await transact('approve')
    const [first, second] = await versions()
    expect(second?.atMs).toBeGreaterThan(4 * PATIENCE_MS)
    const meanwhile = tried.filter(({ atMs }) => atMs < (second?.atMs ?? 0))
    expect(meanwhile.length).toBeGreaterThan(2)
    expect(new Set(meanwhile.map(({ raw }) => raw)).size).toBe(1)
    expect(first?.fee).toBe(2n)
  })

  test('takes back what an earlier process recorded and never signed, so that its nonce is free again', async () => {
    const { transact, tried, journal, clock, recordedBefore } = await rig(() => undefined)
    await recordedBefore('a', { isSigned: false })
    await journal.append(HALTED)
    expect(await transact('wrap', 'a')).toEqual({ tag: 'stopped' })
    expect(tried).toEqual([])
    expect([...journal.state.transactions.keys()]).toEqual([])
    expect(clock.now()).toBeLessThan(PATIENCE_MS)
  })

  test('keeps what an earlier process recorded from being sent, but not its receipt from being seen', async () => {
    const { transact, tried, recordedBefore, tools, journal, clock } = await rig(() => undefined)
    const { hash } = await recordedBefore('a')
    await journal.append(HALTED)
    clock.at(10 * PATIENCE_MS, () => {
      const receipt = { hash, success: true, blockNumber: 2n }
      const value = { receipt, latestNonce: 1 }
      Object.assign(tools.aggregator.wallet.chain, {
        transaction: async () => ({ ok: true, value }),
      })
    })
    expect(await transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect(tried).toEqual([])
  })

  test('that is lifted lets what an earlier process recorded be sent', async () => {
    const { transact, tried, recordedBefore, journal, resumeAt, answers } = await rig(
      () => undefined,
    )
    await recordedBefore('a')
    await journal.append(HALTED)
    resumeAt(PATIENCE_MS)
    answers.mines = () => true
    expect(await transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect(tried.map(({ atMs }) => atMs >= PATIENCE_MS)).toEqual([true])
  })
})

/** What the chain asks for, as its node says it. */
function asks(
  { tools }: Pick<Awaited<ReturnType<typeof rig>>, 'tools'>,
  said: Partial<TransactionDraft> & {
    readonly baseFeePerGas?: bigint
    readonly raisedFeePerGas?: bigint
  },
): void {
  const { wallet } = tools.aggregator
  const { draft } = wallet.chain
  Object.assign(wallet.chain, {
    draft: async (call: Parameters<typeof draft>[0]) => {
      const reply = await draft(call)
      return reply.ok ? { ok: true, value: { ...reply.value, ...said } } : reply
    },
  })
}

describe('gas', () => {
  const GWEI = 10n ** 9n
  const limits: GasLimits = {
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: 2n * GWEI,
    perTransaction: 10n ** 15n,
    perDay: 10n ** 16n,
  }

  test('is offered within the limits, whatever tip a node suggests', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    const tip = 12n * 10n ** 14n
    asks(wallet, { maxFeePerGas: tip + 2n, maxPriorityFeePerGas: tip, baseFeePerGas: 1n })
    wallet.answers.mines = () => true
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
    expect(await wallet.versions()).toMatchObject([{ fee: 10n * GWEI, tip: 2n * GWEI }])
  })

  test('that the next block asks too much for is waited for, and nothing is recorded', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    asks(wallet, { maxFeePerGas: 41n * GWEI, baseFeePerGas: 20n * GWEI })
    expect(await wallet.transact('approve')).toEqual({
      ...{ tag: 'unsent', why: 'gasTooDear' },
      detail: 'gas would cost 20.000000001 gwei; chains.*.gas.maxFeePerGas allows 10 gwei',
    })
    expect(await wallet.versions()).toEqual([])
  })

  test('is raised as far as the limits allow, and no further', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    asks(wallet, { maxFeePerGas: 6n * GWEI, baseFeePerGas: GWEI, maxPriorityFeePerGas: GWEI })
    wallet.stopAt(8 * PATIENCE_MS)
    await wallet.transact('approve')
    const fees = (await wallet.versions()).map(({ fee }) => fee)
    expect(fees).toEqual([6n * GWEI, (15n * GWEI) / 2n, (75n * GWEI) / 8n])
  })

  test('is raised by the word of the node that names more, where the lower one brings nothing into a block', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    asks(wallet, {
      ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, baseFeePerGas: 0n },
      raisedFeePerGas: 4n * GWEI,
    })
    wallet.stopAt(2 * PATIENCE_MS)
    await wallet.transact('approve')
    expect(await wallet.versions()).toMatchObject([
      { fee: 1n, tip: 1n },
      { fee: 4n * GWEI, tip: 1_000_000n },
    ])
  })

  test.each([
    ['nothing', 0n, 50_000n * GWEI],
    ['what no transaction costs', 2n ** 511n, 50_000n * 3n * GWEI],
    ['what it may have cost', 50_000n * 2n * GWEI, 50_000n * 2n * GWEI],
  ])('that a receipt says cost %s counts as far as that can be', async (_, fee, counted) => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    asks(wallet, { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: GWEI, baseFeePerGas: GWEI })
    const receipt = { hash: SENT, success: true, blockNumber: 2n, blockHash: SENT, fee }
    Object.assign(chain, {
      transaction: async ({ hashes }: { readonly hashes: readonly Hex[] }) => ({
        ...{
          ok: true,
          value: hashes.length > 0 ? { receipt, latestNonce: 1 } : { latestNonce: 0 },
        },
      }),
    })
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
    const { journal, clock } = wallet
    expect(gasInDay(journal.state, { chainId: SEPOLIA, nowMs: clock.now() })).toBe(counted)
  })

  test('of what ended while the clock was set back still counts when it is right', async () => {
    const wallet = await rig(() => undefined)
    const { clock, journal } = wallet
    const day = 86_400_000
    await clock.sleep(3 * day)
    const { gas, maxFeePerGas } = await wallet.recordedBefore('a')
    const { now } = clock
    Object.assign(clock, { now: () => now() - 2 * day })
    const end = { status: 'mined', hash: SENT, blockNumber: 2n } as const
    await journal.append({ type: 'transaction-ended', id: 'a', ...end })
    Object.assign(clock, { now })
    const counted = gasInDay(journal.state, { chainId: SEPOLIA, nowMs: now() })
    expect(counted).toBe(gas * maxFeePerGas)
  })

  test('that no block takes is not recorded: the node is asked again', async () => {
    const wallet = await rig(() => undefined)
    asks(wallet, { gas: 0n })
    wallet.clock.at(1, () => asks(wallet, { gas: 50_000n }))
    wallet.answers.mines = () => true
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
    expect(await wallet.versions()).toMatchObject([{ gas: 50_000n }])
  })

  test('of a record that no block takes is estimated anew, and it comes through', async () => {
    const wallet = await rig(() => undefined)
    await wallet.recordedBefore('a', { gas: 0n })
    wallet.answers.mines = ({ gas }) => gas > 0n
    // As a node does: what has too little gas is refused.
    Object.assign(wallet.tools.aggregator.wallet.chain, {
      broadcast: refusingBelow(wallet, 21_000n),
    })
    expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect((await wallet.versions()).map(({ gas }) => gas)).toEqual([0n, 50_000n])
  })

  test('of such a record is waited for while no node estimates it', async () => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    const { draft } = chain
    const fault = { tag: 'unavailable', message: 'no answer' }
    await wallet.recordedBefore('a', { gas: 0n })
    Object.assign(chain, {
      draft: async () => ({ ok: false, fault }),
      broadcast: refusingBelow(wallet, 21_000n),
    })
    wallet.clock.at(3 * PATIENCE_MS, () => Object.assign(chain, { draft }))
    wallet.answers.mines = ({ gas }) => gas > 0n
    expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect((await wallet.versions()).map(({ gas }) => gas)).toEqual([0n, 50_000n])
  })
})

/** A node that takes nothing below so much gas. */
function refusingBelow({ tools, journal }: Awaited<ReturnType<typeof rig>>, least: bigint) {
  const { broadcast } = tools.aggregator.wallet.chain
  return async (raw: Hex): ReturnType<typeof broadcast> => {
    const [open] = journal.state.transactions.values()
    const message = 'intrinsic gas too low'
    if ((open?.record.gas ?? 0n) < least) return { ok: false, fault: { tag: 'refused', message } }
    return broadcast(raw)
  }
}

describe('a nonce', () => {
  const seen = (wallet: Hex) => ({
    ...{ type: 'wallet-compared', chainId: SEPOLIA, wallet, sinceBlock: 0n, blockNumber: 1n },
    ...{ transactionCount: 0, nestedNonce: undefined },
  })

  test('that one node names and nothing explains is waited out, and halts nothing unless a final block shows it', async () => {
    const wallet = await rig(() => undefined)
    const { chain, signer } = wallet.tools.aggregator.wallet
    await wallet.journal.append(seen(signer.address) as EventOf<'wallet-compared'>)
    const final = (transactionCount: number) => async () => ({
      ...{ ok: true, value: { blockNumber: 9n, blockTimeSeconds: 9, transactionCount } },
    })
    asks(wallet, { nonce: 5 })
    Object.assign(chain, { finalCount: final(0) })
    expect(await wallet.transact('approve')).toMatchObject({
      ...{ tag: 'unsent', why: 'unavailable' },
      detail: expect.stringMatching(/has sent 5 transactions .* which no final block shows yet$/),
    })
    expect([wallet.journal.state.halted, await wallet.versions()]).toEqual([undefined, []])
    Object.assign(chain, { finalCount: final(5) })
    expect(await wallet.transact('approve')).toEqual({ tag: 'stopped' })
    expect(wallet.journal.state.halted).toMatchObject({ cause: 'evidence' })
    expect(await wallet.versions()).toEqual([])
  })

  test('that was used long ago is not signed for again, unless a final block says that it is free', async () => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    await wallet.recordedBefore('a', { nonce: 4 })
    const end = { status: 'mined', hash: SENT, blockNumber: 2n } as const
    await wallet.journal.append({ type: 'transaction-ended', id: 'a', ...end })
    wallet.clock.sleep(2 * 3_600_000)
    wallet.account.transactionCount = 3
    const final = (transactionCount: number) => async () => ({
      ...{ ok: true, value: { blockNumber: 9n, blockTimeSeconds: 9, transactionCount } },
    })
    Object.assign(chain, { finalCount: final(5) })
    expect(await wallet.transact('approve')).toMatchObject({
      detail: 'the node says nonce 3, and 4 was used already',
    })
    wallet.answers.mines = () => true
    Object.assign(chain, { finalCount: final(3) })
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
  })

  test('of a wallet that was never compared with its chain has to be said twice', async () => {
    const wallet = await rig(() => undefined)
    asks(wallet, { nonce: 5 })
    expect(await wallet.transact('approve')).toMatchObject({
      ...{ tag: 'unsent', detail: 'the nodes say nonce 5, and then 0' },
    })
    expect(await wallet.versions()).toEqual([])
  })

  test('behind an unused one is made no dearer: no fee brings it into a block', async () => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    wallet.account.transactionCount = 7
    const { transaction } = chain
    wallet.clock.at(1, () =>
      Object.assign(chain, {
        transaction: async () => ({ ok: true, value: { receipt: undefined, latestNonce: 6 } }),
      }),
    )
    wallet.clock.at(5 * PATIENCE_MS, () => void Object.assign(chain, { transaction }))
    wallet.stopAt(7 * PATIENCE_MS)
    await wallet.transact('approve')
    const made = await wallet.versions()
    expect(made[1]?.atMs).toBeGreaterThan(5 * PATIENCE_MS)
    // What is out is sent again all the same, as nodes may have lost it.
    expect(wallet.tried.filter(({ atMs }) => atMs < 5 * PATIENCE_MS).length).toBeGreaterThan(2)
  })
})

test('a receipt that says once that a mined transaction reverted is not believed', async () => {
  const wallet = await rig(() => undefined)
  const { chain } = wallet.tools.aggregator.wallet
  const receipt = { hash: SENT, blockNumber: 2n, blockHash: SENT }
  const { hash } = await wallet.recordedBefore('a')
  const said = (success: boolean) => ({ ...receipt, hash, success })
  const answers = [false, true]
  Object.assign(chain, {
    transaction: async () => ({ ok: true, value: { receipt: said(false), latestNonce: 1 } }),
    nonceOutcome: async () => ({ ok: true, value: said(answers.shift() ?? true) }),
  })
  expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
})
