import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeFunctionData, type Hex, keccak256, parseEventLogs, stringToHex, toHex } from 'viem'
import { createCallChain } from '../../../src/chain/call-chain.ts'
import { type Address, baseUnits } from '../../../src/domain/money/units.ts'
import type { CallIntent } from '../../../src/domain/order/intent.ts'
import { DEFAULT_POLICY, type ExecutionPolicy } from '../../../src/domain/policy.ts'
import type { AggregatorSettings } from '../../../src/domain/settings.ts'
import type { StrategyLimits } from '../../../src/domain/strategy.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Aggregator, CallChain, Clock, Journal, Key } from '../../../src/ports.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import type { CallStrategy } from '../../../src/strategies/call/call-kind.ts'
import { createAggregatorRpc } from '../../../src/venues/call/client/aggregator-client.ts'
import { createTurns, type OrderContext } from '../../../src/venues/context.ts'
import { createPendingRequests } from '../../../src/venues/manual/requests.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import { ACCOUNT, GASLESS } from '../../simulation/stage.ts'
import { aSchedule, OPEN } from '../builders.ts'
import { AMPLE_GAS, AMPLE_GAS_EVERYWHERE, NO_CONTRACTS, signerWith } from '../signing.ts'
import { delegatedAccount, ETHER, newAccount, SEPOLIA, sepoliaClient } from './aggregator.ts'
import { DEMO, PROPOSER } from './aggregator-abi.ts'
import { unpaced } from './unpaced.ts'

/** The daemon's call venue on the sandbox: its real adapters and real journal, without the rest of the daemon. */

const lower = (address: string): Address => address.toLowerCase() as Address

/** The sandbox makes its next block at once; waits for about a block of the real chain poll again after this. */
const SANDBOX_BLOCK_MS = 500

/** The machine's time, without the heartbeat that only the calendar needs, and with waits for a fast chain. */
export const WALL_CLOCK: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    pause(Math.min(ms, SANDBOX_BLOCK_MS), undefined, signal === undefined ? {} : { signal }).catch(
      () => undefined,
    ),
  wake: (atMs, signal) => WALL_CLOCK.sleep(Math.max(0, atMs - Date.now()), signal),
  schedule: () => undefined,
  wakesAt: () => false,
}

/** Short enough for a test, long enough for two cores. */
export const QUICK_POLICY: ExecutionPolicy = {
  ...DEFAULT_POLICY,
  backoffMsMin: 20,
  backoffMsMax: 200,
  pollMsMin: 40,
  silenceMs: 120,
  // A call lives a minute longer than the service has to execute it.
  directShare: 1,
  directMsMax: 60_000,
  pollMsMax: 100,
}

const COMPARED = { missing: () => undefined, upTo: () => undefined }

export function aggregatorSettingsOf(
  sandbox: Sandbox,
  changes: Partial<AggregatorSettings> = {},
): AggregatorSettings {
  const { contracts } = sandbox.sepolia
  return {
    ...AGGREGATOR,
    rpcUrl: sandbox.aggregatorUrl,
    chain: 'sepolia',
    wallet: 'operator',
    proposer: 'trustless',
    contracts: {
      gasTank: lower(contracts.gasTank),
      multicall: lower(contracts.multicall),
      trustedProposer: lower(contracts.trustedProposer),
      trustlessProposer: lower(contracts.trustlessProposer),
    },
    targets: new Map([['demo', lower(contracts.demoTarget)]]),
    fallback: { mode: 'rejected-only', deadlineMs: 60_000 },
    ...changes,
  }
}

/** A new key whose account has coin, a deposit and the proposer's code. */
export async function delegatedKey(
  sandbox: Sandbox,
  proposer: AggregatorSettings['proposer'] = 'trustless',
): Promise<Hex> {
  const key = toHex(randomBytes(32))
  await delegatedAccount(sandbox, proposer, { key })
  return key
}

/** A new key whose account has coin alone, or also a deposit. */
export async function fundedKey(sandbox: Sandbox, deposit = 0n, coin = ETHER): Promise<Hex> {
  const key = toHex(randomBytes(32))
  await newAccount(sandbox, { key, deposit, coin })
  return key
}

export function keyOf(key: Hex): Key {
  return createKey(Buffer.from(key.slice(2), 'hex'))
}

/** The service and the chain as one process sees them. */
export type Lines = {
  readonly service: Aggregator & { close(): Promise<void> }
  readonly chain: CallChain & { close(): Promise<void> }
}

export function openLines(
  sandbox: Sandbox,
  key: Key,
  observe: (event: RuntimeEvent) => void = () => undefined,
): Lines {
  const { methodPrefix, signatureHeader } = aggregatorSettingsOf(sandbox).wire
  const clock = WALL_CLOCK
  const signer = signerWith(key)
  return {
    service: createAggregatorRpc({
      url: sandbox.aggregatorUrl,
      ...{ methodPrefix, signatureHeader, signer, clock, observe },
      onRateLimit: () => undefined,
      onRetryAfter: () => undefined,
    }),
    chain: createCallChain({
      chainId: SEPOLIA,
      rpcUrls: [sandbox.sepolia.rpcUrl],
      rule: RULE,
      ...{ clock, observe },
    }),
  }
}

/** As in the sandbox's own config. */
const RULE = { finality: 1, agree: 1 } as const

