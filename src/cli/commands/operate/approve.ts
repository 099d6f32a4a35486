import { approvalsIn } from '../../../engine/approvals.ts'
import { EXIT, type ExitCode, type Io } from '../../io.ts'
import { whileReading } from '../../reading.ts'
import { refuseUnnamed, type TargetOptions, targetOf } from '../../target.ts'
import { control, tellApproved } from './control.ts'

/**
 * `tranched approve [NAME]`: lists what waits for an operator's approval, which needs no key and no daemon; with a name, approves
 * it through the running daemon, or in the journal where none runs.
 */
export function approve(name: string | undefined, given: TargetOptions, io: Io): Promise<ExitCode> {
  if (name !== undefined) return control({ command: 'approve', name }, given, io)
  const target = targetOf(given)
  if (!target.ok) return Promise.resolve(refuseUnnamed(target.message, given, io))
  const { options } = target
  return whileReading(options, io, async ({ view }) => {
    tellApproved({ approved: [], details: [], waiting: approvalsIn(view.state) }, options, io)
    return EXIT.done
  })
}
