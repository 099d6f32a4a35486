import type { GasLimits } from '../../../src/domain/money/gas.ts'
import type { Hex } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import type {
  AccountView,
  AgreedReply,
  CallChain,
  CallTrace,
  ChainReply,
} from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import { BLOCK_SECONDS } from '../chain/ledger.ts'
import { type CodeFaults, nonceVote, simulatedNodes } from '../chain/nodes.ts'
import { withOneLie } from '../lies.ts'
import type { SimulatedProcess } from '../process.ts'
import type { CallLedger } from './ledger.ts'

const LATENCY_MS_MAX = 40
const GAS_LIMIT = 100_000n
const FEE_PER_GAS = 10n ** 9n

/** Fees are higher and calls take longer here than on the settlement chain. */
export const CALL_GAS: GasLimits = {
  maxFeePerGas: 10n ** 11n,
  maxPriorityFeePerGas: 10n ** 10n,
  perTransaction: 10n ** 16n,
  perDay: 10n ** 18n,
}

/** Faults of the node of the aggregation service's chain. May be changed while the simulation runs. */
export type CallChainFaults = {
  down: boolean
  unavailable: number
  /** How far the node's newest block is behind true time by its own account; negative for ahead. */
  lagSeconds: number
  /**
   * How many answers about the account are still late, and by how much at most: they were true when they were given.
   */
  lateAccounts: number
  accountLateMs: number
  /** Shows the account with the nonce before the last, beside the newest block: one node's claim against ours. */
  nonceBehind: boolean
  /** How far the node's block times are ahead of true time. */
  aheadSeconds: number
  /** How much later receipts and logs appear than state. */
  indexingSeconds: number
  /** Receipts cannot be read, or no search finds a log. */
  tracesDown: boolean
  hidesLogs: boolean
  /** Queries about a transaction that is to be made fail. */
  draftsDown: boolean
  /** Number of simulations of the account's own code that are still answered from an earlier block. */
  behind: number
  /** The account has no ETH for gas. */
  noGas: boolean
  /** Probability of a wrong number in an answer that needs no quorum. */
  lies: number
  wrongCode: CodeFaults['wrongCode']
}

export function noCallChainFaults(): CallChainFaults {
  return {
    down: false,
    unavailable: 0,
    lagSeconds: 0,
    lateAccounts: 0,
    accountLateMs: 0,
    nonceBehind: false,
    aheadSeconds: 0,
    indexingSeconds: 0,
    tracesDown: false,
    hidesLogs: false,
    draftsDown: false,
    behind: 0,
    noGas: false,
    lies: 0,
    wrongCode: undefined,
  }
}

export type CallNodeOptions = {
  readonly ledger: CallLedger
  readonly faults: CallChainFaults
  /** Faults of further nodes, which are queried only for quorum reads. */
  readonly others?: readonly CallChainFaults[]
  readonly rule: FinalityRule
  readonly random: SeededRandom
  readonly process: SimulatedProcess
  readonly chainId: number
}

