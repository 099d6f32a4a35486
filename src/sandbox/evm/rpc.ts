import { Pool } from 'undici'
import type { Hex } from 'viem'

export type Rpc = ReturnType<typeof createRpc>

export class RpcError extends Error {
  override readonly name = 'RpcError'
}

type RpcAnswer = {
  result?: unknown
  error?: { code: number; message: string; data?: unknown }
}

/** JSON-RPC client for a local node over at most eight kept-alive connections, without retries, caching or waiting. */
export function createRpc(url: string) {
  const pool = new Pool(url, { connections: 8 })
  let nextId = 1
  /** The node's answer, also if it is an error. */
  const ask = async (method: string, params: unknown): Promise<RpcAnswer> => {
    const { body } = await pool.request({
      path: '/',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params }),
    })
    return (await body.json()) as RpcAnswer
  }
  return {
    ask,
    async call<T>(method: string, params: readonly unknown[] = []): Promise<T> {
      const answer = await ask(method, params)
      if (answer.error !== undefined) throw new RpcError(`${method}: ${answer.error.message}`)
      return answer.result as T
    },
    close: (): Promise<void> => pool.destroy(),
  }
}

type Block = Readonly<Record<'number' | 'hash' | 'gasLimit' | 'baseFeePerGas' | 'timestamp', Hex>>

/** `at`: a number in hex, or `latest`. */
export function blockAt(rpc: Rpc, at: string): Promise<Block> {
  return rpc.call('eth_getBlockByNumber', [at, false])
}
