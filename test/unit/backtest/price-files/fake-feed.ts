import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  parseAbi,
} from 'viem'
import type { LargeCall } from '../../../../src/chain/node/large-calls.ts'
import type { Address } from '../../../../src/domain/money/units.ts'

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) returns (Result[])',
  'function getRoundData(uint80 id)',
  'function latestRoundData()',
  'function decimals()',
])
const ROUND = [
  { type: 'uint80' },
  { type: 'int256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint80' },
] as const
const PHASE_BITS = 64n

export type FakeRound = {
  readonly answer: bigint
  /** `updatedAt`, epoch seconds. */
  readonly at: number
  /** Epoch seconds; defaults to `at`. */
  readonly startedAt?: number
  /** How many rounds older than the round itself its answer is. */
  readonly carried?: bigint
}

/** A feed behind a proxy, and the nodes that serve it. Rounds of a phase count from 1. */
export class FakeFeed {
  readonly address: Address = `0x${'fe'.repeat(20)}`
  decimals = 8
  /** By phase, then by round number. */
  readonly phases = new Map<bigint, Map<bigint, FakeRound>>()
  /** Reply for a round that does not exist. */
  missing: 'reverts' | 'zeros' = 'reverts'
  /** Reply for a past round: `complete` that round, `newest` the newest round, `nothing` a revert as if the function did not exist. */
  past: 'complete' | 'newest' | 'nothing' = 'complete'
  /** Maximum number of inner calls per multicall that the nodes accept. */
  most = Number.POSITIVE_INFINITY
  /** Number of upcoming calls that fail. */
  unanswered = 0
  /** Sizes of all answered calls. */
  readonly sizes: number[] = []
  /** Called before each answer. */
  onCall: () => void = () => undefined

  /** Appends rounds to a phase: one answer per step, starting at `fromSeconds`. */
  add(phase: bigint, count: number, fromSeconds: number, stepSeconds = 60): void {
    const rounds = this.phases.get(phase) ?? new Map<bigint, FakeRound>()
    this.phases.set(phase, rounds)
    const before = BigInt(Math.max(0, ...[...rounds.keys()].map(Number)))
    for (let n = 0; n < count; n += 1) {
      const at = fromSeconds + n * stepSeconds
      rounds.set(before + BigInt(n + 1), { answer: 200_000_000_000n + BigInt(at % 1_000_000), at })
    }
  }

  /** Replaces a round, or removes it if undefined. */
  put(phase: bigint, number: bigint, round: FakeRound | undefined): void {
    if (round === undefined) this.phases.get(phase)?.delete(number)
    else this.phases.get(phase)?.set(number, round)
  }

  readonly call: LargeCall = async (data) => {
    const { args } = decodeFunctionData({ abi: ABI, data })
    const calls = args?.[0] as readonly { readonly callData: Hex }[]
    if (this.unanswered > 0) {
      this.unanswered -= 1
      return { ok: false, fault: { tag: 'unavailable', message: 'node 1 of 1: timed out' } }
    }
    if (calls.length > this.most)
      return { ok: false, fault: { tag: 'tooMuch', message: 'node 1 of 1: out of gas' } }
    this.onCall()
    this.sizes.push(calls.length)
    const result = calls.map(({ callData }) => this.#answer(callData))
    return {
      ok: true,
      value: encodeFunctionResult({ abi: ABI, functionName: 'aggregate3', result }),
    }
  }

  #answer(callData: Hex): { success: boolean; returnData: Hex } {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data: callData })
    if (functionName === 'decimals')
      return returned(encodeAbiParameters([{ type: 'uint8' }], [this.decimals]))
    const newest = this.#newest()
    if (functionName === 'latestRoundData')
      return newest === undefined ? REVERTED : returned(encoded(newest.id, newest))
    if (this.past === 'nothing' || newest === undefined) return REVERTED
    const id = args?.[0] as unknown as bigint
    if (this.past === 'newest') return returned(encoded(newest.id, newest))
    const round = this.phases.get(id >> PHASE_BITS)?.get(id & ((1n << PHASE_BITS) - 1n))
    if (round !== undefined) return returned(encoded(id, round))
    return this.missing === 'zeros' ? returned(encoded(id, { answer: 0n, at: 0 })) : REVERTED
  }

  #newest(): (FakeRound & { readonly id: bigint }) | undefined {
    const phase = [...this.phases.keys()].reduce((most, each) => (each > most ? each : most), 0n)
    const last = [...(this.phases.get(phase) ?? [])].at(-1)
    if (last === undefined) return undefined
    return { id: (phase << PHASE_BITS) | last[0], ...last[1] }
  }
}

const REVERTED = { success: false, returnData: '0x' } as const

function returned(returnData: Hex): { success: boolean; returnData: Hex } {
  return { success: true, returnData }
}

function encoded(id: bigint, { answer, at, startedAt = at, carried = 0n }: FakeRound): Hex {
  return encodeAbiParameters(ROUND, [id, answer, BigInt(startedAt), BigInt(at), id - carried])
}
