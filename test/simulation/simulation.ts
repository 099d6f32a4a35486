import { StateLockedError, WrongStateError } from '../../src/domain/errors.ts'
import { createPricePaths, type PriceFeed } from '../../src/domain/money/price.ts'
import type { Address, Hex } from '../../src/domain/money/units.ts'
import { type TrustedCode, trustedContracts } from '../../src/domain/order/contract.ts'
import { DEFAULT_POLICY, type ExecutionPolicy } from '../../src/domain/policy.ts'
import { createRandom, type SeededRandom } from '../../src/domain/random.ts'
import type {
  AccountLimits,
  AggregatorSettings,
  FinalityRule,
  GaslessSettings,
  Mode,
} from '../../src/domain/settings.ts'
import {
  type DaemonControl,
  type Foundations,
  type OperatorFiles,
  runDaemon,
} from '../../src/engine/daemon.ts'
import { checkAnchor } from '../../src/journal/anchor.ts'
import type { JournalEvent, Recorded } from '../../src/journal/events/registry.ts'
import { stateNamed, walletAnchored } from '../../src/journal/events/state/state-identity.ts'
import type { GaslessRoute, Route, RuntimeEvent } from '../../src/journal/runtime-event.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import type { Clock, Journal, PairQueue, Ports, Queue } from '../../src/ports.ts'
import { hearPrices } from '../../src/signing/heard-prices.ts'
import { createPermitHasher } from '../../src/signing/permit-digest.ts'
import type { Files } from '../../src/signing/policy.ts'
import { createSigner } from '../../src/signing/signer.ts'
import { manualStrategy } from '../../src/strategies/manual/manual-kind.ts'
import { makesCalls, type Strategy } from '../../src/strategies/registry.ts'
import { createTurns } from '../../src/venues/context.ts'
import { AGGREGATOR, Aggregation, CALL_CHAIN_ID } from './aggregator/aggregation.ts'
import { CALL_GAS } from './aggregator/chain.ts'
import { type ChainFaults, createSimulatedChain, noChainFaults } from './chain/chain.ts'
import { Ledger } from './chain/ledger.ts'
import { Market } from './chain/market.ts'
import { Mempool } from './chain/mempool.ts'
import { noServiceFaults } from './gasless/faults.ts'
import { createSimulatedGasless } from './gasless/gasless.ts'
import type { LimitReading } from './gasless/rate-limits.ts'
import { SimulatedService } from './gasless/service.ts'
import { createSimulatedJournal, OVERTAKEN, SimulatedDisk } from './journal.ts'
import type { SigningStatus } from './judge/signing-status.ts'
import { Watch } from './judge/watch.ts'
import { createSimulatedModules, noModuleFaults, type SimulatedModule } from './modules.ts'
import { never, ProcessDied, SimulatedProcess } from './process.ts'
import { createSimulatedKey } from './signer.ts'
import {
  ACCOUNT,
  GAS,
  GASLESS,
  PERMIT2,
  SIMULATED_CHAIN_ID,
  SPENDER,
  USDC,
  WALLET,
  WETH,
  WETH_USDC,
} from './stage.ts'
import { VirtualClock } from './virtual-clock.ts'

const DRAIN_MS = 30_000
/** Midnight UTC on Monday, 1 March 2027. */
const START_MS = 1_803_859_200_000

export type SimulationOptions = {
  /** The same seed and the same calls give the same simulation, byte for byte. */
  readonly seed: string
  readonly startMs?: number
  readonly strategies: readonly Strategy[]
  /** Feeds of the config that no strategy uses. */
  readonly idleFeeds?: readonly PriceFeed[]
  readonly account?: Partial<AccountLimits>
  readonly gasless?: Partial<GaslessSettings>
  readonly aggregator?: Partial<AggregatorSettings>
  readonly policy?: Partial<ExecutionPolicy>
  /** The modules of custom strategies, by the strategy's name. */
  readonly modules?: Readonly<Record<string, SimulatedModule>>
  /** Default: sandbox. */
  readonly mode?: Mode
  /** The state has an anchor, as in `mode: live`. */
  readonly isAnchored?: boolean
  /** Paces requests to the service as the live adapters do; without it only `queueDelayMs` delays them. */
  readonly pace?: (parts: PaceParts) => Pace
  /** Default: two blocks, one node. */
  readonly rule?: Partial<FinalityRule>
}

