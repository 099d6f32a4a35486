import type { Address } from '../../../src/domain/money/units.ts'
import {
  type CodeAnswers,
  type ContractCode,
  codeAnswers,
} from '../../../src/domain/order/contract.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type {
  AgreedReply,
  CodeChain,
  FinalChain,
  NonceOutcome,
  Receipt,
} from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import type { Codes } from './codes.ts'
import type { Ledger } from './ledger.ts'

/** Faults of a node's answers about code. */
export type CodeFaults = {
  readonly down: boolean
  /** It returns the first code of each contract, or code that no contract has; or answers no query of code. */
  readonly wrongCode: 'first' | 'other' | 'unread' | undefined
}

/** Code that no contract has. */
const OTHER_CODE: ContractCode = { hash: fingerprint('code of no contract') }

/** Status of one node: its newest block, and its newest final block. */
type NodeStatus<Node> = { readonly node: Node; readonly head: number; readonly final: number }

export type SimulatedNodes<Node> = {
  readonly ledger: Pick<Ledger, 'blockHash'> & { readonly codes: Codes }
  /** Faults of the main node, and of those that have to agree with it. */
  readonly faults: Node
  readonly others?: readonly Node[]
  readonly rule: FinalityRule
  readonly observe?: (event: RuntimeEvent) => void
  readonly visible: (node: Node) => number
  readonly timeOf: (block: number, node: Node) => number
}

/** Depth in blocks that stands for the nodes' own tags. */
const TAGGED = { safe: 32, finalized: 64 } as const

/** Quorum reads of several nodes, by the rule of the adapter over real ones. */
export function simulatedNodes<Node extends CodeFaults>(
  nodes: SimulatedNodes<Node>,
): {
  readonly blocks: (
    query: Parameters<FinalChain['blocks']>[0],
  ) => Awaited<ReturnType<FinalChain['blocks']>>
  readonly code: (query: Parameters<CodeChain['code']>[0]) => Awaited<ReturnType<CodeChain['code']>>
  readonly agreed: <Value>(
    latestSeconds: number,
    answer: (status: NodeStatus<Node>) => { readonly key: string; readonly value: Value },
  ) => AgreedReply<Value>
} {
  const { ledger, faults, others = [], rule, observe, visible, timeOf } = nodes
  const depth = typeof rule.finality === 'number' ? rule.finality : TAGGED[rule.finality]

  function believed(latestSeconds: number): readonly NodeStatus<Node>[] {
    return [faults, ...others].flatMap((node) => {
      const head = visible(node)
      if (node.down || timeOf(head, node) > latestSeconds) return []
      return [{ node, head, final: Math.max(0, head - depth) }]
    })
  }

  const unanimous = new Map<ContractCode, CodeAnswers>()

  /**
   * A unanimous answer is evaluated once: a simulation repeats the query a million times, nearly always for the same
   * code.
   */
  function answersOf(codes: readonly ContractCode[]): CodeAnswers {
    const [first] = codes
    if (first === undefined || codes.length !== rule.agree || codes.some((each) => each !== first))
      return codeAnswers(codes, rule.agree)
    const known = unanimous.get(first) ?? codeAnswers(codes, rule.agree)
    unanimous.set(first, known)
    return known
  }

  function shown(
    { node, head, final }: NodeStatus<Node>,
    address: Address,
    at: 'newest' | 'final',
  ) {
    if (node.wrongCode === 'other') return OTHER_CODE
    const block = at === 'newest' ? head : final
    return ledger.codes.at(address, node.wrongCode === 'first' ? 0 : block)
  }

  return {
    code({ contracts, at, latestSeconds }) {
      const answering = believed(at === 'newest' ? Number.POSITIVE_INFINITY : latestSeconds).filter(
        ({ node }) => node.wrongCode !== 'unread',
      )
      if (answering.length === 0)
        return { ok: false, fault: { tag: 'unavailable', message: 'no node answers' } }
      const answersFor = (address: Address): CodeAnswers => {
        const answers: ContractCode[] = []
        for (const status of answering) {
          answers.push(shown(status, address, at))
          if (answers.length >= rule.agree && answersOf(answers).agreed !== undefined) break
        }
        return answersOf(answers)
      }
      return { ok: true, value: new Map(contracts.map((each) => [each, answersFor(each)])) }
    },
    agreed(latestSeconds, answer) {
      const votes = new Map<string, ReturnType<typeof answer>['value'][]>()
      for (const status of believed(latestSeconds)) {
        const { key, value } = answer(status)
        const same = [...(votes.get(key) ?? []), value]
        votes.set(key, same)
        if (same.length < rule.agree) continue
        if (votes.size > 1)
          observe?.({ type: 'nodes-disagree', doing: 'reading what is final', message: key })
        // The newest value of those that agree; the caller's own clocks bound the oldest acceptable one.
        return { ok: true, value }
      }
      const tag = votes.size > 1 ? 'disagreed' : 'unavailable'
      return { ok: false, fault: { tag, message: 'too few nodes say the same' } }
    },
    blocks({ numbers, latestSeconds }) {
      const statuses = believed(latestSeconds)
      const [first] = statuses
      if (first === undefined || statuses.length < rule.agree)
        return { ok: false, fault: { tag: 'unavailable', message: 'too few nodes answer' } }
      const finals = statuses.map(({ final }) => final).toSorted((a, b) => b - a)
      const known = numbers.filter(
        (number) => statuses.filter(({ head }) => BigInt(head) >= number).length >= rule.agree,
      )
      const { node, head } = first
      return {
        ok: true,
        value: {
          final: BigInt(finals[rule.agree - 1] ?? 0),
          lag: head - (finals[rule.agree - 1] ?? 0),
          head: { blockNumber: BigInt(head), blockTimeSeconds: timeOf(head, node) },
          blocks: new Map(
            known.map((number) => [
              number,
              {
                hash: ledger.blockHash(Number(number)),
                timeSeconds: timeOf(Number(number), node),
                depth: head - Number(number),
              },
            ]),
          ),
        },
      }
    },
  }
}

/** A node's vote on whether a nonce is used at a final block; `mined` are our transactions in its blocks. */
export function nonceVote(
  isUsed: boolean,
  mined: readonly Receipt[],
): { readonly key: string; readonly value: NonceOutcome | undefined } {
  const value = isUsed ? (mined[0] ?? 'lost') : undefined
  return { key: typeof value === 'object' ? `${value.hash} ${value.success}` : `${value}`, value }
}
