import type { ControlRequest } from '../../../control/control-socket.ts'
import { openHaltFile } from '../../../control/halt-file.ts'
import type { Address } from '../../../domain/money/units.ts'
import type { IntentId } from '../../../domain/order/intent.ts'
import type { Settings } from '../../../domain/settings.ts'
import { requireSame } from '../../../engine/daemon.ts'
import type { DaemonState, OpenIntent } from '../../../journal/state/daemon-state.ts'
import type { Clock, Journal } from '../../../ports.ts'
import { createWatchOnlyKey } from '../../../signing/keys/watch-only-key.ts'
import { callOf } from '../../../venues/call/call-projection.ts'
import type { OrderContext } from '../../../venues/context.ts'
import { type Refused, refused } from '../../../venues/manual/manual-answers.ts'
import { createPendingRequests } from '../../../venues/manual/requests.ts'
import {
  inspectOrder,
  type Settled,
  type Settling,
  settle,
} from '../../../venues/manual/resolve-manually.ts'
import { swapOf } from '../../../venues/swap/swap-projection.ts'
import { askDaemon, silentHolder } from '../../compose/daemons.ts'
import { compose, NOTHING_DECIDED } from '../../compose/services.ts'
import { whileHeld, whileOpen, withClock } from '../../compose/state.ts'
import { openAnchors, readJournalKey, readWalletAddress } from '../../compose/wallets.ts'
import type { SettleRefusedData } from '../../json/operate-outputs.ts'
import { type Io, lineTo, renderAll } from '../../process/io.ts'
import { Refusal } from '../../process/refusal.ts'

/** Handles requests about orders: the running daemon, or this command on the files. */
export type Handler = Settling & { readonly isDaemon: boolean }

/** The daemon first finishes the order's current step, which may wait for a service and nodes, and then reads the chain. */
const ANSWER_MS_MAX = 120_000
/** A healthy daemon answers at once if a request needs no chain. */
const PRESENCE_MS_MAX = 5_000

/** Ends the command; `reason` is null if it has no code. */
export function notSettled(message: string, reason: SettleRefusedData['reason'] | null): Refusal {
  return new Refusal(message, { data: reason === null ? {} : { reason } })
}

function unanswered(message: string): Refusal {
  return notSettled(message, 'no-answer')
}

export async function handlerOf(settings: Settings, state: DaemonState, io: Io): Promise<Handler> {
  const { stateDir } = settings
  const args = await askDaemon(stateDir, { command: 'status' }, PRESENCE_MS_MAX)
  if (args.tag === 'answered') return daemonIn(stateDir)
  const silent = silentHolder(args, stateDir)
  if (silent !== undefined)
    throw unanswered(`${silent} does not answer, and only the daemon may settle its orders`)
  return onFiles({ settings, state, io })
}

function daemonIn(stateDir: string): Handler {
  const ask = async <Reply>(request: ControlRequest): Promise<Reply> => {
    const reply = await askDaemon(stateDir, request, ANSWER_MS_MAX)
    if (reply.tag !== 'answered')
      throw unanswered(
        'the daemon did not answer, but the request may have taken effect: run the command again to check',
      )
    if (!reply.answer.ok) throw unanswered(reply.answer.detail)
    return reply.answer.result as Reply
  }
  return {
    isDaemon: true,
    inspect: (intent, tx) =>
      ask({ command: 'inspect', intent, ...(tx === undefined ? {} : { tx }) }),
    settle: (intent, { verdict, attempt }) => {
      const tx = verdict.as === 'executed' ? verdict.txHash : undefined
      const named = tx === undefined ? {} : { tx }
      return ask({ command: 'settle', intent, attempt, as: verdict.as, ...named })
    },
  }
}

type OnFiles = { readonly settings: Settings; readonly state: DaemonState; readonly io: Io }

/** This process may write the journal only without a daemon. */
function onFiles(on: OnFiles): Handler {
  return {
    isDaemon: false,
    inspect: (id, named) =>
      withClock((clock) =>
        withSettling(on, { id, clock, journal: readOnly(on.state) }, ({ inspect }) =>
          inspect(id, named),
        ),
      ),
    settle: (id, saying) =>
      withJournal(on, (clock, journal) =>
        withSettling(on, { id, clock, journal }, (settling) => settling.settle(id, saying)),
      ),
  }
}

