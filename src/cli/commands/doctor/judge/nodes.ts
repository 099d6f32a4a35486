import type { MetNode, NodeHistory, NodeSight } from '../../../../adapters/chain/inspection.ts'
import { trustedTime } from '../../../../domain/policy.ts'
import type { ChainSettings } from '../../../../domain/settings.ts'
import { type Check, fault, fine, warning } from '../check.ts'

/** A chain of the config, and what each of its nodes said. */
export type ChainFacts = {
  readonly chain: Pick<ChainSettings, 'name' | 'chainId' | 'agree'>
  readonly nodes: readonly NodeSight[]
  readonly nowMs: number
}

/** Slower than this, reads hold up what has deadlines. */
const LATENCY_MS_MAX = 1_000

/** Whether a node can be asked about its chain at all. */
export function isUsable({ met }: NodeSight, { chainId }: ChainFacts['chain']): boolean {
  return met.ok && met.value.chainId === chainId
}

/** Every node of a chain by itself, and what they say of each other. */
export function judgeChain(facts: ChainFacts): readonly Check[] {
  return [...facts.nodes.flatMap((node) => judgeNode(node, facts)), ...judgeAgreement(facts)]
}

function judgeNode(node: NodeSight, facts: ChainFacts): readonly Check[] {
  const { chain, nodes } = facts
  const { met } = node
  const name = `${chain.name}, ${node.label}`
  if (!met.ok) {
    const left = nodes.filter((each) => isUsable(each, chain)).length
    const says = `${chain.name}, ${met.fault.message}`
    const remedy = `look whether it runs, or name another in \`chains.${chain.name}.rpcUrls\``
    return [left < chain.agree ? fault('node', says, remedy) : warning('node', says, remedy)]
  }
  const { chainId, headNumber, latencyMs } = met.value
  if (chainId !== chain.chainId)
    return [
      fault(
        'node-chain',
        `${name} serves chain ${chainId}, the config says ${chain.chainId}`,
        `correct \`chains.${chain.name}.chainId\`, or its \`rpcUrls\``,
      ),
    ]
  return [
    fine('node', `${name}: chain ${chainId}, block ${headNumber}, ${latencyMs} ms`),
    ...judgeClock(name, met.value, facts),
    ...judgeLatency(name, met.value),
    ...judgeBatches(name, node.limits, chain),
    ...(node.history === undefined ? [] : judgeHistory(name, node.history, chain)),
    ...judgeLogs(name, node, facts),
  ]
}

function judgeClock(
  name: string,
  { headSeconds: blockTimeSeconds }: MetNode,
  { nowMs, chain }: ChainFacts,
): readonly Check[] {
  const time = trustedTime({ localMs: nowMs, serviceOffsetMs: undefined, blockTimeSeconds })
  if (time.ok) return []
  const remedy =
    time.reason === 'chain-stale'
      ? `it is behind, or this machine's clock is wrong: compare with another clock; else name another in \`chains.${chain.name}.rpcUrls\``
      : 'one of the clocks is wrong: compare this machine with another (`timedatectl`)'
  return [fault('node-clock', `${name}: ${time.detail}`, remedy)]
}

function judgeLatency(name: string, { latencyMs }: MetNode): readonly Check[] {
  if (latencyMs <= LATENCY_MS_MAX) return []
  const says = `${name} takes ${latencyMs} ms for a small request`
  return [warning('node-latency', says, 'a nearer or less busy node; put it first in `rpcUrls`')]
}

function judgeBatches(
  name: string,
  { batch }: NodeSight['limits'],
  { name: chain }: ChainFacts['chain'],
): readonly Check[] {
  if (batch === undefined) return []
  const { size, refused } = batch
  return [
    warning(
      'node-batch',
      `${name} refuses a batch of ${refused.size} requests, and takes ${size} at once: ${refused.message}`,
      `nothing fails by it, but every read takes longer: name a node or plan with larger batches in \`chains.${chain}.rpcUrls\``,
    ),
  ]
}

const LOG_BLOCKS_FEW = 100
/** An hour of Base. */
const HOUR_BLOCKS = 1_800

