import type { Observation } from '../../domain/observation.ts'
import type { Clock } from '../../ports.ts'
import type { HttpAnswer, RpcEndpoint } from '../http/endpoint.ts'
import { isQuantity } from './answers.ts'
import {
  BatchRefused,
  encodeBatch,
  parseBatch,
  RpcRefusal,
  type RpcRequest,
  UnusableAnswer,
} from './batch.ts'
import { BATCH_MAX, type Limit, type Trial } from './limits.ts'

/** Status of an exchange all of whose answers could be used. */
export const USABLE = '200'
const CHAIN_ID: RpcRequest = { method: 'eth_chainId', params: [] }

/**
 * One route to one node: what is asked in the same turn of the event loop goes out as one JSON-RPC batch, or in several
 * smaller ones where the node takes no longer.
 */
export type Wire = {
  /**
   * Joins the batch of this turn. Rejects with RpcRefusal for an error in the place of the result, with UnusableAnswer
   * when there is no answer to believe. Asks again only for what the node refused as a batch, in smaller ones; so a request
   * that goes alone, as a broadcast does, is sent once.
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
  /** Requests that the node takes in one batch, whatever their route. */
  readonly limit: Limit
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
  const { endpoint, route, chainId, limit, observe, clock, takeIds } = options
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
    try {
      const answers = await ask(batch)
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const answer = answers[index]
        if (answer instanceof RpcRefusal) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error as Error)
    }
    tellWhenDone(batch)
  }

  /**
   * Results and refusals in the order of the requests. Each batch asks for the chain first. One that goes out in parts asks again
   * at its end: what came in between is from that chain as well, for a URL that leads elsewhere does so for longer than a
   * read. No memory of the chain outlives the read.
   */
  async function ask(batch: Batch): Promise<readonly unknown[]> {
    const requests = batch.waiting.map(({ request }) => request)
    if (chainId === undefined) return inParts(batch, requests)
    const all = [CHAIN_ID, ...requests]
    const answers = await inParts(batch, all, (part) => {
      proveChain(part[0], chainId)
      if (part.length < all.length) all.push(CHAIN_ID)
    })
    if (answers.length > requests.length + 1) proveChain(answers.at(-1), chainId)
    return answers.slice(1)
  }

  /**
   * As one batch, or as several where the node takes no longer ones: one after the other, so that what was asked first is not
   * answered later than what was asked after it.
   */
  async function inParts(
    batch: Batch,
    requests: readonly RpcRequest[],
    onFirst?: (answers: readonly unknown[]) => void,
  ): Promise<readonly unknown[]> {
    const answers: unknown[] = []
    let size = limit.size()
    let trial: Trial | undefined
    while (answers.length < requests.length) {
      const part = requests.slice(answers.length, answers.length + size)
      const answered = await post(batch, part)
      if (answered instanceof BatchRefused) {
        trial = limit.smaller(part.length, answered)
        size = trial.size
        observe({ type: 'retry', service: 'rpc', route, cause: answered.status })
        continue
      }
      if (answers.length === 0) onFirst?.(answered)
      answers.push(...answered)
      size = trial?.next ?? size
    }
    limit.answered(Math.min(size, requests.length), trial)
    return answers
  }

  /** One HTTP exchange. Gives the refusal where shorter batches may pass, and rejects with any other UnusableAnswer. */
  async function post(
    batch: Batch,
    part: readonly RpcRequest[],
  ): Promise<readonly unknown[] | BatchRefused> {
    // The readers of a batch say how its last exchange ended; those before are over.
    tell(batch)
    batch.status = USABLE
    const startedMs = clock.now()
    try {
      const firstId = takeIds(part.length)
      const answer = await endpoint.post(encodeBatch(part, firstId))
      if (!answer.ok) throw unanswered(answer)
      if (answer.statusCode !== 200) batch.status = `${answer.statusCode}`
      return parseBatch(answer, { firstId, requests: part }, endpoint.scrub)
    } catch (error) {
      if (error instanceof UnusableAnswer) batch.status = error.status
      if (part.length > 1 && isTooLong(error)) return error
      throw error
    } finally {
      batch.durationMs = clock.now() - startedMs
    }
  }

  function tell({ status, durationMs }: Batch): void {
    if (durationMs !== undefined)
      observe({ type: 'request', service: 'rpc', route, status, durationMs })
  }

  function tellWhenDone(batch: Batch): void {
    if (batch.readers === 0) tell(batch)
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

function isTooLong(error: unknown): error is BatchRefused {
  return error instanceof BatchRefused && (error.kind === 'batch' || error.kind === 'other')
}

function unanswered({ message, status }: Extract<HttpAnswer, { ok: false }>): UnusableAnswer {
  // The one body that is malformed before it is read is one that is too long.
  return new UnusableAnswer(message, status, status === 'malformed' ? 'results' : 'other')
}

/** Throws UnusableAnswer for an answer to eth_chainId that is not the chain expected. */
function proveChain(found: unknown, expected: number): void {
  if (isQuantity(found) && Number(found) === expected) return
  if (found instanceof RpcRefusal)
    throw new UnusableAnswer(`error ${found.code}: ${found.message}`, undefined, found.kind)
  const isId = typeof found === 'string' && /^0x[0-9a-f]{1,16}$/i.test(found)
  throw new UnusableAnswer(
    isId ? `is on chain ${BigInt(found)}, not ${expected}` : 'answered no usable chain id',
  )
}
