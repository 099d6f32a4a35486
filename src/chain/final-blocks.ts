import { numberToHex } from 'viem/utils'
import { type Address, type Hex, minOf } from '../domain/money/units.ts'
import type { FinalityRule } from '../domain/settings.ts'
import type { RuntimeEvent } from '../journal/runtime-event.ts'
import type {
  AgreedReply,
  BlockSnapshot,
  ChainReply,
  Clock,
  FinalChain,
  NonceOutcome,
  SeenBlock,
} from '../ports.ts'
import { UnusableAnswer } from './node/batch.ts'
import { present, unavailable } from './node/chain-faults.ts'
import { hashesIn } from './node/node-answers.ts'
import { type Node, type Nodes, openNodes, type Reading, readValue } from './node/nodes.ts'
import { readReceipt } from './transaction-trace.ts'

const ROUTE = 'finality'

export type AssemblyOptions = {
  /** Rejects answers from a node on another chain, except `identity`, which reports the chain. */
  readonly chainId: number
  /** In order of preference. Reads fall back to the next node; broadcasts never do. */
  readonly rpcUrls: readonly string[]
  readonly rule: FinalityRule
  readonly observe: (event: RuntimeEvent) => void
  readonly clock: Pick<Clock, 'now'>
  /** Per HTTP request. Default 10,000. */
  readonly timeoutMs?: number
}

export type Assembly = Pick<AssemblyOptions, 'rule' | 'observe'> & { readonly nodes: Nodes }

export function openAssembly({ rpcUrls: urls, rule, ...options }: AssemblyOptions): Assembly {
  return { nodes: openNodes({ urls, ...options }), rule, observe: options.observe }
}

type Block = SeenBlock & { readonly hash: Hex }

export function createFinality(assembly: Assembly): FinalChain {
  return {
    blocks: (query) => readBlocks(assembly, query),
    finalCount: (query) => readFinalCount(assembly, query),
    nonceOutcome: (query) => readNonceOutcome(assembly, query),
  }
}

type Question<Value> = {
  readonly doing: string
  readonly keyOf: (value: Value) => string
  readonly ask: (node: Pick<Nodes, 'read'>) => Promise<ChainReply<Value>>
}

/**
 * Reads one node after another until `agree` of them give the same answer, compared by `keyOf`. Returns those answers,
 * `disagreed` if the answering nodes contradict each other, or the last fault if too few answer.
 */
export async function agreedOn<Value>(
  { nodes, rule, observe }: Assembly,
  { doing, keyOf, ask }: Question<Value>,
): Promise<AgreedReply<readonly Value[]>> {
  const votes = new Map<string, Value[]>()
  let fault: Extract<ChainReply<Value>, { ok: false }>['fault'] | undefined
  for (const node of nodes.apart()) {
    const reply = await ask(node)
    if (!reply.ok) {
      fault = reply.fault
      continue
    }
    const key = keyOf(reply.value)
    const same = [...(votes.get(key) ?? []), reply.value]
    votes.set(key, same)
    if (same.length < rule.agree) continue
    if (votes.size > 1) observe({ type: 'nodes-disagree', doing, message: said(votes) })
    return { ok: true, value: same }
  }
  if (votes.size > 1) return { ok: false, fault: { tag: 'disagreed', message: said(votes) } }
  const answered = [...votes.values()].flat().length
  const few = `${answered} of the ${rule.agree} nodes that have to agree answered`
  const message = fault === undefined ? few : `${few}; ${fault.message}`
  return unavailable(message)
}

/** Returns one of the agreeing answers: the first, unless `choose` prefers another. */
export async function agreedRead<Value>(
  assembly: Assembly,
  {
    reading,
    read,
    ...question
  }: Omit<Question<Value>, 'ask'> & {
    readonly reading: Reading
    read(node: Node): Promise<Value>
  },
  choose: (one: Value, other: Value) => Value = (one) => one,
): Promise<AgreedReply<Value>> {
  const ask = (nodes: Pick<Nodes, 'read'>) => readValue(nodes, reading, read)
  const reply = await agreedOn(assembly, { ...question, ask })
  return reply.ok ? { ok: true, value: reply.value.reduce(choose) } : reply
}

