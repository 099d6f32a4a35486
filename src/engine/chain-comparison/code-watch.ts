import type { EventOf } from '../domain/book/journal.ts'
import type { KnownContract } from '../domain/book/state.ts'
import {
  type CodeDoubt,
  type CodeSight,
  type ContractCode,
  codeText,
  contractKey,
  isSameCode,
  NO_CODE,
  pinText,
  type TrustedCode,
  type TrustedContract,
  workingHash,
} from '../domain/contract.ts'
import { latestBlockSeconds } from '../domain/policy.ts'
import type { Address } from '../domain/units.ts'
import { askChainOnce } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import type { CodeChain } from '../ports.ts'

const READ_EVERY_MS = 15_000
/** Before the first answer. */
const RETRY_MS = 2_000
/** Nothing is signed by what was read longer ago: three reads in a row came to nothing. */
const READ_AGE_MS_MAX = 60_000

export type CodeWatch = {
  /** See `TrustedCode`. */
  doubt: TrustedCode['doubt']
  /** Reads until the daemon closes. */
  keep(): Promise<unknown>
  /** Resolves when the contracts of every chain were read once, or the daemon closes. */
  readonly read: Promise<unknown>
}

type Watching = Pick<OrderContext, 'ports' | 'trusted' | 'chainId' | 'aggregator' | 'closing'>

/**
 * Reads the code of every contract that signatures depend on (rule T13). What stands at the newest block is held against what is on
 * record: a difference, by whichever node, holds back what depends on that contract, until the nodes agree that there is none or a
 * final block shows it, by as many nodes as have to agree. That is journaled, and stands until an operator accepts it. So is a first
 * sight. What cannot be read is neither.
 */
export function createCodeWatch(context: Watching): CodeWatch {
  const { ports, chainId, aggregator } = context
  const chains = new Map<number, CodeChain>([[chainId, ports.chain]])
  if (aggregator !== undefined) chains.set(aggregator.wallet.chainId, aggregator.chain)
  const watches = new Map(
    [...chains].map(([id, chain]) => [id, watchChain(context, id, chain)] as const),
  )
  return {
    doubt: (id, address) => watches.get(id)?.doubt(address),
    keep: () => Promise.all([...watches.values()].map((each) => each.keep())),
    read: Promise.all([...watches.values()].map((each) => each.read)),
  }
}

