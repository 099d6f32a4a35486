import type { Fees } from '../../adapters/chain/fees.ts'
import type { NodeSight, Permit2Right, TokenSight } from '../../adapters/chain/inspection.ts'
import { type DiskSight, lookAtDisk } from '../../adapters/state/disk-sight.ts'
import { lookAtSupervisor, type SupervisorSight } from '../../adapters/supervisor.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import type { SwapIntent } from '../../domain/intent.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import type { PriceFeed } from '../../domain/price.ts'
import type { Quote, Reply, TokenInfo } from '../../domain/quote.ts'
import type { ChainSettings, Settings } from '../../domain/settings.ts'
import type { Token } from '../../domain/token.ts'
import type { Address, Hex } from '../../domain/units.ts'
import { type GasTank, gasTankOf } from '../../execute/account/deposit.ts'
import { delegationRefusal } from '../../execute/authority/delegation.ts'
import { quoteRequest } from '../../execute/swap/signable.ts'
import type { AggregatorReply, ChainReply, ChainView, GasTankAccount, Key } from '../../ports.ts'
import { openClock } from './clock.ts'
import {
  composeAggregator,
  composeChain,
  composeGasless,
  composeInspection,
  filesOf,
} from './services.ts'
import { haltOf } from './state.ts'

/** A reply, and how long it took. */
export type Timed<Value> = { readonly reply: Value; readonly durationMs: number }

/** What the chain has of the account behind calls, as orders judge it. */
export type OperatorSight = {
  /** Wei. */
  readonly balance: bigint
  /** Why its code is not the config's proposer; undefined where it is. */
  readonly delegation: { readonly reason: string } | undefined
  readonly tank: GasTank | undefined
}

/** The gasless service as it was met. */
export type ServiceSight = Timed<Reply<readonly TokenInfo[]>> & {
  readonly clockOffsetMs: number | undefined
  /** Requests left in its window, where it says so. */
  readonly remaining: number | undefined
}

/**
 * Every question that `doctor` asks of chains and services. Each is one look, bounded in time; none changes anything, and the only
 * signature is that of the login to the aggregation service.
 */
export type Asking = {
  now(): number
  nodes(chain: ChainSettings): Promise<readonly NodeSight[]>
  fees(chain: ChainSettings): Promise<ChainReply<Fees>>
  code(
    chain: ChainSettings,
    addresses: readonly Address[],
  ): Promise<ChainReply<ReadonlyMap<Address, Hex>>>
  tokens(
    chain: ChainSettings,
    addresses: readonly Address[],
  ): Promise<ChainReply<ReadonlyMap<Address, TokenSight>>>
  /** Of the gasless service's chain. */
  view(query: {
    readonly owner: Address
    readonly tokens: readonly Token[]
    readonly feeds: readonly PriceFeed[]
  }): Promise<ChainReply<ChainView>>
  rights(owner: Address, tokens: readonly Token[]): Promise<ChainReply<readonly Permit2Right[]>>
  /** Of the account behind calls; undefined without a key of it, or without an aggregator. */
  readonly operator:
    | {
        sight(): Promise<ChainReply<OperatorSight>>
        login(): Promise<Timed<AggregatorReply<GasTankAccount>>>
      }
    | undefined
  service(): Promise<ServiceSight>
  quote(intent: SwapIntent): Promise<{ readonly reply: Reply<Quote>; readonly nowMs: number }>
  disk(dir: string): Promise<DiskSight>
  supervisor(pid: number): Promise<SupervisorSight>
  close(): Promise<void>
}

export type AskingInput = {
  readonly settings: Settings
  /** Whether it is halted decides if a login is signed. */
  readonly state: DaemonState
  /** The aggregator's wallet, where its key is at hand. */
  readonly operator: Key | undefined
  /** For one request. */
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string | undefined>>
}

const monotonicMs = (): number => performance.now()

/** Opens nothing before it is asked. What hangs at the end is left to the process's own. */
export function openAsking({ settings, state, operator, timeoutMs, env }: AskingInput): Asking {
  const clock = openClock()
  const observe = (): void => undefined
  const input = { settings, clock, observe, timeoutMs }
  const inspect = (chain: ChainSettings) => composeInspection(chain, { clock, timeoutMs })
  const gaslessChain = settings.chains.get(settings.gasless.chain)
  return {
    now: () => clock.now(),
    nodes: (chain) => inspect(chain).nodes({ latestSeconds: latestBlockSeconds(clock.now()) }),
    fees: (chain) => inspect(chain).fees(),
    code: (chain, addresses) => inspect(chain).code(addresses),
    tokens: (chain, addresses) => inspect(chain).tokens(addresses),
    view: (query) => composeChain(input).view(query),
    async rights(owner, tokens) {
      if (gaslessChain === undefined) throw new Error('the gasless chain is not configured')
      const { permit2, spenders } = settings.gasless
      const addresses = tokens.map(({ address }) => address)
      return inspect(gaslessChain).permit2Rights({ owner, permit2, tokens: addresses, spenders })
    },
    operator: operator && askingOf({ operator, state }, input),
    async service() {
      let remaining: number | undefined
      const { gasless } = composeGasless({
        ...input,
        observe(event) {
          if (event.type === 'rate-limit') remaining = event.remaining
        },
      })
      const timed = await time(() => gasless.tokens())
      return { ...timed, clockOffsetMs: gasless.clockOffsetMs(), remaining }
    },
    async quote(intent) {
      const { gasless } = composeGasless(input)
      return { reply: await gasless.quote(quoteRequest(intent)), nowMs: clock.now() }
    },
    disk: (dir) => lookAtDisk(dir, monotonicMs),
    supervisor: (pid) => lookAtSupervisor({ pid, env }),
    close: () => clock.close(),
  }
}

function askingOf(
  { operator, state }: { readonly operator: Key } & Pick<AskingInput, 'state'>,
  input: Parameters<typeof composeChain>[0],
): Asking['operator'] {
  const { settings } = input
  const { stateDir } = settings
  const composed = composeAggregator({
    ...input,
    operator,
    journal: { state, isOnDisk: () => false },
    guard: { barred: () => haltOf(stateDir) },
    files: filesOf(settings, { strategies: new Map(), versionOf: () => undefined }),
  })
  if (composed === undefined) return undefined
  const { context: aggregator } = composed
  const { address: account } = operator
  return {
    async sight() {
      const { gasTank } = aggregator.settings.contracts
      const reply = await aggregator.chain.account({ account, gasTank })
      if (!reply.ok) return reply
      const { balance } = reply.value
      const delegation = delegationRefusal(aggregator, reply.value)
      return { ok: true, value: { balance, delegation, tank: gasTankOf(aggregator, reply.value) } }
    },
    login: () => time(() => aggregator.service.accountInfo()),
  }
}

async function time<Value>(ask: () => Promise<Value>): Promise<Timed<Value>> {
  const startedMs = monotonicMs()
  const reply = await ask()
  return { reply, durationMs: Math.round(monotonicMs() - startedMs) }
}
