import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Clock } from '../../ports.ts'
import type { HttpAnswer, RpcEndpoint } from '../../system/endpoint.ts'
import {
  BatchRefused,
  encodeBatch,
  parseBatch,
  RpcRefusal,
  type RpcRequest,
  UnusableAnswer,
} from './batch.ts'
import { isQuantity } from './node-answers.ts'
import { BATCH_MAX, type Limit, type Trial } from './node-limits.ts'

export const USABLE = '200'
const CHAIN_ID: RpcRequest = { method: 'eth_chainId', params: [] }

export type Wire = ReturnType<typeof openWire>

type WireOptions = {
  readonly endpoint: RpcEndpoint
  readonly route: string
  /** Verified in each batch: a node on another chain would report every nonce as unused. Undefined accepts any chain. */
  readonly chainId: number | undefined
  /** Requests per batch that the node accepts, on every route. */
  readonly limit: Limit
  readonly observe: (event: RuntimeEvent) => void
  readonly clock: Pick<Clock, 'now'>
  readonly takeIds: (count: number) => number
}

type Waiting = {
  readonly request: RpcRequest
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

type Batch = {
  readonly waiting: Waiting[]
  readers: number
  status: string
  durationMs: number | undefined
}

/**
 * One route to one node. Requests made in the same turn of the event loop are sent as one JSON-RPC batch, or as several
 * smaller ones if the node limits the size.
 */
export function openWire(options: WireOptions) {
  const { endpoint, route, chainId, limit, observe, clock, takeIds } = options
  let open: Batch | undefined

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
    // A reading may fail before its first request.
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
    if (batch.readers === 0) report(batch)
  }

  /**
   * Results and refusals in request order. Each batch begins with eth_chainId; a batch sent in parts repeats it at the end,
   * so every part in between is from the same chain. The proof does not outlive the read.
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

  /** Sends one batch, or several smaller ones in sequence, so that answers keep the order of the requests. */
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

  /** One HTTP exchange. Returns the refusal if a smaller batch may succeed; rejects with any other UnusableAnswer. */
  async function post(
    batch: Batch,
    part: readonly RpcRequest[],
  ): Promise<readonly unknown[] | BatchRefused> {
    // Readers report the outcome of the batch's last exchange only.
    report(batch)
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

  function report({ status, durationMs }: Batch): void {
    if (durationMs !== undefined)
      observe({ type: 'request', service: 'rpc', route, status, durationMs })
  }

  return {
    /**
     * Adds a request to the current batch. Rejects with RpcRefusal for an error in place of the result, and with
     * UnusableAnswer if the answer is unusable. Resends only requests that the node refused as a batch, in smaller batches.
     * A request sent alone, such as a broadcast, is sent once.
     */
    request: (request: RpcRequest) =>
      new Promise<unknown>((resolve, reject) => {
        batchFor(1).waiting.push({ request, resolve, reject })
      }),
    /** Reserves room for `size` requests of one batch. Call the returned function with the outcome, for the metrics. */
    enter(size: number) {
      const batch = batchFor(size)
      batch.readers += 1
      return (status: string): void => {
        batch.readers -= 1
        if (batch.status === USABLE) batch.status = status
        if (batch.readers === 0) report(batch)
      }
    },
  }
}

function isTooLong(error: unknown): error is BatchRefused {
  return error instanceof BatchRefused && (error.kind === 'batch' || error.kind === 'other')
}

function unanswered({ message, status }: Extract<HttpAnswer, { ok: false }>): UnusableAnswer {
  // Only a body that was too long is reported as malformed before parsing.
  return new UnusableAnswer(message, status, status === 'malformed' ? 'results' : 'other')
}

/** Throws UnusableAnswer if eth_chainId is not the expected chain. */
function proveChain(found: unknown, expected: number): void {
  if (isQuantity(found) && Number(found) === expected) return
  if (found instanceof RpcRefusal)
    throw new UnusableAnswer(`error ${found.code}: ${found.message}`, undefined, found.kind)
  const isId = typeof found === 'string' && /^0x[0-9a-f]{1,16}$/i.test(found)
  throw new UnusableAnswer(
    isId ? `is on chain ${BigInt(found)}, not ${expected}` : 'answered no usable chain id',
  )
}