/** Inputs of the request pacer. */
export type PaceParts = {
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly monotonicMs: () => number
  readonly requestsPerSecond: number
  readonly observe: (event: RuntimeEvent) => void
}

export type Pace = PairQueue<GaslessRoute> & {
  readonly onRateLimit: (route: GaslessRoute, reading: LimitReading) => void
  readonly onRetryAfter: (route: GaslessRoute, ms: number) => void
}

const { hash: hashPermit } = await createPermitHasher({
  chainId: SIMULATED_CHAIN_ID,
  permit2: PERMIT2,
})
const PRICE_PATHS = createPricePaths([WETH_USDC])

/** Shallow, so that a permit's death is final soon, but deep enough that something can happen meanwhile. */
const RULE: FinalityRule = { finality: 2, agree: 1 }

type Run = {
  readonly process: SimulatedProcess
  readonly disk: SimulatedDisk
  /** The operator's files that it uses: both the old and the new ones during an exchange. */
  files: readonly OperatorFiles[]
  /** The account's limits as the daemon holds them: a reload changes them in place. */
  readonly account: AccountLimits
  /** As the daemon and its signer have it. */
  readonly trusted: TrustedCode
  readonly shutdown: AbortController
  state: DaemonState
  control: DaemonControl | undefined
  /** The error of its journal. */
  fault: Error | undefined
  ended: { readonly error: unknown } | 'returned' | undefined
}

/**
 * A machine that runs the real daemon against a chain, the service and a market, all in memory and in virtual time. The
 * daemon can be crashed, restarted, stalled and lied to; the watch records violations.
 */
export class Simulation {
  readonly clock: VirtualClock
  readonly ledger: Ledger
  readonly mempool: Mempool
  readonly market: Market
  readonly service: SimulatedService
  /** The state directory that the wallet trades from. */
  disk = new SimulatedDisk()
  readonly chainFaults = noChainFaults()
  /** Faults of further nodes, which are queried only for quorum reads. */
  readonly otherNodes: ChainFaults[] = []
  readonly serviceFaults = noServiceFaults()
  readonly moduleFaults = noModuleFaults()
  /** Runtime events and records, in the order in which they were observed. */
  readonly observations: (RuntimeEvent | JournalEvent)[] = []
  /** Records, once they were on disk. */
  readonly recorded: Recorded[] = []
  readonly watch: Watch
  readonly aggregation: Aggregation
  /** Account limits of the config file at the next start. */
  account: AccountLimits
  readonly gasless: GaslessSettings
  readonly initialWeth = 50n * 10n ** 18n
  /** Strategy files at the next start. */
  strategies: readonly Strategy[]
  readonly modules: Map<string, SimulatedModule>
  /** How long each submission waits in the queue. */
  queueDelayMs = 0
  /** How long each other request waits there. */
  queueDelaysMs: Partial<Record<Route, number>> = {}
  /** Blocks signatures outside the journal: a HALT file, a lost lock. */
  blocked: string | undefined
  /** The running daemon's request pacer, if the simulation was made with one. */
  pacing: Pace | undefined
  /** Content of the file HALT in the state directory; undefined if there is none. */
  haltFile: string | undefined
  /** How long the machine is down after a crash point. */
  restartAfterMs = 3_000
  readonly #random: SeededRandom
  readonly #policy: ExecutionPolicy
  readonly #pace: SimulationOptions['pace']
  /** The finality rule: depth and quorum. */
  readonly rule: FinalityRule
  readonly #idleFeeds: readonly PriceFeed[]
  readonly #isAnchored: boolean
  readonly #mode: Mode
  #run: Run | undefined
  /** Daemons that run beside it: overtaken on the same machine, or over a copy of its directory on another. */
  #others: Run[] = []
  /** Every version of the operator's files that any daemon used. */
  readonly #filesEver: OperatorFiles[] = []