/** Opens ports for reading the chain. A swap's wallet comes from the state, a call's from the config's key. */
async function withSettling<Reply>(
  { settings, io }: OnFiles,
  on: { readonly id: IntentId; readonly clock: Clock; readonly journal: Journal },
  task: (settling: Settling) => Promise<Reply>,
): Promise<Reply> {
  const { state } = on.journal
  const { aggregator } = settings
  const isCall = callOf(state.intents.get(on.id)) !== undefined
  let operator: Address | undefined
  if (isCall && aggregator !== undefined) {
    operator = await readWalletAddress(settings, aggregator.wallet, io)
    if (operator === undefined)
      throw unanswered(`the address of wallet ${aggregator.wallet} cannot be read`)
  }
  if (state.bound === undefined) throw unanswered('the state is not bound to a chain yet')
  const wallets = { trader: state.bound.owner, operator }
  const settling = await composeSettling({ ...on, ...wallets, settings, report: lineTo(io.stderr) })
  try {
    return await task(settling)
  } finally {
    await settling.close()
  }
}

/** Opens the state for writing, with the key that signs its records and its anchors. */
async function withJournal(
  { settings, state, io }: OnFiles,
  task: (clock: Clock, journal: Journal) => Promise<Settled>,
): Promise<Settled> {
  const read = await readJournalKey(settings, io)
  if (!read.ok) throw unanswered(renderAll([read.problem], io))
  return whileHeld(settings.stateDir, { io, command: 'settle' }, async (lock, clock) => {
    const wallets = { trader: state.bound?.owner, operator: undefined }
    const anchors = await openAnchors(settings, wallets, clock)
    const { key } = read
    const report = lineTo(io.stderr)
    const options = { lock, anchors, clock, key, recorded: undefined, report }
    return whileOpen(settings, options, ({ journal }) => task(clock, journal))
  })
}

/** Nothing is signed, so no comparison is needed first. */
const NOT_NEEDED = { missing: () => undefined, upTo: () => undefined }

/** Resolves orders with the daemon's code and watch-only wallets. Throws WrongStateError if the node is on another chain. */
async function composeSettling(input: {
  readonly settings: Settings
  readonly clock: Clock
  readonly journal: Journal
  readonly trader: Address
  readonly operator: Address | undefined
  readonly report: (line: string) => void
}): Promise<Settling & { close(): Promise<void> }> {
  const { settings, clock, journal, trader, operator, report } = input
  const composed = await compose({
    settings,
    clock,
    journal,
    ...NOTHING_DECIDED,
    guard: { blocked: () => 'a command signs nothing' },
    haltFile: openHaltFile(settings.stateDir),
    trader: createWatchOnlyKey(trader),
    operator: operator && createWatchOnlyKey(operator),
    observe(event) {
      if (event.type === 'chain-trouble') report(`${event.doing}: ${event.message}`)
      if (event.type === 'nodes-disagree')
        report(`nodes disagree, ${event.doing}: ${event.message}`)
    },
  })
  const { signal } = new AbortController()
  const context: OrderContext = {
    ...composed.context,
    tokenFault: () => undefined,
    compared: { trader: NOT_NEEDED, account: NOT_NEEDED },
    closing: signal,
    stop: signal,
    requests: createPendingRequests(signal),
    market: { latest: undefined },
  }
  const strangerOf = (id: IntentId) => stranger(context, journal.state.intents.get(id))
  return {
    inspect: async (id, named) => (await strangerOf(id)) ?? inspectOrder(context, id, named),
    settle: async (id, saying) => (await strangerOf(id)) ?? settle(context, id, saying),
    close: () => composed.close(),
  }
}

/** Checks that the chain is the one bound to the state: on another chain every nonce is unused. */
async function stranger(
  { ports, mode }: OrderContext,
  open: OpenIntent | undefined,
): Promise<Refused | undefined> {
  const { bound } = ports.journal.state
  if (swapOf(open) === undefined || bound === undefined) return undefined
  const reply = await ports.chain.identity()
  if (!reply.ok) return refused('chain-unknown', reply.fault.message)
  const { chainId, genesisHash } = reply.value
  requireSame(bound, { mode, chainId, genesisHash, owner: ports.signer.address })
  return undefined
}

function readOnly(state: DaemonState): Journal {
  const onlyRead = () => new Error('this journal is only read')
  return {
    state,
    append: () => Promise.reject(onlyRead()),
    note: () => {
      throw onlyRead()
    },
    isOnDisk: () => false,
    async *records() {},
  }
}
