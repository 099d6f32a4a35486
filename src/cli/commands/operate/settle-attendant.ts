import type { ControlRequest } from '../../../adapters/control/control-socket.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import type { IntentId } from '../../../domain/intent.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Address } from '../../../domain/units.ts'
import type { Settled, Settling } from '../../../execute/settle/settle.ts'
import type { Clock, Journal } from '../../../ports.ts'
import { openAnchors } from '../../compose/anchors.ts'
import { withClock } from '../../compose/clock.ts'
import { askDaemon } from '../../compose/control.ts'
import { composeSettling, readOnly } from '../../compose/settling.ts'
import { holderOf, openState, whileHeld } from '../../compose/state.ts'
import { readJournalKey, readWalletAddress } from '../../compose/wallets.ts'
import { type Io, lineTo } from '../../io.ts'
import { renderAll } from '../../load.ts'

/** Who looks at orders and takes a word on them: the daemon where one runs, or this command on the files. */
export type Attendant = {
  readonly [Name in keyof Settling]: (
    ...asked: Parameters<Settling[Name]>
  ) => Promise<Awaited<ReturnType<Settling[Name]>> | Unanswered>
} & { readonly isDaemon: boolean }

/** Nobody could be asked, or nobody answered; why. */
export type Unanswered = {
  readonly ok: false
  readonly reason: 'no-answer'
  readonly detail: string
}

/** An order settles in its own turn, which may be waiting for a service and for nodes; then the chain is read. */
const ANSWER_MS_MAX = 120_000
/** One that works answers at once what takes no chain. */
const PRESENCE_MS_MAX = 5_000

function unanswered(detail: string): Unanswered {
  return { ok: false, reason: 'no-answer', detail }
}

export async function attendantOf(
  settings: Settings,
  state: DaemonState,
  io: Io,
): Promise<{ readonly ok: true; readonly value: Attendant } | Unanswered> {
  const { stateDir } = settings
  const asked = await askDaemon(stateDir, { command: 'status' }, PRESENCE_MS_MAX)
  if (asked.tag === 'answered') return { ok: true, value: daemonIn(stateDir) }
  const holder = holderOf(stateDir)
  // One that cannot be judged here is waited for when the files are taken, as by any that would take them.
  if (asked.tag === 'silent' || holder?.standing === 'alive') {
    const who = holder === undefined ? 'the daemon' : `the process ${holder.pid}`
    return unanswered(`${who} gives no answer, and nobody else may settle its orders`)
  }
  return { ok: true, value: onFiles({ settings, state, io }) }
}

function daemonIn(stateDir: string): Attendant {
  const ask = async <Reply>(request: ControlRequest): Promise<Reply | Unanswered> => {
    const asked = await askDaemon(stateDir, request, ANSWER_MS_MAX)
    if (asked.tag !== 'answered')
      return unanswered(
        'the daemon gave no answer; whether it did as asked is not known: look again',
      )
    return asked.answer.ok ? (asked.answer.result as Reply) : unanswered(asked.answer.detail)
  }
  return {
    isDaemon: true,
    look: (intent, tx) => ask({ command: 'look', intent, ...(tx === undefined ? {} : { tx }) }),
    settle: (intent, { word, attempt }) => {
      const tx = word.as === 'executed' ? word.txHash : undefined
      const named = tx === undefined ? {} : { tx }
      return ask({ command: 'settle', intent, attempt, as: word.as, ...named })
    },
  }
}

type OnFiles = { readonly settings: Settings; readonly state: DaemonState; readonly io: Io }

/** With no daemon running, the journal is this process's to write. */
function onFiles(on: OnFiles): Attendant {
  return {
    isDaemon: false,
    look: (id, named) =>
      withClock((clock) =>
        withSettling(on, { id, clock, journal: readOnly(on.state) }, (settling) =>
          settling.look(id, named),
        ),
      ),
    settle: (id, saying) =>
      withJournal(on, (clock, journal) =>
        withSettling(on, { id, clock, journal }, (settling) => settling.settle(id, saying)),
      ),
  }
}

/** Opens what asks the chain. A swap's wallet is named by the state; whose call it is, the config's key says. */
async function withSettling<Reply>(
  { settings, io }: OnFiles,
  on: { readonly id: IntentId; readonly clock: Clock; readonly journal: Journal },
  task: (settling: Settling) => Promise<Reply>,
): Promise<Reply | Unanswered> {
  const { state } = on.journal
  const { aggregator } = settings
  const isCall = state.intents.get(on.id)?.venue === 'aggregated'
  let operator: Address | undefined
  if (isCall && aggregator !== undefined) {
    operator = await readWalletAddress(settings, aggregator.wallet, io)
    if (operator === undefined)
      return unanswered(`the address of wallet ${aggregator.wallet} cannot be read`)
  }
  if (state.bound === undefined) return unanswered('the state is not bound to a chain yet')
  const { owner: trader } = state.bound
  const tell = lineTo(io.stderr)
  const settling = composeSettling({ settings, ...on, trader, operator, tell })
  try {
    return await task(settling)
  } finally {
    await settling.close()
  }
}

/** Opens the state to write it: of the wallet whose key signs its records, and where it has anchors the one that they name. */
async function withJournal(
  { settings, state, io }: OnFiles,
  task: (clock: Clock, journal: Journal) => Promise<Settled | Unanswered>,
): Promise<Settled | Unanswered> {
  const read = await readJournalKey(settings, io)
  if (!read.ok) return unanswered(renderAll([read.problem], io))
  const { mode, stateDir: dir } = settings
  // Whoever appends hears of it; thrown here, it would be nobody's.
  const onFatal = (): void => undefined
  return withClock((clock) =>
    whileHeld(dir, { io, command: 'settle', clock }, async (lock) => {
      const wallets = { trader: state.bound?.owner, operator: undefined }
      const anchors = await openAnchors(settings, wallets, clock)
      const opened = await openState(mode, {
        ...{ dir, lock, anchors, clock, onFatal },
        key: read.key,
      })
      for (const warning of opened.warnings) io.stderr.write(`${warning}\n`)
      try {
        return await task(clock, opened.journal)
      } finally {
        await opened.close()
      }
    }),
  )
}