  constructor(options: SimulationOptions) {
    const random = createRandom(options.seed)
    this.#random = random
    this.clock = new VirtualClock(options.startMs ?? START_MS)
    this.ledger = new Ledger(this.clock)
    const { clock, ledger, chainFaults, serviceFaults } = this
    this.mempool = new Mempool({
      ledger,
      clock,
      random: random.fork('mempool'),
      loses: () => chainFaults.losesTransaction,
      delayBlocksMax: () => chainFaults.minesAfterBlocksMax,
    })
    this.market = new Market({ ledger, clock, random: random.fork('market') })
    this.service = new SimulatedService({
      ledger,
      clock,
      random: random.fork('service'),
      faults: serviceFaults,
      chainId: SIMULATED_CHAIN_ID,
      permit2: PERMIT2,
      spender: SPENDER,
      priceOf: (sell, buy) => this.market.priceOf(sell, buy),
      hashPermit,
    })
    this.strategies = options.strategies
    this.#idleFeeds = options.idleFeeds ?? []
    this.modules = new Map(Object.entries(options.modules ?? {}))
    this.account = { ...ACCOUNT, ...options.account }
    this.gasless = { ...GASLESS, ...options.gasless }
    this.#policy = { ...DEFAULT_POLICY, ...options.policy }
    this.#pace = options.pace
    this.rule = { ...RULE, ...options.rule }
    this.#isAnchored = options.isAnchored === true
    this.#mode = options.mode ?? 'sandbox'
    const { finality } = this.rule
    const depth = typeof finality === 'number' ? finality : 0
    this.watch = new Watch({ disk: this.disk, ledger, clock, depth })
    this.aggregation = new Aggregation({
      settings: { ...AGGREGATOR, ...options.aggregator },
      rule: this.rule,
      clock,
      blocks: ledger,
      disk: this.disk,
      random: random.fork('aggregation'),
    })
    ledger.setBalance('native', WALLET, 10n ** 19n)
    ledger.setBalance(USDC.address, WALLET, 100_000n * 10n ** 6n)
    ledger.setBalance(WETH.address, WALLET, this.initialWeth)
  }

  /** The state of the running daemon, or the one that a new daemon would find. */
  get state(): DaemonState {
    return this.#run?.process.alive ? this.#run.state : this.disk.reducedState()
  }

  get isRunning(): boolean {
    return this.#run?.process.alive === true && this.#run.ended === undefined
  }

  /** How the last daemon ended: still running, returned, or rejected with an error. */
  get ended(): Run['ended'] {
    return this.#run?.ended
  }

  /** Control requests to the running daemon. Throws while no daemon handles slots. */
  get control(): DaemonControl {
    const { process, control } = this.#run ?? {}
    if (!process?.alive || control === undefined) throw new Error('no daemon handles slots')
    return control
  }

  /** Every version of the operator's files that any daemon ever used. */
  get filesEver(): readonly OperatorFiles[] {
    return this.#filesEver
  }

  balance(asset: Address | 'native'): bigint {
    return this.ledger.balance(asset, WALLET)
  }