/** Prefers the older block, which claims less. */
export function earlier<View extends SeenBlock>(one: View, other: View): View {
  return other.blockTimeSeconds < one.blockTimeSeconds ? other : one
}

function said(votes: ReadonlyMap<string, readonly unknown[]>): string {
  return [...votes].map(([key, nodes]) => `${nodes.length} say ${key}`).join(', ')
}

/**
 * The newest and the final block. Rejects a node whose newest block lies in the future: a deadline that passed there has
 * passed on no other node.
 */
export async function finalBlock(
  node: Node,
  { finality }: FinalityRule,
  latestSeconds: number,
): Promise<{ readonly head: SeenBlock; readonly final: bigint }> {
  const [head, tagged] = await Promise.all([
    blockAt(node, 'latest'),
    typeof finality === 'number' ? undefined : blockAt(node, finality),
  ])
  if (head === undefined) throw new UnusableAnswer('has no newest block')
  if (head.blockTimeSeconds > latestSeconds)
    throw new UnusableAnswer(
      `is ahead of this machine: its newest block is of ${head.blockTimeSeconds}, later than ${latestSeconds}`,
      'ahead',
    )
  return { head, final: depthOf(finality, head, tagged) }
}

function depthOf(
  finality: FinalityRule['finality'],
  head: SeenBlock,
  tagged: SeenBlock | undefined,
): bigint {
  if (typeof finality === 'number') {
    const final = head.blockNumber - BigInt(finality)
    return final < 0n ? 0n : final
  }
  if (tagged === undefined) throw new UnusableAnswer(`knows no ${finality} block`)
  return minOf(tagged.blockNumber, head.blockNumber)
}

async function blockAt(node: Node, at: string): Promise<Block | undefined> {
  const block = await node.request('eth_getBlockByNumber', [at, false])
  if (block === null) return undefined
  return {
    hash: present(block.hash, 'block hash'),
    blockNumber: BigInt(present(block.number, 'block number')),
    blockTimeSeconds: Number(block.timestamp),
  }
}

type NodeSnapshot = {
  readonly head: SeenBlock
  readonly final: bigint
  readonly blocks: ReadonlyMap<bigint, Block>
}

async function readBlocks(
  { nodes, rule, observe }: Assembly,
  query: Parameters<FinalChain['blocks']>[0],
): ReturnType<FinalChain['blocks']> {
  const { numbers } = query
  const snapshots: NodeSnapshot[] = []
  let fault: Extract<ChainReply<never>, { ok: false }> | undefined
  for (const node of nodes.apart()) {
    const reading = { route: ROUTE, size: 2 + numbers.length }
    const reply = await readValue(node, reading, (each) => snapshotOf(each, rule, query))
    if (reply.ok) snapshots.push(reply.value)
    else fault = reply
    const isEnough = numbers.every((number) => agreedBlock(snapshots, number, rule) !== undefined)
    if (snapshots.length >= rule.agree && isEnough) break
  }
  const [first] = snapshots
  if (first === undefined || snapshots.length < rule.agree)
    return fault ?? unavailable(`fewer than the ${rule.agree} nodes that have to agree answered`)
  const { head } = first
  const blocks = new Map<bigint, BlockSnapshot>()
  for (const number of numbers) {
    const block = agreedBlock(snapshots, number, rule)
    if (block !== undefined)
      blocks.set(number, {
        hash: block.hash,
        timeSeconds: block.blockTimeSeconds,
        depth: Number(head.blockNumber - number),
      })
    const hashes = new Set(snapshots.flatMap((each) => each.blocks.get(number)?.hash ?? []))
    if (hashes.size > 1) {
      const message = `block ${number} is ${[...hashes].join(' and ')}`
      observe({ type: 'nodes-disagree', doing: 'reading blocks', message })
    }
  }
  // A block is final for the quorum once `agree` nodes report it as final.
  const finals = snapshots.map(({ final }) => final).toSorted((a, b) => (a < b ? 1 : -1))
  const final = finals[rule.agree - 1] ?? 0n
  const lag = Number(head.blockNumber - final)
  return { ok: true, value: { final, head, lag, blocks } }
}

