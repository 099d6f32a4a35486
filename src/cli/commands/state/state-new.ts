import type { JournalEvent } from '../../../domain/book/journal.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { OperatorError } from '../../../domain/errors.ts'
import { giveHalt, haltOf, keepStateAside, readState } from '../../compose/state.ts'
import { type ExitCode, type Io, printFailure, printOutcome, printUnwanted } from '../../io.ts'
import type { StateNewData } from '../../json/state.ts'
import { knowledgeOf, type StateWordOptions, type StateWordTools, withState } from './state-word.ts'

/**
 * `tranched state new`: the operator's word that the daemon begins afresh. The state that was there is kept aside; the anchors
 * name the new one from then on. A halt stays. Slots count from the next start on: what passed before is missed, not made up.
 */
export function stateNew(options: StateWordOptions, io: Io): Promise<ExitCode> {
  return withState('state new', { options, io }, async (tools) => {
    const { settings, clock } = tools
    const { stateDir } = settings
    const before = await stateBefore(tools)
    const halt = haltEvents(before.state, haltOf(stateDir))
    const isWanted = await tools.confirmed(
      [`${stateDir}: this begins afresh. It will be forgotten:`, ...before.lines.map(indented)],
      'Begin afresh?',
    )
    if (!isWanted) return printUnwanted(io, options)
    const fault = keepHalt(stateDir, before.state)
    if (fault !== undefined)
      return printFailure(io, options, { message: `nothing was changed: ${fault}` })
    const aside = await keepStateAside(stateDir, clock.now())
    const kept = aside === undefined ? 'there was nothing to keep' : `what was there is in ${aside}`
    const detail = `${kept}; forgotten: ${before.lines.join('; ')}`
    await tools.overruled((journal) => journal.append({ type: 'begun-anew', detail }, ...halt))
    const halted = halt.length === 0 ? '' : '. It stays halted until `tranched resume`'
    const message = `begun afresh in ${stateDir}; ${kept}. Slots count from the next start on${halted}`
    const keptAside = aside ?? null
    return printOutcome<StateNewData>(io, options, { ok: true, message, keptAside, problems: [] })
  })
}

type Before = { readonly state: DaemonState | undefined; readonly lines: readonly string[] }

/** What there is to forget. State that cannot be read is no obstacle: it may be why this is asked for. */
async function stateBefore({ settings }: StateWordTools): Promise<Before> {
  try {
    const state = (await readState(settings.stateDir))?.state
    if (state === undefined)
      return { state, lines: ['whatever the wallet signed before, which no state here tells of'] }
    const lines = knowledgeOf(state, settings)
    return { state, lines: lines.length === 0 ? ['nothing of weight'] : lines }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { state: undefined, lines: [`a state that cannot be read (${error.message})`] }
  }
}

/**
 * A halt that the journal alone has (evidence, a streak, a file that was taken away) is put beside it before the journal
 * goes: whatever interrupts what follows, the next look at the directory finds it. Gives why it cannot be.
 */
function keepHalt(stateDir: string, before: DaemonState | undefined): string | undefined {
  if (before?.halted === undefined) return undefined
  return giveHalt(stateDir, { words: before.halted.detail, mayMake: false }).fault
}

/** `file` is what the file HALT says, which stays where it is. */
function haltEvents(
  before: DaemonState | undefined,
  file: string | undefined,
): readonly JournalEvent[] {
  if (before?.halted === undefined)
    return file === undefined ? [] : [{ type: 'halted', cause: 'operator', detail: file }]
  const { cause, detail } = before.halted
  return [{ type: 'halted', cause, detail: `${detail} (before the state was begun afresh)` }]
}

function indented(line: string): string {
  return `  ${line}`
}