/** The chain as one process sees it through its node. */
export function createSimulatedCallChain(options: CallNodeOptions): CallChain {
  const { ledger, faults, random, process, chainId } = options
  const lagBlocks = (seconds: number): number => Math.ceil(Math.max(0, seconds) / BLOCK_SECONDS)
  const isIndexed = ({ blockNumber }: CallTrace): boolean =>
    blockNumber + BigInt(lagBlocks(faults.indexingSeconds)) <= ledger.block
  const known = (hash: Hex): CallTrace | undefined =>
    ledger.mined.find((mined) => mined.hash === hash && isIndexed(mined))
  const ask = <Value>(answer: () => ChainReply<Value>): Promise<ChainReply<Value>> =>
    process.ask(
      () =>
        faults.down || random.chance(faults.unavailable)
          ? fault('unavailable', 'no answer')
          : answer(),
      LATENCY_MS_MAX,
    )
  const value = <Value>(of: Value): ChainReply<Value> => ({ ok: true, value: of })
  const lying = random.fork('lies')
  const reading = random.fork('code')
  /** Present state according to a single node. */
  const lied = <Answer>(answer: Answer): Answer =>
    lying.chance(faults.lies) ? withOneLie(answer, lying) : answer
  const reported = <Value>(of: Value): ChainReply<Value> => value(lied(of))
  const nonceShown = (): bigint | undefined => {
    if (ledger.code === '0x') return undefined
    const isBehind = faults.nonceBehind && ledger.nestedNonce > 0n
    return isBehind ? ledger.nestedNonce - 1n : ledger.nestedNonce
  }
  const accountNow = (): ChainReply<AccountView> =>
    reported({
      blockNumber: ledger.block,
      blockTimeSeconds: ledger.timeSeconds + faults.aheadSeconds - faults.lagSeconds,
      baseFeePerGas: FEE_PER_GAS,
      balance: ledger.balance,
      transactionCount: ledger.transactionCount,
      code: ledger.code,
      nestedNonce: nonceShown(),
      domain: ledger.code === '0x' ? undefined : ledger.domain,
      gasTank: { balances: ledger.gasTank, balanceOf: undefined },
    })
  const agreed = <Value>(answer: () => AgreedReply<Value>): Promise<AgreedReply<Value>> =>
    process.ask(
      () =>
        faults.down || random.chance(faults.unavailable)
          ? fault('unavailable', 'no answer')
          : answer(),
      LATENCY_MS_MAX,
    )
  const assembly = simulatedNodes<CallChainFaults>({
    ledger: { codes: ledger.codes, blockHash: (block) => ledger.blockHash(BigInt(block)) },
    faults,
    others: options.others ?? [],
    rule: options.rule,
    visible: (node) => Number(ledger.block) - lagBlocks(node.lagSeconds),
    timeOf: (block, node) => ledger.timeOf(block) + node.aheadSeconds,
  })

  return {
    identity: () =>
      ask(() =>
        value({
          chainId,
          genesisHash: fingerprint(`genesis ${chainId}`),
          blockTimeSeconds: ledger.timeSeconds + faults.aheadSeconds - faults.lagSeconds,
        }),
      ),
    code: (query) =>
      process.ask(
        () => (faults.down ? fault('unavailable', 'no answer') : assembly.code(query)),
        LATENCY_MS_MAX,
        reading,
      ),
    blocks: (query) => agreed(() => assembly.blocks(query)),
    finalCount: ({ latestSeconds }) =>
      agreed(() =>
        assembly.agreed(latestSeconds, ({ head, final, node }) => {
          const transactionCount = ledger.transactionCountAt(BigInt(final))
          const timeOf = (block: number): number => ledger.timeOf(block) + node.aheadSeconds
          const at = { blockNumber: BigInt(final), blockTimeSeconds: timeOf(final) }
          const value = { ...at, transactionCount, headSeconds: timeOf(head) }
          return { key: String(transactionCount), value }
        }),
      ),
    nonceOutcome: ({ nonce, hashes, latestSeconds }) =>
      agreed(() =>
        assembly.agreed(latestSeconds, ({ final }) => {
          // Blocks are complete at once, whatever part of them is indexed.
          const mined = ledger.mined.filter(({ hash }) => hashes.includes(hash))
          return nonceVote(ledger.transactionCountAt(BigInt(final)) > nonce, mined)
        }),
      ),
    finalAccount: ({ latestSeconds }) =>
      agreed(() =>
        assembly.agreed(latestSeconds, ({ final, node }) => {
          const nestedNonce = ledger.code === '0x' ? undefined : ledger.nestedNonceAt(BigInt(final))
          const blockTimeSeconds = ledger.timeOf(final) + node.aheadSeconds
          const at = { blockNumber: BigInt(final), blockTimeSeconds }
          return { key: String(nestedNonce), value: { ...at, nestedNonce, code: ledger.code } }
        }),
      ),
    account: async () => {
      const seen = await ask(accountNow)
      if (faults.lateAccounts === 0) return seen
      faults.lateAccounts -= 1
      await process.ask(() => undefined, faults.accountLateMs)
      return seen
    },
    simulate: (call) =>
      ask(() => {
        const isBehind = call.to === call.from && faults.behind > 0
        if (isBehind) faults.behind -= 1
        return !isBehind && ledger.wouldSucceed(call)
          ? reported({ gasUsed: 50_000n })
          : fault('refused', 'the call reverts: not now')
      }),
    trace: (hash) =>
      ask(() => (faults.tracesDown ? fault('unavailable', 'no receipts') : value(known(hash)))),
    callsWith: ({ contract, mark, fromBlock, isThorough }) =>
      ask(() => {
        const found = ledger.mined.filter(
          ({ to, blockNumber, input }) =>
            !faults.hidesLogs &&
            (isThorough || to === contract) &&
            blockNumber >= fromBlock &&
            input.includes(mark.slice(2)),
        )
        // Whole blocks show a call before its log and receipt are indexed.
        return isThorough && !found.every(isIndexed)
          ? fault('unavailable', 'no receipt')
          : value(found.filter(isIndexed))
      }),
    draft: (call) =>
      ask(() => {
        if (faults.draftsDown) return fault('unavailable', 'no answer')
        if (!ledger.wouldSucceed(call)) return fault('refused', 'it would revert')
        if (faults.noGas) return fault('insufficientFunds', 'not enough ETH for gas and value')
        const fees = { maxFeePerGas: FEE_PER_GAS, maxPriorityFeePerGas: FEE_PER_GAS }
        const baseFeePerGas = FEE_PER_GAS / 2n
        const nonce = ledger.transactionCount
        const said = lied({ nonce, gas: GAS_LIMIT, baseFeePerGas, ...fees })
        return value({ ...call, chainId, ...said })
      }),
    broadcast: (raw) =>
      ask(() => {
        const hash = ledger.broadcast(raw)
        return hash === undefined ? fault('refused', 'nonce too low') : value(hash)
      }),
    transaction: ({ hashes }) =>
      ask(() =>
        reported({
          receipt: hashes.map(known).find((mined) => mined !== undefined),
          latestNonce: ledger.transactionCount,
        }),
      ),
  }
}

type Fault = Extract<ChainReply<never>, { ok: false }>

function fault(tag: Fault['fault']['tag'], message: string): Fault {
  return { ok: false, fault: { tag, message } }
}
