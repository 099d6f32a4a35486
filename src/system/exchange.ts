import { type Dispatcher, errors, type Pool } from 'undici'

export type HttpHead = {
  readonly statusCode: number
  readonly headers: Dispatcher.ResponseData['headers']
}

export type ExchangeOptions = {
  readonly request: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>
  /** For the whole exchange: waiting for a connection, connecting, and the body to its last byte. */
  readonly timeoutMs: number
  /** A longer body is not read to its end. */
  readonly bytesMax: number
  /** Called when the headers are there, before the body is. Must not throw. */
  readonly onHead?: (answer: HttpHead) => void
}

const BYTE_ORDER_MARK = '\ufeff'

/**
 * One HTTP exchange, headers and body as text. Rejects with undici's errors: BodyTimeoutError at the deadline,
 * ResponseExceededMaxSizeError past `bytesMax`, a socket's error for a connection that broke. Built on `dispatch`:
 * undici's `request` makes a stream and an abort signal for each call, which cost as much as the exchange itself.
 */
export function exchangeText(
  pool: Pool,
  options: ExchangeOptions,
): Promise<HttpHead & { readonly text: string }> {
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
      // A request that still waits for a connection has no controller: it is dropped when its turn comes.
      reject(late)
    }, timeoutMs)
    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started
        if (late !== undefined) started.abort(late)
      },
      onResponseStart(_controller, statusCode, headers) {
        // An interim answer (1xx) is not the answer.
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
        if (answer === undefined) reject(new errors.SocketError('an answer without a head'))
        else {
          const { statusCode, headers } = answer
          resolve({ statusCode, headers, text: textOf(chunks) })
        }
      },
      onResponseError(_controller, error) {
        clearTimeout(timer)
        reject(error)
      },
    })
  })
}

/** Without the byte order mark that some servers begin with and no JSON parser takes. */
function textOf(chunks: readonly Buffer[]): string {
  const [only] = chunks
  const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
  const text = body.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}
