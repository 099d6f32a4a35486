import { WrongStateError } from '../domain/errors.ts'
import type { PriceFeed } from '../domain/money/price.ts'
import type { Token } from '../domain/money/token.ts'
import type { IntentId } from '../domain/order/intent.ts'
import { hasLiveAuthorization } from '../domain/order/order.ts'
import type { AccountLimits } from '../domain/settings.ts'
import { stateBound } from '../journal/events/state/state-identity.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { ManualOrder } from '../strategies/manual/manual-kind.ts'
import { makesCalls, type Strategy } from '../strategies/registry.ts'
import { askUntilClosing, within } from '../venues/chain-requests.ts'
import type { OrderContext } from '../venues/context.ts'
import { executeIntent } from '../venues/execute-intent.ts'
import { createPendingRequests } from '../venues/manual/requests.ts'
import { inspectOrder, type Settling, settleInTurn } from '../venues/manual/resolve-manually.ts'
import { venueOf } from '../venues/venues.ts'
import { followRecorded } from '../venues/wallet/transaction.ts'
import { keepGasTank } from './accounts/gas-tank.ts'
import { createBackgroundTasks } from './background-tasks.ts'
import { createCodeWatch } from './chain-comparison/code-watch.ts'
import { type Comparison, createComparison } from './chain-comparison/comparison.ts'
import { createFinalityWatch } from './chain-comparison/finality-watch.ts'
import { createTokenWatch } from './chain-comparison/token-watch.ts'
import { type Controlled, halt, noteHaltFile, pause, resume } from './daemon-control.ts'
import { drain, untilAborted } from './drain.ts'
import { type Approved, approve } from './limits/approvals.ts'
import { newestBlockSeconds } from './read-market.ts'
import { missDropped, Registration } from './registration.ts'
import { type Agenda, createAgenda } from './tick.ts'
import type { Triggered } from './trigger.ts'

export type Foundations = Omit<
  OrderContext,
  'closing' | 'stop' | 'requests' | 'tokenFault' | 'compared' | 'market' | 'strategies'
> & {
  /** Signatures are checked against these. A reload replaces them, and the contents of `account`, in place. */
  readonly strategies: Map<string, Strategy>
}

type DaemonInput = {
  readonly wallet: string
  readonly context: Foundations
  readonly tokens: readonly Token[]
  /** Those that the service did not list just now; none if its list was not read. */
  readonly unlisted?: readonly Token[] | undefined
  readonly feeds: readonly PriceFeed[]
  readonly strategies: readonly Strategy[]
  /** Joins the strategies with the first order by hand. */
  readonly manual: Strategy
  /** When the state was last written before this start, epoch ms; undefined in a new state. */
  readonly lastSeenMs?: number | undefined
  /** How long pending orders are followed after a stop request. */
  readonly drainMs: number
  /** Aborted, with the cause as its reason, to drain and return. */
  readonly shutdown: AbortSignal
  /** Called once the state is known to belong to this chain and wallet, before any decision. */
  readonly onBound?: () => Promise<void> | undefined
  readonly onReady: (agenda: Agenda, control: DaemonControl) => void
  /** Called after each loop turn, for the health check. */
  readonly onTick: () => void
}

export type DaemonControl = Settling & {
  /** Takes effect at once. Remote requests pass `by`. */
  pause(strategy: string | undefined, by?: string): Promise<Controlled>
  resume(strategy: string | undefined, by?: string): Promise<Controlled>
  halt(by?: string): Promise<Controlled>
  approve(name: string): Promise<Approved>
  /** Waits for the current tick, like `reload`. */
  trigger(strategy: string): Promise<Triggered>
  /** Carries out a person's order as a slot of its strategy, by default `manual`. */
  order(strategy: string | undefined, order: ManualOrder): Promise<Triggered>
  /** Replaces all files atomically; pending orders continue as decided. */
  reload(files: OperatorFiles): Promise<void>
}

export type OperatorFiles = {
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
}

/** After the stop, requests of signed orders that still hang are abandoned after this time; the journal keeps the orders. */
const ABANDON_MS = 12_000
/** Time for unsigned orders to notice the stop. */
const LET_GO_MS = 250

/** Usually takes moments. Due slots wait at most this long. */
const COMPARED_WITHIN_MS = 10_000

const IDENTIFYING = { route: 'identity', doing: 'identifying the chain' } as const

/**
 * Runs until `shutdown`: binds the state to its chain, recovers open orders, then handles slots. Returns true when drained;
 * the journal keeps the rest for the next start. Returns false, without any effect, if stopped before its chain was known.
 * Rejects on a bug, a dead journal or a foreign state.
 */
