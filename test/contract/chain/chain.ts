import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PriceFeed } from '../../../src/domain/money/price.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { AgreedReply, Chain, Key } from '../../../src/ports.ts'

type Call = { readonly to: Address; readonly data: Hex; readonly value: bigint }

/** A fresh chain with a funded owner, and controls over it. */
export type ChainRig = {
  readonly chain: Chain
  readonly chainId: number
  readonly permit2: Address
  /** Signs for the owner, who has native coin and some `token`, but no `otherToken`, allowances or code. */
  readonly key: Key
  readonly token: Token
  readonly otherToken: Token
  /** The owner's balance of `token` at the start. */
  readonly tokenBalance: bigint
  /** A feed that answers, with a sequencer feed that answers. */
  readonly feed: PriceFeed
  readonly feedAnswer: bigint
  readonly feedDecimals: number
  /** An account without coin and code. */
  readonly stranger: Address
  /** A call that reverts for the owner. */
  readonly revertingCall: Call
  /** Pays `token` from the owner to another account. Resolves with the transaction's hash once it is in a block. */
  payOut(token: Token, payment: { to: Address; amount: bigint }): Promise<Hex>
  /** Transfers some of a token to the owner, as an incoming payment. */
  payIn(token: Token, amount: bigint): Promise<void>
  /** Marks the owner's Permit2 nonce as used, as a settlement or a cancellation does. */
  useNonce(nonce: bigint): Promise<void>
  /** Waits until the chain may have mined the broadcast transactions. */
  mine(): Promise<void>
  /** Puts code at the owner's account. */
  giveCode(): Promise<void>
  close(): Promise<void>
}

const HASH = /^0x[0-9a-f]{64}$/
const MINE_TRIES_MAX = 200
/** Accepts a node at any distance ahead of the clock. */
const ANY_TIME = { latestSeconds: Number.MAX_SAFE_INTEGER }
/** A search without bounds. */
const WHOLE = { nonce: 0n, atLeastBlock: 0n, untilSeconds: Number.MAX_SAFE_INTEGER }
const UNKNOWN_HASH: Hex = `0x${'77'.repeat(32)}`

/** Calldata of `approve(address,uint256)`, the only call that an order may start with. */
export function approveCall(spender: Address, amount: bigint): Hex {
  const args = spender.slice(2).padStart(64, '0') + amount.toString(16).padStart(64, '0')
  return `0x095ea7b3${args}`
}

export function answerOf<Value>(reply: AgreedReply<Value>): Value {
  if (!reply.ok) throw new Error(`${reply.fault.tag}: ${reply.fault.message}`)
  return reply.value
}

