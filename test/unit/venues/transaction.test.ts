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
const HALTED = { type: 'halted', cause: 'operator', detail: 'requested' } as const
const SENT: Hex = `0x${'ab'.repeat(32)}`
const RETRY_MS = DEFAULT_POLICY.transactionRetryMs

const feesOf = ({ maxFeePerGas: fee, maxPriorityFeePerGas: tip, gas }: TransactionRecord) => ({
  ...{ fee, tip, gas },
})

/** A wallet whose node answers broadcasts with `answer`; transactions stay unmined by default. */
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
  // Signs every record except under a halt: other tests cover the signing policy.
  const transaction: Signer['transaction'] = (id) => {
    const record = journal.state.transactions.get(id)?.record
    if (record === undefined) throw new Error(`${id} is not on record`)
    const isBlocked = journal.state.halted !== undefined && record.purpose !== 'unwrap'
    if (isBlocked) return { ok: false, reason: 'halted', detail: 'requested' }
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
  /** Records a wrapping as an earlier process did, which may have sent it. */
  const recordedBefore = async (
    id: string,
    { isSigned = true, ...changes }: { isSigned?: boolean; gas?: bigint; nonce?: number } = {},
  ) => {
    const draft = await wallet.chain.draft({
      ...{ from: wallet.signer.address, to: TO, data: '0x', value: 1n },
    })
    if (!draft.ok) throw new Error('the draft was refused')
    const own = { id, purpose: 'wrap', intentId: undefined } as const
    const hash = isSigned ? SENT : undefined
    const transaction = { ...draft.value, ...own, hash, ...changes }
    await journal.append({ type: 'transaction-recorded', transaction })
    return { ...transaction, hash: SENT }
  }
  /** Fee and time of each recorded version. */
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
  test('is resent unchanged while nodes reject it, and its fee rises only after the retry interval', async () => {
    const { transact, tried, versions, stopAt } = await rig((count) =>
      count === 1 ? undefined : 'refused',
    )
    stopAt(3 * RETRY_MS)
    expect(await transact('approve')).toEqual({ tag: 'stopped' })
    const made = await versions()
    expect(made.map(({ atMs }) => Math.round(atMs / RETRY_MS))).toEqual([0, 1, 2])
    for (const [index, { atMs }] of made.slice(1).entries())
      expect(atMs - (made[index]?.atMs ?? 0)).toBeGreaterThan(RETRY_MS)
    expect(new Set(tried.map(({ raw }) => raw)).size).toBe(3)
    // The first was accepted, and the later versions are resent at every poll.
    expect(tried.length).toBeGreaterThan(50)
  })

  test('gets a higher fee even if no node ever accepted it', async () => {
    const { transact, versions, stopAt } = await rig(() => 'refused')
    stopAt(2 * RETRY_MS)
    await transact('approve')
    expect(await versions()).toHaveLength(2)
  })

  test('gets no further fee increase if the wallet cannot pay it', async () => {
    const { transact, tried, versions, stopAt } = await rig((count) =>
      count === 1 ? undefined : 'insufficientFunds',
    )
    stopAt(6 * RETRY_MS)
    await transact('approve')
    expect(await versions()).toHaveLength(2)
    expect(tried.length).toBeGreaterThan(100)
  })

  test('gets no fee increase while no node answers', async () => {
    let isGone = true
    const answer = (): ChainFault['tag'] => (isGone ? 'unavailable' : 'refused')
    const { transact, tools, versions, clock, stopAt } = await rig(answer)
    const { chain } = tools.aggregator.wallet
    const { transaction } = chain
    const silent = { ok: false, fault: { tag: 'unavailable', message: 'gone' } } as const
    clock.at(1, () => void Object.assign(chain, { transaction: async () => silent }))
    clock.at(5 * RETRY_MS, () => {
      isGone = false
      Object.assign(chain, { transaction })
    })
    stopAt(7 * RETRY_MS)
    await transact('approve')
    const made = await versions()
    expect(made.length).toBeGreaterThan(1)
    expect(made[1]?.atMs).toBeGreaterThan(5 * RETRY_MS)
  })
})

