import { keccak256, numberToHex } from 'viem/utils'
import type { Address, Hex } from '../domain/money/units.ts'
import {
  type CodeAnswers,
  type ContractCode,
  codeAnswers,
  codeText,
  NO_CODE,
} from '../domain/order/contract.ts'
import type { ChainReply, CodeChain } from '../ports.ts'
import { type Assembly, finalBlock } from './final-blocks.ts'
import { RpcRefusal, UnusableAnswer } from './node/batch.ts'
import { type Node, readValue } from './node/nodes.ts'

/** Storage slots that name a proxy's implementation, in order of precedence. */
const SLOTS = {
  /** EIP-1967, `eip1967.proxy.implementation` minus 1. */
  implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  /** keccak256 of `org.zeppelinos.proxy.implementation`, used by older proxies such as USDC's. */
  zeppelin: '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
  /** EIP-1967, `eip1967.proxy.beacon` minus 1. The implementation is read from the beacon. */
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
} as const
type Slot = keyof typeof SLOTS
const SLOT_NAMES: readonly Slot[] = ['implementation', 'zeppelin', 'beacon']
const IMPLEMENTATION = '0x5c60da1b'
/** Every twentieth read of the newest block covers all slots, to detect contracts that became proxies. */
const WHOLE_EVERY = 20
const WORD = 64

type Memory = {
  reads: number
  readonly slots: Map<Address, Set<Slot>>
  readonly implementations: Map<Address, Address>
}

export function createCodeReader({ nodes, rule, observe }: Assembly): CodeChain['code'] {
  const memory: Memory = { reads: 0, slots: new Map(), implementations: new Map() }
  return async ({ contracts, at, latestSeconds }) => {
    const isWhole = at === 'final' || memory.reads % WHOLE_EVERY === 0
    if (at === 'newest') memory.reads += 1
    const answers: ReadonlyMap<Address, ContractCode>[] = []
    const answersOf = (address: Address): CodeAnswers =>
      codeAnswers(
        answers.flatMap((each) => each.get(address) ?? []),
        rule.agree,
      )
    let fault: Extract<ChainReply<never>, { ok: false }> | undefined
    for (const node of nodes.apart()) {
      const size = 1 + contracts.length
      const reply = await readValue(node, { route: 'code', size }, async (each) => {
        const final = at === 'final' ? await finalBlock(each, rule, latestSeconds) : undefined
        const block = final === undefined ? 'latest' : numberToHex(final.final)
        return readCodes(each, memory, { contracts, block, isWhole })
      })
      if (reply.ok) answers.push(reply.value)
      else fault = reply
      if (contracts.every((each) => answersOf(each).agreed !== undefined)) break
    }
    if (answers.length === 0 && fault !== undefined) return fault
    const answersBy = new Map(contracts.map((each) => [each, answersOf(each)]))
    for (const message of disputes(answersBy))
      observe({ type: 'nodes-disagree', doing: 'reading code', message })
    return { ok: true, value: answersBy }
  }
}

function disputes(answersBy: ReadonlyMap<Address, CodeAnswers>): readonly string[] {
  return [...answersBy].flatMap(([address, { said }]) =>
    said.length > 1 ? [`${address} has ${said.map(codeText).join(' or ')}`] : [],
  )
}

async function readCodes(
  node: Node,
  memory: Memory,
  query: {
    readonly contracts: readonly Address[]
    readonly block: string
    readonly isWhole: boolean
  },
): Promise<ReadonlyMap<Address, ContractCode>> {
  const { contracts, block, isWhole } = query
  const expected = contracts.flatMap((each) => memory.implementations.get(each) ?? [])
  const [hashes, implementations] = await Promise.all([
    readHashes(node, [...new Set([...contracts, ...expected])], block),
    Promise.all(
      contracts.map((each) => {
        const known = isWhole ? undefined : memory.slots.get(each)
        const slots = known === undefined ? SLOT_NAMES : [...known]
        return readImplementation(node, memory, { contract: each, slots, block })
      }),
    ),
  ])
  const fresh = implementations.filter((each) => each !== undefined && !hashes.has(each))
  const more = await readHashes(node, [...new Set(fresh as Address[])], block)
  return new Map(
    contracts.map((each, n): [Address, ContractCode] => {
      const hash = hashes.get(each) ?? NO_CODE
      const implementation = implementations[n]
      if (implementation === undefined) return [each, { hash }]
      memory.implementations.set(each, implementation)
      const implementationHash = hashes.get(implementation) ?? more.get(implementation)
      return [each, { hash, implementation, implementationHash }]
    }),
  )
}

