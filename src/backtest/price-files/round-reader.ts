import { encodeFunctionData, parseAbi } from 'viem/utils'
import { UnusableAnswer } from '../../chain/node/batch.ts'
import type { LargeCall, LargeCallFault } from '../../chain/node/large-calls.ts'
import { decodeResults, decodeRound, wordAt } from '../../chain/snapshot-reads.ts'
import type { RoundData } from '../../domain/money/price.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import type { Reply } from '../../domain/order/quote.ts'
import type { Clock } from '../../ports.ts'

export type FeedRound = RoundData & {
  /** `phase << 64 | number` behind a proxy; only the number without phases. */
  readonly id: bigint
}

export type FeedState = { readonly decimals: number; readonly latest: FeedRound }

export type RoundReaderOptions = {
  readonly call: LargeCall
  readonly clock: Pick<Clock, 'sleep'>
  readonly feed: Address
  /** Rounds per call; fewer if the nodes refuse. */
  readonly batch: number
  readonly signal: AbortSignal
}

/** The chain could not be read. The message is for the operator. */
export class RoundsUnread extends Error {
  override readonly name = 'RoundsUnread'
}

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

/** Attempts per call, and the wait after the first, which doubles each time: half a minute in total. */
const TRIES = 6
const WAIT_MS = 1_000
/** Attempts until the first answer: waiting does not help a missing feed. */
const FIRST_TRIES = 2
/** Consecutive successful calls before a larger one is tried. */
const GOOD_CALLS = 16
const DECIMALS_MAX = 36
/** Beyond the rounds of any aggregator, which have 32 bits. */
const FAR = 2n ** 33n

export type RoundReader = ReturnType<typeof createRoundReader>

/** Reads rounds of one feed, many per call. Its methods reject with RoundsUnread and FetchStopped. */
export function createRoundReader({ call, clock, feed, batch, signal }: RoundReaderOptions) {
  let size = batch
  let goodCalls = 0
  let tries = FIRST_TRIES

  /** Return data of each call, from one block, or from several if the nodes refuse so many calls at once. */
  async function read(calls: readonly Hex[]): Promise<readonly (Hex | undefined)[]> {
    for (let tried = 1; ; tried += 1) {
      if (signal.aborted) throw new FetchStopped()
      const reply = await readOnce(calls)
      if (reply.ok) {
        tries = TRIES
        grow()
        return reply.value
      }
      const { tag, message } = reply.fault
      if (tag === 'tooMuch' && calls.length > 1) return inHalves(calls)
      if (tried >= tries) throw new RoundsUnread(`the chain cannot be read: ${message}`)
      await clock.sleep(WAIT_MS * 2 ** (tried - 1), signal)
    }
  }

  async function inHalves(calls: readonly Hex[]): Promise<readonly (Hex | undefined)[]> {
    const half = Math.ceil(calls.length / 2)
    size = Math.min(size, half)
    goodCalls = 0
    return [...(await read(calls.slice(0, half))), ...(await read(calls.slice(half)))]
  }

  function grow(): void {
    goodCalls += 1
    if (goodCalls < GOOD_CALLS) return
    goodCalls = 0
    size = Math.min(size * 2, batch)
  }

  async function readOnce(calls: readonly Hex[]): Promise<Answers> {
    const all = [...calls, LATEST].map((callData) => {
      return { target: feed, allowFailure: true, callData }
    })
    const reply = await call(
      encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args: [all] }),
    )
    if (!reply.ok) return reply
    try {
      const answers = decodeResults(reply.value)
      if (answers.length !== calls.length + 1)
        throw new UnusableAnswer('the multicall answered another question')
      // A read that runs out of gas looks like a missing round, but also leaves no gas for the last call.
      if (roundIn(answers.at(-1)) === undefined)
        return failed('tooMuch', 'the feed has no newest round')
      return { ok: true, value: answers.slice(0, -1) }
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error
      return failed('unavailable', error.message)
    }
  }

  /** Undefined for a missing round: the feed may revert or answer zeros. */
  async function rounds(ids: readonly bigint[]): Promise<readonly (FeedRound | undefined)[]> {
    const found: (FeedRound | undefined)[] = []
    while (found.length < ids.length) {
      const wanted = ids.slice(found.length, found.length + size)
      const answers = await read(
        wanted.map((id) =>
          encodeFunctionData({ abi: ABI, functionName: 'getRoundData', args: [id] }),
        ),
      )
      for (const [index, id] of wanted.entries()) {
        const round = roundIn(answers[index])
        found.push(round && { ...round, id })
      }
    }
    return found
  }

  return {
    rounds,
    /** Rounds that the nodes are known to accept in one call. */
    get size(): number {
      return size
    },
    /** Rejects for a feed without past rounds, and for one that answers every round with its newest. */
    async feedState(): Promise<FeedState> {
      const [decimals, latestData] = await read([DECIMALS, LATEST])
      const latest = roundIn(latestData)
      const places = decimals === undefined ? undefined : wordAt(decimals, 0)
      if (latest === undefined || places === undefined || places > DECIMALS_MAX)
        throw new RoundsUnread(`${feed} does not answer like a price feed`)
      const [known, impossible] = await rounds([latest.id, latest.id + FAR])
      const lacks = `the feed ${feed} has no past rounds: it`
      if (known === undefined)
        throw new RoundsUnread(`${lacks} has no getRoundData, or does not know its own rounds`)
      if (impossible !== undefined)
        throw new RoundsUnread(`${lacks} answers every round with its newest price`)
      return { decimals: Number(places), latest }
    },
  }
}

type Answers = Reply<readonly (Hex | undefined)[], LargeCallFault>

function failed(tag: LargeCallFault['tag'], message: string): Answers {
  return { ok: false, fault: { tag, message } }
}

function roundIn(data: Hex | undefined): FeedRound | undefined {
  const round = decodeRound(data)
  if (round?.id === undefined || round.updatedAtSeconds === 0) return undefined
  return { ...round, id: round.id }
}