test('a transaction with an unknown broadcast result gets no fee increase', async () => {
  const { transact, tried, versions, stopAt } = await rig(() => 'unavailable')
  stopAt(4 * RETRY_MS)
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
    'blocks a transaction (%s) that waits for the turn of its wallet',
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

  test('lets an unwrapping finish its order, with fee increases', async () => {
    const { transact, versions, journal, answers, clock } = await rig(() => undefined)
    await journal.append(HALTED)
    answers.mines = () => clock.now() > 2 * RETRY_MS
    expect(await transact('unwrap')).toEqual({ tag: 'mined' })
    expect((await versions()).length).toBeGreaterThan(1)
  })

  test('lets a sent transaction be resent unchanged, and blocks its fee increase until it is lifted', async () => {
    const { transact, tried, versions, haltAt, resumeAt, stopAt } = await rig(() => undefined)
    haltAt(5_000)
    resumeAt(4 * RETRY_MS)
    stopAt(6 * RETRY_MS)
    await transact('approve')
    const [first, second] = await versions()
    expect(second?.atMs).toBeGreaterThan(4 * RETRY_MS)
    const meanwhile = tried.filter(({ atMs }) => atMs < (second?.atMs ?? 0))
    expect(meanwhile.length).toBeGreaterThan(2)
    expect(new Set(meanwhile.map(({ raw }) => raw)).size).toBe(1)
    expect(first?.fee).toBe(2n)
  })

  test('withdraws a transaction that an earlier process recorded but never signed, and frees its nonce', async () => {
    const { transact, tried, journal, clock, recordedBefore } = await rig(() => undefined)
    await recordedBefore('a', { isSigned: false })
    await journal.append(HALTED)
    expect(await transact('wrap', 'a')).toEqual({ tag: 'stopped' })
    expect(tried).toEqual([])
    expect([...journal.state.transactions.keys()]).toEqual([])
    expect(clock.now()).toBeLessThan(RETRY_MS)
  })

  test('prevents the sending of a transaction recorded by an earlier process, but still reads its receipt', async () => {
    const { transact, tried, recordedBefore, tools, journal, clock } = await rig(() => undefined)
    const { hash } = await recordedBefore('a')
    await journal.append(HALTED)
    clock.at(10 * RETRY_MS, () => {
      const receipt = { hash, success: true, blockNumber: 2n }
      const value = { receipt, latestNonce: 1 }
      Object.assign(tools.aggregator.wallet.chain, {
        transaction: async () => ({ ok: true, value }),
      })
    })
    expect(await transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect(tried).toEqual([])
  })

  test('that is lifted lets a transaction recorded by an earlier process be sent', async () => {
    const { transact, tried, recordedBefore, journal, resumeAt, answers } = await rig(
      () => undefined,
    )
    await recordedBefore('a')
    await journal.append(HALTED)
    resumeAt(RETRY_MS)
    answers.mines = () => true
    expect(await transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect(tried.map(({ atMs }) => atMs >= RETRY_MS)).toEqual([true])
  })
})

/** Fees and nonce that the node suggests. */
function suggests(
  { tools }: Pick<Awaited<ReturnType<typeof rig>>, 'tools'>,
  changes: Partial<TransactionDraft> & {
    readonly baseFeePerGas?: bigint
    readonly raisedFeePerGas?: bigint
  },
): void {
  const { wallet } = tools.aggregator
  const { draft } = wallet.chain
  Object.assign(wallet.chain, {
    draft: async (call: Parameters<typeof draft>[0]) => {
      const reply = await draft(call)
      return reply.ok ? { ok: true, value: { ...reply.value, ...changes } } : reply
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
    suggests(wallet, { maxFeePerGas: tip + 2n, maxPriorityFeePerGas: tip, baseFeePerGas: 1n })
    wallet.answers.mines = () => true
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
    expect(await wallet.versions()).toMatchObject([{ fee: 10n * GWEI, tip: 2n * GWEI }])
  })

  test('that is too expensive in the next block is waited for, and nothing is recorded', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    suggests(wallet, { maxFeePerGas: 41n * GWEI, baseFeePerGas: 20n * GWEI })
    expect(await wallet.transact('approve')).toEqual({
      ...{ tag: 'unsent', why: 'gasTooDear' },
      detail: 'gas would cost 20.000000001 gwei; chains.*.gas.maxFeePerGas allows 10 gwei',
    })
    expect(await wallet.versions()).toEqual([])
  })

  test('is raised up to the limits', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    suggests(wallet, { maxFeePerGas: 6n * GWEI, baseFeePerGas: GWEI, maxPriorityFeePerGas: GWEI })
    wallet.stopAt(8 * RETRY_MS)
    await wallet.transact('approve')
    const fees = (await wallet.versions()).map(({ fee }) => fee)
    expect(fees).toEqual([6n * GWEI, (15n * GWEI) / 2n, (75n * GWEI) / 8n])
  })

  test('is raised to the higher fee of two nodes if the lower fee does not get mined', async () => {
    const wallet = await rig(() => undefined)
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    suggests(wallet, {
      ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, baseFeePerGas: 0n },
      raisedFeePerGas: 4n * GWEI,
    })
    wallet.stopAt(2 * RETRY_MS)
    await wallet.transact('approve')
    expect(await wallet.versions()).toMatchObject([
      { fee: 1n, tip: 1n },
      { fee: 4n * GWEI, tip: 1_000_000n },
    ])
  })

  test.each([
    ['nothing', 0n, 50_000n * GWEI],
    ['an impossible amount', 2n ** 511n, 50_000n * 3n * GWEI],
    ['its maximum', 50_000n * 2n * GWEI, 50_000n * 2n * GWEI],
  ])('that costs %s by its receipt counts within plausible bounds', async (_, fee, counted) => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    Object.assign(wallet.tools.aggregator.wallet, { gas: limits })
    suggests(wallet, { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: GWEI, baseFeePerGas: GWEI })
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

  test('of a transaction that ended under a clock set back still counts once the clock is right', async () => {
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

  test("beyond a block's limits is not recorded: the node is queried again", async () => {
    const wallet = await rig(() => undefined)
    suggests(wallet, { gas: 0n })
    wallet.clock.at(1, () => suggests(wallet, { gas: 50_000n }))
    wallet.answers.mines = () => true
    expect(await wallet.transact('approve')).toEqual({ tag: 'mined' })
    expect(await wallet.versions()).toMatchObject([{ gas: 50_000n }])
  })

  test("beyond a block's limits in a record is estimated again, and the transaction is mined", async () => {
    const wallet = await rig(() => undefined)
    await wallet.recordedBefore('a', { gas: 0n })
    wallet.answers.mines = ({ gas }) => gas > 0n
    // Rejects transactions with too little gas, like a real node.
    Object.assign(wallet.tools.aggregator.wallet.chain, {
      broadcast: refusingBelow(wallet, 21_000n),
    })
    expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect((await wallet.versions()).map(({ gas }) => gas)).toEqual([0n, 50_000n])
  })

  test('of such a record is awaited while no node estimates it', async () => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    const { draft } = chain
    const fault = { tag: 'unavailable', message: 'no answer' }
    await wallet.recordedBefore('a', { gas: 0n })
    Object.assign(chain, {
      draft: async () => ({ ok: false, fault }),
      broadcast: refusingBelow(wallet, 21_000n),
    })
    wallet.clock.at(3 * RETRY_MS, () => Object.assign(chain, { draft }))
    wallet.answers.mines = ({ gas }) => gas > 0n
    expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
    expect((await wallet.versions()).map(({ gas }) => gas)).toEqual([0n, 50_000n])
  })
})

/** A node that rejects transactions with less gas than `least`. */
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

  test('that only one node reports is waited out, and halts only if a final block confirms it', async () => {
    const wallet = await rig(() => undefined)
    const { chain, signer } = wallet.tools.aggregator.wallet
    await wallet.journal.append(seen(signer.address) as EventOf<'wallet-compared'>)
    const final = (transactionCount: number) => async () => ({
      ...{ ok: true, value: { blockNumber: 9n, blockTimeSeconds: 9, transactionCount } },
    })
    suggests(wallet, { nonce: 5 })
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

  test('that was used long ago is not signed again, unless a final block shows it as free', async () => {
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

  test('of a wallet never compared with its chain must be confirmed by a second read', async () => {
    const wallet = await rig(() => undefined)
    suggests(wallet, { nonce: 5 })
    expect(await wallet.transact('approve')).toMatchObject({
      ...{ tag: 'unsent', detail: 'the nodes say nonce 5, and then 0' },
    })
    expect(await wallet.versions()).toEqual([])
  })

  test('behind an unused nonce gets no fee increase, because no fee can get it mined', async () => {
    const wallet = await rig(() => undefined)
    const { chain } = wallet.tools.aggregator.wallet
    wallet.account.transactionCount = 7
    const { transaction } = chain
    wallet.clock.at(1, () =>
      Object.assign(chain, {
        transaction: async () => ({ ok: true, value: { receipt: undefined, latestNonce: 6 } }),
      }),
    )
    wallet.clock.at(5 * RETRY_MS, () => void Object.assign(chain, { transaction }))
    wallet.stopAt(7 * RETRY_MS)
    await wallet.transact('approve')
    const made = await wallet.versions()
    expect(made[1]?.atMs).toBeGreaterThan(5 * RETRY_MS)
    // The sent transaction is still resent, because nodes may have lost it.
    expect(wallet.tried.filter(({ atMs }) => atMs < 5 * RETRY_MS).length).toBeGreaterThan(2)
  })
})

test('a single receipt that reports a mined transaction as reverted is not believed', async () => {
  const wallet = await rig(() => undefined)
  const { chain } = wallet.tools.aggregator.wallet
  const receipt = { hash: SENT, blockNumber: 2n, blockHash: SENT }
  const { hash } = await wallet.recordedBefore('a')
  const receiptWith = (success: boolean) => ({ ...receipt, hash, success })
  const answers = [false, true]
  Object.assign(chain, {
    transaction: async () => ({ ok: true, value: { receipt: receiptWith(false), latestNonce: 1 } }),
    nonceOutcome: async () => ({ ok: true, value: receiptWith(answers.shift() ?? true) }),
  })
  expect(await wallet.transact('wrap', 'a')).toEqual({ tag: 'mined' })
})
