import type { Fees } from '../../../chain/fees.ts'
import type { MetNode, NodeHistory, NodeInspection } from '../../../chain/inspection.ts'
import { gweiText, TRANSACTION_GAS, withinGasLimits } from '../../../domain/money/gas.ts'
import { trustedTime } from '../../../domain/policy.ts'
import type { ChainSettings } from '../../../domain/settings.ts'
import type { Probes } from '../../compose/checkup.ts'
import {
  type Check,
  type Checks,
  fault,
  fine,
  inspectReply,
  isSilent,
  type Known,
  read,
  warning,
} from './check.ts'

type ChainInput = {
  readonly chain: Pick<ChainSettings, 'name' | 'chainId' | 'agree'>
  readonly nodes: readonly NodeInspection[]
  readonly nowMs: number
}

/** Each node gets up to three requests in sequence, each no longer than one reading. */
const NODES_MS_MAX = 15_000
/** Slower reads delay work that has deadlines. */
const LATENCY_MS_MAX = 1_000
const LOG_BLOCKS_FEW = 100
/** One hour on Base. */
const HOUR_BLOCKS = 1_800

/**
 * Checks every node of every chain in parallel. Returns the settings reduced to usable nodes, and the hash of the first
 * block of the gasless service's chain if a node reported it.
 */
export async function inspectChains({ settings }: Pick<Known, 'settings'>, probes: Probes) {
  const found = await Promise.all(
    [...settings.chains.values()].map(async (chain) => {
      const nodes = await read('node', () => probes.nodes(chain), NODES_MS_MAX)
      if (!nodes.ok) return { chain: { ...chain, rpcUrls: [] }, checks: nodes.checks, first: [] }
      const usable = nodes.value.map((snapshot) => isUsable(snapshot, chain))
      const reachable = { ...chain, rpcUrls: chain.rpcUrls.filter((_, n) => usable[n] === true) }
      const checks = [...checkChain({ chain, nodes: nodes.value, nowMs: probes.now() })]
      // A dry-run pays no gas.
      if (!isSilent(reachable) && settings.mode !== 'dry-run') {
        const check = (fees: Fees) => checkGas(chain, fees)
        checks.push(...(await inspectReply('gas-limits', () => probes.fees(reachable), check)))
      }
      const own = nodes.value.filter((_, n) => usable[n] === true)
      const first = own.flatMap(({ met }) => (met.ok ? (met.value.genesisHash ?? []) : []))
      return { chain: reachable, checks, first }
    }),
  )
  return {
    checks: found.flatMap(({ checks }) => checks),
    settings: { ...settings, chains: new Map(found.map(({ chain }) => [chain.name, chain])) },
    genesisHash: found.find(({ chain }) => chain.name === settings.gasless.chain)?.first[0],
  }
}

function isUsable({ met }: NodeInspection, { chainId }: ChainInput['chain']): boolean {
  return met.ok && met.value.chainId === chainId
}

export function checkChain(input: ChainInput): readonly Check[] {
  return [...input.nodes.map((node) => checkNode(node, input)), checkAgreement(input)].flat()
}

function checkNode(node: NodeInspection, input: ChainInput): Checks {
  const { chain, nodes } = input
  const { met } = node
  const name = `${chain.name}, ${node.label}`
  if (!met.ok) {
    const left = nodes.filter((each) => isUsable(each, chain)).length
    const says = `${chain.name}, ${met.fault.message}`
    const remedy = `check that it runs, or name another in \`chains.${chain.name}.rpcUrls\``
    return (left < chain.agree ? fault : warning)('node', says, remedy)
  }
  const { chainId, headNumber, latencyMs } = met.value
  if (chainId !== chain.chainId) {
    const says = `${name} serves chain ${chainId}, but the config says ${chain.chainId}`
    return fault('node-chain', says, `correct \`chains.${chain.name}.chainId\`, or its \`rpcUrls\``)
  }
  return [
    fine('node', `${name}: chain ${chainId}, block ${headNumber}, ${latencyMs} ms`),
    checkClock(name, met.value, input),
    checkLatency(name, met.value),
    checkBatches(name, node.limits, chain),
    node.history === undefined ? [] : checkHistory(name, node.history, chain),
    checkLogs(name, node, input),
  ].flat()
}

function checkClock(
  name: string,
  { headSeconds: blockTimeSeconds }: MetNode,
  { nowMs, chain }: ChainInput,
): Checks {
  const time = trustedTime({ localMs: nowMs, serviceOffsetMs: undefined, blockTimeSeconds })
  if (time.ok) return []
  const remedy =
    time.reason === 'chain-stale'
      ? `the node is behind, or this machine's clock is wrong: check the clock (\`timedatectl\`), or name another node in \`chains.${chain.name}.rpcUrls\``
      : 'one of the clocks is wrong: check this machine (`timedatectl`)'
  return fault('node-clock', `${name}: ${time.detail}`, remedy)
}

function checkLatency(name: string, { latencyMs }: MetNode): Checks {
  if (latencyMs <= LATENCY_MS_MAX) return []
  const says = `${name} takes ${latencyMs} ms for a small request`
  return warning('node-latency', says, 'put a nearer or less busy node first in `rpcUrls`')
}

function checkBatches(
  name: string,
  { batch }: NodeInspection['limits'],
  { name: chain }: ChainInput['chain'],
): Checks {
  if (batch === undefined) return []
  const { size, refused } = batch
  return warning(
    'node-batch',
    `${name} refuses a batch of ${refused.size} requests and accepts ${size}: ${refused.message}`,
    `reads work but take longer: name a node or plan with larger batches in \`chains.${chain}.rpcUrls\``,
  )
}