  /**
   * Suspends the daemon (SIGSTOP, a paused machine) while another takes its state over. Returns a function that resumes
   * the first one beside it.
   */
  overtake(): () => void {
    const thaw = this.#run?.process.freeze() ?? (() => undefined)
    if (this.#run !== undefined) this.#others.push(this.#run)
    this.#run = undefined
    this.start()
    return thaw
  }

  /** Another machine starts a daemon for the same wallet, over a copy of its state directory. */
  startCopy(disk: SimulatedDisk): void {
    this.#others.push(this.#begin(disk))
  }

  /** Ends all other daemons, and continues with the directory that the wallet's anchor belongs to. */
  endCopies(): void {
    const { keeper } = this.disk.shelf
    for (const { process, disk } of this.#others.splice(0)) {
      if (process === keeper && disk !== this.disk) {
        this.crash()
        this.disk = disk
      }
      process.die()
    }
  }

  /** Starts the daemon; a running daemon is killed first. */
  start(): void {
    this.#run?.process.die()
    this.#run = this.#begin(this.disk)
  }

  #begin(disk: SimulatedDisk): Run {
    const process = new SimulatedProcess(this.clock, this.#random.fork(`net ${disk.appends}`))
    const strategies = new Map<string, Strategy>()
    const shutdown = new AbortController()
    const files = { strategies: this.strategies, account: { ...this.account } }
    this.#filesEver.push(files)
    const run: Run = {
      ...{ process, disk, shutdown, files: [files], account: { ...this.account } },
      trusted: this.#trusted(),
      state: emptyState(),
      control: undefined,
      fault: undefined,
      ended: undefined,
    }
    let ports: Ports
    try {
      disk.requireOwn()
      const refused = this.#refusal(disk)
      if (refused !== undefined) throw new WrongStateError(refused)
      ports = this.#portsOf(run, strategies)
    } catch (error) {
      // Its journal is invalid: the daemon has not started anything.
      run.ended = { error }
      process.die()
      return run
    }
    run.state = ports.journal.state
    const done = runDaemon({
      wallet: 'trader',
      context: this.#contextOf(ports, run, strategies),
      tokens: [USDC, WETH],
      feeds: [WETH_USDC, ...this.#idleFeeds],
      strategies: this.strategies.filter(({ enabled }) => enabled),
      manual: manualStrategy({ tokens: [USDC, WETH], slippageBps: 50, maxDeviationBps: 200 }),
      lastSeenMs: disk.records().at(-1)?.atMs,
      drainMs: DRAIN_MS,
      shutdown: shutdown.signal,
      onReady: (_agenda, control) => {
        run.control = { ...control, reload: (next) => this.#reload(run, control, next) }
      },
      onTick: () => undefined,
      onBound: () => (this.#isAnchored ? this.#keepAnchor(run, ports.journal) : undefined),
    })
    done.then(
      () => {
        run.ended = run.fault === undefined ? 'returned' : { error: run.fault }
      },
      (error: unknown) => {
        run.ended = { error }
        if (process.alive && !isExpectedEnd(error))
          this.watch.report(`the daemon ended: ${String(error)}`)
      },
    )
    return run
  }

  /** During an exchange of files, both versions are in use. */
  async #reload(run: Run, control: DaemonControl, next: OperatorFiles): Promise<void> {
    const before = run.files
    run.files = [...before, next]
    this.#filesEver.push(next)
    try {
      await control.reload(next)
      run.files = [next]
    } catch (error) {
      run.files = before
      throw error
    }
  }

  async runFor(ms: number): Promise<void> {
    await this.clock.runUntil(this.clock.trueMs + ms)
  }

  /** The service gives no answers for a while. */
  loseServiceFor(ms: number): void {
    this.serviceFaults.down = true
    this.clock.schedule(this.clock.trueMs + ms, () => {
      this.serviceFaults.down = false
    })
  }

  /** The machine loses power. */
  crash(): void {
    this.#run?.process.die()
    const isHere = ({ disk }: Run): boolean => disk === this.disk
    for (const { process } of this.#others.filter(isHere)) process.die()
    this.#others = this.#others.filter((run) => !isHere(run))
  }

  /** Asks the daemon to drain and return, as SIGTERM does. */
  stop(cause: string): void {
    this.#run?.shutdown.abort(cause)
  }

  /**
   * Ends all faults and runs until nothing is open, at most an hour. Returns false if something stays open. An approval
   * does not count: one that a dead process recorded waits for the wallet's next transaction.
   */
  async calmDown(): Promise<boolean> {
    for (const node of [this.chainFaults, ...this.otherNodes]) Object.assign(node, noChainFaults())
    Object.assign(this.serviceFaults, noServiceFaults())
    Object.assign(this.moduleFaults, noModuleFaults())
    this.aggregation.calmDown()
    this.clock.offsetMs = 0
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await this.runFor(60_000)
      const { intents, transactions } = this.disk.reducedState()
      const unsettled = [...transactions.values()].some(
        ({ record }) => record.purpose !== 'approve',
      )
      if (intents.size === 0 && !unsettled) return true
    }
    return false
  }

  /** Why a daemon cannot continue with this disk. */
  #refusal(disk: SimulatedDisk): string | undefined {
    if (!this.#isAnchored) return undefined
    const owner = { wallet: WALLET, chainId: SIMULATED_CHAIN_ID }
    const { tag } = checkAnchor(disk.anchor, owner, disk.snapshot())
    return tag === 'agrees' || tag === 'none-yet' ? undefined : tag
  }

  /** As `StateAnchors.keep` of the adapters. */
  async #keepAnchor({ disk, process }: Run, journal: Journal): Promise<void> {
    const { clock } = this
    // The wallet may have signed with another copy of the state since this one was read.
    const refused = this.#refusal(disk)
    if (refused !== undefined) throw new WrongStateError(refused)
    disk.shelf.keeper = process
    if (journal.state.stateId === undefined)
      await journal.append(stateNamed({ stateId: `${clock.trueMs}` }))
    const { stateId = '', bound } = journal.state
    const position = disk.snapshot().head
    const owner = { wallet: WALLET, chainId: SIMULATED_CHAIN_ID }
    const { genesisHash } = bound ?? {}
    disk.anchor ??= { ...owner, genesisHash, stateId, stateDir: '', position, atMs: clock.trueMs }
    if (!journal.state.anchored.has(WALLET)) await journal.append(walletAnchored({ ...owner }))
  }

  #portsOf(run: Run, strategies: ReadonlyMap<string, Strategy>): Ports {
    const { process, disk } = run
    const { clock, ledger, mempool, service } = this
    const random = this.#random.fork(`process ${disk.appends} ${clock.trueMs}`)
    const jitter = random.fork('jitter')
    const observe = (event: RuntimeEvent): void => {
      if (process.alive) this.observations.push(event)
    }
    const journal = createSimulatedJournal({
      disk,
      clock,
      process,
      recorded: (entry) => {
        if (!process.alive) return
        this.observations.push(entry.event)
        this.recorded.push(entry)
      },
      crash: () => this.#crashPoint(),
      onFatal: (error) => {
        run.fault = error
        run.shutdown.abort(`the journal failed: ${error.message}`)
      },
      wallets: { trader: WALLET, operator: WALLET },
    })
    const guard = {
      blocked: () =>
        this.blocked ?? this.haltFile ?? (disk.writer === process ? undefined : OVERTAKEN),
    }
    const port = process.clock()
    const pace = this.#pace?.({
      clock: port,
      monotonicMs: () => clock.trueMs,
      requestsPerSecond: this.gasless.requestsPerSecond,
      observe,
    })
    this.pacing = pace
    const { chain, prices } = hearPrices(
      createSimulatedChain({
        ledger,
        mempool,
        faults: this.chainFaults,
        others: this.otherNodes,
        rule: this.rule,
        observe,
        random: random.fork('chain'),
        process,
        chainId: SIMULATED_CHAIN_ID,
      }),
      port,
      PRICE_PATHS,
    )
    return {
      clock: port,
      random: { jitter: () => jitter.next() },
      gasless: createSimulatedGasless({
        service,
        faults: this.serviceFaults,
        random: random.fork('gasless'),
        process,
        clock,
        tokens: [USDC, WETH],
        onRateLimit: pace?.onRateLimit,
        onRetryAfter: pace?.onRetryAfter,
        aside: random.fork('tokens'),
      }),
      chain,
      signer: createSigner({
        key: createSimulatedKey({
          address: WALLET,
          process,
          onSign: (digest: Hex) => this.watch.signing(digest, this.#status(run)),
          onTransaction: (draft) => this.watch.sending(draft, this.#status(run)),
        }),
        hashPermit,
        ...{ journal, guard, clock: port, files: this.#filesOf(run, strategies), prices },
      }),
      journal,
      guard,
      haltFile: {
        status: () => this.haltFile,
        lift: () => {
          process.requireAlive()
          this.haltFile = undefined
        },
      },
      modules: createSimulatedModules({
        process,
        modules: this.modules,
        faults: this.moduleFaults,
      }),
      queue: pace ?? this.#queueOf(process),
      observe,
    }
  }

  /** Status of the signing process, for the watch. */
  #status({ disk, files }: Run): SigningStatus {
    return { disk, files, isHaltFileThere: this.haltFile !== undefined }
  }

  #trusted(): TrustedCode {
    const { gasless, aggregation } = this
    const contracts = trustedContracts({
      chains: new Map([
        [gasless.chain, { chainId: SIMULATED_CHAIN_ID }],
        [aggregation.settings.chain, { chainId: CALL_CHAIN_ID }],
      ]),
      ...{ gasless, aggregator: aggregation.settings },
      tokens: new Map([USDC, WETH].map((token) => [token.symbol, token])),
      prices: new Map([WETH_USDC, ...this.#idleFeeds].map((feed) => [feed.pair, feed])),
    })
    return { contracts, pins: new Map(), conflict: () => undefined }
  }

  #filesOf({ account, trusted }: Run, strategies: ReadonlyMap<string, Strategy>): Files {
    const { gasless, aggregation } = this
    return {
      ...{ chainId: SIMULATED_CHAIN_ID, gasless, account, strategies },
      versionOf: ({ name }) => this.modules.get(name)?.toString(),
      pricePath: PRICE_PATHS,
      trusted,
      gas: new Map([
        [SIMULATED_CHAIN_ID, GAS],
        [CALL_CHAIN_ID, CALL_GAS],
      ]),
      aggregator: { settings: aggregation.settings, chainId: CALL_CHAIN_ID },
    }
  }

  #queueOf(process: SimulatedProcess): PairQueue<Route> {
    const turnOf = { giveBack: () => undefined }
    const turn = async (route: Route, end?: AbortSignal): Promise<void> => {
      const waitMs = route === 'submit' ? this.queueDelayMs : this.queueDelaysMs[route]
      if (waitMs !== undefined) await process.clock().sleep(waitMs, end)
    }
    const runUnless: Queue<Route>['runUnless'] = async (end, route, task) => {
      await turn(route, end)
      if (end.aborted) return undefined
      return process.alive ? task(turnOf) : never()
    }
    return {
      run: async (route, task) => {
        await turn(route)
        return process.alive ? task(turnOf) : never()
      },
      runUnless,
      ticket: ({ first, second }) => ({
        near: async (end) => !end.aborted,
        first: (end, task) => runUnless(end, first, task),
        second: (end, task) => runUnless(end, second, task),
        leave: () => undefined,
      }),
    }
  }

