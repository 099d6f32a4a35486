import { text } from 'node:stream/consumers'
import {
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  parseTransaction,
} from 'viem'
import { MULTICALL3 } from '../../../src/chain/snapshot-reads.ts'
import { serve } from './serve.ts'

/** Answers of a node that has lost its logs and receipts. */
const LOST: Readonly<Record<string, unknown>> = {
  eth_getLogs: [],
  eth_getTransactionReceipt: null,
}

export type HidingNode = {
  readonly url: string
  /** Whether it has lost its logs and receipts. */
  isHiding: boolean
  /** Whether its chain has another genesis block. */
  isStrange: boolean
  /** Tokens whose balance fails as one read of a batch, while all others succeed. */
  unread: readonly string[]
  /** Whether it rejects every transaction at the first offered fee. */
  isDear: boolean
  /** Transactions that it refused. */
  refused: number
  /** Logs and receipts that it has hidden. */
  hidden: number
  /** Requests that it has answered. */
  answered: number
  /** Fixed results by method, in place of the other node's. */
  overrides: Readonly<Record<string, unknown>>
  /** Seconds added to every block time that it reports. */
  aheadSeconds: number
}

type Call = {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}
type Reply = { readonly jsonrpc?: string; readonly id: number; result?: unknown; error?: object }

/** Block 0 of another chain with the same id. */
const OTHER_GENESIS = `0x${'9e'.repeat(32)}`

/** Unix seconds of about now, in a block's field and in a 32-byte result of a call. */
const TIME = /(?<="timestamp":"0x)[0-9a-f]{8}(?=")|(?<=0{56})[1-9a-f][0-9a-f]{7}/g
const NOW_SECONDS = 600

/** A proxy of a node that changes the configured answers and forwards all others. It ends with the test. */
export async function startHidingNode(target: string): Promise<HidingNode> {
  const node = {
    ...{ url: '', isHiding: false, isStrange: false, aheadSeconds: 0 },
    ...{ unread: [], isDear: false, refused: 0, hidden: 0, answered: 0, overrides: {} },
  }
  const change = changesOf(node)
  const isTaken = feesTakenBy(node)
  const answer = async (request: string): Promise<string> => {
    const parsed: unknown = JSON.parse(request)
    const calls = listOf<Call>(parsed)
    const passed = calls.filter(isTaken)
    const replies = await forward(target, Array.isArray(parsed) ? passed : passed[0])
    for (const each of replies) {
      const call = calls.find(({ id }) => id === each.id)
      if (call !== undefined) change(call, each)
    }
    const error = { code: -32_000, message: 'transaction underpriced' }
    for (const { id } of calls)
      if (!passed.some((each) => each.id === id)) replies.push({ jsonrpc: '2.0', id, error })
    const body = JSON.stringify(Array.isArray(parsed) ? replies : replies[0])
    return later(body, node.aheadSeconds)
  }
  node.url = await serve(async (request, response) => {
    const body = await answer(await text(request))
    node.answered += 1
    response.setHeader('content-type', 'application/json').end(body)
  })
  return node
}

function later(text: string, seconds: number): string {
  if (seconds === 0) return text
  const now = Date.now() / 1000
  return text.replace(TIME, (hex) => {
    const time = Number.parseInt(hex, 16)
    return Math.abs(time - now) < NOW_SECONDS ? (time + seconds).toString(16) : hex
  })
}

async function forward(target: string, body: unknown): Promise<Reply[]> {
  if (body === undefined || (Array.isArray(body) && body.length === 0)) return []
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) })
  return listOf<Reply>(await reply.json())
}

function changesOf(node: HidingNode): (call: Call, reply: Reply) => void {
  return ({ method, params }, reply) => {
    if (node.isHiding && Object.hasOwn(LOST, method)) {
      reply.result = LOST[method]
      node.hidden += 1
    }
    if (Object.hasOwn(node.overrides, method)) {
      reply.result = node.overrides[method]
      delete reply.error
    }
    if (node.isStrange && method === 'eth_getBlockByNumber' && params?.[0] === '0x0')
      Object.assign(reply.result ?? {}, { hash: OTHER_GENESIS })
    const [call] = (params ?? []) as readonly Readonly<Record<'to' | 'data', Hex>>[]
    const isBatch = method === 'eth_call' && call?.to?.toLowerCase() === MULTICALL3
    if (isBatch && node.unread.length > 0 && typeof reply.result === 'string')
      reply.result = withoutBalances(call.data, reply.result as Hex, node.unread)
  }
}

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) returns (Result[])',
])
const BALANCE_OF = '0x70a08231'

function withoutBalances(callData: Hex, answered: Hex, tokens: readonly string[]): Hex {
  const [reads] = decodeFunctionData({ abi: ABI, data: callData }).args
  const results = decodeFunctionResult({ abi: ABI, data: answered })
  const result = results.map((each, index) => {
    const { target = '', callData = '' } = reads[index] ?? {}
    const isLost = callData.startsWith(BALANCE_OF) && tokens.includes(target.toLowerCase())
    return isLost ? { success: false, returnData: '0x' as const } : each
  })
  return encodeFunctionResult({ abi: ABI, functionName: 'aggregate3', result })
}

function feesTakenBy(node: HidingNode): (call: Call) => boolean {
  let firstFee: bigint | undefined
  return ({ method, params }) => {
    if (!node.isDear || method !== 'eth_sendRawTransaction') return true
    const { maxFeePerGas = 0n } = parseTransaction(params?.[0] as Hex)
    firstFee ??= maxFeePerGas
    if (maxFeePerGas > firstFee) return true
    node.refused += 1
    return false
  }
}

function listOf<Item>(body: unknown): Item[] {
  return (Array.isArray(body) ? body : [body]) as Item[]
}
