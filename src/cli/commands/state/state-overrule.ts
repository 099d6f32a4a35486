import { OperatorError, StateLockedError } from '../../../domain/errors.ts'
import { amountText } from '../../../domain/money/amount-text.ts'
import { ETHER } from '../../../domain/money/token.ts'
import { hasLiveAuthorization } from '../../../domain/order/order.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { JournalEvent } from '../../../journal/events/registry.ts'
import { begunAnew, lossAccepted } from '../../../journal/events/state/state-identity.ts'
import { passedSlots } from '../../../journal/events/strategy/slots.ts'
import { tradingHalted } from '../../../journal/events/strategy/stops.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { Clock, Journal } from '../../../ports.ts'
import type { StateAnchors } from '../../../store/anchor/anchor.ts'
import { readLock } from '../../../store/lock/state-lock.ts'
import { createScrubber } from '../../../system/scrubber.ts'
import { giveHalt, haltOf } from '../../compose/daemons.ts'
import { openLog, openObserving } from '../../compose/observing.ts'
import { keepStateAside, readState, whileHeld, whileOpen } from '../../compose/state.ts'
import { openAnchors, readWallets } from '../../compose/wallets.ts'
import type { AcceptLossData, StateNewData } from '../../json/state-outputs.ts'
import { type ConfigOptions, settingsForReading } from '../../load-files.ts'
import { type ExitCode, type Io, printOutcome } from '../../process/io.ts'
import { confirm, orRefuse, Refusal } from '../../process/refusal.ts'

type OverruleOptions = ConfigOptions & { readonly yes?: boolean }

type OverruleTools = {
  readonly settings: Settings
  readonly clock: Clock
  readonly anchors: StateAnchors | undefined
  /** Opens the state despite its anchors, lets `task` write its record, and updates the anchors. */
  overruled(task: (journal: Journal) => Promise<void>): Promise<void>
  /** Prints the consequences, and asks unless `--yes` was given. Throws a Refusal unless the answer is yes. */
  confirmed(lines: readonly string[], question: string): Promise<void>
}

/**
 * Holds the state directory and reads wallets and anchors. Needs config and keys, but no strategy files. Throws
 * StateLockedError if a daemon trades with this state, or with the one that the anchors name.
 */
