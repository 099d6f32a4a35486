import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { RoundData } from '../../domain/price.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { Clock } from '../../ports.ts'
import { UnusableAnswer } from '../chain/batch.ts'
import { decodeResults, decodeRound, wordAt } from '../chain/hot-reads.ts'
import type { LargeCall, LargeCallFault } from '../chain/large-calls.ts'

/** A round that exists. */
export type FeedRound = RoundData & {
  /** `phase << 64 | number` behind a proxy; the number alone where a feed has no phases. */
  readonly id: bigint
}

/** What a feed says of itself. */
export type FeedSight = { readonly decimals: number; readonly latest: FeedRound }

export type RoundReaderOptions = {
  readonly call: LargeCall
  readonly clock: Pick<Clock, 'sleep'>
  readonly feed: Address
  /** Rounds asked for at once. Fewer, where the nodes take no more. */
  readonly batch: number
  readonly signal: AbortSignal
}

/** The rounds could not be read, in words for the operator. */
export class RoundsUnread extends Error {
  override readonly name = 'RoundsUnread'
}

/** Whoever asked wants no more. */
export class FetchStopped extends Error {
  override readonly name = 'FetchStopped'
}

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'function aggregate3(Call[] calls)',
  'function getRoundData(uint80 id)',
  'function latestRoundData()',
  'function decimals()',
])
const LATEST = encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' })
const DECIMALS = encodeFunctionData({ abi: ABI, functionName: 'decimals' })

/** Tries of one call, and the wait after the first; each other is twice as long. Half a minute in all. */
const TRIES = 6
const WAIT_MS = 1_000
/** As long as nothing was answered at all: what is not there does not come by waiting. */
const FIRST_TRIES = 2
/** Calls in a row that pass before a larger one is tried again. */
const GOOD_CALLS = 16
const DECIMALS_MAX = 36
/** No aggregator counts as far: it has 32 bits for its rounds. */
const FAR = 2n ** 33n

/** Reads rounds of one feed, many in a call. Its methods reject with RoundsUnread and FetchStopped. */
export class RoundReader {
  readonly #options: RoundReaderOptions
  #size: number
  #goodCalls = 0
  #tries = FIRST_TRIES

  constructor(options: RoundReaderOptions) {
    this.#options = options
    this.#size = options.batch
  }

  /** Rounds that the nodes take in one call, as far as is known. */
  get size(): number {
    return this.#size
  }

  /** Refuses a feed that has no past rounds, or answers for any round with its newest. */
  async sight(): Promise<FeedSight> {
    const { feed } = this.#options
    const [decimals, latestData] = await this.#ask([DECIMALS, LATEST])
    const latest = roundIn(latestData)
    const places = decimals === undefined ? undefined : wordAt(decimals, 0)
    if (latest === undefined || places === undefined || places > DECIMALS_MAX)
      throw new RoundsUnread(`${feed} does not answer as a price feed with an answer does`)
    const [known, impossible] = await this.rounds([latest.id, latest.id + FAR])
    if (known === undefined)
      throw new RoundsUnread(
        `the feed ${feed} does not tell its past: it has no getRoundData, or none of its own rounds`,
      )
    if (impossible !== undefined)
      throw new RoundsUnread(
        `the feed ${feed} has no past rounds: it answers for any of them, with its newest price`,
      )
    return { decimals: Number(places), latest }
  }

  /** Each of these rounds; undefined for one that does not exist, whether the feed reverts for it or answers zeros. */
  async rounds(ids: readonly bigint[]): Promise<readonly (FeedRound | undefined)[]> {
    const found: (FeedRound | undefined)[] = []
    while (found.length < ids.length) {
      const wanted = ids.slice(found.length, found.length + this.#size)
      const read = await this.#ask(wanted.map(roundCall))
      for (const [index, id] of wanted.entries()) found.push(existing(read[index], id))
    }
    return found
  }

  /** Return data of each call to the feed, from one block or, where that is too much for the nodes, from several. */
  async #ask(calls: readonly Hex[]): Promise<readonly (Hex | undefined)[]> {
    const { signal, clock } = this.#options
    for (let tried = 1; ; tried += 1) {
      if (signal.aborted) throw new FetchStopped()
      const reply = await this.#once(calls)
      if (reply.ok) {
        this.#tries = TRIES
        this.#grow()
        return reply.value
      }
      const { tag, message } = reply.fault
      if (tag === 'tooMuch' && calls.length > 1) return this.#inHalves(calls)
      if (tried >= this.#tries) throw new RoundsUnread(`the chain cannot be read: ${message}`)
      await clock.sleep(WAIT_MS * 2 ** (tried - 1), signal)
    }
  }

  async #inHalves(calls: readonly Hex[]): Promise<readonly (Hex | undefined)[]> {
    const half = Math.ceil(calls.length / 2)
    this.#size = Math.min(this.#size, half)
    this.#goodCalls = 0
    return [...(await this.#ask(calls.slice(0, half))), ...(await this.#ask(calls.slice(half)))]
  }

  #grow(): void {
    this.#goodCalls += 1
    if (this.#goodCalls < GOOD_CALLS) return
    this.#goodCalls = 0
    this.#size = Math.min(this.#size * 2, this.#options.batch)
  }

  async #once(calls: readonly Hex[]): Promise<Answers> {
    const reply = await this.#options.call(this.#encoded(calls))
    if (!reply.ok) return reply
    try {
      const answers = decodeResults(reply.value)
      if (answers.length !== calls.length + 1)
        throw new UnusableAnswer('the multicall answered another question')
      // A round whose reading ran out of gas comes out as one that does not exist; but then none is left for the last call.
      if (roundIn(answers.at(-1)) === undefined)
        return failed('tooMuch', 'the feed has no newest round')
      return { ok: true, value: answers.slice(0, -1) }
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error
      return failed('unavailable', error.message)
    }
  }

  #encoded(calls: readonly Hex[]): Hex {
    const { feed: target } = this.#options
    const all = [...calls, LATEST].map((callData) => ({ target, allowFailure: true, callData }))
    return encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args: [all] })
  }
}

type Answers =
  | { readonly ok: true; readonly value: readonly (Hex | undefined)[] }
  | { readonly ok: false; readonly fault: LargeCallFault }

function failed(tag: LargeCallFault['tag'], message: string): Answers {
  return { ok: false, fault: { tag, message } }
}

function roundCall(id: bigint): Hex {
  return encodeFunctionData({ abi: ABI, functionName: 'getRoundData', args: [id] })
}

function existing(data: Hex | undefined, id: bigint): FeedRound | undefined {
  const round = roundIn(data)
  return round === undefined ? undefined : { ...round, id }
}

function roundIn(data: Hex | undefined): FeedRound | undefined {
  const round = decodeRound(data)
  if (round?.id === undefined || round.updatedAtSeconds === 0) return undefined
  return { ...round, id: round.id }
}
