import type { AggregatorTools } from '../../../../src/cli/compose/aggregator.ts'
import type { Address, Hex } from '../../../../src/domain/money/units.ts'
import type { AggregatorSettings } from '../../../../src/domain/settings.ts'
import type {
  AccountView,
  Aggregator,
  AggregatorReply,
  GasTankAccount,
  Key,
  TransactionDraft,
} from '../../../../src/ports.ts'
import { type AggregatorContext, createTurns } from '../../../../src/venues/context.ts'
import { AGGREGATOR } from '../../../simulation/aggregator/aggregation.ts'
import { unpaced } from '../../../support/aggregator/unpaced.ts'
import { AT_ONCE } from '../../../support/finality.ts'
import { AMPLE_GAS, lateJournal, NO_FILES, signerWith } from '../../../support/signing.ts'

export const SEPOLIA = 11_155_111
const address = (byte: string): Address => `0x${byte.repeat(20)}`

const SETTINGS: AggregatorSettings = {
  ...AGGREGATOR,
  rpcUrl: 'https://agg.example',
  chain: 'sepolia',
  wallet: 'operator',
  proposer: 'trustless',
  contracts: {
    gasTank: address('01'),
    multicall: address('02'),
    trustedProposer: address('03'),
    trustlessProposer: address('04'),
  },
  targets: new Map(),
}

/** A clock that advances on sleep and runs the plans of the elapsed time. Starts at 0. */
function sleepyClock() {
  let nowMs = 0
  const plans: { atMs: number; act: () => void }[] = []
  return {
    now: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
      for (const plan of plans.filter(({ atMs }) => atMs <= nowMs)) {
        plans.splice(plans.indexOf(plan), 1)
        plan.act()
      }
    },
    wake: () => Promise.reject(new Error('no command waits for a slot')),
    schedule: () => undefined,
    wakesAt: () => false,
    at: (atMs: number, act: () => void) => void plans.push({ atMs, act }),
  }
}

const unexpected = (): never => {
  throw new Error('unexpected request')
}

/** A fake account, chain and service with configurable answers; records sent transactions. */
export function fakeAggregator({ key }: { key: Key }) {
  const account: { -readonly [Key in keyof AccountView]: AccountView[Key] } = {
    blockNumber: 1n,
    blockTimeSeconds: 0,
    baseFeePerGas: 1_000_000_000n,
    balance: 10n ** 18n,
    transactionCount: 0,
    code: '0x',
    nestedNonce: undefined,
    domain: undefined,
    gasTank: { balances: 0n, balanceOf: undefined },
  }
  const sent: Hex[] = []
  const reports: string[] = []
  const broadcast: Hex[] = []
  const answers: {
    accountInfo: () => AggregatorReply<GasTankAccount>
    sendRawTransaction: (raw: Hex) => AggregatorReply<Hex>
    /** Whether the chain mines a transaction of the wallet. */
    mines: (draft: TransactionDraft) => boolean
  } = {
    accountInfo: () => ({ ok: false, fault: { tag: 'accountNotFound', message: 'unknown' } }),
    sendRawTransaction: unexpected,
    mines: () => true,
  }
  const service: Aggregator = {
    accountInfo: async () => answers.accountInfo(),
    async sendRawTransaction(raw) {
      sent.push(raw)
      return answers.sendRawTransaction(raw)
    },
    sendBundle: unexpected,
    receipt: unexpected,
    batchedReceipt: unexpected,
    transactionStatus: unexpected,
  }
  let drafted: TransactionDraft | undefined
  let mined = false
  const chain: AggregatorContext['chain'] = {
    account: async () => ({ ok: true, value: { ...account } }),
    async draft({ from, to, data, value }) {
      const fees = { gas: 50_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
      const nonce = account.transactionCount
      drafted = { chainId: SEPOLIA, from, to, data, value, nonce, ...fees }
      return { ok: true, value: { ...drafted, baseFeePerGas: 1n } }
    },
    async broadcast(raw) {
      broadcast.push(raw)
      mined = drafted !== undefined && answers.mines(drafted)
      if (mined) account.transactionCount += 1
      return { ok: true, value: raw }
    },
    async transaction({ hashes: [hash = '0x'] }) {
      const receipt = mined ? { hash, success: true, blockNumber: 2n, blockHash: hash } : undefined
      return { ok: true, value: { receipt, latestNonce: account.transactionCount } }
    },
    identity: unexpected,
    simulate: unexpected,
    trace: unexpected,
    callsWith: unexpected,
    code: unexpected,
    blocks: unexpected,
    finalCount: unexpected,
    nonceOutcome: unexpected,
    finalAccount: unexpected,
  }
  const clock = sleepyClock()
  const stopping = new AbortController()
  const signedJournal = lateJournal()
  const files = { ...NO_FILES, aggregator: { settings: SETTINGS, chainId: SEPOLIA } }
  const halt: { blocked?: string } = {}
  const guard = { blocked: () => halt.blocked }
  const signer = signerWith(key, { journal: signedJournal, files, clock, guard })
  const tools: Pick<
    AggregatorTools,
    'aggregator' | 'account' | 'signBy' | 'clock' | 'stop' | 'report'
  > = {
    aggregator: {
      settings: SETTINGS,
      service: unpaced(service),
      chain,
      finality: AT_ONCE,
      wallet: {
        chain,
        chainId: SEPOLIA,
        finality: AT_ONCE,
        gas: AMPLE_GAS,
        signer,
        turn: createTurns(),
      },
      callTurn: createTurns(),
    },
    account: key.address,
    signBy(journal) {
      signedJournal.use(journal)
      return guard
    },
    clock,
    stop: stopping.signal,
    report: (line) => void reports.push(line),
  }
  return { tools, files, halt, account, answers, sent, broadcast, reports, clock, stopping }
}
