import type { Address } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { AggregatorSettings, FinalityRule } from '../../../src/domain/settings.ts'
import type { AggregatorRoute } from '../../../src/journal/runtime-event.ts'
import type { Queue } from '../../../src/ports.ts'
import type { SignerParts } from '../../../src/signing/policy.ts'
import { createSigner } from '../../../src/signing/signer.ts'
import { paceAggregator } from '../../../src/venues/call/paced.ts'
import { type AggregatorContext, createTurns } from '../../../src/venues/context.ts'
import type { Ledger } from '../chain/ledger.ts'
import type { SimulatedDisk } from '../journal.ts'
import { CallWatch } from '../judge/call-watch.ts'
import type { SigningStatus } from '../judge/signing-status.ts'
import type { SimulatedProcess } from '../process.ts'
import { createSimulatedKey } from '../signer.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import {
  CALL_GAS,
  type CallChainFaults,
  createSimulatedCallChain,
  noCallChainFaults,
} from './chain.ts'
import { CallLedger } from './ledger.ts'
import { createSimulatedAggregator, noCallServiceFaults, SimulatedCallService } from './service.ts'

/** The aggregation service in a simulation: names, chain, service, watch. */

export const CALL_CHAIN_ID = 11_155_111
export const OPERATOR_WALLET: Address = '0x00000000000000000000000000000000000000bb'
export const CALL_TARGET: Address = '0x00000000000000000000000000000000007a46e7'

export const AGGREGATOR: AggregatorSettings = {
  rpcUrl: 'http://aggregator.invalid',
  chain: 'sepolia',
  wallet: 'operator',
  proposer: 'trustless',
  submit: 'transaction',
  contracts: {
    gasTank: '0x000000000000000000000000000000000000c001',
    multicall: '0x000000000000000000000000000000000000c002',
    trustedProposer: '0x000000000000000000000000000000000000c003',
    trustlessProposer: '0x000000000000000000000000000000000000c004',
  },
  targets: new Map([['demo', CALL_TARGET]]),
  fallback: { mode: 'after-deadline', deadlineMs: 180_000 },
  gasTank: { methods: 'auto', alertBelowWei: undefined, topUp: undefined },
  wire: {
    methodPrefix: 'agg_',
    signatureHeader: 'X-Relay-Signature',
    envelopeTo: 'account',
    bundle: 'list',
    status: { charged: 'costs.charged', saved: 'savings.saved', blob: 'costs.blob_cost' },
  },
}

export type AggregationOptions = {
  readonly settings: AggregatorSettings
  readonly rule: FinalityRule
  readonly clock: VirtualClock
  readonly blocks: Ledger
  readonly disk: SimulatedDisk
  readonly random: SeededRandom
}

export class Aggregation {
  readonly ledger: CallLedger
  readonly service: SimulatedCallService
  readonly watch: CallWatch
  readonly faults = noCallServiceFaults()
  readonly chainFaults = noCallChainFaults()
  /** Faults of further nodes, which are queried only for quorum reads. */
  readonly otherNodes: CallChainFaults[] = []
  /** Settings at the next start. */
  settings: AggregatorSettings
  wallet: Address = OPERATOR_WALLET
  readonly #options: AggregationOptions

  constructor(options: AggregationOptions) {
    const { settings, clock, blocks, disk, random } = options
    const { contracts } = settings
    this.#options = options
    this.settings = settings
    this.ledger = new CallLedger({
      blocks,
      schedule: (atMs, fire) => clock.schedule(atMs, fire),
      account: OPERATOR_WALLET,
      chainId: CALL_CHAIN_ID,
      contracts,
    })
    const { ledger, faults } = this
    this.service = new SimulatedCallService({
      ledger,
      clock,
      random: random.fork('service'),
      faults,
      ...contracts,
    })
    const { finality } = options.rule
    const depth = typeof finality === 'number' ? finality : 0
    this.watch = new CallWatch({ disk, ledger, chainId: CALL_CHAIN_ID, depth })
  }

  /** Ends all faults. */
  calmDown(): void {
    Object.assign(this.faults, noCallServiceFaults())
    for (const node of [this.chainFaults, ...this.otherNodes])
      Object.assign(node, noCallChainFaults())
  }

  /** The ports for a daemon's process. */
  contextOf(
    process: SimulatedProcess,
    queue: Queue<AggregatorRoute>,
    {
      status,
      ...signerParts
    }: Pick<SignerParts, 'journal' | 'guard' | 'clock' | 'files'> & {
      readonly status: () => SigningStatus
    },
  ): AggregatorContext {
    const { ledger, service, faults, chainFaults, settings, wallet: address } = this
    const { clock, disk, rule } = this.#options
    const random = this.#options.random.fork(`process ${disk.appends} ${clock.trueMs}`)
    const chain = createSimulatedCallChain({
      ledger,
      faults: chainFaults,
      others: this.otherNodes,
      rule,
      random: random.fork('chain'),
      process,
      chainId: CALL_CHAIN_ID,
    })
    const signer = createSigner({
      key: createSimulatedKey({
        address,
        process,
        onSign: (digest) => this.watch.signing(digest, status()),
        onTransaction: (draft) => this.watch.sending(draft, status()),
      }),
      hashPermit: () => '0x',
      ...signerParts,
    })
    return {
      settings,
      service: paceAggregator(
        createSimulatedAggregator({
          service,
          ledger,
          faults,
          random: random.fork('service'),
          process,
        }),
        queue,
      ),
      chain,
      finality: rule,
      wallet: {
        chain,
        chainId: CALL_CHAIN_ID,
        finality: rule,
        gas: CALL_GAS,
        signer,
        turn: createTurns(),
      },
      callTurn: createTurns(),
    }
  }
}
