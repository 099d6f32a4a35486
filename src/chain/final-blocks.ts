import { numberToHex } from 'viem/utils'
import type { Observation } from '../../domain/observation.ts'
import type { FinalityRule } from '../../domain/settings.ts'
import { type Address, type Hex, minOf } from '../../domain/units.ts'
import type {
  AgreedReply,
  BlockSight,
  ChainReply,
  FinalChain,
  FinalCount,
  NonceFate,
  Sight,
} from '../../ports.ts'
import { hashesIn } from './answers.ts'
import { UnusableAnswer } from './batch.ts'
import { present } from './faults.ts'
import type { Node, Nodes } from './nodes.ts'
import { readReceipt } from './trace.ts'

const ROUTE = 'finality'

/** What asks several nodes of one chain. */
export type Assembly = {
  readonly nodes: Nodes
  readonly rule: FinalityRule
  readonly observe: (event: Observation) => void
}

/** A block as a node has it. */
type Block = Sight & { readonly hash: Hex }

/** `FinalChain` over a chain's nodes. */
export function createFinality(assembly: Assembly): FinalChain {
  return {
    blocks: (query) => readBlocks(assembly, query),
    finalCount: (query) => readFinalCount(assembly, query),
    nonceFate: (query) => readNonceFate(assembly, query),
  }
}

/**
 * One node after another until `agree` of them say the same, told apart by `keyOf`. Gives their answers; `disagreed` when
 * the nodes that answered say different things, and the last fault when too few answer.
 */
export async function agreedOn<Value>(
  { nodes, rule, observe }: Assembly,
  question: {
    readonly doing: string
    readonly keyOf: (value: Value) => string
    readonly ask: (node: Pick<Nodes, 'read'>) => Promise<ChainReply<Value>>
  },
): Promise<AgreedReply<readonly Value[]>> {
  const { doing, keyOf, ask } = question
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
  return { ok: false, fault: { tag: 'unavailable', message } }
}

/** The view of an agreement that claims the least: that of the oldest block. */
export function earliest<View extends Sight>(views: readonly View[]): View {
  return views.reduce((least, view) =>
    view.blockTimeSeconds < least.blockTimeSeconds ? view : least,
  )
}

function said(votes: ReadonlyMap<string, readonly unknown[]>): string {
  return [...votes].map(([key, nodes]) => `${nodes.length} say ${key}`).join(', ')
}

/**
 * The newest final block of one node. A node whose newest block is from the future is not believed: a deadline that has
 * passed there has passed nowhere else.
 */
export async function finalBlock(
  node: Node,
  { finality }: FinalityRule,
  latestSeconds: number,
): Promise<{ readonly head: Sight; readonly final: bigint }> {
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
  head: Sight,
  tagged: Sight | undefined,
): bigint {
  if (typeof finality === 'number') {
    const final = head.blockNumber - BigInt(finality)
    return final < 0n ? 0n : final
  }
  if (tagged === undefined) throw new UnusableAnswer(`knows no ${finality} block`)
  return minOf(tagged.blockNumber, head.blockNumber)
}

/** Undefined where the node has no such block. */
async function blockAt(node: Node, at: string): Promise<Block | undefined> {
  const block = await node.request('eth_getBlockByNumber', [at, false])
  if (block === null) return undefined
  return {
    hash: present(block.hash, 'block hash'),
    blockNumber: BigInt(present(block.number, 'block number')),
    blockTimeSeconds: Number(block.timestamp),
  }
}

type Sighted = {
  readonly head: Sight
  readonly final: bigint
  readonly blocks: ReadonlyMap<bigint, Block>
}