export async function runDaemon(input: DaemonInput): Promise<boolean> {
  const closing = new AbortController()
  const stop = new AbortController()
  const { strategies } = input.context
  /** The files' strategies, and `manual` once it was used. */
  const inForce = (files: readonly Strategy[]): readonly Strategy[] => {
    const { manual } = input
    const isUsed = input.context.ports.journal.state.strategies.has(manual.name)
    return isUsed || strategies.has(manual.name) ? [...files, manual] : files
  }
  const put = (all: readonly Strategy[]): void => {
    strategies.clear()
    for (const strategy of all) strategies.set(strategy.name, strategy)
  }
  put(inForce(input.strategies))
  const signals = { closing: closing.signal, stop: stop.signal }
  const tokens = createTokenWatch(
    { ...input.context, ...signals },
    input.tokens,
    input.unlisted ?? [],
  )
  const requests = createPendingRequests(stop.signal)
  const market = { latest: undefined }
  const attended = { ...input.context, ...signals, tokenFault: tokens.fault, requests, market }
  const comparison = createComparison(attended, input.tokens)
  const context: OrderContext = { ...attended, compared: comparison }
  const code = createCodeWatch(context)
  context.trusted.conflict = code.conflict
  const { clock, journal, observe } = context.ports
  const backgroundTasks = createBackgroundTasks(closing.signal)
  const close = (): void => closing.abort(input.shutdown.reason)
  if (input.shutdown.aborted) close()
  else input.shutdown.addEventListener('abort', close, { once: true })

  const running = new Map<IntentId, Promise<void>>()
  let fatal: { readonly error: unknown } | undefined
  const fail = (error: unknown): void => {
    fatal ??= { error }
    closing.abort('a fatal error')
    stop.abort()
  }
  const unlessClosing = (error: unknown): void => {
    if (!closing.signal.aborted) throw error
  }
  let onOrderEnd = (): void => undefined
  const launch = (id: IntentId): void => {
    const done = executeIntent(context, id)
      .catch(fail)
      .finally(() => {
        running.delete(id)
        void requests.handle(id)
        onOrderEnd()
      })
    running.set(id, done)
  }

  try {
    const startedAtMs = clock.now()
    const headSeconds = await bind(context)
    if (headSeconds === undefined) {
      observe({
        type: 'daemon-stopped',
        openIntents: journal.state.intents.size,
        mode: context.mode,
      })
      return false
    }
    await input.onBound?.()
    await noteHaltFile(context.ports)
    comparison.keep().catch(fail)
    code.keep().catch(fail)
    // An unavailable chain blocks new orders, but signed ones are still followed.
    const known = Promise.all([comparison.trader.reached, code.read])
    await within(context.ports, COMPARED_WITHIN_MS, known)
    const registration = new Registration(context, {
      begun: { clockMs: startedAtMs, chainMs: headSeconds * 1000 },
      onEntered: () => backgroundTasks.run(async () => agenda.recount()).catch(unlessClosing),
    })
    await handleStrategies(context, registration, headSeconds)
    observe({
      type: 'daemon-started',
      mode: context.mode,
      owner: context.ports.signer.address,
      strategies: input.strategies.length,
      openIntents: journal.state.intents.size,
      halted: journal.state.halted,
    })
    await reconcile(context)
    for (const id of [...journal.state.intents.keys()]) launch(id)
    for (const wallet of new Set([context.wallet, context.aggregator?.wallet ?? context.wallet]))
      followRecorded(context, wallet).catch(fail)
    const { wake } = backgroundTasks
    const agenda = createAgenda({
      ...{ ...input, strategies: [...strategies.values()], context, launch, wake, fail },
      startedAtMs: () => registration.startedAtMs(),
    })
    const watch = createFinalityWatch({ context, onReopened: launch, onFailure: fail })
    onOrderEnd = () => {
      if (!closing.signal.aborted && agenda.orderEnded()) wake()
    }
    const keepRegistering = (): void => void registration.watch().catch(fail)
    keepRegistering()
    const fillTank = gasTankKeeper(context, comparison, fail)
    fillTank()
    tokens.keep().catch(fail)
    input.onReady(agenda, {
      pause: (strategy, by) => pause(context.ports, strategy, by),
      resume: (strategy, by) => resume(context.ports, strategy, by),
      halt: (by) => halt(context.ports, by),
      approve: (name) => approve(context.ports, name, context.trusted.pins),
      inspect: (id, named) => inspectOrder(context, id, named),
      settle: (id, saying) => settleInTurn(context, id, saying),
      trigger: (strategy) =>
        backgroundTasks.run(() => agenda.trigger(strategy)).then(({ done }) => done),
      order: (strategy = input.manual.name, order) =>
        backgroundTasks
          .run(async () => {
            if (strategy === input.manual.name && !strategies.has(strategy)) {
              const head = await newestBlockSeconds(context)
              await agenda.settled()
              strategies.set(strategy, input.manual)
              await handleStrategies(context, registration, head)
              agenda.replace([...strategies.values()])
              keepRegistering()
            }
            return agenda.trigger(strategy, order)
          })
          .then(({ done }) => done),
      reload: (files) =>
        backgroundTasks.run(async () => {
          const headSeconds = await newestBlockSeconds(context)
          await tokens.read()
          await agenda.settled()
          const all = inForce(files.strategies)
          await missDropped(context, all, headSeconds)
          // Replaced without yielding, so that no reader sees a mix.
          put(all)
          Object.assign(input.context.account, files.account)
          await handleStrategies(context, registration, headSeconds)
          agenda.replace(all)
          keepRegistering()
          fillTank()
        }),
    })
    const takeTurn = async (): Promise<void> => {
      await backgroundTasks.runQueued()
      await noteHaltFile(context.ports)
      watch.readDue()
      for (const id of await agenda.tick()) launch(id)
    }
    while (!closing.signal.aborted) {
      await untilAborted(closing.signal, takeTurn())
      input.onTick()
      await clock.wake(Math.min(agenda.wakeMs(), watch.nextDueMs()), backgroundTasks.nextSignal())
    }
    observe({
      type: 'daemon-stopping',
      cause: String(closing.signal.reason),
      openIntents: journal.state.intents.size,
    })
    await drain(context, running, input.drainMs)
  } catch (error) {
    fail(error)
  } finally {
    input.shutdown.removeEventListener('abort', close)
    stop.abort()
    await drain(context, running, ABANDON_MS)
    await Promise.race([Promise.all(running.values()), clock.sleep(LET_GO_MS)])
  }
  if (fatal !== undefined) throw fatal.error
  observe({ type: 'daemon-stopped', openIntents: journal.state.intents.size, mode: context.mode })
  return true
}

