import { Pool } from 'undici'

/** JSON-RPC to a local node: no retries, no caching, no waiting. */
export type Rpc = {
  call<T>(method: string, params?: readonly unknown[]): Promise<T>
  close(): Promise<void>
}

/** The node answered with an error object. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number

  constructor(method: string, error: { code: number; message: string }) {
    super(`${method}: ${error.message}`)
    this.code = error.code
  }
}

type RpcAnswer = { result?: unknown; error?: { code: number; message: string } }

/** Client of one node; requests go over at most eight kept-alive connections. */
export function createRpc(url: string): Rpc {
  const pool = new Pool(url, { connections: 8 })
  let nextId = 1
  return {
    async call<T>(method: string, params: readonly unknown[] = []): Promise<T> {
      const { body } = await pool.request({
        path: '/',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params }),
      })
      const answer = (await body.json()) as RpcAnswer
      if (answer.error !== undefined) throw new RpcError(method, answer.error)
      return answer.result as T
    },
    close: () => pool.destroy(),
  }
}
