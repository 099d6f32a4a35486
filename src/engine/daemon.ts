import type { DaemonState } from '../domain/book/state.ts'
import { WrongStateError } from '../domain/errors.ts'
import type { IntentId } from '../domain/intent.ts'
import { hasLiveAuthorization } from '../domain/order.ts'
import type { PriceFeed } from '../domain/price.ts'
import type { AccountLimits, Mode } from '../domain/settings.ts'
import { makesCalls, type Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import type { Hex } from '../domain/units.ts'
import { askChain, askUntilClosing, within } from '../execute/ask.ts'
import type { OrderContext } from '../execute/context.ts'
import { executeIntent } from '../execute/order.ts'
import { createAsked } from '../execute/settle/asked.ts'
import { lookAt, type Settling, settleInTurn } from '../execute/settle/settle.ts'
import { followRecorded } from '../execute/transaction.ts'
import { venueOf } from '../execute/venues.ts'
import { type Approved, approve } from './approvals.ts'
import { createCodeWatch } from './code-watch.ts'
import { type Comparison, createComparison } from './comparison.ts'
import { type Controlled, halt, noteHaltFile, pause, resume } from './control.ts'
import { drain, untilAborted } from './drain.ts'
import { Enrolment, missDropped } from './enrolment.ts'
import { createErrands } from './errands.ts'
import { createFinalityWatch } from './finality.ts'
import { keepGasTank } from './gas-tank.ts'
import { type Agenda, createAgenda } from './tick.ts'
import { createTokenWatch } from './token-watch.ts'
import type { Triggered } from './trigger.ts'

/** A context without what a running daemon alone can say: when it ends, and what it has seen of the service's list. */
export type Foundations = Omit<
  OrderContext,
  'closing' | 'stop' | 'asked' | 'tokenTrouble' | 'uncompared' | 'comparedTo' | 'strategies'
> & {
  /** What signatures are judged by: a reload exchanges them in place, as it does what stands in `account`. */
  readonly strategies: Map<string, Strategy>
}

export type DaemonInput = {
  readonly mode: Mode
  readonly wallet: string
  /** What the daemon does not make itself. */
  readonly context: Foundations
  /** The config's tokens that the gasless service trades. */
  readonly tokens: readonly Token[]
  /** The config's feeds on the chain of that service. */
  readonly feeds: readonly PriceFeed[]
  readonly strategies: readonly Strategy[]
  /** How long orders in flight are followed after a stop was asked for. */
  readonly drainMs: number
  /** Aborted, with the cause as its reason, to make the daemon drain and return. */
  readonly shutdown: AbortSignal
  /** Called once the state is known to belong to this chain and wallet, before anything is decided or followed. */
  readonly onBound?: () => Promise<void> | undefined
  readonly onReady: (agenda: Agenda, control: DaemonControl) => void
  /** Called after each turn of the loop, for the health check. */
  readonly onTick: () => void
}

/** What an operator may ask of a running daemon. */
export type DaemonControl = Settling & {
  /** See `control.ts`; these take effect at once. `by` is told where the request did not come from the machine. */
  pause(strategy: string | undefined, by?: string): Promise<Controlled>
  resume(strategy: string | undefined, by?: string): Promise<Controlled>
  halt(by?: string): Promise<Controlled>
  approve(name: string): Promise<Approved>
  /** These two wait for the tick under way. */
  trigger(strategy: string): Promise<Triggered>
  /** Goes by other files from now on, by all of them at once; orders in flight go on as they were decided. */
  reload(files: OperatorFiles): Promise<void>
}

/** What of the operator's files a running daemon takes. */
export type OperatorFiles = {
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
}

/** What is signed and still hangs in a request this long after the stop is left to the journal. */
const ABANDON_MS = 12_000
/** What has signed nothing gets this long to notice the stop. Whatever it hangs in, nothing comes of it any more. */
const LET_GO_MS = 250

/** What is usually an answer of moments; whatever is due waits for it longer than that. */
const COMPARED_WITHIN_MS = 10_000

const IDENTIFYING = { route: 'identity', doing: 'identifying the chain' } as const

/**
 * Runs until `shutdown`: binds the state to its chain, settles what the journal left open, then attends slots.
 * Returns when drained; what could not be drained in time stays in the journal for the next start. Rejects on a
 * bug, a dead journal or a state that belongs elsewhere. False says that it was asked to stop before it knew its chain, and
 * so has done nothing at all.
 */
export async function runDaemon(input: DaemonInput): Promise<boolean> {
  const closing = new AbortController()
  const stop = new AbortController()
  const { strategies } = input.context
  strategies.clear()
  for (const strategy of input.strategies) strategies.set(strategy.name, strategy)
  const tokens = createTokenWatch(
    { ports: input.context.ports, closing: closing.signal },
    input.tokens,
  )
  const asked = createAsked(stop.signal)
  const attended = {
    ...input.context,
    tokenTrouble: tokens.trouble,
    closing: closing.signal,
    stop: stop.signal,
    asked,
  }
  const comparison = createComparison(attended, input.tokens)
  const { uncompared, comparedTo } = comparison
  const context: OrderContext = { ...attended, uncompared, comparedTo }
  const code = createCodeWatch(context)
  context.trusted.doubt = code.doubt
  const { clock, journal, observe } = context.ports
  const errands = createErrands(closing.signal)
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
        // What came too late is told that it did.
        void asked.attend(id)
        onOrderEnd()
      })
    running.set(id, done)
  }

  try {
    const startedAtMs = clock.now()
    const headSeconds = await bind(input, context)
    if (headSeconds === undefined) {
      observe({ type: 'daemon-stopped', openIntents: journal.state.intents.size })
      return false
    }
    await input.onBound?.()
    await noteHaltFile(context.ports)
    comparison.keep().catch(fail)
    code.keep().catch(fail)
    // A chain that says nothing bars what is new, and not what is signed and has to be followed.
    const known = Promise.all([comparison.traderCompared, code.read])
    await within(context.ports, COMPARED_WITHIN_MS, known)
    const enrolment = new Enrolment(context, {
      begun: { clockMs: startedAtMs, chainMs: headSeconds * 1000 },
      onEntered: () => errands.run(async () => agenda.recount()).catch(unlessClosing),
    })
    await attendStrategies(context, enrolment, headSeconds)
    observe({
      type: 'daemon-started',
      mode: input.mode,
      owner: context.ports.signer.address,
      strategies: input.strategies.length,
      openIntents: journal.state.intents.size,
      halted: journal.state.halted,
    })
    await reconcile(context)
    for (const id of [...journal.state.intents.keys()]) launch(id)
    for (const wallet of [context.wallet, context.aggregator?.wallet]) {
      if (wallet !== undefined) followRecorded(context, wallet).catch(fail)
    }
    const agenda = createAgenda({
      context,
      strategies: input.strategies,
      startedAtMs: () => enrolment.startedAtMs(),
      wallet: input.wallet,
      tokens: input.tokens,
      feeds: input.feeds,
      launch,
      wake: errands.wake,
      fail,
    })
    const watch = createFinalityWatch({ context, onReopened: launch, onFailure: fail })
    onOrderEnd = () => {
      if (!closing.signal.aborted && agenda.orderEnded()) errands.wake()
    }
    const keepEnrolling = (): void => void enrolment.watch().catch(fail)
    keepEnrolling()
    const fillTank = gasTankKeeper(context, comparison, fail)
    fillTank()
    tokens.keep().catch(fail)
    input.onReady(agenda, {
      pause: (strategy, by) => pause(context.ports, strategy, by),
      resume: (strategy, by) => resume(context.ports, strategy, by),
      halt: (by) => halt(context.ports, by),
      approve: (name) => approve(context.ports, name, context.trusted.pins),
      look: (id, named) => lookAt(context, id, named),
      settle: (id, saying) => settleInTurn(context, id, saying),
      trigger: (strategy) => errands.run(() => agenda.trigger(strategy)).then(({ done }) => done),
      reload: (files) =>
        errands.run(async () => {
          const identity = await askChain(
            context,
            { route: 'identity', doing: 'reading the newest block' },
            () => context.ports.chain.identity(),
          )
          if (!identity.ok) throw new Error('the chain cannot be read now; try again')
          await tokens.look()
          await agenda.settled()
          const headSeconds = identity.value.blockTimeSeconds
          await missDropped(context, files.strategies, headSeconds)
          // In one turn: nobody ever sees the one without the other.
          strategies.clear()
          for (const strategy of files.strategies) strategies.set(strategy.name, strategy)
          Object.assign(input.context.account, files.account)
          await attendStrategies(context, enrolment, headSeconds)
          agenda.replace(files.strategies)
          keepEnrolling()
          fillTank()
        }),
    })
    const takeTurn = async (): Promise<void> => {
      await errands.attend()
      await noteHaltFile(context.ports)
      watch.attend()
      for (const id of await agenda.tick()) launch(id)
    }
    while (!closing.signal.aborted) {
      await untilAborted(closing.signal, takeTurn())
      input.onTick()
      await clock.wake(Math.min(agenda.nextDueMs(), watch.nextDueMs()), errands.nextSignal())
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
  observe({ type: 'daemon-stopped', openIntents: journal.state.intents.size })
  return true
}

/**
 * Ties a fresh state to its chain and wallet; refuses a state that belongs to others. Gives the time of the newest
 * block, or undefined when the daemon was asked to stop before its chain could be known: then nothing of the state may
 * be followed or changed.
 */
async function bind(input: DaemonInput, context: OrderContext): Promise<number | undefined> {
  const { chain } = context.ports
  const identity = await askUntilClosing(context, IDENTIFYING, () => chain.identity())
  if (identity === undefined) return undefined
  const { chainId, genesisHash, blockTimeSeconds } = identity
  if (chainId !== context.chainId)
    throw new WrongStateError(
      `the node serves chain ${chainId}, the config says ${context.chainId}: correct chains.*.rpcUrls`,
    )
  await bindState(input, context, { chainId, genesisHash })
  return blockTimeSeconds
}

async function bindState(
  input: DaemonInput,
  context: OrderContext,
  { chainId, genesisHash }: { readonly chainId: number; readonly genesisHash: Hex },
): Promise<void> {
  const { journal, signer } = context.ports
  const { bound } = journal.state
  const { mode } = input
  const owner = signer.address
  if (bound === undefined)
    return journal.append({ type: 'bound', mode, chainId, genesisHash, owner })
  requireSame(bound, { mode, chainId, genesisHash, owner })
}

type Bound = NonNullable<DaemonState['bound']>

/** Throws WrongStateError where a state belongs to another chain, mode or wallet. */
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

/** Wakes at the slots of the strategies that the files name now, and enters those whose schedule is news. */
function attendStrategies(
  { ports, strategies }: OrderContext,
  enrolment: Enrolment,
  headSeconds: number,
): Promise<void> {
  const schedules = [...strategies.values()].map(({ schedule }) => schedule)
  ports.clock.schedule(schedules.filter((schedule) => schedule.type === 'cron'))
  return enrolment.replace(strategies.values(), headSeconds)
}

/** Starts keeping the tank once there is a strategy that makes calls: a deposit cannot be withdrawn. */
function gasTankKeeper(
  context: OrderContext,
  { accountCompared }: Comparison,
  fail: (error: unknown) => void,
): () => void {
  let kept = false
  return () => {
    const isNeeded = [...context.strategies.values()].some(makesCalls)
    // Dry-run deposits nothing, and asks nothing that it would have to sign for.
    if (kept || !isNeeded || context.mode === 'dry-run') return
    const { aggregator } = context
    if (aggregator === undefined) return
    kept = true
    accountCompared.then(() => keepGasTank(context, aggregator)).catch(fail)
  }
}

/** Before any new slot, the chain is asked once about every permit that may be live. */
async function reconcile(context: OrderContext): Promise<void> {
  const open = [...context.ports.journal.state.intents.values()]
  const live = open.filter(({ state }) => hasLiveAuthorization(state))
  await Promise.all(live.map((each) => venueOf(each).resolve(context, each)))
}