async function snapshotOf(
  node: Node,
  rule: FinalityRule,
  { numbers, latestSeconds }: Parameters<FinalChain['blocks']>[0],
): Promise<NodeSnapshot> {
  const [snapshot, ...found] = await Promise.all([
    finalBlock(node, rule, latestSeconds),
    ...numbers.map((number) => blockAt(node, numberToHex(number))),
  ])
  const known = found.flatMap((block) => block ?? [])
  return { ...snapshot, blocks: new Map(known.map((block) => [block.blockNumber, block])) }
}

function agreedBlock(
  snapshots: readonly NodeSnapshot[],
  number: bigint,
  { agree }: FinalityRule,
): Block | undefined {
  const said = snapshots.flatMap(({ blocks }) => blocks.get(number) ?? [])
  return said.find(({ hash }) => said.filter((other) => other.hash === hash).length >= agree)
}

function readFinalCount(
  assembly: Assembly,
  { account, latestSeconds }: Parameters<FinalChain['finalCount']>[0],
): ReturnType<FinalChain['finalCount']> {
  return agreedRead(
    assembly,
    {
      doing: 'counting the transactions of a wallet',
      keyOf: ({ transactionCount }) => `${transactionCount}`,
      reading: { route: ROUTE, size: 2 },
      async read(node) {
        const { head, final } = await finalBlock(node, assembly.rule, latestSeconds)
        const [block, transactionCount] = await Promise.all([
          blockAt(node, numberToHex(final)),
          countAt(node, account, final),
        ])
        const { blockNumber, blockTimeSeconds } = present(block, 'final block')
        const headSeconds = head.blockTimeSeconds
        return { blockNumber, blockTimeSeconds, transactionCount, headSeconds }
      },
    },
    earlier,
  )
}

function readNonceOutcome(
  assembly: Assembly,
  query: Parameters<FinalChain['nonceOutcome']>[0],
): ReturnType<FinalChain['nonceOutcome']> {
  return agreedRead<NonceOutcome | undefined>(assembly, {
    doing: 'finding out what used a nonce',
    keyOf: outcomeText,
    reading: { route: ROUTE, size: 2 },
    read: (node) => nonceOutcomeAt(node, assembly.rule, query),
  })
}

function outcomeText(outcome: NonceOutcome | undefined): string {
  if (outcome === undefined) return 'not used'
  if (outcome === 'lost') return 'lost'
  return `${outcome.success ? 'mined' : 'reverted'} ${outcome.hash} in ${outcome.blockNumber}`
}

async function nonceOutcomeAt(
  node: Node,
  rule: FinalityRule,
  { from, nonce, hashes, latestSeconds }: Parameters<FinalChain['nonceOutcome']>[0],
): Promise<NonceOutcome | undefined> {
  const { final } = await finalBlock(node, rule, latestSeconds)
  const isUsedAt = async (block: bigint): Promise<boolean> =>
    block >= 0n && (await countAt(node, from, block)) > nonce
  if (!(await isUsedAt(final))) return undefined
  const usedIn = await firstBlock(final, isUsedAt)
  const block = await node.request('eth_getBlockByNumber', [numberToHex(usedIn), false])
  const mined = block === null ? undefined : hashesIn(block)
  if (mined === undefined) throw new UnusableAnswer(`answered no usable block ${usedIn}`)
  const hash = hashes.find((each) => mined.includes(each))
  if (hash === undefined) return 'lost'
  const receipt = await readReceipt(node, hash)
  if (receipt?.blockNumber !== usedIn)
    throw new UnusableAnswer(`has no receipt of what block ${usedIn} holds`)
  return receipt
}

/** The first block from which a condition holds. Searches near `last` first, because nodes may have pruned old state. */
async function firstBlock(
  last: bigint,
  holdsAt: (block: bigint) => Promise<boolean>,
): Promise<bigint> {
  let high = last
  let step = 1n
  while (high >= step && (await holdsAt(high - step))) {
    high -= step
    step *= 2n
  }
  let low = high >= step ? high - step : -1n
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (await holdsAt(middle)) high = middle
    else low = middle
  }
  return high
}

async function countAt(node: Node, address: Address, block: bigint): Promise<number> {
  return Number(await node.request('eth_getTransactionCount', [address, numberToHex(block)]))
}