function checkLogs(name: string, node: NodeInspection, { chain, nodes }: ChainInput): Checks {
  const another = `name a node or plan in \`chains.${chain.name}.rpcUrls\` that`
  const newLogs = logsOf(node)
  if (newLogs === undefined) return []
  if (newLogs !== true) {
    const left = nodes.filter((each) => logsOf(each) === true).length
    const says = `${name} does not answer eth_getLogs: ${withoutLabel(newLogs)}`
    const remedy = `fills cannot be searched there, and a restarted daemon opens no slot until its payments are compared: ${another} does`
    return (left < chain.agree ? fault : warning)('node-logs', says, remedy)
  }
  const { logBlocks } = node.limits
  if (logBlocks === undefined || logBlocks.size >= LOG_BLOCKS_FEW) return []
  const { size, refused } = logBlocks
  return warning(
    'node-logs',
    `${name} answers eth_getLogs for ${size} blocks at once, but refuses ${refused.size}: ${refused.message}`,
    `a search of ${HOUR_BLOCKS} blocks takes ${Math.ceil(HOUR_BLOCKS / size)} requests: ${another} allows more`,
  )
}

/** Undefined if the node's history was not read. */
function logsOf({ history }: NodeInspection): NodeHistory['newLogs'] | undefined {
  return history?.ok === true ? history.value.newLogs : undefined
}

function checkHistory(
  name: string,
  history: NonNullable<NodeInspection['history']>,
  { name: chain }: ChainInput['chain'],
): Checks {
  const another = `name a node with more history in \`chains.${chain}.rpcUrls\``
  if (!history.ok) {
    const says = `${name} does not report a final block: ${withoutLabel(history.fault.message)}`
    return fault('node-history', says, `correct \`chains.${chain}.finality\`, or ${another}`)
  }
  const { firstState, finalState, newLogs, oldLogs, oldLogsFrom, finalNumber } = history.value
  if (finalState !== true)
    return fault(
      'node-history',
      `${name} has no state at the newest final block ${finalNumber}: ${withoutLabel(finalState)}`,
      `no fill or expiry can be proven there: ${another}`,
    )
  if (oldLogs !== true && newLogs === true)
    return warning(
      'node-history',
      `${name} has no logs of block ${oldLogsFrom}: ${withoutLabel(oldLogs)}`,
      `orders in flight may not be found after the daemon was down for that long: ${another}`,
    )
  const state = firstState === true ? 'state of all blocks (archive)' : 'recent state, enough'
  const logs = oldLogs === true ? `; logs from block ${oldLogsFrom}` : ''
  return fine('node-history', `${name}: ${state}${logs}`)
}

/** The check already names the node. */
function withoutLabel(message: string): string {
  return message.replace(/^node \d+ of \d+: /, '')
}

function checkAgreement({ chain, nodes }: ChainInput): Checks {
  const { name, agree } = chain
  const seen = nodes.filter((node) => isUsable(node, chain))
  if (seen.length > 0 && seen.length < agree)
    return fault(
      'nodes-agree',
      `${name}: ${seen.length} of ${nodes.length} nodes are usable, but ${agree} must agree`,
      `repair or add nodes in \`chains.${name}.rpcUrls\`; until then nothing is proven`,
    )
  const common = seen.flatMap((node) => node.common ?? [])
  const [first] = common
  if (first === undefined || common.length < 2) return []
  if (common.some(({ hash }) => hash !== first.hash))
    return fault(
      'nodes-agree',
      `${name}: the nodes have different blocks at the final height ${first.number}`,
      `one is on another chain or a fork: compare with an explorer, and remove it from \`chains.${name}.rpcUrls\``,
    )
  return fine('nodes-agree', `${name}: ${common.length} nodes agree on block ${first.number}`)
}

/** Gas of an approval, a wrap or a deposit, with headroom. */
const GAS = 4n * TRANSACTION_GAS
/** A limit this many times the current cost bounds little. */
const WIDE = 100n

export function checkGas(
  { name, gas: limits }: Pick<ChainSettings, 'name' | 'gas'>,
  fees: Fees,
): Check {
  const { baseFeePerGas, maxPriorityFeePerGas } = fees
  const asks = baseFeePerGas + maxPriorityFeePerGas
  const says = `${name}: gas costs ${gweiText(asks)}, including a tip of ${gweiText(maxPriorityFeePerGas)}`
  const key = `chains.${name}.gas`
  const offer = { ...fees, gas: GAS, maxFeePerGas: 2n * baseFeePerGas + maxPriorityFeePerGas }
  const allowed = withinGasLimits(limits, offer, 0n)
  if (!allowed.ok)
    return warning(
      'gas-limits',
      `${says}; ${allowed.why.replace('chains.*.gas', key)}`,
      `no approval, wrapping or deposit is sent until gas is cheaper: raise the limit in \`${key}\``,
    )
  if (maxPriorityFeePerGas > limits.maxPriorityFeePerGas)
    return warning(
      'gas-limits',
      `${says}; ${key}.maxPriorityFeePerGas allows ${gweiText(limits.maxPriorityFeePerGas)}`,
      `transactions may wait long for a block: raise \`${key}.maxPriorityFeePerGas\``,
    )
  const { maxFeePerGas } = limits
  // A wide limit is not a fault: gas may get more expensive.
  const wide =
    asks === 0n || maxFeePerGas < asks * WIDE
      ? ''
      : `, ${maxFeePerGas / asks} times that, which a lying node could make us pay`
  return fine('gas-limits', `${says}; up to ${gweiText(maxFeePerGas)} is allowed${wide}`)
}