/**
 * Binds a new state to its chain and wallet, and refuses a foreign one. Returns the time of the newest block, or undefined
 * if stopped before the chain was known; the state must not be changed then.
 */
async function bind(context: OrderContext): Promise<number | undefined> {
  const { mode, ports } = context
  const { chain, journal, signer } = ports
  const identity = await askUntilClosing(context, IDENTIFYING, () => chain.identity())
  if (identity === undefined) return undefined
  const { chainId, genesisHash, blockTimeSeconds } = identity
  if (chainId !== context.chainId)
    throw new WrongStateError(
      `the node serves chain ${chainId}, the config says ${context.chainId}: correct chains.*.rpcUrls`,
    )
  const here = { mode, chainId, genesisHash, owner: signer.address }
  const { bound } = journal.state
  if (bound === undefined) await journal.append(stateBound(here))
  else requireSame(bound, here)
  return blockTimeSeconds
}

type Bound = NonNullable<DaemonState['bound']>

/** Throws WrongStateError for a state of another chain, mode or wallet. */
export function requireSame(bound: Bound, { mode, chainId, genesisHash, owner }: Bound): void {
  if (bound.chainId !== chainId || bound.genesisHash !== genesisHash)
    throw new WrongStateError(
      `the state directory belongs to another chain (genesis ${bound.genesisHash}, the node says ${genesisHash}): use another stateDir`,
    )
  if (bound.mode !== mode)
    throw new WrongStateError(
      `the state directory belongs to a daemon in mode ${bound.mode}, the config says ${mode}: use another stateDir`,
    )
  if (bound.owner !== owner)
    throw new WrongStateError(
      `the state directory belongs to wallet ${bound.owner}, the config names ${owner}: use another stateDir`,
    )
}

function handleStrategies(
  { ports, strategies }: OrderContext,
  registration: Registration,
  headSeconds: number,
): Promise<void> {
  const schedules = [...strategies.values()].map(({ schedule }) => schedule)
  const crons = schedules.filter((schedule) => schedule.type === 'cron')
  // Slots with jitter do not match a cron text.
  ports.clock.schedule(crons.filter(({ jitterMs }) => jitterMs === 0))
  return registration.replace(strategies.values(), headSeconds)
}

/** Starts once a strategy makes calls, because a deposit cannot be withdrawn. */
function gasTankKeeper(
  context: OrderContext,
  { account }: Comparison,
  fail: (error: unknown) => void,
): () => void {
  let kept = false
  return () => {
    const isNeeded = [...context.strategies.values()].some(makesCalls)
    // A dry run deposits nothing and signs no requests.
    if (kept || !isNeeded || context.mode === 'dry-run') return
    const { aggregator } = context
    if (aggregator === undefined) return
    kept = true
    account.reached.then(() => keepGasTank(context, aggregator)).catch(fail)
  }
}

/** Checks every possibly live permit on the chain once, before any new slot. */
async function reconcile(context: OrderContext): Promise<void> {
  const open = [...context.ports.journal.state.intents.values()]
  const live = open.filter(({ state }) => hasLiveAuthorization(state))
  await Promise.all(live.map((each) => venueOf(each).resolve(context, each)))
}