async function readImplementation(
  node: Node,
  memory: Memory,
  query: { readonly contract: Address; readonly slots: readonly Slot[]; readonly block: string },
): Promise<Address | undefined> {
  const { contract, slots, block } = query
  const words = await Promise.all(
    slots.map((slot) => node.request('eth_getStorageAt', [contract, SLOTS[slot], block])),
  )
  const known = memory.slots.get(contract) ?? new Set()
  memory.slots.set(contract, known)
  for (const slot of SLOT_NAMES) {
    const target = addressIn(words[slots.indexOf(slot)] ?? '0x0')
    if (target === undefined) continue
    known.add(slot)
    if (slot !== 'beacon') return target
    const call = { to: target, data: IMPLEMENTATION }
    const answer = await node.request('eth_call', [call, block]).catch((error: unknown): Hex => {
      if (error instanceof RpcRefusal && error.kind === 'other') return '0x'
      throw error
    })
    return addressIn(answer) ?? target
  }
  return undefined
}

/** Undefined for the zero address. */
function addressIn(word: Hex): Address | undefined {
  const digits = word
    .slice(2)
    .padStart(WORD, '0')
    .slice(WORD - 40, WORD)
  return /[1-9a-f]/i.test(digits) ? `0x${digits.toLowerCase()}` : undefined
}

/**
 * Reads code hashes with one contract-creation call: its init code runs EXTCODEHASH on each address and returns the hashes
 * as the new contract's code. The full code would be hundreds of kilobytes, and is read only if a node refuses such a call.
 */
async function readHashes(
  node: Node,
  addresses: readonly Address[],
  block: string,
): Promise<ReadonlyMap<Address, Hex>> {
  if (addresses.length === 0) return new Map()
  const data = await node
    .request('eth_call', [{ data: hashingCode(addresses) }, block])
    .catch((error: unknown) => {
      if (error instanceof RpcRefusal && error.kind !== 'pace') return undefined
      throw error
    })
  if (data === undefined) return readWhole(node, addresses, block)
  if (data.length !== 2 + WORD * (1 + addresses.length))
    throw new UnusableAnswer('answered no usable code hashes')
  return new Map(
    addresses.map((each, n): [Address, Hex] => {
      const hash: Hex = `0x${data.slice(2 + WORD * (n + 1), 2 + WORD * (n + 2))}`
      return [each, /[1-9a-f]/.test(hash.slice(2)) ? hash : NO_CODE]
    }),
  )
}

async function readWhole(
  node: Node,
  addresses: readonly Address[],
  block: string,
): Promise<ReadonlyMap<Address, Hex>> {
  const codes = await Promise.all(
    addresses.map((each) => node.request('eth_getCode', [each, block])),
  )
  return new Map(addresses.map((each, n) => [each, keccak256(codes[n] ?? '0x')]))
}

/** The word before the hashes stays zero: code must not begin with 0xef (EIP-3541), but a hash may. */
function hashingCode(addresses: readonly Address[]): Hex {
  const two = (value: number): string => value.toString(16).padStart(4, '0')
  const each = addresses.map(
    // PUSH20 address, EXTCODEHASH, PUSH2 offset, MSTORE
    (address, n) => `73${address.slice(2)}3f61${two(32 * (n + 1))}52`,
  )
  // PUSH2 length, PUSH1 0, RETURN
  return `0x${each.join('')}61${two(32 * (addresses.length + 1))}6000f3`
}
