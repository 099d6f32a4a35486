import type { Address } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import { CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { PERMIT2, SPENDER, USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { MINUTE } from '../builders.ts'

/** Faults outside of the machine: nodes, services, modules, and the machine's own clock. */

/** Answers that no module may give. `__proto__` is an own key here, as JSON.parse creates it. */
const NONSENSE: readonly unknown[] = [
  undefined,
  null,
  'sell everything',
  7,
  [],
  { orders: 'all of it' },
  { orders: [{ sell: 'USDC', buy: 'WETH', amount: -1n }] },
  { orders: [{ sell: 'USDC', buy: 'WETH', amount: Number.NaN }] },
  { orders: [{ sell: 'USDC', buy: 'DOGE', amount: 1n }] },
  { orders: [{ sell: '__proto__', buy: 'constructor', amount: 1n }] },
  { orders: [{ sell: 'USDC', buy: 'WETH', amount: 10n ** 40n }] },
  { orders: Array.from({ length: 5_000 }, () => ({ sell: 'USDC', buy: 'WETH', amount: 1n })) },
  { orders: [], memory: JSON.parse('{"__proto__":{"orders":"mine"}}') },
  { orders: [], memory: { big: 'x'.repeat(200_000) } },
  JSON.parse('{"__proto__":{"orders":[{"sell":"USDC","buy":"WETH","amount":"1"}]}}'),
]

const ROUTES = [
  'sendRawTransaction',
  'getTransactionReceipt',
  'accountInfo',
  'transactionStatus',
] as const

function often(random: SeededRandom, p: number, value: number): number {
  return random.chance(p) ? value : 0
}

/** Each further node is ahead, behind, partial or gone, independently of the main node. */
export function disturbNodes(sim: Simulation, random: SeededRandom): void {
  const { chainFaults, otherNodes, aggregation } = sim
  Object.assign(chainFaults, {
    down: random.chance(0.05),
    unavailable: often(random, 0.4, random.next() / 2),
    lagSeconds: often(random, 0.2, random.between(1, 90)),
    indexingSeconds: often(random, 0.2, random.between(1, 600)),
    losesLogs: often(random, 0.15, random.next()),
    losesTransaction: often(random, 0.3, 0.5),
    minesAfterBlocksMax: random.between(1, 30),
    subReadFails: often(random, 0.15, 0.2),
  })
  for (const node of otherNodes)
    Object.assign(node, noChainFaults(), {
      down: random.chance(0.1),
      lagSeconds: often(random, 0.3, random.between(1, 300)),
    })
  setClocks(sim, [chainFaults, ...otherNodes], random)
  setLies(sim, random.fork('lies'))
  const calls = aggregation.chainFaults
  const half = random.chance(0.5)
  Object.assign(calls, {
    down: random.chance(0.05),
    unavailable: often(random, 0.3, random.next() / 2),
    indexingSeconds: often(random, 0.2, random.between(1, 450)),
    tracesDown: random.chance(0.05) && half,
    draftsDown: random.chance(0.05) && !half,
    noGas: random.chance(0.05),
    behind: often(random, 0.1, random.between(0, 8)),
    lateAccounts: often(random, 0.1, random.between(1, 3)),
    accountLateMs: 60_000,
    nonceBehind: random.chance(0.1),
  })
  for (const node of aggregation.otherNodes)
    Object.assign(node, {
      down: random.chance(0.1),
      lagSeconds: often(random, 0.3, random.between(1, 300)),
    })
  setClocks(sim, [calls, ...aggregation.otherNodes], random)
}

/** The main node returns wrong numbers now and then, but only in answers that are not checked against other nodes. */
function setLies({ chainFaults, aggregation }: Simulation, random: SeededRandom): void {
  for (const node of [chainFaults, aggregation.chainFaults])
    node.lies = often(random, 0.25, random.next() / 2)
}

/**
 * Nodes that are ahead. A node that is behind and claims not to be makes up its own chain, which only honest nodes can
 * expose: if two have to agree, one such node is allowed, else none. No node is ahead together with the machine itself:
 * then no clock would reveal it.
 */
function setClocks(
  { rule, clock }: Simulation,
  nodes: readonly { lagSeconds: number; aheadSeconds: number }[],
  random: SeededRandom,
): void {
  let liars = rule.agree - 1
  for (const node of nodes) {
    node.aheadSeconds = 0
    const isAhead = random.chance(0.15) && clock.offsetMs <= 0
    if (!isAhead || (node.lagSeconds > 0 && liars === 0)) continue
    if (node.lagSeconds > 0) liars -= 1
    node.aheadSeconds = random.between(1, 120)
  }
}

export function disturbServices(sim: Simulation, random: SeededRandom): void {
  Object.assign(sim.serviceFaults, {
    down: random.chance(0.05),
    rateLimited: often(random, 0.3, random.next() / 2),
    failsBefore: often(random, 0.3, random.next() / 2),
    failsAfter: often(random, 0.4, random.next() / 2),
    rejects: often(random, 0.1, 0.3),
    rejectsButTakes: often(random, 0.2, 0.5),
    forgets: often(random, 0.3, 0.5),
    silent: often(random, 0.3, 0.5),
    neverFills: often(random, 0.3, 0.5),
    fillsLate: often(random, 0.3, 0.6),
    saysFailedButFills: often(random, 0.3, 0.5),
    namesForeignHash: often(random, 0.3, 0.5),
    saysFilledButDoesNot: often(random, 0.2, 0.3),
    steals: often(random, 0.1, 0.2),
    zeroTransfers: often(random, 0.3, random.between(1, 3)),
    listsWrongDecimals: random.chance(0.03),
    batchMs: random.chance(0.5) ? 30_000 : undefined,
    skewMs: often(random, 0.2, random.between(-9_000, 9_000)),
    quoteLifetimeMs: random.between(15, 120) * 1000,
    limit: random.chance(0.1) ? { requests: random.between(1, 5), windowMs: 10_000 } : undefined,
    hidesAmounts: random.fork('amounts').chance(0.3),
  })
  sim.queueDelayMs = often(random, 0.3, random.between(100, 40_000))
}

export function disturbCallService(sim: Simulation, random: SeededRandom): void {
  const { faults, ledger } = sim.aggregation
  const message = 'no'
  Object.assign(faults, {
    down: random.chance(0.05),
    failsBefore: often(random, 0.2, random.next()),
    failsAfter: often(random, 0.2, random.next()),
    rejection: random.chance(0.15) ? { tag: 'rejected', message } : undefined,
    rejectsButTakes: random.chance(0.5),
    neverExecutes: random.chance(0.1),
    broadcastsAlone: random.chance(0.15),
    delayMs: often(random, 0.2, random.between(0, 400_000)),
    receipts: random.chance(0.2) ? 'null' : 'honest',
    receiptsLost: often(random, 0.2, random.next()),
    namesHash: random.chance(0.15) ? ledger.mined.at(-1)?.hash : undefined,
  })
  if (random.chance(0.1)) faults.receipts = 'not-found'
  ledger.losesDirect = random.chance(0.1)
  const route = ROUTES[random.between(0, ROUTES.length - 1)] ?? ''
  sim.queueDelaysMs = random.chance(0.1) ? { [route]: 400_000 } : {}
}

/**
 * Swaps the code of a contract, and sometimes swaps it back. If another node has to agree, one node shows other code
 * than the chain: it hides the swap, or makes one up. Returns the contract's address.
 */
export function disturbCode(sim: Simulation, random: SeededRandom): Address | undefined {
  const { rule, chainFaults, otherNodes, aggregation, clock, ledger } = sim
  const isLying = rule.agree > 1 && random.chance(0.2)
  const wrongCode = random.chance(0.5) ? 'first' : 'other'
  for (const node of [chainFaults, aggregation.chainFaults])
    node.wrongCode = isLying ? wrongCode : undefined
  if (isLying) for (const node of [...otherNodes, ...aggregation.otherNodes]) node.down = false
  if (!random.chance(0.06)) return undefined
  const { gasTank, multicall, trustlessProposer } = aggregation.settings.contracts
  const here = [PERMIT2, SPENDER, USDC.address, WETH.address, WETH_USDC.feed]
  const there = [CALL_TARGET, gasTank, multicall, trustlessProposer]
  const at = random.between(0, here.length + there.length - 1)
  const address = [...here, ...there][at]
  if (address === undefined) return undefined
  const codes = at < here.length ? ledger.codes : aggregation.ledger.codes
  codes.set(address, random.between(1, 1_000), ledger.block)
  if (random.chance(0.4))
    clock.schedule(clock.trueMs + random.between(1_000, 10 * MINUTE), () =>
      codes.set(address, 0, ledger.block),
    )
  return address
}

/** One module loops or ends its process, one is late, one throws, one answers nonsense. */
export function disturbModules(sim: Simulation, random: SeededRandom): void {
  const { silent, lateMs, garbage } = sim.moduleFaults
  for (const all of [silent, lateMs, garbage]) all.clear()
  for (const name of sim.modules.keys()) {
    const what = random.between(0, 9)
    if (what === 0) silent.add(name)
    if (what === 1) lateMs.set(name, random.between(1, 30_000))
    if (what === 2) garbage.set(name, NONSENSE[random.between(0, NONSENSE.length - 1)])
  }
}

/** The machine's clock, its load, and reorganised blocks: never deeper than the simulation's finality rule. */
export function disturbTime(sim: Simulation, random: SeededRandom): void {
  const { clock, ledger, aggregation } = sim
  clock.offsetMs = often(random, 0.2, random.between(-30 * MINUTE, 30 * MINUTE))
  if (random.chance(0.2)) clock.stall(random.between(1_000, 20 * MINUTE))
  for (const chain of [ledger, aggregation.ledger]) {
    if (!random.chance(0.2)) continue
    const blocks = random.between(1, 2)
    const againAfterMs = random.chance(0.7) ? random.between(100, 20_000) : undefined
    const atMs = clock.trueMs + random.between(0, 10 * MINUTE)
    const losesOwn = random.fork('own').chance(0.5)
    clock.schedule(atMs, () => chain.reorg({ blocks, againAfterMs, losesOwn }))
  }
}
