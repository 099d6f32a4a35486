import type { Address } from '../../domain/money/units.ts'
import {
  type CodeAnswers,
  type CodeConflict,
  type ContractCode,
  codeText,
  contractKey,
  isSameCode,
  NO_CODE,
  pinText,
  type TrustedContract,
  workingHash,
} from '../../domain/order/contract.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import { type ContractCodeEvent, contractCode } from '../../journal/events/state/contracts.ts'
import type { KnownContract } from '../../journal/state/daemon-state.ts'
import type { CodeChain, CodeQuery } from '../../ports.ts'
import { askChainOnce } from '../../venues/chain-requests.ts'
import type { OrderContext } from '../../venues/context.ts'

const READ_EVERY_MS = 15_000
/** Interval until the first answer. */
const RETRY_MS = 2_000
/** Signatures never rely on an older read: at least three reads in a row have failed by then. */
const READ_AGE_MS_MAX = 60_000

type Watching = Pick<OrderContext, 'ports' | 'trusted' | 'chainId' | 'aggregator' | 'closing'>

/**
 * Monitors the code of contracts that signatures depend on (rule T13). A node whose newest block differs from the record
 * blocks dependent signatures until the nodes report no difference, or a quorum confirms it at a final block. A confirmed
 * change is journaled, and blocks until an operator accepts it. Code seen for the first time is confirmed the same way. A
 * failed read proves neither.
 */
export function createCodeWatch(context: Watching) {
  const { ports, chainId, aggregator } = context
  const chains = new Map<number, CodeChain>([[chainId, ports.chain]])
  if (aggregator !== undefined) chains.set(aggregator.wallet.chainId, aggregator.chain)
  const watches = new Map(
    [...chains].map(([id, chain]) => [id, watchChain(context, id, chain)] as const),
  )
  return {
    conflict: (id: number, address: Address) => watches.get(id)?.conflict(address),
    keep: () => Promise.all([...watches.values()].map((each) => each.keep())),
    /** Resolves once the contracts of every chain have been read, or the daemon drains. */
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
  const conflicts = new Map<Address, string>()
  /** Code first seen at the newest block and not yet final. */
  const fresh = new Map<Address, ContractCode>()
  let readAtMs: number | undefined
  let opened = (): void => undefined
  const read = new Promise<void>((resolve) => {
    opened = resolve
  })

  async function ask(contracts: readonly Address[], at: CodeQuery['at']) {
    const latestSeconds = latestBlockSeconds(clock.now())
    const reply = await askChainOnce({ ports }, 'reading the code of contracts', () =>
      chain.code({ contracts, at, latestSeconds }),
    )
    return reply.ok && !closing.aborted ? reply.value : undefined
  }

  async function readCode(): Promise<void> {
    const newest = await ask([...contracts.keys()], 'newest')
    if (newest === undefined) return
    for (const [address, answers] of newest) checkNewest(address, answers)
    readAtMs = clock.now()
    opened()
    const uncertain = [...newest].flatMap(([address, answers]) =>
      isUncertain(address, answers) ? [address] : [],
    )
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

  function expectedOf(address: Address): ContractCode | undefined {
    const known = knownOf(address)
    return known === undefined ? fresh.get(address) : (known.changed?.code ?? known.code)
  }

  function checkNewest(address: Address, { said, agreed }: CodeAnswers): void {
    const contract = contracts.get(address)
    if (contract === undefined) return
    if (expectedOf(address) === undefined && agreed !== undefined && agreed.hash !== NO_CODE)
      fresh.set(address, agreed)
    const why = conflictOf(contract, { said, agreed })
    const before = conflicts.get(address)
    if (why === undefined) return void conflicts.delete(address)
    conflicts.set(address, why)
    if (why === before) return
    const detail = `${why}: nothing that depends on it is signed meanwhile`
    observe({ type: 'disbelieved', service: 'rpc', what: 'code', detail, moneyWaits: true })
  }

  function conflictOf(
    { name, address }: TrustedContract,
    answers: CodeAnswers,
  ): string | undefined {
    const { said, agreed } = answers
    const place = `${name} (${address})`
    const expected = expectedOf(address)
    if (expected === undefined)
      return agreed === undefined
        ? `too few nodes say the same of the code of ${place}`
        : `${place} has no code`
    const other = said.find((each) => !isSameCode(each, expected))
    if (other !== undefined)
      return `${place} has ${codeText(expected)}, and a node shows ${codeText(other)} at its newest block`
    // A single node cannot end a conflict.
    if (agreed === undefined && conflicts.has(address)) return conflicts.get(address)
    const pin = trusted.pins.get(contractKey({ chainId, address }))
    const hash = workingHash(expected)
    return pin === undefined || pin === hash ? undefined : pinText(name, pin, hash)
  }

  /** True if a final block must confirm it: code seen for the first time, or a difference. */
  function isUncertain(address: Address, { said }: CodeAnswers): boolean {
    const expected = expectedOf(address)
    if (expected === undefined) return false
    return knownOf(address) === undefined || said.some((each) => !isSameCode(each, expected))
  }

  function newsOf(
    address: Address,
    final: ContractCode,
    newest: ContractCode | undefined,
  ): readonly ContractCodeEvent[] {
    const contract = contracts.get(address)
    if (contract === undefined) return []
    const known = knownOf(address)
    const changed = contractCode({ ...contract, code: final, status: 'changed' })
    if (known !== undefined) {
      const isNews = !isSameCode(final, known.changed?.code ?? known.code)
      return isNews ? [changed] : []
    }
    const first = fresh.get(address)
    if (first === undefined || newest === undefined || !isSameCode(final, newest)) return []
    const seen = contractCode({ ...contract, code: first, status: 'seen' })
    fresh.delete(address)
    return isSameCode(first, final) ? [seen] : [seen, changed]
  }

  return {
    read,
    conflict(address: Address): CodeConflict | undefined {
      const contract = contracts.get(address)
      if (contract === undefined) return undefined
      // Absolute distance: a clock that was set back must not make a read look recent.
      if (readAtMs === undefined || Math.abs(clock.now() - readAtMs) > READ_AGE_MS_MAX) {
        const detail = `the code of ${contract.name} (${address}) was not read lately`
        return { reason: 'chain-unavailable', detail }
      }
      const detail = conflicts.get(address)
      return detail === undefined ? undefined : { reason: 'code-unconfirmed', detail }
    },
    async keep(): Promise<void> {
      while (!closing.aborted && contracts.size > 0) {
        await readCode()
        await clock.sleep(readAtMs === undefined ? RETRY_MS : READ_EVERY_MS, closing)
      }
      opened()
    },
  }
}
