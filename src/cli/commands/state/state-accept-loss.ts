import { passedSlots } from '../../../domain/book/passed.ts'
import { readState } from '../../compose/state.ts'
import { type ExitCode, type Io, printFailure, printOutcome, printUnwanted } from '../../io.ts'
import type { AcceptLossData } from '../../json/state.ts'
import { type StateWordOptions, withState } from './state-word.ts'

/**
 * `tranched state accept-loss`: the operator's word that the daemon goes on with the state as it is, although its anchor says
 * that there was more. Slots up to now count as missed: they may have been attended in what is lost.
 */
export function stateAcceptLoss(options: StateWordOptions, io: Io): Promise<ExitCode> {
  return withState('state accept-loss', { options, io }, async (tools) => {
    const { settings, clock, anchors } = tools
    const { stateDir, gasless } = settings
    const done = (message: string): ExitCode =>
      printOutcome<AcceptLossData>(io, options, { ok: true, message, problems: [] })
    const refuse = (message: string): ExitCode => printFailure(io, options, { message })
    if (anchors === undefined) return done('a dry-run has no anchor: nothing is lost')
    const view = await readState(stateDir, anchors.positions)
    if (view === undefined)
      return refuse(
        `${stateDir}: there is no state to go on with. Bring it back from a backup, or begin afresh: tranched state new`,
      )
    const { bound } = view.state
    if (bound !== undefined && bound.owner !== anchors.trader)
      return refuse(
        `${stateDir}: this is the state of wallet ${bound.owner}, and ${gasless.wallet} is ${anchors.trader}: correct \`stateDir\` or \`wallets\` in the config`,
      )
    const findings = anchors.findings(view)
    if (findings.length === 0) return done('state and anchor agree: there is no loss to accept')
    const found = findings.map(({ words }) => words.split('\n')[0] ?? '')
    const isWanted = await tools.confirmed(
      [
        ...found,
        'Going on with the state as it is: slots up to now count as missed, caps count only what this state knows of,',
        'and what may still be live of what it does not know is not followed.',
      ],
      'Go on with the state as it is?',
    )
    if (!isWanted) return printUnwanted(io, options)
    await tools.overruled((journal) => {
      const passed = passedSlots(journal.state, Math.floor(clock.now() / 1000))
      return journal.append({ type: 'loss-accepted', detail: found.join('; ') }, ...passed)
    })
    return done(`${stateDir}: this is the state of its wallets from now on`)
  })
}