  #crashPoint(): void {
    this.crash()
    this.clock.schedule(this.clock.trueMs + this.restartAfterMs, () => this.start())
  }

  #contextOf(ports: Ports, run: Run, strategies: Map<string, Strategy>): Foundations {
    const { process } = run
    return {
      ports,
      policy: this.#policy,
      chainId: SIMULATED_CHAIN_ID,
      finality: this.rule,
      gasless: this.gasless,
      account: run.account,
      strategies,
      mode: this.#mode,
      pricePath: PRICE_PATHS,
      valueToken: USDC,
      trusted: run.trusted,
      hashPermit,
      wallet: {
        chain: ports.chain,
        chainId: SIMULATED_CHAIN_ID,
        finality: this.rule,
        gas: GAS,
        signer: ports.signer,
        turn: createTurns(),
      },
      aggregator: this.strategies.some(makesCalls)
        ? this.aggregation.contextOf(process, this.#queueOf(process), {
            ...{ journal: ports.journal, guard: ports.guard, clock: ports.clock },
            files: this.#filesOf(run, strategies),
            status: () => this.#status(run),
          })
        : undefined,
    }
  }
}

/** Errors with which a daemon must end by itself: it has lost its lock or anchor. */
function isExpectedEnd(error: unknown): boolean {
  return [ProcessDied, StateLockedError, WrongStateError].some((kind) => error instanceof kind)
}
