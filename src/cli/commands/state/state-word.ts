import type { JournalKey } from '../../../adapters/keys/journal-key.ts'
import type { StateAnchors } from '../../../adapters/state/anchor.ts'
import type { HeldLock } from '../../../adapters/state/state-lock.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { StateLockedError } from '../../../domain/errors.ts'
import { hasLiveAuthorization } from '../../../domain/order.ts'
import type { Settings } from '../../../domain/settings.ts'
import { ETHER } from '../../../domain/token.ts'
import { formatAmount } from '../../../domain/units.ts'
import type { Clock, Journal } from '../../../ports.ts'
import { openAnchors } from '../../compose/anchors.ts'
import { withClock } from '../../compose/clock.ts'
import { holderOf, openState, whileHeld } from '../../compose/state.ts'
import { openLog, openScrubber, openTelling, type Telling } from '../../compose/telling.ts'
import { readKey } from '../../compose/wallets.ts'
import { type ExitCode, type Io, printFailure } from '../../io.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load.ts'

/** Commands by which an operator overrules what state and anchor say of each other. */
export type StateWordOptions = ConfigOptions & { readonly yes?: boolean }

export type StateWordTools = {
  readonly settings: Settings
  readonly clock: Clock
  /** Undefined where nothing is anchored: in a dry-run. */
  readonly anchors: StateAnchors | undefined
  /** Opens the state whatever its anchors say of it, lets `task` write its record, and has the anchors follow it from there. */
  overruled(task: (journal: Journal) => Promise<void>): Promise<void>
  /** Says what is about to happen, and asks for it unless `--yes` was given. */
  confirmed(lines: readonly string[], question: string): Promise<boolean>
}

/**
 * Holds the state directory, reads the wallets and their anchors, and lets `task` decide. Needs the config and the keys, and
 * no strategy files. Throws StateLockedError where a daemon trades with the state, or with the one that the anchors name.
 */
export async function withState(
  command: string,
  { options, io }: { readonly options: StateWordOptions; readonly io: Io },
  task: (tools: StateWordTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  if (settings.mode === 'sandbox') {
    const message = 'in mode sandbox every start begins afresh by itself: there is nothing to do'
    return printFailure(io, options, { message })
  }
  const scrubber = openScrubber()
  const { gasless, aggregator } = settings
  const trader = await readKey(settings, gasless.wallet, { scrubber, io })
  if (!trader.ok) return reportProblems([trader.problem], io, options)
  const operator = aggregator && (await readKey(settings, aggregator.wallet, { scrubber, io }))
  if (operator !== undefined && !operator.ok) return reportProblems([operator.problem], io, options)
  const log = await openLog(settings, { io, json: true, scrubber })
  const { journalKey } = trader
  const wallets = { trader: trader.key.address, operator: operator?.key.address }
  return withClock((clock) =>
    whileHeld(settings.stateDir, { io, command, clock }, async (lock) => {
      const anchors = await openAnchors(settings, wallets, clock)
      requireStopped(anchors?.otherDirectories ?? [])
      const telling = await openTelling(settings, {
        ...{ log, scrubber, clock, saw: () => undefined },
        mayWrite: () => lock.lostLately() === undefined,
        ailments: () => [],
      })
      const confirmed = (lines: readonly string[], question: string): Promise<boolean> => {
        for (const line of lines) io.stderr.write(`${line}\n`)
        return isWanted(question, { options, io })
      }
      try {
        const overruled = (write: (journal: Journal) => Promise<void>): Promise<void> =>
          overrule({ settings, lock, clock, journalKey, telling, anchors }, write)
        return await task({ settings, clock, anchors, confirmed, overruled })
      } finally {
        await telling.notifying.close()
      }
    }),
  )
}

type Overruling = Pick<StateWordTools, 'settings' | 'clock' | 'anchors'> & {
  readonly lock: HeldLock
  /** Of the wallet that trades; undefined in dry-run. */
  readonly journalKey: JournalKey | undefined
  readonly telling: Telling
}

async function overrule(
  { settings, lock, clock, journalKey: key, telling, anchors }: Overruling,
  write: (journal: Journal) => Promise<void>,
): Promise<void> {
  anchors?.overrule()
  const opened = await openState(settings.mode, {
    dir: settings.stateDir,
    ...{ lock, key, anchors, clock },
    observe: telling.observe,
    onFatal: (error) => telling.log.error(error.message),
  })
  telling.notifying.tellFrom(opened.journal, opened.lastSeq)
  try {
    await write(opened.journal)
    await anchors?.remake(opened.journal)
  } finally {
    await opened.close()
  }
}

/** A wallet is not taken from a daemon that trades with it, as far as its own state directory can be seen from here. */
function requireStopped(dirs: readonly string[]): void {
  for (const dir of dirs) {
    const holder = holderOf(dir)
    if (holder !== undefined)
      throw new StateLockedError(
        `the wallet trades from ${dir}: held by process ${holder.pid} on ${holder.host} (${holder.command}). Stop it first`,
      )
  }
}

/** Asks a person unless `--yes` was given; nobody there to be asked is a no. */
export async function isWanted(
  question: string,
  { options, io }: { readonly options: { readonly yes?: boolean }; readonly io: Io },
): Promise<boolean> {
  if (options.yes === true) return true
  const answer = await io.confirm(question)
  if (answer === undefined) io.stderr.write('nobody is there to be asked: repeat it with --yes\n')
  else if (!answer) io.stderr.write('nothing was changed\n')
  return answer === true
}

/** What a state knows that nothing else does, a line each. */
export function knowledgeOf(state: DaemonState, settings: Settings): readonly string[] {
  const lines: string[] = []
  for (const { intent, state: step } of state.intents.values()) {
    const live = hasLiveAuthorization(step) ? 'what is signed for it may still execute' : 'unsigned'
    lines.push(`in flight: ${intent.id} (${step}; ${live})`)
  }
  for (const { record } of state.transactions.values())
    lines.push(`transaction under way: ${record.id}`)
  const tokens = [ETHER, ...settings.tokens.values()]
  for (const [address, amount] of state.spent) {
    const { symbol = address, decimals = 0 } = tokens.find((each) => each.address === address) ?? {}
    lines.push(
      `spent so far, which counts against caps: ${formatAmount(amount, decimals)} ${symbol}`,
    )
  }
  for (const [name, { fills, memory, paused }] of state.strategies) {
    const remembers = Object.keys(memory).length > 0 ? ', and what it remembers' : ''
    lines.push(
      `${name}: ${fills} fills${remembers}${paused === undefined ? '' : ', and its pause'}`,
    )
  }
  return lines
}