function judgeLogs(name: string, node: NodeSight, facts: ChainFacts): readonly Check[] {
  const { chain, nodes } = facts
  const another = `name a node or plan in \`chains.${chain.name}.rpcUrls\` that`
  const newLogs = logsOf(node)
  if (newLogs === undefined) return []
  if (newLogs !== true) {
    const left = nodes.filter((each) => logsOf(each) === true).length
    const says = `${name} does not answer eth_getLogs: ${withoutLabel(newLogs)}`
    const remedy = `no fill is searched there, and a restarted daemon opens no slot before it has compared its payments: ${another} does`
    return [
      left < chain.agree ? fault('node-logs', says, remedy) : warning('node-logs', says, remedy),
    ]
  }
  const { logBlocks } = node.limits
  if (logBlocks === undefined || logBlocks.size >= LOG_BLOCKS_FEW) return []
  const { size, refused } = logBlocks
  return [
    warning(
      'node-logs',
      `${name} answers eth_getLogs for ${size} blocks at once, and refuses ${refused.size}: ${refused.message}`,
      `a search of ${HOUR_BLOCKS} blocks takes ${Math.ceil(HOUR_BLOCKS / size)} requests: ${another} answers for more`,
    ),
  ]
}

/** Undefined where nothing was asked of its past. */
function logsOf({ history }: NodeSight): NodeHistory['newLogs'] | undefined {
  return history?.ok === true ? history.value.newLogs : undefined
}

function judgeHistory(
  name: string,
  history: NonNullable<NodeSight['history']>,
  { name: chain }: ChainFacts['chain'],
): readonly Check[] {
  const another = `name a node with more history in \`chains.${chain}.rpcUrls\``
  if (!history.ok)
    return [
      fault(
        'node-history',
        `${name} does not say what is final: ${withoutLabel(history.fault.message)}`,
        `correct \`chains.${chain}.finality\`, or ${another}`,
      ),
    ]
  const { finalState, newLogs, oldLogs, oldLogsFrom, finalNumber } = history.value
  if (finalState !== true)
    return [
      fault(
        'node-history',
        `${name} has no state at the newest final block ${finalNumber}: ${withoutLabel(finalState)}`,
        `no death or fill could be proven there: ${another}`,
      ),
    ]
  if (oldLogs !== true && newLogs === true)
    return [
      warning(
        'node-history',
        `${name} has no logs of block ${oldLogsFrom}: ${withoutLabel(oldLogs)}`,
        `what was in flight when a daemon stops for that long may not be found: ${another}`,
      ),
    ]
  return [fine('node-history', `${name}: ${depthText(history.value)}`)]
}

function depthText({ firstState, oldLogs, oldLogsFrom }: NodeHistory): string {
  const state = firstState === true ? 'state of all blocks (archive)' : 'recent state, enough'
  return oldLogs === true ? `${state}; logs from block ${oldLogsFrom}` : state
}

/** It stands before already. */
function withoutLabel(message: string): string {
  return message.replace(/^node \d+ of \d+: /, '')
}

function judgeAgreement({ chain, nodes }: ChainFacts): readonly Check[] {
  const { name, agree } = chain
  const seen = nodes.filter((node) => isUsable(node, chain))
  if (seen.length > 0 && seen.length < agree)
    return [
      fault(
        'nodes-agree',
        `${name}: ${seen.length} of ${nodes.length} nodes can be asked, and ${agree} have to agree`,
        `mend or add nodes in \`chains.${name}.rpcUrls\`; nothing is certain before`,
      ),
    ]
  const common = seen.flatMap((node) => (node.common === undefined ? [] : [node.common]))
  const [first] = common
  if (first === undefined || common.length < 2) return []
  if (common.some(({ hash }) => hash !== first.hash))
    return [
      fault(
        'nodes-agree',
        `${name}: the nodes have different blocks at height ${first.number}, which is final`,
        `one is on another chain or a fork: find out which by an explorer, and take it out of \`chains.${name}.rpcUrls\``,
      ),
    ]
  return [fine('nodes-agree', `${name}: ${common.length} nodes have one block ${first.number}`)]
}