/** The contract of every Chain port, as far as the core relies on it. */
export function chainContract(name: string, makeChain: () => Promise<ChainRig>): void {
  describe(`chain contract: ${name}`, () => {
    let rig: ChainRig
    beforeEach(async () => {
      rig = await makeChain()
    })
    afterEach(() => rig.close())

    function approval(amount: bigint): Call & { readonly from: Address } {
      const data = approveCall(rig.permit2, amount)
      return { from: rig.key.address, to: rig.token.address, data, value: 0n }
    }

    async function mined(hash: Hex) {
      const query = { from: rig.key.address, hashes: [hash] }
      for (let tries = 0; tries < MINE_TRIES_MAX; tries++) {
        const found = answerOf(await rig.chain.transaction(query))
        if (found.receipt !== undefined) return found
        await rig.mine()
      }
      throw new Error('the transaction was never mined')
    }

    test('returns its chain id and the same genesis each time', async () => {
      const first = answerOf(await rig.chain.identity())
      expect(first.chainId).toBe(rig.chainId)
      expect(first.genesisHash).toMatch(HASH)
      const second = answerOf(await rig.chain.identity())
      expect(second.genesisHash).toBe(first.genesisHash)
      expect(second.blockTimeSeconds).toBeGreaterThanOrEqual(first.blockTimeSeconds)
    })

    test('returns balances, allowances, feeds and the head in a view', async () => {
      const owner = rig.key.address
      const view = answerOf(
        await rig.chain.view({ owner, tokens: [rig.token, rig.otherToken], feeds: [rig.feed] }),
      )
      expect(view.balances).toEqual(
        new Map([
          [rig.token.address, rig.tokenBalance],
          [rig.otherToken.address, 0n],
        ]),
      )
      expect(view.allowances).toEqual(
        new Map([
          [rig.token.address, 0n],
          [rig.otherToken.address, 0n],
        ]),
      )
      expect(view.nativeBalance).toBeGreaterThan(0n)
      expect(view.blockNumber).toBeGreaterThan(0n)
      expect(view.blockTimeSeconds).toBeGreaterThan(1_600_000_000)
      expect(view.ownerHasCode).toBe(false)
      expect(view.permitNonceUsed).toBeUndefined()
      const reading = view.readings.get(rig.feed.pair)
      expect(reading).toMatchObject({
        answer: rig.feedAnswer,
        decimals: rig.feedDecimals,
        sequencer: { answer: 0n },
      })
      expect(reading?.updatedAtSeconds).toBeLessThanOrEqual(view.blockTimeSeconds)
      expect(reading?.sequencer?.startedAtSeconds).toBeLessThanOrEqual(view.blockTimeSeconds)
    })

    test('returns a complete second view for the same query', async () => {
      const query = { owner: rig.key.address, tokens: [rig.token], feeds: [rig.feed] }
      const first = answerOf(await rig.chain.view(query))
      const second = answerOf(await rig.chain.view(query))
      expect(second.readings.get(rig.feed.pair)).toMatchObject({
        answer: rig.feedAnswer,
        decimals: rig.feedDecimals,
      })
      expect(second.balances).toEqual(first.balances)
      expect(second.blockNumber).toBeGreaterThanOrEqual(first.blockNumber)
    })

    test('leaves out only the tokens and feeds that do not answer', async () => {
      const { stranger } = rig
      const deadToken: Token = { ...rig.token, symbol: 'DEAD', address: stranger }
      const deadFeed: PriceFeed = { ...rig.feed, pair: 'DEAD/FEED', feed: stranger }
      const view = answerOf(
        await rig.chain.view({
          owner: rig.key.address,
          tokens: [deadToken, rig.token],
          feeds: [deadFeed, rig.feed],
        }),
      )
      expect([...view.balances.keys()]).toEqual([rig.token.address])
      expect([...view.allowances.keys()]).toEqual([rig.token.address])
      expect([...view.readings.keys()]).toEqual([rig.feed.pair])
    })

    test('leaves out a feed whose sequencer feed does not answer', async () => {
      const blind: PriceFeed = { ...rig.feed, pair: 'BLIND/FEED', sequencerFeed: rig.stranger }
      const plain: PriceFeed = { ...rig.feed, pair: 'PLAIN/FEED', sequencerFeed: undefined }
      const view = answerOf(
        await rig.chain.view({ owner: rig.key.address, tokens: [], feeds: [blind, plain] }),
      )
      expect(view.readings.has('BLIND/FEED')).toBe(false)
      expect(view.readings.get('PLAIN/FEED')?.sequencer).toBeUndefined()
      expect(view.readings.has('PLAIN/FEED')).toBe(true)
    })

    test('reports a nonce as used once it is used, and its neighbours as unused', async () => {
      const owner = rig.key.address
      const nonce = (5n << 8n) | 255n
      const used = async (permitNonce: bigint) => {
        const view = answerOf(await rig.chain.view({ owner, tokens: [], feeds: [], permitNonce }))
        const permit = answerOf(await rig.chain.permit({ owner, nonce: permitNonce }))
        expect(view.permitNonceUsed).toBe(permit.nonceUsed)
        return permit.nonceUsed
      }
      expect(await used(nonce)).toBe(false)
      await rig.useNonce(nonce)
      expect(await used(nonce)).toBe(true)
      for (const other of [
        nonce - 1n,
        nonce + 1n,
        nonce + 256n,
        nonce - 256n,
        nonce + (1n << 200n),
      ])
        expect(await used(other)).toBe(false)
    })

    test('distinguishes accounts with code', async () => {
      await rig.giveCode()
      const view = answerOf(await rig.chain.view({ owner: rig.key.address, tokens: [], feeds: [] }))
      expect(view.ownerHasCode).toBe(true)
    })

    test('returns no transaction in a permit view for an unknown hash', async () => {
      const query = { owner: rig.key.address, nonce: 1n }
      expect(answerOf(await rig.chain.permit(query)).transaction).toBeUndefined()
      const view = answerOf(await rig.chain.permit({ ...query, txHash: UNKNOWN_HASH }))
      expect(view.transaction).toBeUndefined()
      expect(view.blockNumber).toBeGreaterThan(0n)
      expect(view.blockTimeSeconds).toBeGreaterThan(1_600_000_000)
    })

    test('traces the queried transaction in a permit view', async () => {
      const owner = rig.key.address
      const txHash = await rig.payOut(rig.token, { to: rig.stranger, amount: 7n })
      const { transaction } = answerOf(await rig.chain.permit({ owner, nonce: 1n, txHash }))
      expect(transaction).toMatchObject({ hash: txHash, success: true })
      expect(transaction?.transfers).toMatchObject([
        { token: rig.token.address, from: owner, to: rig.stranger, amount: 7n },
      ])
      expect(transaction?.input ?? '0x').toMatch(/^0x[0-9a-f]*$/)
    })

    test('returns outgoing transactions of the token and owner since a block, oldest first', async () => {
      const owner = rig.key.address
      const before = await rig.payOut(rig.token, { to: rig.stranger, amount: 1n })
      const start = answerOf(await rig.chain.permit({ owner, nonce: 0n, txHash: before }))
      const fromBlock = (start.transaction?.blockNumber ?? 0n) + 1n
      await rig.payIn(rig.otherToken, 50n)
      const first = await rig.payOut(rig.token, { to: rig.stranger, amount: 2n })
      await rig.payOut(rig.otherToken, { to: rig.stranger, amount: 3n })
      await rig.payIn(rig.token, 4n)
      const second = await rig.payOut(rig.token, { to: rig.stranger, amount: 5n })

      const sold = { ...WHOLE, owner, token: rig.token.address }
      const { traces: found } = answerOf(await rig.chain.outgoing({ ...sold, fromBlock }))
      expect(found.map((trace) => trace.hash)).toEqual([first, second])
      expect(found.map((trace) => trace.transfers.map((transfer) => transfer.amount))).toEqual([
        [2n],
        [5n],
      ])
      const { traces: all } = answerOf(
        await rig.chain.outgoing({ ...sold, fromBlock: fromBlock - 1n }),
      )
      expect(all.map((trace) => trace.hash)).toEqual([before, first, second])
    })

    test('returns no outgoing transactions for an account that never paid', async () => {
      const query = { ...WHOLE, token: rig.token.address, owner: rig.stranger, fromBlock: 0n }
      expect(answerOf(await rig.chain.outgoing(query))).toEqual({
        traces: [],
        cancelled: undefined,
      })
    })

    test('ignores zero transfers in outgoing transactions', async () => {
      const owner = rig.key.address
      await rig.payOut(rig.token, { to: rig.stranger, amount: 0n })
      const paid = await rig.payOut(rig.token, { to: rig.stranger, amount: 2n })
      const query = { ...WHOLE, owner, token: rig.token.address, fromBlock: 0n }
      const { traces } = answerOf(await rig.chain.outgoing(query))
      expect(traces.map(({ hash }) => hash)).toEqual([paid])
    })

    test('returns each payment of the queried tokens in the queried blocks', async () => {
      const owner = rig.key.address
      await rig.payIn(rig.otherToken, 50n)
      const { blockNumber: before } = answerOf(await rig.chain.permit({ owner, nonce: 0n }))
      const first = await rig.payOut(rig.token, { to: rig.stranger, amount: 2n })
      await rig.payOut(rig.token, { to: rig.stranger, amount: 0n })
      const second = await rig.payOut(rig.otherToken, { to: rig.stranger, amount: 3n })
      await rig.payIn(rig.token, 4n)
      const { blockNumber: toBlock } = answerOf(await rig.chain.permit({ owner, nonce: 0n }))
      const [token, other] = [rig.token.address, rig.otherToken.address]
      const range = { owner, fromBlock: before + 1n, toBlock }
      const both = { ...range, tokens: [token, other] }
      const { payments: found, fromBlock } = answerOf(await rig.chain.payments(both))
      expect(fromBlock).toBe(before + 1n)
      expect(found.map(({ token: paid, amount, txHash }) => [paid, amount, txHash])).toEqual([
        [token, 2n, first],
        [other, 3n, second],
      ])
      const others = answerOf(await rig.chain.payments({ ...range, tokens: [other] }))
      expect(others.payments).toEqual([found[1]])
      const earlier = answerOf(
        await rig.chain.payments({ ...both, fromBlock: 0n, toBlock: before }),
      )
      expect(earlier.payments).not.toContainEqual(found[0])
      const ahead = { ...range, toBlock: toBlock + 1_000n, tokens: [token] }
      expect(await rig.chain.payments(ahead)).toMatchObject({ fault: { tag: 'unavailable' } })
    })

    test('distinguishes a nonce invalidated by its owner from a nonce that a settlement may have used', async () => {
      const owner = rig.key.address
      const nonce = (7n << 8n) | 9n
      const query = { ...WHOLE, nonce, owner, token: rig.token.address, fromBlock: 0n }
      expect(answerOf(await rig.chain.outgoing(query)).cancelled).toBeUndefined()
      await rig.useNonce(nonce)
      await rig.mine()
      const { cancelled } = answerOf(await rig.chain.outgoing(query))
      expect(cancelled?.txHash).toMatch(HASH)
      expect(cancelled?.blockHash).toMatch(HASH)
      const other = { ...query, nonce: nonce + 1n }
      expect(answerOf(await rig.chain.outgoing(other)).cancelled).toBeUndefined()
    })

    test('returns a final nonce with its block time, and refuses a node ahead of the allowed time', async () => {
      const owner = rig.key.address
      const nonce = 77n
      const unused = answerOf(await rig.chain.finalPermit({ owner, nonce, ...ANY_TIME }))
      expect(unused.nonceUsed).toBe(false)
      expect(unused.blockTimeSeconds).toBeGreaterThan(1_600_000_000)
      await rig.useNonce(nonce)
      await rig.mine()
      const used = answerOf(await rig.chain.finalPermit({ owner, nonce, ...ANY_TIME }))
      expect(used.nonceUsed).toBe(true)
      const latestSeconds = unused.blockTimeSeconds - 1
      const early = [
        await rig.chain.finalPermit({ owner, nonce, latestSeconds }),
        await rig.chain.blocks({ numbers: [], latestSeconds }),
        await rig.chain.nonceOutcome({ from: owner, nonce: 0, hashes: [], latestSeconds }),
      ]
      for (const reply of early) expect(reply).toMatchObject({ fault: { tag: 'unavailable' } })
    })

    test('returns a block by its number, and none for a future number', async () => {
      const owner = rig.key.address
      const txHash = await rig.payOut(rig.token, { to: rig.stranger, amount: 7n })
      const { transaction } = answerOf(await rig.chain.permit({ owner, nonce: 1n, txHash }))
      const number = transaction?.blockNumber ?? 0n
      const numbers = [number, number + 1_000n]
      const seen = answerOf(await rig.chain.blocks({ numbers, ...ANY_TIME }))
      expect([...seen.blocks.keys()]).toEqual([number])
      expect(seen.blocks.get(number)?.hash).toBe(transaction?.blockHash)
      expect(seen.final).toBe(seen.head.blockNumber)
      expect(seen.final).toBeGreaterThanOrEqual(number)
    })

    test('returns the outcome of a used nonce: a queried transaction, or lost', async () => {
      const from = rig.key.address
      const { latestNonce: nonce } = answerOf(await rig.chain.transaction({ from, hashes: [] }))
      const outcome = async (...hashes: Hex[]) =>
        answerOf(await rig.chain.nonceOutcome({ from, nonce, hashes, ...ANY_TIME }))
      expect(await outcome(UNKNOWN_HASH)).toBeUndefined()
      const hash = await rig.payOut(rig.token, { to: rig.stranger, amount: 1n })
      await rig.payOut(rig.token, { to: rig.stranger, amount: 1n })
      expect(await outcome(UNKNOWN_HASH)).toBe('lost')
      expect(await outcome(UNKNOWN_HASH, hash)).toMatchObject({ hash, success: true })
    })

    test('executes a drafted, signed and broadcast call once', async () => {
      const owner = rig.key.address
      const before = answerOf(await rig.chain.transaction({ from: owner, hashes: [] }))
      const draft = answerOf(await rig.chain.draft(approval(123n)))
      expect(draft).toMatchObject({ ...approval(123n), chainId: rig.chainId })
      expect(draft.nonce).toBe(before.latestNonce)
      expect(draft.maxFeePerGas).toBeGreaterThanOrEqual(draft.maxPriorityFeePerGas)

      const { raw, hash } = rig.key.signTransaction(draft)
      expect(answerOf(await rig.chain.broadcast(raw))).toBe(hash)
      const found = await mined(hash)
      expect(found.receipt).toMatchObject({ hash, success: true })
      expect(found.latestNonce).toBe(before.latestNonce + 1)
      const view = answerOf(await rig.chain.view({ owner, tokens: [rig.token], feeds: [] }))
      expect(view.allowances.get(rig.token.address)).toBe(123n)
    })

    test('finds the receipt among hashes that were never mined', async () => {
      const { raw, hash } = rig.key.signTransaction(answerOf(await rig.chain.draft(approval(1n))))
      answerOf(await rig.chain.broadcast(raw))
      await mined(hash)
      const from = rig.key.address
      const found = answerOf(await rig.chain.transaction({ from, hashes: [UNKNOWN_HASH, hash] }))
      expect(found.receipt?.hash).toBe(hash)
      const none = answerOf(await rig.chain.transaction({ from, hashes: [UNKNOWN_HASH] }))
      expect(none.receipt).toBeUndefined()
    })

    test('refuses another transaction with a used nonce', async () => {
      const draft = answerOf(await rig.chain.draft(approval(1n)))
      const { raw, hash } = rig.key.signTransaction(draft)
      answerOf(await rig.chain.broadcast(raw))
      await mined(hash)
      const late = rig.key.signTransaction({
        ...draft,
        data: approveCall(rig.permit2, 2n),
      })
      expect(await rig.chain.broadcast(late.raw)).toEqual({
        ok: false,
        fault: { tag: 'refused', message: 'nonce too low' },
      })
    })

    test('refuses the draft of a reverting call', async () => {
      const reply = await rig.chain.draft({ from: rig.key.address, ...rig.revertingCall })
      expect(reply).toMatchObject({ ok: false, fault: { tag: 'refused' } })
    })

    test('refuses a draft for an account that cannot pay for gas', async () => {
      const reply = await rig.chain.draft({ ...approval(1n), from: rig.stranger })
      expect(reply).toMatchObject({ ok: false, fault: { tag: 'insufficientFunds' } })
    })
  })
}