async function withState(
  command: string,
  { options, io }: { readonly options: OverruleOptions; readonly io: Io },
  task: (tools: OverruleTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { settings } = orRefuse(settingsForReading(options, io))
  if (settings.mode === 'sandbox')
    throw new Refusal('in mode sandbox every start begins afresh: there is nothing to do')
  const scrubber = createScrubber()
  const wallets = await readWallets(settings, { scrubber, io })
  const { journalKey: key, addresses } = orRefuse(wallets)
  const log = await openLog(settings, { io, json: true, scrubber })
  return whileHeld(settings.stateDir, { io, command }, async (lock, clock) => {
    const anchors = await openAnchors(settings, addresses, clock)
    requireStopped(anchors?.otherDirectories ?? [])
    const observing = await openObserving(settings, {
      log,
      scrubber,
      clock,
      mayWrite: () => lock.lostLately() === undefined,
      ailments: () => [],
      drift: async () => [],
    })
    const confirmed = (lines: readonly string[], question: string): Promise<void> => {
      for (const line of lines) io.stderr.write(`${line}\n`)
      return confirm(question, { options, io })
    }
    const overruled = (write: (journal: Journal) => Promise<void>): Promise<void> => {
      anchors?.overrule()
      const { recorded, observe, notifying } = observing
      const onFatal = (error: Error): void => log.error(error.message)
      const report = (): void => undefined
      const parts = { lock, key, anchors, clock, recorded, observe, onFatal, report }
      return whileOpen(settings, parts, async ({ journal, lastSeq }) => {
        notifying.notifyFrom(journal, lastSeq)
        await write(journal)
        await anchors?.remake(journal)
      })
    }
    try {
      return await task({ settings, clock, anchors, confirmed, overruled })
    } finally {
      await observing.notifying.close()
    }
  })
}

/** Refuses to take a wallet from a running daemon, if its state directory is readable from here. */
function requireStopped(dirs: readonly string[]): void {
  for (const dir of dirs) {
    const holder = readLock(dir)
    if (holder !== undefined)
      throw new StateLockedError(
        `the wallet trades from ${dir}: held by process ${holder.pid} on ${holder.host} (${holder.command}). Stop it first`,
      )
  }
}

/**
 * `tranched state accept-loss`: continues with a state that lacks records known to its anchor. Slots up to now count as
 * missed: they may have been filled in the lost part.
 */
export function stateAcceptLoss(options: OverruleOptions, io: Io): Promise<ExitCode> {
  return withState('state accept-loss', { options, io }, async (tools) => {
    const { settings, clock, anchors } = tools
    const { stateDir, gasless } = settings
    const done = (message: string): ExitCode =>
      printOutcome<AcceptLossData>(io, options, { message })
    if (anchors === undefined) return done('a dry-run has no anchor: nothing is lost')
    const view = await readState(stateDir, anchors.positions)
    if (view === undefined)
      throw new Refusal(
        `${stateDir}: there is no state to continue with. Restore it from a backup, or begin afresh: tranched state new`,
      )
    const { bound } = view.state
    if (bound !== undefined && bound.owner !== anchors.trader)
      throw new Refusal(
        `${stateDir}: this is the state of wallet ${bound.owner}, but ${gasless.wallet} is ${anchors.trader}: correct \`stateDir\` or \`wallets\` in the config`,
      )
    const findings = anchors.findings(view)
    if (findings.length === 0) return done('state and anchor agree: there is no loss to accept')
    const found = findings.map((text) => text.split('\n')[0] ?? '')
    await tools.confirmed(
      [
        ...found,
        'Continuing with this state: slots up to now count as missed, caps count only the spending that it records,',
        'and orders that it does not record are not followed, though they may still be live.',
      ],
      'Continue with this state?',
    )
    await tools.overruled((journal) => {
      const passed = passedSlots(journal.state, Math.floor(clock.now() / 1000))
      return journal.append(lossAccepted({ detail: found.join('; ') }), ...passed)
    })
    return done(`${stateDir}: its wallets use this state from now on`)
  })
}

/**
 * `tranched state new`: starts a new state. Keeps the old one aside, and moves the anchors to the new one. A halt stays.
 * Slots count from the next start; earlier ones are missed.
 */
export function stateNew(options: OverruleOptions, io: Io): Promise<ExitCode> {
  return withState('state new', { options, io }, async (tools) => {
    const { settings, clock } = tools
    const { stateDir } = settings
    const before = await stateBefore(tools)
    const halt = haltEvents(before.state, haltOf(stateDir))
    await tools.confirmed(
      [`${stateDir}: this begins afresh and forgets:`, ...before.lines.map((line) => `  ${line}`)],
      'Begin afresh?',
    )
    // First copies a halt known only to the journal into the file HALT, so that an interruption cannot lift it.
    const text = before.state?.halted?.detail
    const fault = text && giveHalt(stateDir, { text, mayMake: false }).fault
    if (fault !== undefined) throw new Refusal(`nothing was changed: ${fault}`)
    const aside = await keepStateAside(stateDir, clock.now())
    const kept =
      aside === undefined ? 'there was nothing to keep' : `the previous state is in ${aside}`
    const detail = `${kept}; forgotten: ${before.lines.join('; ')}`
    await tools.overruled((journal) => journal.append(begunAnew({ detail }), ...halt))
    const halted = halt.length === 0 ? '' : '. It stays halted until `tranched resume`'
    const message = `begun afresh in ${stateDir}; ${kept}. Slots count from the next start${halted}`
    return printOutcome<StateNewData>(io, options, { message, keptAside: aside ?? null })
  })
}

/** Accepts an unreadable state, which may be the reason for the command. */
async function stateBefore({ settings }: OverruleTools): Promise<{
  readonly state: DaemonState | undefined
  readonly lines: readonly string[]
}> {
  try {
    const state = (await readState(settings.stateDir))?.state
    if (state === undefined)
      return { state, lines: ['everything the wallet signed before: it is not recorded here'] }
    const lines = knowledgeOf(state, settings)
    return { state, lines: lines.length === 0 ? ['nothing of importance'] : lines }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { state: undefined, lines: [`a state that cannot be read (${error.message})`] }
  }
}

/** `file`: the text of the file HALT, which stays. */
function haltEvents(
  before: DaemonState | undefined,
  file: string | undefined,
): readonly JournalEvent[] {
  if (before?.halted === undefined)
    return file === undefined ? [] : [tradingHalted({ cause: 'operator', detail: file })]
  const { cause, detail } = before.halted
  return [tradingHalted({ cause, detail: `${detail} (before the state was begun afresh)` })]
}

function knowledgeOf(state: DaemonState, settings: Settings): readonly string[] {
  const lines: string[] = []
  for (const { intent, state: step } of state.intents.values()) {
    const live = hasLiveAuthorization(step) ? 'its signature may still execute' : 'unsigned'
    lines.push(`in flight: ${intent.id} (${step}; ${live})`)
  }
  for (const { record } of state.transactions.values())
    lines.push(`transaction in flight: ${record.id}`)
  const tokens = [ETHER, ...settings.tokens.values()]
  for (const [address, amount] of state.spent) {
    const { symbol = address, decimals = 0 } = tokens.find((each) => each.address === address) ?? {}
    lines.push(`spent so far, counted by caps: ${amountText(amount, { symbol, decimals })}`)
  }
  for (const [name, { fills, memory, paused }] of state.strategies) {
    const remembers = Object.keys(memory).length > 0 ? ', and its memory' : ''
    const pause = paused === undefined ? '' : ', and its pause'
    lines.push(`${name}: ${fills} fills${remembers}${pause}`)
  }
  return lines
}
