import type { Observation } from '../../domain/observation.ts'
import type { Clock } from '../../ports.ts'
import type { RpcEndpoint } from '../http/endpoint.ts'
import { isQuantity } from './answers.ts'
import { encodeBatch, parseBatch, RpcRefusal, type RpcRequest, UnusableAnswer } from './batch.ts'

/** Requests of one batch, at most: gateways refuse longer ones. */
const BATCH_MAX = 40
/** Status of an exchange all of whose answers could be used. */
export const USABLE = '200'
const CHAIN_ID: RpcRequest = { method: 'eth_chainId', params: [] }

/** One route to one node: what is asked in the same turn of the event loop goes out as one JSON-RPC batch. */
export type Wire = {
  /**
   * Joins the batch of this turn. Rejects with RpcRefusal for an error in the place of the result, with UnusableAnswer
   * when there is no answer to believe. Never asks twice.
   */
  request(request: RpcRequest): Promise<unknown>
  /**
   * Makes room for a reader whose `size` requests are to go out together. Call what it gives with how the reading
   * ended, for the metrics.
   */
  enter(size: number): (status: string) => void
}

export type WireOptions = {
  readonly endpoint: RpcEndpoint
  readonly route: string
  /**
   * Answers are believed from this chain only, so that each batch asks for it first: a node in the list may be on
   * another chain by mistake, where every nonce bit would read unused. Undefined where any chain will do.
   */
  readonly chainId: number | undefined
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
  /** Reserves so many ids; gives the first of them. */
  readonly takeIds: (count: number) => number
}

type Waiting = {
  readonly request: RpcRequest
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

type Batch = {
  readonly waiting: Waiting[]
  /** Readers that have not said yet how they fared. */
  readers: number
  status: string
  durationMs: number | undefined
}

export function openWire(options: WireOptions): Wire {
  const { endpoint, route, chainId, observe, clock, takeIds } = options
  let open: Batch | undefined

  /** The batch of this turn; a new one when it has no room left. */
  function batchFor(size: number): Batch {
    const room = BATCH_MAX - (chainId === undefined ? 0 : 1)
    if (open !== undefined && open.waiting.length + size <= room) return open
    const fresh: Batch = { waiting: [], readers: 0, status: USABLE, durationMs: undefined }
    open = fresh
    setImmediate(() => {
      if (open === fresh) open = undefined
      void exchange(fresh)
    })
    return fresh
  }

  async function exchange(batch: Batch): Promise<void> {
    const { waiting } = batch
    // A reading may have failed before it asked for anything.
    if (waiting.length === 0) return
    const startedMs = clock.now()
    try {
      const answers = await ask(waiting.map(({ request }) => request))
      batch.durationMs = clock.now() - startedMs
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const answer = answers[index]
        if (answer instanceof RpcRefusal) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      batch.durationMs = clock.now() - startedMs
      if (error instanceof UnusableAnswer) batch.status = error.status
      for (const { reject } of waiting) reject(error as Error)
    }
    tellWhenDone(batch)
  }

  /** Results and refusals in the order of the requests. */
  async function ask(requests: readonly RpcRequest[]): Promise<readonly unknown[]> {
    const all = chainId === undefined ? requests : [CHAIN_ID, ...requests]
    const firstId = takeIds(all.length)
    const answer = await endpoint.post(encodeBatch(all, firstId))
    if (!answer.ok) throw new UnusableAnswer(answer.message, answer.status)
    const { statusCode, text } = answer
    if (statusCode !== 200)
      throw new UnusableAnswer(`answered HTTP ${statusCode}`, String(statusCode))
    const answers = parseBatch(text, { firstId, count: all.length }, endpoint.scrub)
    if (chainId === undefined) return answers
    const [found, ...rest] = answers
    if (!isQuantity(found) || Number(found) !== chainId) throw wrongChain(found, chainId)
    return rest
  }

  function tellWhenDone({ readers, status, durationMs }: Batch): void {
    if (readers > 0 || durationMs === undefined) return
    observe({ type: 'request', service: 'rpc', route, status, durationMs })
  }

  return {
    request: (request) =>
      new Promise((resolve, reject) => {
        batchFor(1).waiting.push({ request, resolve, reject })
      }),
    enter(size) {
      const batch = batchFor(size)
      batch.readers += 1
      return (status) => {
        batch.readers -= 1
        if (batch.status === USABLE) batch.status = status
        tellWhenDone(batch)
      }
    },
  }
}

function wrongChain(found: unknown, expected: number): UnusableAnswer {
  if (found instanceof RpcRefusal)
    return new UnusableAnswer(`error ${found.code}: ${found.message}`)
  const isQuantity = typeof found === 'string' && /^0x[0-9a-f]{1,16}$/i.test(found)
  return new UnusableAnswer(
    isQuantity ? `is on chain ${BigInt(found)}, not ${expected}` : 'answered no usable chain id',
  )
}