function watchChain(
  { ports, trusted, closing }: Watching,
  chainId: number,
  chain: Pick<CodeChain, 'code'>,
) {
  const { clock, journal, observe } = ports
  const contracts = new Map(
    trusted.contracts.flatMap((each) => (each.chainId === chainId ? [[each.address, each]] : [])),
  )
  const doubts = new Map<Address, string>()
  /** What was seen first at the newest block, as long as no final one shows it. */
  const fresh = new Map<Address, ContractCode>()
  let readAtMs: number | undefined
  let opened = (): void => undefined
  const read = new Promise<void>((resolve) => {
    opened = resolve
  })

  async function ask(
    addresses: readonly Address[],
    at: 'newest' | 'final',
  ): Promise<ReadonlyMap<Address, CodeSight> | undefined> {
    const latestSeconds = latestBlockSeconds(clock.now())
    const reply = await askChainOnce({ ports }, 'reading the code of contracts', () =>
      chain.code({ contracts: addresses, at, latestSeconds }),
    )
    return reply.ok && !closing.aborted ? reply.value : undefined
  }

  async function look(): Promise<void> {
    const newest = await ask([...contracts.keys()], 'newest')
    if (newest === undefined) return
    for (const [address, sight] of newest) judgeNewest(address, sight)
    readAtMs = clock.now()
    opened()
    const uncertain = [...newest.keys()].filter((each) => isUncertain(each, newest))
    if (uncertain.length === 0) return
    const final = await ask(uncertain, 'final')
    if (final === undefined) return
    const events = [...final].flatMap(([address, { agreed }]) =>
      agreed === undefined ? [] : newsOf(address, agreed, newest.get(address)?.agreed),
    )
    if (events.length > 0) await journal.append(...events)
  }

  function knownOf(address: Address): KnownContract | undefined {
    return journal.state.contracts.get(contractKey({ chainId, address }))
  }

  /** What a contract has by the record. */
  function expectedOf(address: Address): ContractCode | undefined {
    const known = knownOf(address)
    return known === undefined ? fresh.get(address) : (known.changed?.code ?? known.code)
  }

  function judgeNewest(address: Address, { said, agreed }: CodeSight): void {
    const contract = contracts.get(address)
    if (contract === undefined) return
    if (expectedOf(address) === undefined && agreed !== undefined && agreed.hash !== NO_CODE)
      fresh.set(address, agreed)
    const why = doubtOf(contract, { said, agreed })
    const before = doubts.get(address)
    if (why === undefined) {
      doubts.delete(address)
      return
    }
    doubts.set(address, why)
    if (why === before) return
    const detail = `${why}: nothing that depends on it is signed meanwhile`
    observe({ type: 'disbelieved', service: 'rpc', what: 'code', detail, moneyWaits: true })
  }

  function doubtOf({ name, address }: TrustedContract, sight: CodeSight): string | undefined {
    const { said, agreed } = sight
    const place = `${name} (${address})`
    const expected = expectedOf(address)
    if (expected === undefined)
      return agreed === undefined
        ? `too few nodes say the same of the code of ${place}`
        : `${place} has no code`
    const other = said.find((each) => !isSameCode(each, expected))
    if (other !== undefined)
      return `${place} has ${codeText(expected)}, and a node shows ${codeText(other)} at its newest block`
    // What one node alone says ends no doubt.
    if (agreed === undefined && doubts.has(address)) return doubts.get(address)
    const pin = trusted.pins.get(contractKey({ chainId, address }))
    const hash = workingHash(expected)
    return pin === undefined || pin === hash ? undefined : pinText(name, pin, hash)
  }

  /** What only a final block can tell: a first sight, or a difference. */
  function isUncertain(address: Address, newest: ReadonlyMap<Address, CodeSight>): boolean {
    const known = knownOf(address)
    if (known === undefined) return fresh.has(address)
    const expected = known.changed?.code ?? known.code
    return newest.get(address)?.said.some((each) => !isSameCode(each, expected)) === true
  }

  function newsOf(
    address: Address,
    final: ContractCode,
    newest: ContractCode | undefined,
  ): readonly EventOf<'contract-code'>[] {
    const contract = contracts.get(address)
    if (contract === undefined) return []
    const type = 'contract-code'
    const known = knownOf(address)
    if (known !== undefined) {
      const isNews = !isSameCode(final, known.changed?.code ?? known.code)
      return isNews ? [{ type, ...contract, code: final, status: 'changed' }] : []
    }
    const first = fresh.get(address)
    // Younger than the final block.
    if (first === undefined || newest === undefined || !isSameCode(final, newest)) return []
    const seen = { type, ...contract, code: first, status: 'seen' } as const
    fresh.delete(address)
    if (isSameCode(first, final)) return [seen]
    return [seen, { type, ...contract, code: final, status: 'changed' }]
  }

  return {
    read,
    doubt(address: Address): CodeDoubt | undefined {
      const contract = contracts.get(address)
      if (contract === undefined) return undefined
      // The distance and not the difference: a clock that was set back must not make a read young.
      const isOld = readAtMs === undefined || Math.abs(clock.now() - readAtMs) > READ_AGE_MS_MAX
      if (isOld) {
        const detail = `the code of ${contract.name} (${address}) was not read lately`
        return { reason: 'chain-unavailable', detail }
      }
      const detail = doubts.get(address)
      return detail === undefined ? undefined : { reason: 'code-unconfirmed', detail }
    },
    async keep(): Promise<void> {
      while (!closing.aborted && contracts.size > 0) {
        await look()
        await clock.sleep(readAtMs === undefined ? RETRY_MS : READ_EVERY_MS, closing)
      }
      opened()
    },
  }
}