async function readBlocks(
  { nodes, rule, observe }: Assembly,
  { numbers, latestSeconds }: Parameters<FinalChain['blocks']>[0],
): ReturnType<FinalChain['blocks']> {
  const sighted: Sighted[] = []
  let fault: Extract<ChainReply<never>, { ok: false }> | undefined
  for (const node of nodes.apart()) {
    const reply = await node.read({ route: ROUTE, size: 2 + numbers.length }, async (each) => ({
      ok: true,
      value: await sightedBy(each, rule, { numbers, latestSeconds }),
    }))
    if (reply.ok) sighted.push(reply.value)
    else fault = reply
    const isEnough = numbers.every((number) => agreedBlock(sighted, number, rule) !== undefined)
    if (sighted.length >= rule.agree && isEnough) break
  }
  const [first] = sighted
  if (first === undefined || sighted.length < rule.agree) return fault ?? tooFew(rule)
  const { head } = first
  const blocks = new Map<bigint, BlockSight>()
  for (const number of numbers) {
    const block = agreedBlock(sighted, number, rule)
    if (block !== undefined)
      blocks.set(number, {
        hash: block.hash,
        timeSeconds: block.blockTimeSeconds,
        depth: Number(head.blockNumber - number),
      })
    const hashes = new Set(sighted.flatMap((each) => each.blocks.get(number)?.hash ?? []))
    if (hashes.size > 1) {
      const message = `block ${number} is ${[...hashes].join(' and ')}`
      observe({ type: 'nodes-disagree', doing: 'reading blocks', message })
    }
  }
  // What is final for one is not final for `agree` of them before the last of these says so.
  const finals = sighted.map(({ final }) => final).toSorted((a, b) => (a < b ? 1 : -1))
  const final = finals[rule.agree - 1] ?? 0n
  const lag = Number(head.blockNumber - final)
  return { ok: true, value: { final, head, lag, blocks } }
}

function tooFew({ agree }: FinalityRule): Extract<ChainReply<never>, { ok: false }> {
  const message = `fewer than the ${agree} nodes that have to agree answered`
  return { ok: false, fault: { tag: 'unavailable', message } }
}

async function sightedBy(
  node: Node,
  rule: FinalityRule,
  { numbers, latestSeconds }: Parameters<FinalChain['blocks']>[0],
): Promise<Sighted> {
  const [sight, ...found] = await Promise.all([
    finalBlock(node, rule, latestSeconds),
    ...numbers.map((number) => blockAt(node, numberToHex(number))),
  ])
  const known = found.flatMap((block) => block ?? [])
  return { ...sight, blocks: new Map(known.map((block) => [block.blockNumber, block])) }
}

function agreedBlock(
  sighted: readonly Sighted[],
  number: bigint,
  { agree }: FinalityRule,
): Block | undefined {
  const said = sighted.flatMap(({ blocks }) => blocks.get(number) ?? [])
  return said.find(({ hash }) => said.filter((other) => other.hash === hash).length >= agree)
}

async function readFinalCount(
  assembly: Assembly,
  { account, latestSeconds }: Parameters<FinalChain['finalCount']>[0],
): ReturnType<FinalChain['finalCount']> {
  const { rule } = assembly
  const reply = await agreedOn<FinalCount>(assembly, {
    doing: 'counting the transactions of a wallet',
    keyOf: ({ transactionCount }) => `${transactionCount}`,
    ask: (nodes) =>
      nodes.read({ route: ROUTE, size: 2 }, async (node) => {
        const { head, final } = await finalBlock(node, rule, latestSeconds)
        const headSeconds = head.blockTimeSeconds
        const [block, transactionCount] = await Promise.all([
          blockAt(node, numberToHex(final)),
          countAt(node, account, final),
        ])
        const { blockNumber, blockTimeSeconds } = present(block, 'final block')
        return { ok: true, value: { blockNumber, blockTimeSeconds, transactionCount, headSeconds } }
      }),
  })
  return reply.ok ? { ok: true, value: earliest(reply.value) } : reply
}

async function readNonceFate(
  assembly: Assembly,
  query: Parameters<FinalChain['nonceFate']>[0],
): ReturnType<FinalChain['nonceFate']> {
  const { rule } = assembly
  const reply = await agreedOn<NonceFate | undefined>(assembly, {
    doing: 'finding out what used a nonce',
    keyOf: fateWords,
    ask: (nodes) =>
      nodes.read({ route: ROUTE, size: 2 }, async (node) => ({
        ok: true,
        value: await nonceFateAt(node, rule, query),
      })),
  })
  return reply.ok ? { ok: true, value: reply.value[0] } : reply
}

function fateWords(fate: NonceFate | undefined): string {
  if (fate === undefined) return 'not used'
  if (fate === 'lost') return 'lost'
  return `${fate.success ? 'mined' : 'reverted'} ${fate.hash} in ${fate.blockNumber}`
}

async function nonceFateAt(
  node: Node,
  rule: FinalityRule,
  { from, nonce, hashes, latestSeconds }: Parameters<FinalChain['nonceFate']>[0],
): Promise<NonceFate | undefined> {
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

/** The first block from which on something holds that holds at `last`: near it first, for old state may be gone. */
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
