import type { DaemonState, OpenIntent } from '../../domain/book/state.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Address } from '../../domain/units.ts'
import { requireSame } from '../../engine/daemon.ts'
import type { OrderContext } from '../../execute/context.ts'
import { type Refused, refused } from '../../execute/settle/answers.ts'
import { createAsked } from '../../execute/settle/asked.ts'
import { lookAt, type Settling, settle } from '../../execute/settle/settle.ts'
import type { Clock, Journal, Modules } from '../../ports.ts'
import { compose } from './services.ts'
import { openHalt } from './state.ts'
import { watchOnly } from './wallets.ts'

export type SettlingInput = {
  readonly settings: Settings
  readonly clock: Clock
  readonly journal: Journal
  /** The wallet that trades, as the state names it. */
  readonly trader: Address
  /** The aggregator's; undefined where it is not needed. */
  readonly operator: Address | undefined
  /** One line for a person. */
  readonly tell: (line: string) => void
}

const NO_MODULES: Modules = {
  decide: () => Promise.resolve({ ok: false, detail: 'nothing is decided here' }),
  versionOf: () => undefined,
}

/**
 * Orders of a state as a command settles them without a daemon: by the daemon's own parts, but with wallets that sign nothing.
 * Throws WrongStateError where the state belongs to another chain than the config's node serves.
 */
export function composeSettling(input: SettlingInput): Settling & { close(): Promise<void> } {
  const { settings, clock, journal, trader, operator, tell } = input
  const composed = compose({
    ...{ settings, clock, journal, strategies: [], modules: NO_MODULES },
    guard: { barred: () => 'a command signs nothing' },
    haltFile: openHalt(settings.stateDir),
    trader: watchOnly(trader),
    operator: operator && watchOnly(operator),
    observe: (event) => tellOf(event, tell),
  })
  const { signal } = new AbortController()
  const context: OrderContext = {
    ...composed.context,
    ...{ tokenTrouble: () => undefined, uncompared: () => undefined },
    comparedTo: () => undefined,
    ...{ closing: signal, stop: signal, asked: createAsked(signal) },
  }
  return {
    look: async (id, named) =>
      (await stranger(context, journal.state.intents.get(id))) ?? lookAt(context, id, named),
    settle: async (id, saying) =>
      (await stranger(context, journal.state.intents.get(id))) ?? settle(context, id, saying),
    close: () => composed.close(),
  }
}

/** Of another chain every nonce is unused: before a swap is looked at, the chain has to be the one that its state is bound to. */
async function stranger(
  { ports, mode }: OrderContext,
  open: OpenIntent | undefined,
): Promise<Refused | undefined> {
  const { bound } = ports.journal.state
  if (open?.venue !== 'gasless' || bound === undefined) return undefined
  const reply = await ports.chain.identity()
  if (!reply.ok) return refused('chain-unknown', reply.fault.message)
  const { chainId, genesisHash } = reply.value
  requireSame(bound, { mode, chainId, genesisHash, owner: ports.signer.address })
  return undefined
}

/** A journal for whoever only looks at a state. */
export function readOnly(state: DaemonState): Journal {
  return {
    state,
    append: () => Promise.reject(new Error('this journal is only read')),
    isOnDisk: () => false,
    async *records() {},
  }
}

function tellOf(event: Observation, tell: (line: string) => void): void {
  if (event.type === 'chain-trouble') tell(`${event.doing}: ${event.message}`)
  if (event.type === 'nodes-disagree') tell(`nodes disagree, ${event.doing}: ${event.message}`)
}
