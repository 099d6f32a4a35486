import { type Dispatcher, errors, type Pool } from 'undici'

export type HttpHead = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

export type TextAnswer = HttpHead & { readonly text: string }

export type ExchangeOptions = {
  readonly request: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>
  /** Covers the whole exchange: waiting for a connection, connecting, and the body to its last byte. */
  readonly timeoutMs: number
  /** Longer bodies are aborted. */
  readonly bytesMax: number
  /** Called with the headers, before the body. Must not throw. */
  readonly onHead?: (answer: HttpHead) => void
}

const BYTE_ORDER_MARK = '\ufeff'

/**
 * One HTTP exchange, headers and body as text. Rejects with undici's errors: BodyTimeoutError at the deadline,
 * ResponseExceededMaxSizeError past `bytesMax`, a socket error for a broken connection. Built on `dispatch`, because
 * `request` creates a stream and an abort signal per call, which cost as much as the exchange.
 */
export function exchangeText(pool: Pool, options: ExchangeOptions): Promise<TextAnswer> {
  const { request, timeoutMs, bytesMax, onHead } = options
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let answer: HttpHead | undefined
    let late: Error | undefined
    let bytes = 0
    const chunks: Buffer[] = []
    const timer = setTimeout(() => {
      late = new errors.BodyTimeoutError()
      controller?.abort(late)
      // A request that waits for a connection has no controller yet, and is dropped at its turn.
      reject(late)
    }, timeoutMs)
    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started
        if (late !== undefined) started.abort(late)
      },
      onResponseStart(_controller, statusCode, headers) {
        // Skips interim answers (1xx).
        if (statusCode < 200) return
        answer = { statusCode, headers }
        onHead?.(answer)
      },
      onResponseData(active, chunk) {
        bytes += chunk.length
        if (bytes > bytesMax) active.abort(new errors.ResponseExceededMaxSizeError())
        else chunks.push(chunk)
      },
      onResponseEnd() {
        clearTimeout(timer)
        if (answer === undefined) return reject(new errors.SocketError('an answer without a head'))
        const { statusCode, headers } = answer
        resolve({ statusCode, headers, text: textOf(chunks) })
      },
      onResponseError(_controller, error) {
        clearTimeout(timer)
        reject(error)
      },
    })
  })
}

/** Removes the byte order mark that some servers send and JSON parsers reject. */
function textOf(chunks: readonly Buffer[]): string {
  const [only] = chunks
  const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
  const text = body.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}
