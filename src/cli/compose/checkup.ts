import type { Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import type { ChainSettings, Settings } from '../../domain/settings.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type { Chain, Key } from '../../ports.ts'
import { createClock } from '../../system/clock.ts'
import { inspectDisk } from '../../system/disk-space.ts'
import { inspectSupervisor } from '../../system/supervisor.ts'
import { delegationRefusal } from '../../venues/close.ts'
import { quoteRequest } from '../../venues/swap/signable.ts'
import { gasTankOf } from '../../venues/wallet/deposit.ts'
import { haltOf } from './daemons.ts'
import {
  chainOf,
  composeAggregator,
  composeChain,
  composeGasless,
  composeInspection,
  filesOf,
} from './services.ts'

type Timed<Value> = { readonly reply: Value; readonly durationMs: number }

/**
 * Requests of `doctor` to chains and services. None changes anything; only the login to the aggregation service is signed.
 */
export type Probes = ReturnType<typeof openProbes>
type ProbesInput = {
  readonly settings: Settings
  readonly state: DaemonState
  readonly operator?: Key | undefined
  readonly timeoutMs: number
  readonly env: Readonly<Record<string, string | undefined>>
}

const monotonicMs = (): number => performance.now()

/** Connects on first use. Hanging requests end with the process. */
export function openProbes({ settings, state, operator, timeoutMs, env }: ProbesInput) {
  const clock = createClock()
  const observe = (): void => undefined
  const input = { settings, clock, observe, timeoutMs }
  const inspect = (chain: ChainSettings) => composeInspection(chain, { clock, timeoutMs })
  return {
    now: () => clock.now(),
    nodes: (chain: ChainSettings) =>
      inspect(chain).nodes({ latestSeconds: latestBlockSeconds(clock.now()) }),
    fees: (chain: ChainSettings) => inspect(chain).fees(),
    code: (chain: ChainSettings, addresses: readonly Address[]) => inspect(chain).code(addresses),
    tokens: (chain: ChainSettings, addresses: readonly Address[]) =>
      inspect(chain).tokens(addresses),
    view: (query: Parameters<Chain['view']>[0]) => composeChain(input).view(query),
    async rights(owner: Address, tokens: readonly Token[]) {
      const { chain, permit2, spenders } = settings.gasless
      const inspection = inspect(chainOf(settings, chain))
      const addresses = tokens.map(({ address }) => address)
      const query = { owner, permit2, tokens: addresses, spenders }
      return inspection.permit2Rights(query).finally(() => inspection.close())
    },
    /** The calling account; undefined without its key or an aggregator. */
    operator: operator && operatorProbes({ operator, state }, input),
    async service() {
      let remaining: number | undefined
      const { gasless } = composeGasless({
        ...input,
        observe(event) {
          if (event.type === 'rate-limit') remaining = event.remaining
        },
      })
      const timed = await time(() => gasless.tokens())
      /** `remaining`: requests left in the rate limit's window, if reported. */
      return { ...timed, clockOffsetMs: gasless.clockOffsetMs(), remaining }
    },
    async quote(intent: SwapIntent) {
      const { gasless } = composeGasless(input)
      return { reply: await gasless.quote(quoteRequest(intent)), nowMs: clock.now() }
    },
    disk: (dir: string) => inspectDisk(dir, monotonicMs),
    supervisor: (pid: number) => inspectSupervisor({ pid, env }),
    close: () => clock.close(),
  }
}

function operatorProbes(
  { operator, state }: { readonly operator: Key } & Pick<ProbesInput, 'state'>,
  input: Parameters<typeof composeChain>[0],
) {
  const { settings } = input
  const { stateDir } = settings
  const composed = composeAggregator({
    ...input,
    operator,
    journal: { state, isOnDisk: () => false },
    guard: { blocked: () => haltOf(stateDir) },
    files: filesOf(settings),
  })
  if (composed === undefined) return undefined
  const { context: aggregator } = composed
  const { address: account } = operator
  return {
    async snapshot() {
      const { gasTank } = aggregator.settings.contracts
      const reply = await aggregator.chain.account({ account, gasTank })
      if (!reply.ok) return reply
      const { balance } = reply.value
      /** Why the code is not the config's proposer; undefined if it is. */
      const delegation = delegationRefusal(aggregator, reply.value)
      const tank = gasTankOf(aggregator, reply.value)
      return { ok: true as const, value: { balance, delegation, tank } }
    },
    login: () => time(() => aggregator.service.accountInfo()),
  }
}

async function time<Value>(ask: () => Promise<Value>): Promise<Timed<Value>> {
  const startedMs = monotonicMs()
  const reply = await ask()
  return { reply, durationMs: Math.round(monotonicMs() - startedMs) }
}