export type CallContextOptions = {
  readonly key: Key
  readonly lines: { readonly service: Aggregator; readonly chain: CallChain }
  readonly journal: Journal
  readonly settings: AggregatorSettings
  readonly strategies: readonly CallStrategy[]
  readonly observe?: (event: RuntimeEvent) => void
  readonly policy?: ExecutionPolicy
  readonly closing?: AbortSignal
  readonly stop?: AbortSignal
}

/** A context for calls alone: every use of the gasless venue throws. */
export function callContext(options: CallContextOptions): OrderContext {
  const { key, lines, journal, settings } = options
  const strategies = new Map(options.strategies.map((strategy) => [strategy.name, strategy]))
  const aggregator = { settings, chainId: SEPOLIA }
  const gas = AMPLE_GAS_EVERYWHERE
  const own = { strategies, versionOf: () => undefined, gas, aggregator }
  const beside = { pricePath: () => undefined, valueToken: undefined, trusted: NO_CONTRACTS }
  const files = { chainId: SEPOLIA, gasless: GASLESS, account: ACCOUNT, ...own, ...beside }
  const signer = signerWith(key, { journal, files, clock: WALL_CLOCK })
  const wallet = {
    chain: lines.chain,
    chainId: SEPOLIA,
    finality: RULE,
    gas: AMPLE_GAS,
    signer,
    turn: createTurns(),
  }
  const never = new AbortController().signal
  return {
    ports: {
      clock: WALL_CLOCK,
      random: { jitter: Math.random },
      gasless: unused('the gasless service'),
      chain: unused("the gasless service's chain"),
      signer,
      journal,
      guard: { blocked: () => undefined },
      haltFile: { status: () => undefined, lift: () => undefined },
      modules: {
        versionOf: own.versionOf,
        decide: () => Promise.reject(new Error('a module was called')),
      },
      queue: unused("the gasless service's queue"),
      observe: options.observe ?? (() => undefined),
    },
    policy: options.policy ?? QUICK_POLICY,
    chainId: SEPOLIA,
    finality: RULE,
    gasless: GASLESS,
    account: ACCOUNT,
    strategies,
    mode: 'sandbox',
    ...beside,
    hashPermit: () => {
      throw new Error('no permit is made for a call')
    },
    tokenFault: () => undefined,
    compared: { trader: COMPARED, account: COMPARED },
    closing: options.closing ?? never,
    market: { latest: undefined },
    stop: options.stop ?? never,
    requests: createPendingRequests(never),
    wallet,
    aggregator: {
      settings,
      service: unpaced(lines.service),
      chain: lines.chain,
      finality: RULE,
      wallet,
      callTurn: createTurns(),
    },
  }
}

function unused<Port extends object>(what: string): Port {
  return new Proxy({} as Port, {
    get: (_port, property) => {
      throw new Error(`${what}.${String(property)} was used`)
    },
  })
}

const NO_LIMITS: StrategyLimits = { ...OPEN, maxOpenIntents: 10 }

/** A strategy that records `label` at the DemoTarget, which counts each label separately. */
export function recordStrategy(sandbox: Sandbox, label: string): CallStrategy {
  return {
    kind: 'call',
    name: label,
    file: `${label}.yaml`,
    enabled: true,
    schedule: aSchedule('* * * * * *'),
    limits: NO_LIMITS,
    target: lower(sandbox.sepolia.contracts.demoTarget),
    calldata: recordCalldata(label),
    value: baseUnits(0n),
    gasLimit: 120_000n,
    label: 'record(bytes32)',
  }
}

/** The intent of one slot of a strategy whose calldata records a separate label. */
export function recordIntent(
  strategy: CallStrategy,
  slot: { readonly owner: Address; readonly slotSeconds: number; readonly label: string },
): CallIntent {
  const { owner, slotSeconds, label } = slot
  return {
    id: `${strategy.name}:${slotSeconds}:0`,
    venue: 'aggregated',
    strategy: strategy.name,
    ...{ slotSeconds, leg: 0, owner, calldata: recordCalldata(label) },
    startBeforeMs: Date.now() + strategy.schedule.maxLatenessMs,
    target: strategy.target,
    value: strategy.value,
    gasLimit: strategy.gasLimit,
    label: strategy.label,
  }
}

export function memoOf(label: string): Hex {
  return keccak256(stringToHex(label))
}

function recordCalldata(label: string): Hex {
  return encodeFunctionData({ abi: DEMO, functionName: 'record', args: [memoOf(label)] })
}

/** A call as the DemoTarget received it. */
export type SeenCall = { readonly caller: Address; readonly memo: Hex; readonly txHash: Hex }

/** Every call that the DemoTarget counted, in order. */
export async function callsSeen(sandbox: Sandbox): Promise<readonly SeenCall[]> {
  const logs = await sepoliaClient(sandbox).getLogs({
    address: sandbox.sepolia.contracts.demoTarget,
    fromBlock: 0n,
  })
  return parseEventLogs({ abi: DEMO, logs, eventName: 'Called' }).map(
    ({ args, transactionHash }) => ({
      caller: lower(args.caller),
      memo: args.memo,
      txHash: transactionHash,
    }),
  )
}

export function nestedNonceOf(sandbox: Sandbox, account: Hex): Promise<bigint> {
  return sepoliaClient(sandbox).readContract({
    address: account,
    abi: PROPOSER,
    functionName: 'nestedNonce',
  })
}
